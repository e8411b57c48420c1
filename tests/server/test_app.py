"""The routes over HTTP; that answers are those of the former plugin is in test_tensorboard."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import Any

import pytest
from starlette.testclient import TestClient

from builders import kineto, operator, training_trace, write
from rank_sets import HereEngine
from timesink.errors import AmbiguousError, NotFoundError, UsageError
from timesink.server.app import create_app
from timesink.server.former import VIEWS, Views, load_view
from timesink.server.library import RunLibrary

BASE = "/data/plugin/pytorch_profiler"
CHOSEN = {"run": "run", "worker": "rank0", "span": "1"}


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of two workers with two spans each, and a broken file of a third worker."""
    folder = tmp_path_factory.mktemp("served") / "logs" / "run"
    folder.mkdir(parents=True)
    for rank in (0, 1):
        for span in (1, 2):
            name = f"rank{rank}.{span}00.pt.trace.json"
            write(folder / name, training_trace(steps=10 * rank + span))
    write(folder / "rank2.100.pt.trace.json", b"nothing")
    return folder.parent


def steps(trace: Any, query: Any) -> dict[str, Any]:
    return {"steps": trace.steps.height, "workers": query.workers, "asked": query.text("group_by")}


def steps_of_all(ranks: Any, _query: Any) -> dict[str, Any]:
    return {ranks.workers[rank]: summary.steps.height for rank, summary in ranks.ranks.items()}


def steps_of_both(left: Any, right: Any, _query: Any) -> list[int]:
    return [left.steps.height, right.steps.height]


def views_with(**views: Callable[..., Any]) -> Views:
    """Views that tell steps, and others by the name of their route."""
    return Views(
        {"overview": steps, **views}, {"distributed/overlap": steps_of_all}, {"diff": steps_of_both}
    )


def client_of(logdir: Path, prefix: str = "", **views: Callable[..., Any]) -> TestClient:
    library = RunLibrary(logdir, engine=HereEngine())
    return TestClient(create_app(library, prefix, views_with(**views)))


@pytest.fixture(scope="module")
def client(logdir: Path) -> TestClient:
    return client_of(logdir)


# -- listings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("route", "listed"),
    [
        ("runs", {"runs": ["run"], "loading": False}),
        ("workers?run=run", ["rank0", "rank1", "rank2"]),
        ("workers?run=run&view=Operator", ["rank0", "rank1", "rank2"]),
        ("workers?run=run&view=Distributed", ["All"]),
        ("spans?run=run&worker=rank1", ["1", "2"]),
        ("spans?run=run&worker=All", ["1", "2"]),
        ("views?run=run", ["Overview", "Operator", "Kernel", "Trace", "Memory"]),
    ],
)
def test_listings(client: TestClient, route: str, listed: Any):
    response = client.get(f"{BASE}/{route}")
    assert (response.status_code, response.json()) == (200, listed)


def test_views_of_a_run_whose_first_file_is_broken(logdir: Path, tmp_path: Path):
    shutil.copytree(logdir, tmp_path, dirs_exist_ok=True)
    write(tmp_path / "run" / "rank0.100.pt.trace.json", b"nothing")
    assert "Kernel" in client_of(tmp_path).get(f"{BASE}/views?run=run").json()


@pytest.fixture(scope="module")
def mixed_client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    """A run whose first worker used no device, and recorded no memory."""
    folder = tmp_path_factory.mktemp("served") / "mixed"
    folder.mkdir()
    write(folder / "rank0.1.pt.trace.json", kineto([operator("aten::mm", 100, 10)]))
    write(folder / "rank1.1.pt.trace.json", training_trace(1))
    return client_of(folder.parent)


@pytest.mark.parametrize(
    ("chosen", "listed"),
    [
        ("", ["Overview", "Operator", "Kernel", "Trace", "Memory"]),
        ("&worker=All", ["Overview", "Operator", "Kernel", "Trace", "Memory"]),
        ("&worker=rank0", ["Overview", "Operator", "Trace"]),
        ("&worker=rank1", ["Overview", "Operator", "Kernel", "Trace", "Memory"]),
    ],
)
def test_views_are_those_of_the_worker_or_of_any(
    mixed_client: TestClient, chosen: str, listed: list[str]
):
    assert mixed_client.get(f"{BASE}/views?run=mixed{chosen}").json() == listed


@pytest.mark.parametrize(("worker", "status"), [("rank9", 404), ("rank2", 422)])
def test_views_of_a_worker_that_is_missing_or_unreadable(
    client: TestClient, worker: str, status: int
):
    assert client.get(f"{BASE}/views?run=run&worker={worker}").status_code == status


def test_empty_folder_has_no_runs(tmp_path: Path):
    assert client_of(tmp_path).get(f"{BASE}/runs").json() == {"runs": [], "loading": False}


# -- views ---------------------------------------------------------------------------------------


def test_view_of_one_trace(client: TestClient):
    params = {"run": "run", "worker": "rank1", "span": "2", "group_by": "Kernel"}
    answer = client.get(f"{BASE}/overview", params=params).json()
    assert answer == {"steps": 12, "workers": 3, "asked": "Kernel"}


def test_view_of_all_workers_says_which_could_not_be_read(client: TestClient):
    answer = client.get(f"{BASE}/distributed/overlap", params={**CHOSEN, "worker": "All"}).json()
    assert (answer["rank0"], answer["rank1"]) == (1, 11)
    assert "not a trace" in answer["unreadable"]["rank2"]


def test_view_of_all_workers_without_broken_files(client: TestClient):
    params = {"run": "run", "worker": "All", "span": "2"}
    answer = client.get(f"{BASE}/distributed/overlap", params=params).json()
    assert answer == {"rank0": 2, "rank1": 12}


def test_view_of_two_traces(client: TestClient):
    other = {"exp_run": "run", "exp_worker": "rank1", "exp_span": "2"}
    assert client.get(f"{BASE}/diff", params=CHOSEN | other).json() == [1, 12]


def test_every_view_of_the_registry_exists():
    for target in {**VIEWS.of_trace, **VIEWS.of_ranks, **VIEWS.of_pair}.values():
        assert callable(load_view(target))


# -- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("route", "status", "error", "hint"),
    [
        ("spans?run=run", 400, "'worker' is missing", "worker="),
        ("overview", 400, "'run' is missing", "run="),
        ("overview?run=run&worker=rank0", 400, "'span' is missing", "span="),
        ("diff?run=run&worker=rank0&span=1", 400, "'exp_run' is missing", "exp_run="),
        ("overview?run=other&worker=rank0&span=1", 404, "no run is named 'other'", "runs"),
        ("overview?run=run&worker=rank9&span=1", 404, "no process is named 'rank9'", "rank0"),
        ("overview?run=run&worker=rank0&span=7", 404, "no span '7'", "1, 2"),
        ("workers?run=run&view=Nonsense", 404, "no view is named", "Overview"),
        ("overview?run=run&worker=rank2&span=1", 422, "not a trace", "give a profiler trace"),
        ("nonsense", 404, "no such route", "page at /"),
    ],
)
def test_errors_are_sentences(client: TestClient, route: str, status: int, error: str, hint: str):
    response = client.get(f"{BASE}/{route}")
    answer = response.json()
    assert response.status_code == status
    assert error in answer["error"]
    assert hint in answer["hint"]


@pytest.mark.parametrize(
    ("error", "status"), [(UsageError, 400), (NotFoundError, 404), (AmbiguousError, 404)]
)
def test_errors_of_views_have_their_status(logdir: Path, error: type, status: int):
    def fail(_trace: Any, _query: Any) -> None:
        raise error("what is wrong", "what to try")

    response = client_of(logdir, memory=fail).get(f"{BASE}/memory", params=CHOSEN)
    assert response.status_code == status
    assert response.json() == {"error": "what is wrong", "hint": "what to try"}


def test_bug_in_a_view_is_logged_and_told_in_one_sentence(logdir: Path, capsys):
    def fail(_trace: Any, _query: Any) -> None:
        raise RuntimeError("secret of the inside")

    client = client_of(logdir, memory=fail)
    response = client.get(f"{BASE}/memory", params=CHOSEN)
    assert response.status_code == 500
    assert "secret" not in response.text
    assert "secret of the inside" in capsys.readouterr().err
    assert client.get(f"{BASE}/overview", params=CHOSEN).status_code == 200


def test_view_that_cannot_be_loaded_takes_no_other_down(logdir: Path):
    views = Views({"overview": steps, "memory": "no_such_module:view"}, {}, {})
    client = TestClient(create_app(RunLibrary(logdir), "", views))
    assert client.get(f"{BASE}/memory", params=CHOSEN).status_code == 500
    assert client.get(f"{BASE}/overview", params=CHOSEN).status_code == 200


@pytest.mark.parametrize("method", ["POST", "OPTIONS", "DELETE"])
def test_other_methods_are_declined_with_those_that_work(client: TestClient, method: str):
    response = client.request(method, f"{BASE}/runs")
    assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD")
    message = f"{method} {BASE}/runs: this route allows only GET and HEAD"
    assert response.json() == {"error": message, "hint": "ask with GET"}


def test_grouping_that_is_not_known(logdir: Path):
    client = TestClient(create_app(RunLibrary(logdir)))
    for route in ("operation", "operation/table", "kernel", "kernel/table"):
        response = client.get(f"{BASE}/{route}", params={**CHOSEN, "group_by": "bogus"})
        assert response.status_code == 400, route
        assert "'group_by' is 'bogus'" in response.json()["error"]
        assert "give one of" in response.json()["hint"]


# -- form ----------------------------------------------------------------------------------------


def test_what_is_no_number_becomes_null(logdir: Path):
    client = client_of(logdir, memory=lambda _trace, _query: {"value": float("nan")})
    assert client.get(f"{BASE}/memory", params=CHOSEN).text == '{"value":null}'


@pytest.mark.parametrize(
    ("accepted", "packed"), [("gzip, br", True), ("identity", False), ("gzip;q=0", False)]
)
def test_long_answers_are_packed_for_those_who_accept_it(
    logdir: Path, accepted: str, *, packed: bool
):
    client = client_of(logdir, memory=lambda _trace, _query: list(range(1000)))
    headers = {"Accept-Encoding": accepted}
    response = client.get(f"{BASE}/memory", params=CHOSEN, headers=headers)
    assert (response.headers.get("content-encoding") == "gzip") == packed
    assert response.json() == list(range(1000))


@pytest.mark.parametrize(("headers", "packed"), [({}, True), ({"Accept-Encoding": "br"}, False)])
def test_trace_comes_packed_unless_declined(logdir: Path, headers: dict[str, str], *, packed: bool):
    client = client_of(logdir, trace=load_view(VIEWS.of_trace["trace"]))
    del client.headers["accept-encoding"]
    with client.stream("GET", f"{BASE}/trace", params=CHOSEN, headers=headers) as response:
        body = b"".join(response.iter_raw())
    assert (response.headers.get("content-encoding") == "gzip") == packed
    document = json.loads(gzip.decompress(body) if packed else body)
    assert document["traceEvents"][0]["name"] == "GPU 0 Utilization"


# -- at the same time ----------------------------------------------------------------------------


def test_runs_are_told_while_a_view_takes_long(logdir: Path):
    started, go_on = Signal(), Signal()

    def wait(_trace: Any, _query: Any) -> str:
        started.set()
        go_on.wait()
        return "done"

    answers = []
    with client_of(logdir, memory=wait) as client:
        ask = Thread(
            target=lambda: answers.append(client.get(f"{BASE}/memory", params=CHOSEN).json())
        )
        ask.start()
        started.wait()
        assert client.get(f"{BASE}/runs").json()["runs"] == ["run"]
        assert not answers
        go_on.set()
        ask.join()
    assert answers == ["done"]


# -- page and prefix -----------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["/profiles", "profiles/"])
def test_prefix_stands_before_every_address(logdir: Path, prefix: str):
    client = client_of(logdir, prefix)
    assert client.get(f"/profiles{BASE}/runs").json()["runs"] == ["run"]
    assert client.get(f"{BASE}/runs").status_code == 404
    for address in ("/", "/profiles"):
        page = client.get(address)
        assert (page.url.path, page.status_code) == ("/profiles/", 200)
        assert 'src="static/app.js"' in page.text

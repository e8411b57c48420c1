"""Only what lies below the served folder can be reached, and only by those who may."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import pytest
from starlette.testclient import TestClient

from asking import Browser, client_of
from builders import kineto, operator, training_trace, write
from timesink.model.host_names import allowed_hosts
from timesink.server.former import PLUGIN_PATH, Views
from timesink.server.library import RunLibrary

CHOSEN = {"run": "run", "worker": "worker0", "span": "1"}
HIDDEN = "aten::hidden"


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A run, and beside the served folder what nobody may see."""
    run = tmp_path / "logs" / "run"
    run.mkdir(parents=True)
    write(run / "worker0.1.pt.trace.json", training_trace(1))
    (tmp_path / "private").mkdir()
    write(tmp_path / "private" / "worker0.1.pt.trace.json", kineto([operator(HIDDEN, 1, 2)]))
    (tmp_path / "private" / "counters.csv").write_text(
        "timestamp_us,counter,device,value\n105,hidden,0,300\n"
    )
    return tmp_path / "logs"


@pytest.fixture
def client(logdir: Path) -> TestClient:
    return client_of(RunLibrary(logdir))


# -- paths -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2f..%2fapp.py",
        "/static/%2e%2e/%2e%2e/pyproject.toml",
        "/static/..\\app.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/app.js%00.txt",
        "/static/",
        "/..%2f..%2fetc%2fpasswd",
        "//etc/passwd",
        "/api/../../etc/passwd",
        "/run/worker0.1.pt.trace.json",
        "/data/plugin/pytorch_profiler/../../../etc/passwd",
    ],
)
def test_no_address_is_a_path(client: TestClient, path: str):
    response = client.get(path)
    assert response.status_code == 404
    assert set(response.json()) == {"error", "hint"}
    assert "root:" not in response.text


@pytest.mark.parametrize(
    "name", ["../private", "run/../../private", "/etc", "..", "%2e%2e/private", "run/", "run\0"]
)
@pytest.mark.parametrize("parameter", ["run", "worker", "span"])
def test_no_parameter_is_a_path(logdir: Path, name: str, parameter: str):
    named = {**CHOSEN, parameter: name}
    sentence = Browser.of(logdir).fails("api/timeline/tracks", 404, **named)
    assert HIDDEN not in sentence
    if parameter == "run":
        assert "no run is named" in Browser.of(logdir).fails(
            "api/compare", 404, base=name, new="run"
        )


# -- what traces hold ------------------------------------------------------------------------------


def test_a_small_trace_with_a_huge_number_does_not_freeze_the_server(logdir: Path):
    """Its time was written out as an integer of a million digits, and nobody got an answer."""
    text = '{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":%s,"dur":2}]}'
    for place, ts in enumerate(("5", "3846802344542.1e999542", "1e-99999999", '"7e99999999"')):
        folder = logdir / f"run{place}"
        folder.mkdir()
        (folder / "worker0.1.pt.trace.json").write_text(text % ts)
    browser = Browser.of(logdir)
    for place in range(4):
        tracks = browser.get("api/timeline/tracks", **{**CHOSEN, "run": f"run{place}"})
        assert bool(tracks["tracks"]) == (place in {0, 2})
    assert len(browser.get("api/runs")["runs"]) == 5


# -- links -----------------------------------------------------------------------------------------


def test_link_to_a_folder_elsewhere_is_no_run_unless_wanted(logdir: Path):
    (logdir / "linked").symlink_to(logdir.parent / "private")
    assert runs_of(Browser.of(logdir)) == ["run"]
    assert runs_of(Browser.of(logdir, follow_links=True)) == ["linked", "run"]


def test_link_to_a_file_elsewhere_is_no_trace_unless_wanted(logdir: Path):
    elsewhere = logdir.parent / "private" / "worker0.1.pt.trace.json"
    (logdir / "run" / "worker1.1.pt.trace.json").symlink_to(elsewhere)
    chosen = {**CHOSEN, "worker": "worker1"}
    Browser.of(logdir).fails("api/timeline/tracks", 404, **chosen)
    search = Browser.of(logdir, follow_links=True).get("api/timeline/search", **chosen, q=HIDDEN)
    assert search["total"] == 1


def test_size_of_a_file_elsewhere_is_not_told(logdir: Path):
    private = logdir.parent / "private" / "large.json"
    private.write_bytes(bytes(1_234_567))
    (logdir / "run" / "linked.json").symlink_to(private)
    sizes = [run["bytes"] for run in Browser.of(logdir).get("api/runs")["runs"]]
    assert max(sizes) < 1_234_567
    wanted = Browser.of(logdir, follow_links=True).get("api/runs")["runs"]
    assert max(run["bytes"] for run in wanted) > 1_234_567


def test_run_is_not_compared_through_links_that_lead_elsewhere(logdir: Path):
    (logdir / "run" / "deep").mkdir()
    (logdir / "run" / "deep" / "x.json").symlink_to(logdir.parent / "private" / "counters.csv")
    assert "--follow-links" in Browser.of(logdir).fails("api/compare", 404, base="run", new="run")


def test_counters_beside_a_trace_are_not_read_from_elsewhere(logdir: Path):
    (logdir / "run" / "counters.csv").symlink_to(logdir.parent / "private" / "counters.csv")
    sentence = Browser.of(logdir).fails("api/timeline/tracks", 404, **CHOSEN)
    assert "leads outside the served folder" in sentence
    tracks = Browser.of(logdir, follow_links=True).get("api/timeline/tracks", **CHOSEN)
    assert any(track["name"].startswith("hidden") for track in tracks["tracks"])


@pytest.mark.parametrize("name", ["../private/counters.csv", "/etc/passwd", "a\\u0000b"])
def test_run_file_names_no_counters_elsewhere(logdir: Path, name: str):
    content = f'{{"schema": "timesink/run/1", "counters": {{"file": "{name}"}}}}'
    (logdir / "run" / "run.json").write_text(content)
    assert "hidden" not in str(Browser.of(logdir).get("api/timeline/tracks", **CHOSEN))


def test_links_inside_the_folder_work(logdir: Path):
    (logdir / "run" / "worker1.1.pt.trace.json").symlink_to("worker0.1.pt.trace.json")
    (logdir / "latest").symlink_to("run")
    assert runs_of(Browser.of(logdir)) == ["latest", "run"]


def test_folder_that_is_itself_a_link_is_served(logdir: Path):
    (logdir.parent / "short").symlink_to(logdir)
    browser = Browser.of(logdir.parent / "short")
    assert browser.get("api/timeline/tracks", **CHOSEN)["events"] > 0


def runs_of(browser: Browser) -> list[str]:
    return [run["name"] for run in browser.get("api/runs")["runs"]]


# -- who asks, and how -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:6006", 200),
        ("127.0.0.1", 200),
        ("[::1]:6006", 200),
        ("LOCALHOST.", 200),
        ("proxy.example", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example:6006", 403),
        ("[::1", 403),
        ("", 403),
    ],
)
def test_server_for_this_machine_answers_to_its_own_names(logdir: Path, host: str, status: int):
    client = client_of(RunLibrary(logdir), hosts=allowed_hosts("127.0.0.1", ["Proxy.example"]))
    assert client.get("/api/runs", headers={"host": host}).status_code == status


def test_server_for_other_machines_answers_to_any_name(logdir: Path):
    client = client_of(RunLibrary(logdir), hosts=allowed_hosts("0.0.0.0"))  # noqa: S104
    assert client.get("/api/runs", headers={"host": "gpu-node-7"}).status_code == 200


def test_every_reply_tells_browsers_to_be_careful(client: TestClient):
    for path in ("/", "/api/runs", "/api/nonsense", "/static/app.js"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] == "no-referrer", path
        assert headers["cross-origin-resource-policy"] == "same-origin", path


def test_page_loads_nothing_from_elsewhere(client: TestClient):
    page = client.get("/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self';" in policy
    assert "frame-ancestors 'self'" in policy
    assert "http" not in page.text


def test_head_has_no_body(client: TestClient):
    response = client.head("/api/runs")
    assert (response.status_code, response.content) == (200, b"")
    assert int(response.headers["content-length"]) > 2


def test_nothing_is_exported_for_head(logdir: Path):
    browser = Browser.of(logdir)
    browser.get("api/timeline/tracks", **CHOSEN)
    reply = browser.client.head("/api/timeline/export", params=CHOSEN)
    assert (reply.status_code, reply.headers["content-length"]) == (200, "0")


def test_more_requests_at_once_than_are_answered(logdir: Path):
    viewed, go_on = Event(), Event()

    def wait(_trace: object, _query: object) -> str:
        viewed.set()
        go_on.wait(20)
        return "viewed"

    client = client_of(RunLibrary(logdir), views=Views({"memory": wait}, {}, {}), max_at_once=1)
    replies: list[str] = []
    path = f"{PLUGIN_PATH}/memory"
    first = Thread(target=lambda: replies.append(client.get(path, params=CHOSEN).json()))
    first.start()
    viewed.wait(20)
    reply = client.get("/api/runs")
    go_on.set()
    first.join()
    assert (reply.status_code, "too many" in reply.json()["error"]) == (503, True)
    assert client.get("/api/runs").status_code == 200
    assert replies == ["viewed"]


def test_many_parameters_are_declined(client: TestClient):
    response = client.get("/api/runs?" + "a=1&" * 65)
    assert (response.status_code, "too many parameters" in response.text) == (400, True)


# -- files of the app ------------------------------------------------------------------------------


def test_file_of_the_app_is_sent_once(logdir: Path, tmp_path: Path):

    (tmp_path / "app.js").write_text("export function render() {}")
    client = client_of(RunLibrary(logdir), static=tmp_path)
    first = client.get("/static/app.js")
    assert (first.status_code, first.content) == (200, b"export function render() {}")
    assert first.headers["Content-Type"].startswith("text/javascript")
    again = client.get("/static/app.js", headers={"if-none-match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert "no file is named '../app.py'" in client.get("/static/..%2fapp.py").json()["error"]


def test_app_that_was_not_built_is_told(logdir: Path, tmp_path: Path):

    reply = client_of(RunLibrary(logdir), static=tmp_path).get("/static/app.css")
    assert (reply.status_code, "not built" in reply.json()["error"]) == (404, True)

"""A real Ray cluster on this machine, a head and a node: what it says equals the local engine.

The tests share it, and the last one ends the node.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import timesink
from engine_calls import call
from ray_clusters import Cluster, cluster_of, need_ray
from timesink.errors import TimesinkError
from timesink.runtime.engine import Done, LocalEngine, engine_of
from timesink.sources.cache import Cache
from timesink.sources.recordings import Recording
from timesink_lab.ranks.generated import generate_ranks
from timesink_lab.ranks.plan import Plan, Straggler

pytestmark = pytest.mark.whole

RANKS = 24
IN_THE_MIDDLE = 4
"""Ranks after which the node is ended."""
BROKEN = ["refuse", "break_down", "exit_at_once"]
ITEMS = [*BROKEN, "deadly", "here", *(str(number) for number in range(60))]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    need_ray()
    # In a short place: names of sockets have at most a hundred characters.
    with (
        tempfile.TemporaryDirectory(prefix="ray", dir="/tmp") as folder,
        cluster_of(1, Path(folder)) as started,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in started.environment.items():
            patch.setenv(name, value)
        yield started


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    slow = Straggler("python_stall", rank=19)
    generate_ranks(Plan(ranks=RANKS, steps=2, layers=1, stragglers=(slow,)), folder, jobs=1)
    damaged = folder / "rank10.pt.trace.json.gz"
    damaged.write_bytes(b"not what its name says")
    return folder


@pytest.fixture(scope="module")
def far_away(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """A recording that is not there for those who are to read it."""
    return Recording(tmp_path_factory.mktemp("elsewhere") / "rank0.json", "rank0")


@pytest.fixture(scope="module")
def done(
    cluster: Cluster, far_away: Recording, tmp_path_factory: pytest.TempPathFactory
) -> dict[object, Done]:
    """What comes of each item on the cluster; making it new for every test would take long."""
    items = [*ITEMS, far_away]
    task = call("act", notes=tmp_path_factory.mktemp("notes"))
    came = list(engine_of("ray", address=cluster.address).run(task, items))
    assert sorted(result.place for result in came) == list(range(len(items)))
    return {items[result.place]: result for result in came}


def test_who_stops_early_leaves_the_cluster_as_it_was(cluster: Cluster) -> None:
    running = engine_of("ray", address=cluster.address).run(call("echo"), list(range(100)))
    assert next(running).error is None
    running.close()  # type: ignore[attr-defined]
    # The other tests still use it.


def test_what_comes_of_items_is_what_the_local_engine_says(
    done: dict[object, Done], tmp_path: Path
) -> None:
    local = LocalEngine(2).run(call("act", notes=tmp_path), ITEMS)

    for here in local:
        there = done[ITEMS[here.place]]
        assert there.value == here.value
        assert in_words(there) == in_words(here)


def in_words(result: Done) -> tuple[object, ...]:
    error = result.error
    return () if error is None else (type(error), error.message, error.hint)


def test_calls_whose_worker_dies_are_made_again(done: dict[object, Done]) -> None:
    assert done["deadly"].value == b"deadly"


def test_paths_start_where_the_user_is(done: dict[object, Done]) -> None:
    assert done["here"].value == str(Path.cwd()).encode()


def test_a_file_workers_cannot_see_says_what_to_do(
    done: dict[object, Done], far_away: Recording
) -> None:
    error = done[far_away].error

    assert error is not None
    assert error.message.startswith(f"{far_away.path}: not visible to the Ray worker on ")
    assert "URLs" in error.hint


def test_a_cluster_that_is_not_there_is_an_error() -> None:
    need_ray()
    engine = engine_of("ray", address="127.0.0.1:1")

    with pytest.raises(TimesinkError, match=r"no Ray cluster answers at 127.0.0.1:1 \(Conn"):
        list(engine.run(call("echo"), ["a"]))


OTHER_VERSION = """
import sys
from engine_calls import call
from timesink.runtime.engine import RayEngine
try:
    list(RayEngine(sys.argv[1]).run(call("echo"), ["a"]))
except Exception as error:
    print(type(error).__name__, error, error.hint, sep="\\n")
"""


def test_workers_with_another_version_are_named(cluster: Cluster, tmp_path: Path) -> None:
    package = tmp_path / "timesink"
    package.mkdir()
    installed = Path(timesink.__file__).parent
    for part in installed.iterdir():
        if part.name not in {"__init__.py", "version.py"}:
            (package / part.name).symlink_to(part)
    # The first file says which folder the package is: a link would lead to the other one.
    (package / "__init__.py").write_text((installed / "__init__.py").read_text())
    text = (installed / "version.py").read_text()
    (package / "version.py").write_text(text.replace(f'"{timesink.__version__}"', '"0.0.7"'))

    process = subprocess.run(
        [sys.executable, "-c", OTHER_VERSION, cluster.address],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    )

    kind, message, hint = process.stdout.splitlines()
    assert kind == "TimesinkError"
    assert f"has timesink {timesink.__version__} and" in message
    assert "here are timesink 0.0.7 and" in message
    assert hint == "install the same on every node: pip install timesink==0.0.7"


def start_analysis(ranks: Path, cache: Path, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "timesink", "analyze", ranks, "--format", "json", *options],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "TIMESINK_CACHE_DIR": str(cache),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def summary_count(cache: Path) -> int:
    return len(list(Cache(cache).summaries.glob("*.parquet")))


def test_a_node_that_goes_in_the_middle_loses_nothing(
    cluster: Cluster, ranks: Path, tmp_path: Path
) -> None:
    # GIVEN the ranks of a run being read by the cluster
    address = f"--ray-address={cluster.address}"
    with start_analysis(ranks, tmp_path / "ray", "--engine", "ray", address) as reading:
        while summary_count(tmp_path / "ray") < IN_THE_MIDDLE and reading.poll() is None:
            time.sleep(0.05)

        # WHEN all processes of its node are killed, and the head is left
        cluster.kill(1)
        done_before = summary_count(tmp_path / "ray")
        answer, messages = reading.communicate()

    # THEN the answer is that of this machine alone, to the last byte, and nothing else is said
    assert (messages.decode(), reading.returncode) == ("", 0)
    assert IN_THE_MIDDLE <= done_before < RANKS - 1
    with start_analysis(ranks, tmp_path / "local", "--jobs", "1") as local:
        expected, _ = local.communicate()
    assert answer == expected
    assert summary_count(tmp_path / "ray") == summary_count(tmp_path / "local") == RANKS - 1
    distributed = json.loads(answer)["distributed"]
    assert [straggler["rank"] for straggler in distributed["stragglers"]] == [19]
    assert [rank["worker"] for rank in distributed["damaged"]] == ["rank10"]

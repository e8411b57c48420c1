"""What holds for every test."""

from __future__ import annotations

import gc
import itertools
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Assertions are rewritten once for all runs, whatever the machine prefers.
sys.dont_write_bytecode = False

IS_ONE_OF_MANY = "PYTEST_XDIST_WORKER" in os.environ
"""Whether other processes run tests beside this one, as many as there are cores."""
if IS_ONE_OF_MANY:
    # Threads of several processes that wait for the same cores only get in each other's way.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
# Polars looks for this with every query, and what is not there takes longer to find.
os.environ.setdefault("POLARS_QUERY_MONITORING", "0")


TOGETHER = {
    "comparisons of recordings": (
        "tests/comparison/causes/anomalies/test_recorded.py",
        "tests/lab/test_score.py",
        "tests/answers/baselines/test_keeping.py",
        "tests/answers/budgets/test_evaluating.py",
        "tests/answers/comparison/test_rank_sets.py",
        "tests/answers/gate/test_judging.py",
        "tests/test_compare_acceptance.py",
        "tests/test_diagnosis_acceptance.py",
        "tests/test_gate_acceptance.py",
    ),
    "generated ranks": (
        "tests/analyses/ranks/changes/test_comparing.py",
        "tests/analyses/ranks/likeness/test_clusters.py",
        "tests/analyses/ranks/test_generated_ranks.py",
        "tests/analyses/ranks/test_replay.py",
        "tests/rules/findings/test_stragglers.py",
    ),
    "pages": (
        "tests/browser/test_app.py",
        "tests/browser/test_compare.py",
        "tests/browser/test_efficiency.py",
        "tests/browser/test_ranks.py",
        "tests/browser/test_report.py",
        "tests/browser/test_tensorboard.py",
        "tests/browser/test_trace.py",
        "tests/browser/test_watch.py",
    ),
    # Two groups, that no process waits for the other.
    "programs that are recorded": (
        "tests/cli/test_peaks.py",
        "tests/cli/test_record.py",
        "tests/cli/test_record_endings.py",
        "tests/cli/test_record_programs.py",
        "tests/recorder/record/test_endings.py",
        "tests/recorder/record/test_in_program.py",
        "tests/recorder/record/test_watched_programs.py",
        "tests/recorder/record/test_where.py",
    ),
    "programs that are compared": (
        "tests/cli/test_ab_programs.py",
        "tests/lab/test_lab_run.py",
        "tests/watcher/test_watch_programs.py",
    ),
}
"""What one file of a group asks or starts, another one does as well: they share a process, its
answers, its browser and server, and the program that has imported torch."""
_GROUP_OF_FILE = {file: group for group, files in TOGETHER.items() for file in files}


@pytest.fixture(scope="session")
def common_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for tests that read the same recordings again and again, in whichever process.

    Groups of tests that run beside each other are told of one for all of them.
    """
    root = tmp_path_factory.getbasetemp()
    if "TIMESINK_TESTS_FOLDER" in os.environ:
        root = Path(os.environ["TIMESINK_TESTS_FOLDER"])
    elif IS_ONE_OF_MANY:
        # Processes that run tests side by side have folders beside each other.
        root = root.parent
    folder = root / "common-cache"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def own_caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names of folders, each for one test.

    They share a folder, because pytest looks through all names in its own before it makes one.
    """
    folder = tmp_path_factory.mktemp("caches")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(scope="session")
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Iterator[int]]:
    return tmp_path_factory.mktemp("in", numbered=False), itertools.count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, _own_folders: tuple[Path, Iterator[int]]) -> Path:
    """As pytest's own, which looks through the folders of all tests before it makes one.

    Nor is its name longer: names of sockets in it have a limit.
    """
    place, numbers = _own_folders
    name = re.sub(r"\W", "_", request.node.name)[:24]
    folder = place / f"{name}{next(numbers)}"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session", autouse=True)
def _surroundings(common_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is read for several tests is not kept in the user's cache; every process has a core.

    Groups of tests run beside each other, so that processes beside this one would have to share its
    core: to start them, and to unpack a file once more in each, only costs.  Tests that prove what
    several cores do name their number.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIMESINK_CACHE_DIR", str(common_cache))
        # Nor are peaks that the user measured.
        patch.setenv("TIMESINK_DATA_DIR", str(tmp_path_factory.getbasetemp() / "data"))
        for module in (
            "runtime.engine",
            "formats.chrome.decoder_crew",
            "comparison.prefetch",
            "sources.opening",
        ):
            patch.setattr(f"timesink.{module}.usable_cores", lambda: 1)
        yield


@pytest.fixture(autouse=True)
def own_cache(
    request: pytest.FixtureRequest, own_caches: Iterator[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep tests away from each other's caches; real recordings are read once for all of them."""
    if "shared" not in request.fixturenames:
        monkeypatch.setenv("TIMESINK_CACHE_DIR", str(next(own_caches)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long begins first: short files fill the end, and no core waits for another.

    Tests that start programs, a cluster or a browser often wait, beside others that compute.
    """
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    if item.get_closest_marker("whole"):
        return 0
    return 1 if item.path.stem.endswith("acceptance") else 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of a file run in one process, and so do files that ask about the same runs."""
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - one test needs no xdist

    class TogetherScheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return _GROUP_OF_FILE.get(file, file)

    return TogetherScheduling(config, log)


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: do not look through them for garbage again and again."""
    gc.collect()
    gc.freeze()

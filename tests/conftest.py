"""Fixtures every test may use."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Each of many small frames is worked on by one thread: several cost more than they help, and tests
# run beside each other.  Polars reads it when it is imported.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import timesink
from rank_sets import make_here
from remembered import remember_answers, remember_pairs
from shared_folder import find_shared
from timesink.runtime.engine import LocalEngine

# Machines that run tests may be busy: a slow example is no failure.
# The same examples every time, and few: what lands must not depend on luck nor take long.  To look
# for new ones, run with HYPOTHESIS_PROFILE=search.  Tests name no number unless it is smaller.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", _PATIENT, derandomize=True, max_examples=6)
settings.register_profile("search", _PATIENT, max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# Programs that tests start need not compile timesink anew each time, whatever the machine prefers.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Shells let their background jobs ignore it, and so would programs that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Before tests import these functions.
remember_pairs()


@pytest.fixture(scope="session")
def shared_root() -> Path:
    """The folder with real recordings; tests that need it skip without it."""
    folder = find_shared()
    if folder is not None:
        return folder
    reason = "needs the folder of real recordings: set TIMESINK_SHARED"
    if os.environ.get("TIMESINK_REQUIRE_SHARED") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def two_ranks(shared_root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run, and one in which rank 3 stalls: of eight ranks the first and that one.

    All tests get the same folders: what is found in recordings is kept for their place.
    """
    folder = tmp_path_factory.mktemp("two-ranks")
    for run in ("ddp8_normal", "ddp8_stall_rank3"):
        (folder / run).mkdir()
        for file in (shared_root / "data/h200/traces" / run).glob("rank[03].*"):
            (folder / run / file.name).symlink_to(file)
    return folder / "ddp8_normal", folder / "ddp8_stall_rank3"


@pytest.fixture(scope="session", autouse=True)
def _remembered_answers() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        folder = find_shared()
        recordings = [] if folder is None else [folder / "data"]
        remember_answers(patch, timesink.sample().parent, *recordings)
        yield


@pytest.fixture(scope="module")
def reads_here() -> Iterator[None]:
    """Files are read in this process: that engines start others is proven in tests/runtime."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalEngine, "run", make_here)
        yield


@pytest.fixture
def sample_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled recording as nobody has read it: for tests of what reading leaves behind."""
    return Path(shutil.copy(timesink.sample(), tmp_path_factory.mktemp("sample")))


@pytest.fixture
def memory() -> Iterator[Any]:
    """Files behind `memory://` URLs, in this test alone."""
    system = pytest.importorskip("fsspec").filesystem("memory")
    yield system
    system.store.clear()

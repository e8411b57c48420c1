"""Which remedy belongs to which failure."""

from __future__ import annotations

import pytest

from timesink.recorder.ncu.collection import program_failed, why_nothing
from timesink.recorder.ncu.plan import NcuPlan, launch_picks
from timesink.recorder.ncu.process import NcuLog

PLAN = NcuPlan(("train",))


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ("ERR_NVGPUCTRPERM - The user does not have permission", "--cap-add=SYS_ADMIN"),
        ("Profiling failed because a driver resource was unavailable.", "torch.profiler"),
        ("Failed to open lock file /tmp/nsight-compute-lock", "TMPDIR"),
        ("Failed to initialize the profiler", "--ncu"),
        ("LibraryNotLoaded", "nvidia-smi"),
        ("unrecognised option '--import-sass'. Use --help for further details.", "too old"),
        ('Failed to profile "ncclKernel" in process 17', "collectives"),
        ("Failed to save report: No space left on device", "-o"),
        ("Whatever", "by hand"),
    ],
)
def test_errors_of_the_profiler(error: str, remedy: str):
    log = NcuLog(notes=["==ERROR== Something else", f"==ERROR== {error}"])
    if error == "Whatever":
        log.notes.pop(0)
    failure = why_nothing(PLAN, log, 1)
    assert error in failure.message
    assert remedy in failure.hint


def test_no_kernels_with_filters():
    plan = NcuPlan(("train",), every=launch_picks(7), launches=(10**9, None))
    failure = why_nothing(plan, NcuLog(connected=1), 0)
    assert failure.hint == "try without --range and --every"


def test_no_kernels_at_all():
    assert "NVIDIA GPU" in why_nothing(PLAN, NcuLog(), 0).hint
    assert "another process" in why_nothing(PLAN, NcuLog(connected=1), 0).hint


def test_profiler_that_says_nothing():
    assert "exit code 3" in why_nothing(PLAN, NcuLog(), 3).message
    killed = why_nothing(PLAN, NcuLog(), -9)
    assert killed.message == "Nsight Compute was killed (signal 9, SIGKILL)"
    assert "memory" in killed.hint


@pytest.mark.parametrize("code", [-11, 139], ids=["itself", "below a script"])
def test_profiler_that_crashes(code: int):
    crashed = why_nothing(PLAN, NcuLog(connected=1), code)
    assert crashed.message == "Nsight Compute itself crashed (signal 11, SIGSEGV)"
    assert "--ncu PATH" in crashed.hint


def test_program_that_crashes_is_not_the_profiler():
    failure = why_nothing(PLAN, NcuLog(application_code=139), 139)
    assert failure.message.startswith("the program ended")


def test_program_that_fails_or_is_killed():
    log = NcuLog(application_code=11, connected=1, disconnected=1)
    gone = NcuLog(application_code=11, connected=1)
    failed, killed = program_failed(log), program_failed(gone)
    assert failed is not None
    assert killed is not None
    assert failed.message == "the program ended with exit code 11"
    assert killed.message == "the program was killed by signal 11 (SIGSEGV)"
    assert program_failed(NcuLog()) is None


def test_program_that_fails_before_its_first_kernel():
    failure = why_nothing(PLAN, NcuLog(application_code=2), 2)
    assert failure.message.startswith("the program ended with exit code 2")

"""What the words of Nsight Compute mean."""

from __future__ import annotations

from timesink.recorder.ncu.process import NcuLog

CRASH = b"""\
==WARNING== Note: Running with unmodified GPU clocks.
==PROF== Connected to process 4935 (/usr/bin/python3.12)
==PROF== Profiling "distribution_elementwise_grid..." - 0: 0%....50%....100% - 9 passes
==PROF== Profiling "vectorized_elementwise_kernel" - 1: 0%....50%....100% - 1 pass
==WARNING== Note: Running with unmodified GPU clocks.
==PROF== Disconnected from process 4935
==ERROR== The application returned an error code (1).
==PROF== Report: /tmp/crash.ncu-rep
"""


def hear(text: bytes) -> NcuLog:
    log = NcuLog()
    for line in text.splitlines(keepends=True):
        log.line(line)
    return log


def test_program_that_fails():
    log = hear(CRASH)
    assert (log.kernels, log.application_code) == (2, 1)
    assert (log.connected, log.disconnected) == (1, 1)
    assert log.errors == []


def test_notes_are_kept_once_and_whole():
    assert hear(CRASH).notes == [
        "==WARNING== Note: Running with unmodified GPU clocks.",
        "==ERROR== The application returned an error code (1).",
    ]


def test_errors_of_the_profiler():
    assert hear(b"==ERROR== Failed to profile\n==ERROR== Again\n").errors == [
        "Failed to profile",
        "Again",
    ]


def test_kernels_are_told_as_they_come():
    kernels: list[tuple[int, str, int | None]] = []
    log = NcuLog(on_kernel=lambda *kernel: kernels.append(kernel))
    log.line(b'==PROF== Profiling "gemm" - 0 (1/4): 0%....50%....100% - 38 passes\n')
    log.line(b'==PROF== Profiling "relu" - 1: 0%\n')
    log.line(b"....50%....100% - 9 passes\n")
    assert kernels == [(1, "gemm", 4), (2, "relu", None)]


def test_shutting_down():
    assert hear(b"==PROF== Trying to shutdown target application\n").is_shutting_down
    assert not hear(CRASH).is_shutting_down

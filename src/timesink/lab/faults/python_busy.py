"""The main thread computes in Python."""

from __future__ import annotations

from timesink.lab.faults.fault import CODE, Fault

FAULT = Fault(
    name="python_busy",
    kind=CODE,
    summary="the main thread counts in Python once per cycle",
    strength="12 ms",
    cause=("host_code",),
    switches={"busy_ms": 12},
)

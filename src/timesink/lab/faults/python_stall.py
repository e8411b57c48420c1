"""The main thread sleeps."""

from __future__ import annotations

from timesink.lab.faults.fault import CODE, Fault

FAULT = Fault(
    name="python_stall",
    kind=CODE,
    summary="the main thread sleeps once per cycle",
    strength="12 ms",
    cause=("host_code",),
    switches={"sleep_ms": 12},
)

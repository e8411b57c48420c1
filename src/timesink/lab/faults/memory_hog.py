"""Others read and write the memory of the host."""

from __future__ import annotations

from timesink.lab.faults.fault import LOAD, Fault

FAULT = Fault(
    name="memory_hog",
    kind=LOAD,
    summary="processes that copy memory of the host",
    strength="256 MiB at a time, one process for every other core",
    # Few machines count what their memory carries; that others run is seen everywhere.
    anomaly=("cpu_contention", "host_memory"),
    load=("memory_streams",),
)

"""Others take the cores."""

from __future__ import annotations

from timesink.lab.faults.fault import LOAD, Fault

FAULT = Fault(
    name="cpu_hog",
    kind=LOAD,
    summary="processes that count, several for every core",
    strength="3 processes per core",
    anomaly=("cpu_contention",),
    # Whoever loads batches has to wait for a core as well.
    cause=("cpu_contention", "data_loading"),
    load=("busy_cores", "--per-core", "3"),
)

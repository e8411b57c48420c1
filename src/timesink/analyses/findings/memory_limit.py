"""Devices whose memory is nearly full."""

from __future__ import annotations

from typing import Any

from timesink.analyses.findings.finding import MEDIUM, Evidence, Finding
from timesink.analyses.memory.curve import memory_peaks
from timesink.model import units
from timesink.model.trace import Trace

NEAR_LIMIT = 0.9


def memory_limit(trace: Trace) -> list[Finding]:
    """Peak allocation above nine tenths of the device's memory."""
    return [
        _finding(peak)
        for peak in memory_peaks(trace).to_dicts()
        if peak["capacity_bytes"]
        and peak["peak_allocated_bytes"] > NEAR_LIMIT * peak["capacity_bytes"]
    ]


def _finding(peak: dict[str, Any]) -> Finding:
    used, capacity = peak["peak_allocated_bytes"], peak["capacity_bytes"]
    numbers = {"peak_allocated_bytes": used, "capacity_bytes": capacity}
    if peak["peak_reserved_bytes"] is not None:
        numbers["peak_reserved_bytes"] = peak["peak_reserved_bytes"]
    return Finding(
        rule="memory-near-limit",
        title=f"Memory of {peak['device']} is nearly full",
        sentence=f"{peak['device']} peaks at {units.size_bytes(used)} allocated of "
        f"{units.size_bytes(capacity)} ({units.share(used, capacity)}).",
        advice="Leave room, or expect allocator retries and failures: smaller batches, gradient "
        "checkpointing, mixed precision, sharded optimizer states.",
        share=0.0,
        evidence=(Evidence("device", peak["device"], numbers),),
        least_severity=MEDIUM,
    )

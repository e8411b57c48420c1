"""Devices whose memory is nearly full."""

from __future__ import annotations

from typing import Any

from timesink.analyses.findings.finding import MEDIUM, Evidence, Finding
from timesink.analyses.memory.curve import memory_peaks
from timesink.model import units
from timesink.model.trace import Trace

NEAR_LIMIT = 0.9


def memory_limit(trace: Trace) -> list[Finding]:
    """Peak allocation above nine tenths of the device's memory; one finding for all devices.

    >>> import timesink
    >>> memory_limit(timesink.open(timesink.sample()))
    []
    """
    full = [peak for peak in memory_peaks(trace).to_dicts() if _fullness(peak) > NEAR_LIMIT]
    return [_finding(sorted(full, key=_fullness, reverse=True))] if full else []


def _fullness(peak: dict[str, Any]) -> float:
    capacity = peak["capacity_bytes"] or 0
    return float(peak["peak_allocated_bytes"] / capacity) if capacity > 0 else 0.0


def _finding(full: list[dict[str, Any]]) -> Finding:
    worst, many = full[0], len(full) > 1
    used, capacity = worst["peak_allocated_bytes"], worst["capacity_bytes"]
    names = f"{len(full)} devices" if many else worst["device"]
    others = f", the most of {len(full)} devices above {units.share(NEAR_LIMIT, 1)}" if many else ""
    return Finding(
        rule="memory-near-limit",
        title=f"Memory of {names} is nearly full",
        sentence=f"{worst['device']} peaks at {units.size_bytes(used)} allocated of "
        f"{units.size_bytes(capacity)} ({units.share(used, capacity)}){others}.",
        advice="Leave room in device memory, or expect allocator retries and failures: smaller "
        "batches, gradient checkpointing, mixed precision, sharded optimizer states.",
        share=0.0,
        evidence=tuple(map(_evidence, full)),
        least_severity=MEDIUM,
    )


def _evidence(peak: dict[str, Any]) -> Evidence:
    sizes = ("peak_allocated_bytes", "capacity_bytes", "peak_reserved_bytes")
    numbers = {size: peak[size] for size in sizes if peak[size] is not None}
    return Evidence("device", peak["device"], numbers)

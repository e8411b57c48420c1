"""What a memory snapshot shows that ends in failed allocations: growth, fragments, failures."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.model import units
from timesink.model.findings import Evidence, RunFinding
from timesink.model.trace import Trace
from timesink.rules.register import make_finding
from timesink.rules.thresholds import MemoryLimits

_LASTING = ("parameters", "optimizer_state", "gradients")
"""What stays by its nature: the first steps take it, and no later one does."""
_MAX_PLACES = 3


def failed_allocation(trace: Trace) -> list[RunFinding]:
    """An allocation that failed: how much was asked for, and what was reserved and free."""
    if not trace.has_snapshot:
        return []
    from timesink.analyses.snapshot.tables import failed_allocations, reserved_memory  # noqa: PLC0415 - few have one

    failures = failed_allocations(trace)
    if failures.is_empty():
        return []
    first = failures.row(0, named=True)
    device = first["device"]
    free = _sum(reserved_memory(trace).filter(device=device), "free_bytes")
    where = f" in {first['place']}" if first["place"] else ""
    return [
        make_finding(
            "failed-allocation",
            f"An allocation of {units.brief_bytes(first['requested_bytes'])} failed on {device}"
            f"{where}: the device had {units.brief_bytes(first['device_free_bytes'])} left, and "
            f"{units.brief_bytes(free)} of what was reserved was free.",
            least_severity="high",
            evidence=(
                Evidence(
                    "device",
                    device,
                    numbers={
                        "requested_bytes": first["requested_bytes"],
                        "device_free_bytes": first["device_free_bytes"],
                        "reserved_free_bytes": free,
                        "failures": failures.height,
                    },
                ),
            ),
        )
    ]


def growing_memory(trace: Trace) -> list[RunFinding]:
    """Live memory that grows in each of the last steps, and the calls that keep it."""
    if not trace.has_snapshot:
        return []
    from timesink.analyses.snapshot.tables import memory_by_step, unfreed_blocks  # noqa: PLC0415 - few have one

    findings = []
    kept = unfreed_blocks(trace)
    for (device,), steps in memory_by_step(trace).group_by("device", maintain_order=True):
        # The first steps take what stays: optimizer state, caches, workspaces.
        later = steps[MemoryLimits.warm_up_steps :]
        growth = later["growth_bytes"].to_numpy()
        if later.height < MemoryLimits.min_steps or growth.min() <= 0:
            continue
        median = float(np.median(growth))
        if median < MemoryLimits.min_growth_bytes:
            continue
        mine = kept.filter(
            (kept["device"] == device)
            & ~kept["category"].is_in(_LASTING)
            & (kept["steps"] >= MemoryLimits.min_steps)
        )
        places = mine.head(_MAX_PLACES).select("place", "bytes", "blocks").rows()
        named = f" Most of it is kept by {places[0][0]}." if places and places[0][0] else ""
        findings.append(
            make_finding(
                "growing-memory",
                f"Live memory on {device} grows in each of the last {later.height} steps, by "
                f"{units.brief_bytes(median)} a step.{named}",
                least_severity="high",
                evidence=(
                    Evidence("device", str(device), numbers={"growth_bytes_per_step": median}),
                    *(
                        Evidence(
                            "place", place or "unknown", numbers={"kept_bytes": size, "blocks": n}
                        )
                        for place, size, n in places
                    ),
                ),
            )
        )
    return findings


def fragmented_memory(trace: Trace) -> list[RunFinding]:
    """Reserved memory that nothing uses, in pieces that large requests do not fit into."""
    if not trace.has_snapshot:
        return []
    from timesink.analyses.snapshot.tables import reserved_memory  # noqa: PLC0415 - as above

    findings = []
    for (device,), rows in reserved_memory(trace).group_by("device", maintain_order=True):
        reserved, free = _sum(rows, "reserved_bytes"), _sum(rows, "free_bytes")
        largest = max(rows["largest_free_bytes"].to_list(), default=0)
        stuck = free - _sum(rows, "empty_segments_bytes")
        if stuck < MemoryLimits.min_free_bytes or stuck < MemoryLimits.min_free_share * reserved:
            continue
        findings.append(
            make_finding(
                "fragmented-memory",
                f"{units.brief_bytes(stuck)} of {units.brief_bytes(reserved)} that the allocator "
                f"reserves on {device} ({units.share(stuck, reserved)}) is free and lies between "
                f"used blocks; the largest free block has {units.brief_bytes(largest)}.",
                least_severity="medium",
                evidence=(
                    Evidence(
                        "device",
                        str(device),
                        numbers={
                            "reserved_bytes": reserved,
                            "free_bytes": free,
                            "largest_free_bytes": largest,
                        },
                    ),
                ),
            )
        )
    return findings


def _sum(rows: pl.DataFrame, column: str) -> int:
    return int(rows[column].sum() or 0)

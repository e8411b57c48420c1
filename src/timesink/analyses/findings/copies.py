"""Copies from or to pageable memory."""

from __future__ import annotations

import polars as pl

from timesink.analyses.breakdown import average_step
from timesink.analyses.findings.finding import Evidence, Finding
from timesink.analyses.roles import role_ranges
from timesink.analyses.steps import find_steps
from timesink.model import intervals, units
from timesink.model.trace import Trace

LEAST_SHARE = 0.005
PINNED_SPEEDUP = 2.0
"""Copies from pinned memory reach at least twice the rate, and do not block the host."""


def pageable_copies(trace: Trace) -> list[Finding]:
    """Host-device copies that go through a staging buffer and hold up the host."""
    average = average_step(trace)
    copies = _pageable(trace)
    if not average or not average["total_ns"] or copies.is_empty():
        return []
    complete = find_steps(trace).filter("complete")
    exposed_ns = _exposed(trace, copies, complete) / complete.height
    total = average["total_ns"]
    if exposed_ns <= LEAST_SHARE * total:
        return []
    volume = int(copies["bytes"].sum() or 0)
    return [
        Finding(
            rule="pageable-copies",
            title="Copies from pageable memory",
            sentence=f"{units.counted(copies.height, 'copies')} ({units.size_bytes(volume)}) use "
            f"pageable host memory; {units.duration_ns(exposed_ns)} of each "
            f"{units.duration_ns(total)} step ({units.share(exposed_ns, total)}) goes to them "
            "while no kernel runs.",
            advice="Pin the host memory (pin_memory=True) and copy with non_blocking=True, on a "
            "stream of its own if possible.",
            share=exposed_ns / total,
            gain_ns=exposed_ns * (1 - 1 / PINNED_SPEEDUP),
            gain_basis="pinned copies are twice as fast; overlap would save more",
            evidence=_evidence(copies),
        )
    ]


def _pageable(trace: Trace) -> pl.DataFrame:
    return (
        trace.lazy("device")
        .filter(pl.col("kind") == "memcpy")
        .select("name", "ts_ns", "dur_ns", "bytes")
        .filter(pl.col("name").cast(pl.String).str.contains("Pageable"))
        .collect()
    )


def _exposed(trace: Trace, copies: pl.DataFrame, steps: pl.DataFrame) -> int:
    """Time inside the steps in which such a copy ran and no kernel did."""
    ranges = intervals.from_starts(copies["ts_ns"].to_numpy(), copies["dur_ns"].to_numpy())
    alone = intervals.subtract(ranges, role_ranges(trace)["kernel"])
    windows = steps.select("start_ns", "end_ns").to_numpy()
    return int(intervals.coverage_within(alone, windows).sum())


def _evidence(copies: pl.DataFrame) -> tuple[Evidence, ...]:
    by_name = copies.group_by("name").agg(
        pl.len().alias("copies"), pl.col("dur_ns").sum(), pl.col("bytes").sum()
    )
    return tuple(
        Evidence(
            "copy",
            str(row["name"]),
            {"copies": row["copies"], "total_us": row["dur_ns"] / 1000, "bytes": row["bytes"] or 0},
        )
        for row in by_name.sort("dur_ns", descending=True).head(3).to_dicts()
    )

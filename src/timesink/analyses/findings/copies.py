"""Copies from or to pageable memory."""

from __future__ import annotations

import polars as pl

from timesink.analyses.columns import device_columns, device_names
from timesink.analyses.findings.finding import Evidence, Finding
from timesink.analyses.findings.per_step import Steps, complete_steps
from timesink.analyses.roles import role_ranges
from timesink.model import intervals, units
from timesink.model.trace import Trace

LEAST_SHARE = 0.005
PINNED_SPEEDUP = 2.0
"""Copies from pinned memory reach at least twice the rate, and do not block the host."""


def pageable_copies(trace: Trace) -> list[Finding]:
    """Host-device copies that go through a staging buffer and hold up the host.

    >>> import timesink
    >>> pageable_copies(timesink.open(timesink.sample()))
    []
    """
    steps = complete_steps(trace)
    copies = _pageable(trace, steps)
    if copies.is_empty():
        return []
    ranges = intervals.from_starts(copies["ts_ns"].to_numpy(), copies["dur_ns"].to_numpy())
    exposed_ns = steps.per_step_ns(intervals.subtract(ranges, role_ranges(trace)["kernel"]))
    if exposed_ns <= LEAST_SHARE * steps.length_ns:
        return []
    volume = int(copies["bytes"].sum() or 0)
    size = f" ({units.size_bytes(volume)})" if volume else ""
    return [
        Finding(
            rule="pageable-copies",
            title="Copies from pageable memory",
            sentence=f"{units.counted(copies.height, 'copies')}{size} "
            f"{'uses' if copies.height == 1 else 'use'} pageable host memory; "
            f"{units.duration_ns(exposed_ns)} of {steps.each} "
            f"({units.share(exposed_ns, steps.length_ns)}) goes to such copies while no kernel "
            "runs.",
            advice="Pin the host memory (pin_memory=True) and copy with non_blocking=True, on a "
            "stream of its own if possible.",
            share=exposed_ns / steps.length_ns,
            gain_ns=exposed_ns * (1 - 1 / PINNED_SPEEDUP),
            gain_basis="pinned copies are twice as fast; overlap would save more",
            evidence=_evidence(copies),
        )
    ]


def _pageable(trace: Trace, steps: Steps) -> pl.DataFrame:
    events = device_columns(trace)
    rows = device_names(trace).rows(lambda name: "Pageable" in name)
    rows = rows[(events["kind"][rows] == "memcpy").to_numpy()]
    rows = rows[steps.hold(events["ts_ns"].to_numpy()[rows])]
    copies: pl.DataFrame = events.select("name", "ts_ns", "dur_ns")[rows]
    if copies.is_empty():
        return copies
    sizes = trace.lazy("device").select("bytes").collect()["bytes"]
    return copies.with_columns(sizes[rows])


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

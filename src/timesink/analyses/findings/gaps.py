"""Single long gaps in the work of a device."""

from __future__ import annotations

from typing import Any

import polars as pl

from timesink.analyses.breakdown import average_step
from timesink.analyses.device.idle import DATA_LOADING, largest_gaps
from timesink.analyses.findings.finding import Evidence, Finding
from timesink.analyses.kernels.names import short_kernel_name
from timesink.analyses.names import is_collective_call
from timesink.analyses.steps import find_steps
from timesink.analyses.texts import matching
from timesink.model import units
from timesink.model.trace import Trace

LOOKED_AT = 50
LEAST_GAP_NS = 1_000_000
LEAST_GAP_SHARE = 0.05
"""A gap is large when it takes this much of an average step, and at least a millisecond."""
_SHOWN = 3


def large_gaps(trace: Trace) -> list[Finding]:
    """Gaps inside the steps that are long by themselves."""
    average = average_step(trace)
    steps = find_steps(trace).filter("complete")
    if not average or not average["total_ns"]:
        return []
    least = max(LEAST_GAP_NS, LEAST_GAP_SHARE * average["total_ns"])
    gaps = largest_gaps(trace, LOOKED_AT).filter(
        (pl.col("gap_ns") >= least) & pl.col("step").is_in(steps["name"].implode())
    )
    # Fetching data and communication are findings of their own.
    gaps = gaps.filter(
        (gaps["cause"] != DATA_LOADING)
        & ~pl.Series(matching(gaps["host_name"], is_collective_call))
    )
    if gaps.is_empty():
        return []
    lost = int(gaps["gap_ns"].sum())
    whole = int((steps["end_ns"] - steps["start_ns"]).sum())
    longest = gaps.row(0, named=True)
    return [
        Finding(
            rule="large-gaps",
            title="Large gaps in device work",
            sentence=f"{units.counted(gaps.height, 'gaps')} of {units.duration_ns(least)} or more "
            f"{'takes' if gaps.height == 1 else 'take'} {units.share(lost, whole)} of the steps; "
            "the longest lasts "
            f"{units.duration_ns(longest['gap_ns'])}, in step {longest['step']}, "
            f"{_meanwhile(longest)}.",
            advice="Look at what the host does there; move it to another thread, overlap it with "
            "device work, or do it less often.",
            share=min(1.0, lost / whole) if whole else 0.0,
            gain_ns=lost / steps.height,
            gain_basis="the device works through these gaps",
            evidence=tuple(_evidence(gap) for gap in gaps.head(_SHOWN).to_dicts()),
        )
    ]


def _meanwhile(gap: dict[str, Any]) -> str:
    if gap["host_name"] is None:
        return "with no single host event behind it"
    return f"while the host was in {gap['host_name']}"


def _evidence(gap: dict[str, Any]) -> Evidence:
    before, after = (short_kernel_name(gap[side]) for side in ("before", "after"))
    name = f"in step {gap['step']} from {before} to {after}"
    if gap["host_name"] is not None:
        name += f", host in {gap['host_name']}"
    return Evidence("gap", name, {"gap_us": gap["gap_ns"] / 1000, "start_ns": gap["start_ns"]})

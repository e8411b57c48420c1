"""How the time of each step divides: device work first, then what the host did meanwhile."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.once import once_per_trace
from timesink.analyses.roles import ROLES, role_ranges
from timesink.analyses.steps import find_steps
from timesink.model import intervals
from timesink.model.trace import Trace

PARTS = (*ROLES, "other")
"""The parts of a step, in order of priority; `other` is what no role covers."""


@once_per_trace
def step_breakdown(trace: Trace) -> pl.DataFrame:
    """One row per step: its length and its parts, which add up to it.

    A moment in which several things happened counts for the first of `PARTS` among them.
    """
    steps = find_steps(trace)
    bounds = steps.select("start_ns", "end_ns").to_numpy().reshape(-1, 2)
    parts, left = intervals.waterfall(role_ranges(trace), bounds)
    parts["other"] = left
    return steps.select(
        "name",
        (pl.col("end_ns") - pl.col("start_ns")).alias("total_ns"),
        *(pl.Series(f"{part}_ns", parts[part].astype(np.int64)) for part in PARTS),
        "complete",
    )


def average_step(trace: Trace) -> dict[str, float]:
    """Mean length of the complete steps and of their parts, in ns; empty without steps."""
    complete = step_breakdown(trace).filter("complete")
    if complete.is_empty():
        return {}
    columns = ["total_ns", *(f"{part}_ns" for part in PARTS)]
    # Sums stay whole numbers; only the division is rounded.
    return {name: int(complete[name].sum()) / complete.height for name in columns}

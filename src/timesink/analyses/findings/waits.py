"""Calls that wait for the device, again and again."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.breakdown import average_step
from timesink.analyses.columns import host_columns, host_names
from timesink.analyses.findings.finding import Evidence, Finding
from timesink.analyses.forest import OPERATOR, call_forest
from timesink.analyses.links import link_launches
from timesink.analyses.names import waits_for_device
from timesink.analyses.steps import find_steps
from timesink.model import units
from timesink.model.trace import Trace

LEAST_SHARE = 0.05
FEWEST_PER_STEP = 10
"""One or two waits belong to most steps: the loss is printed, the clock is read."""


def many_waits(trace: Trace) -> list[Finding]:
    """Operators such as `aten::item` that hold the host until the device has caught up."""
    average = average_step(trace)
    waiting = _waiting_operators(trace)
    if not average or not average["total_ns"] or waiting.is_empty():
        return []
    steps = max(1, find_steps(trace).filter("complete").height)
    calls = int(waiting["calls"].sum()) / steps
    spent = int(waiting["host_ns"].sum()) / steps
    share = min(1.0, spent / average["total_ns"])
    if calls < FEWEST_PER_STEP or share < LEAST_SHARE:
        return []
    return [
        Finding(
            rule="many-waits",
            title="The host waits for the device again and again",
            sentence=f"{units.count(round(calls))} operators a step wait for the device; they "
            f"take {units.duration_ns(spent)} of each {units.duration_ns(average['total_ns'])} "
            f"step ({units.share(share, 1)}) on the host.",
            advice="Read values rarely: keep sums and metrics on the device instead of .item() "
            "and .cpu(), avoid conditions on tensor values, use non_blocking copies.",
            share=share,
            gain_ns=spent,
            gain_basis="none of these calls is needed in the step",
            evidence=tuple(
                Evidence(
                    "operator",
                    row["name"],
                    {"calls_per_step": row["calls"] / steps, "host_us": row["host_ns"] / 1000},
                )
                for row in waiting.head(3).to_dicts()
            ),
        )
    ]


def _waiting_operators(trace: Trace) -> pl.DataFrame:
    """Operators that made a waiting call themselves: how often, and how long they took."""
    forest, links = call_forest(trace), link_launches(trace)
    waits = np.zeros(host_columns(trace).height, dtype=np.bool_)
    waits[host_names(trace).rows(waits_for_device)] = True
    nodes = links.call_node[waits[links.calls]]
    nodes = np.unique(forest.stands_for[nodes[nodes >= 0]])
    nodes = nodes[forest.role[nodes] == OPERATOR]
    names = pl.Series("name", forest.names, dtype=pl.String).gather(pl.Series(forest.name[nodes]))
    spent = pl.Series("host_ns", forest.end[nodes] - forest.start[nodes], dtype=pl.Int64)
    return (
        pl.DataFrame([names, spent])
        .group_by("name")
        .agg(pl.len().alias("calls"), pl.col("host_ns").sum())
        .sort("host_ns", "name", descending=[True, False])
    )

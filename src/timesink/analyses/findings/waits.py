"""Calls that wait for the device, again and again."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.columns import host_columns, host_names
from timesink.analyses.device.idle_causes import idle_causes
from timesink.analyses.findings.finding import Evidence, Finding
from timesink.analyses.findings.per_step import Steps, complete_steps
from timesink.analyses.forest import OPERATOR, call_forest
from timesink.analyses.links import link_launches
from timesink.analyses.names import waits_for_device
from timesink.model import units
from timesink.model.trace import Trace

LEAST_SHARE = 0.05
FEWEST_PER_STEP = 10
"""One or two waits belong to most steps: the loss is printed, the clock is read."""


def many_waits(trace: Trace) -> list[Finding]:
    """Operators such as `aten::item` that hold the host until the device has caught up.

    They cost no more than the time in which the device has nothing to do.

    >>> import timesink
    >>> many_waits(timesink.open(timesink.sample()))
    []
    """
    steps, idle = complete_steps(trace), idle_causes(trace)
    if not steps.length_ns or idle.is_empty():
        return []
    waiting = _waiting_operators(trace, steps)
    calls = waiting.height / steps.count
    spent = steps.per_step_ns(waiting.select("start_ns", "end_ns").to_numpy())
    cost = min(spent, int(idle["idle_ns"].to_numpy().max()) / steps.count)
    if calls < FEWEST_PER_STEP or cost < LEAST_SHARE * steps.length_ns:
        return []
    return [
        Finding(
            rule="many-waits",
            title="The host waits for the device again and again",
            sentence=f"{units.count(round(calls))} operators{steps.a_step} wait for the device; "
            f"they take {units.duration_ns(spent)} of {steps.each} "
            f"({units.share(spent, steps.length_ns)}) on the host.",
            advice="Read values rarely: keep sums and metrics on the device instead of .item() "
            "and .cpu(), avoid conditions on tensor values, use non_blocking copies.",
            share=cost / steps.length_ns,
            gain_ns=cost,
            gain_basis="none of these calls is needed, and the device works instead",
            evidence=_evidence(waiting, steps),
        )
    ]


def _waiting_operators(trace: Trace, steps: Steps) -> pl.DataFrame:
    """Operators that made a waiting call themselves, inside the steps."""
    forest, links = call_forest(trace), link_launches(trace)
    waits = np.zeros(host_columns(trace).height, dtype=np.bool_)
    waits[host_names(trace).rows(waits_for_device)] = True
    nodes = links.call_node[waits[links.calls]]
    nodes = np.unique(forest.stands_for[nodes[nodes >= 0]])
    nodes = nodes[(forest.role[nodes] == OPERATOR) & steps.hold(forest.start[nodes])]
    names = pl.Series("name", forest.names, dtype=pl.String).gather(pl.Series(forest.name[nodes]))
    return pl.DataFrame(
        [
            names,
            pl.Series("start_ns", forest.start[nodes], dtype=pl.Int64),
            pl.Series("end_ns", forest.end[nodes], dtype=pl.Int64),
        ]
    )


def _evidence(waiting: pl.DataFrame, steps: Steps) -> tuple[Evidence, ...]:
    longest = (
        waiting.group_by("name")
        .agg(
            (pl.len() / steps.count).alias("calls_per_step"),
            ((pl.col("end_ns") - pl.col("start_ns")).sum() / 1000).alias("host_us"),
        )
        .sort("host_us", "name", descending=[True, False])
        .head(3)
    )
    return tuple(Evidence("operator", row.pop("name"), row) for row in longest.to_dicts())

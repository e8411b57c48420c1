"""What changed between two runs, operator by operator, in time per step."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.call_times import node_times
from timesink.analyses.diff.step_shares import CALL_ROLES, step_shares
from timesink.analyses.forest import call_forest
from timesink.analyses.names import is_data_loader
from timesink.analyses.statistics.ranks import effect_size, rank_p
from timesink.analyses.steps import find_steps
from timesink.model import intervals
from timesink.model.arrays import Floats
from timesink.model.trace import Trace

_AMOUNTS = ("calls", "host_self_ns", "device_self_ns")
_SIDES = ("left", "right")

DATA_LOADER = "data loader"
"""Stands for every class of data loaders, which two runs need not share."""

SCHEMA = {
    "name": pl.String(),
    **{f"{side}_{amount}": pl.Float64() for amount in _AMOUNTS for side in _SIDES},
    "left_share_ns": pl.Float64(),
    "right_share_ns": pl.Float64(),
    "change_ns": pl.Float64(),
    "left_spread_ns": pl.Float64(),
    "right_spread_ns": pl.Float64(),
    "effect_size": pl.Float64(),
    "p_value": pl.Float64(),
}


def operator_changes(left: Trace, right: Trace) -> pl.DataFrame:
    """One row per call name, the largest change first; means over complete steps.

    Data loaders of all classes share a row.

    The share is the part of a step that belongs to the calls alone (see `step_shares`), so shares
    add up to the step and changes to the change of the step.  Self times do not: what runs in
    parallel counts for each.  Beside each change stand the standard deviation of the shares over
    steps, how often a step of the right run spends more than one of the left (-1 to 1), and the
    p-value of a rank test; these are null with too few steps.

    >>> import timesink
    >>> trace = timesink.open(timesink.sample())
    >>> float(operator_changes(trace, trace)["change_ns"].abs().sum())
    0.0
    """
    shares = [_shares(left), _shares(right)]
    amounts = [_amounts(left), _amounts(right)]
    names = sorted({*shares[0], *shares[1], *amounts[0], *amounts[1]})
    steps = [_complete_steps(left), _complete_steps(right)]
    both = [
        [found.get(name, np.zeros(many)) for found, many in zip(shares, steps, strict=True)]
        for name in names
    ]
    rows = [
        (*_row(name, sides, amounts), p)
        for name, sides, p in zip(names, both, _p_values(both), strict=True)
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row").sort(
        pl.col("change_ns").abs(), "name", descending=[True, False]
    )


def _shares(trace: Trace) -> dict[str, Floats]:
    """For each call name its share of every complete step."""
    steps = _complete_steps(trace)
    shares: dict[str, Floats] = {}
    for step, name, share in step_shares(trace).iter_rows():
        shares.setdefault(_common(name), np.zeros(steps))[step] += share
    return shares


def _complete_steps(trace: Trace) -> int:
    return find_steps(trace).filter("complete").height


def _common(name: str) -> str:
    return DATA_LOADER if is_data_loader(name) else name


def _amounts(trace: Trace) -> dict[str, dict[str, float]]:
    """Calls, host and device self time of each call name per complete step."""
    forest, times = call_forest(trace), node_times(trace)
    nodes = np.flatnonzero(np.isin(forest.role, CALL_ROLES))
    nodes = nodes[forest.stands_for[nodes] == nodes]
    steps = find_steps(trace).filter("complete")
    bounds = (steps[f"host_{side}_ns"].to_numpy() for side in ("start", "end"))
    nodes = nodes[intervals.holding(forest.start[nodes], *bounds) >= 0]
    names = pl.Series([_common(name) for name in forest.names], dtype=pl.String)
    table = (
        pl.DataFrame(
            {
                "name": names.gather(forest.name[nodes]),
                "host_self_ns": times.host_self[nodes],
                "device_self_ns": times.device_self[nodes],
            }
        )
        .group_by("name")
        .agg(
            pl.len().alias("calls") / steps.height,
            pl.col("host_self_ns", "device_self_ns").sum() / steps.height,
        )
    )
    return {row["name"]: row for row in table.to_dicts()}


def _p_values(both: list[list[Floats]]) -> list[float | None]:
    """Of a rank test of the two sides of every name; None with fewer than two steps on a side."""
    parts = [side for sides in both for side in sides]
    sizes = [len(side) for side in parts]
    number = np.repeat(np.arange(len(parts)), sizes)
    values = np.concatenate([np.zeros(0), *parts])
    p = rank_p(number // 2, number % 2 == 1, values, len(both))
    return [None if np.isnan(each) else float(each) for each in p]


def _row(
    name: str, sides: list[Floats], amounts: list[dict[str, dict[str, float]]]
) -> tuple[Any, ...]:
    left, right = sides
    means = [float(side.mean()) if len(side) else 0.0 for side in (left, right)]
    spreads = [float(side.std(ddof=1)) if len(side) > 1 else None for side in (left, right)]
    compared = len(left) > 1 and len(right) > 1
    return (
        name,
        *(found.get(name, {}).get(amount, 0.0) for amount in _AMOUNTS for found in amounts),
        *means,
        means[1] - means[0],
        *spreads,
        effect_size(left, right) if compared else None,
    )

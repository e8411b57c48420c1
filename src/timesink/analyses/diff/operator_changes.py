"""What changed between two runs, operator by operator, in time per step."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import polars as pl

from timesink.analyses.call_tree import threads
from timesink.analyses.columns import device_columns, once_per_trace, start_and_end
from timesink.analyses.forest import (
    COLLECTIVE,
    OPERATOR,
    OPTIMIZER,
    WRAPPER,
    CallForest,
    Nodes,
    call_forest,
    enclosing,
)
from timesink.analyses.forest import DATA_LOADER as DATA_LOADER_ROLE
from timesink.analyses.links import link_launches
from timesink.analyses.names import is_data_loader
from timesink.analyses.operators import NO_LAUNCH, node_times
from timesink.analyses.statistics.ranks import effect_size, rank_p
from timesink.analyses.steps import bounds_of, find_steps, is_communication
from timesink.model import intervals
from timesink.model.arrays import Flags, Floats, Ints
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

# Which call every moment of a step is spent on, so that calls add up to the step.
#
# A moment belongs to the call that launched the device work of that moment (computation before
# communication, what started first before what started later), else to the innermost call of the
# main thread, else of another thread, else to nobody.

OUTSIDE = "device work outside of calls"
NOBODY = "neither a call nor device work"
CALL_ROLES = (OPERATOR, DATA_LOADER_ROLE, OPTIMIZER, COLLECTIVE, WRAPPER)
"""Roles of calls that do something; steps and modules only frame others."""


@once_per_trace
def step_shares(trace: Trace) -> pl.DataFrame:
    """How much of each complete step every call name takes; rows of a step add up to it.

    `step` counts the complete steps from 0.
    """
    bounds = bounds_of(find_steps(trace).filter("complete"))
    forest = call_forest(trace)
    layers = [*_device_work(trace, forest), *_host_calls(trace, forest)]
    marks = (bounds[:, 0], bounds[:, 1], np.arange(len(bounds)))
    moments = _borders([marks, *layers])
    owner = np.full(len(moments), -1, dtype=np.int64)
    for pieces in layers:
        free = np.flatnonzero(owner < 0)
        owner[free] = _owners_at(pieces, moments[free])
    names = pl.Series([*forest.names, OUTSIDE, NO_LAUNCH, NOBODY], dtype=pl.String)
    shares = (
        pl.DataFrame(
            {
                "step": _owners_at(marks, moments),
                "owner": np.where(owner < 0, len(names) - 1, owner),
                "share_ns": np.diff(moments, append=moments[-1:]),
            }
        )
        .filter(pl.col("step") >= 0)
        .group_by("step", "owner")
        .agg(pl.col("share_ns").sum())
    )
    named = shares.with_columns(name=names.gather(shares["owner"]))
    return named.select("step", "name", "share_ns").sort("step", "name")


_Pieces: TypeAlias = tuple[Ints, Ints, Ints]
"""Starts and ends of disjoint stretches of time in order, and the owner of each."""


def _owners_at(pieces: _Pieces, moments: Ints) -> Ints:
    """Who owns each moment; -1 between pieces."""
    start, end, owner = pieces
    return np.append(owner, -1)[intervals.holding(moments, start, end)]


def _pieces(start: Ints, end: Ints, owner: Ints) -> _Pieces:
    """Of ranges that overlap: each moment goes to the one that started first."""
    kept, apart = intervals.first_come(np.stack([start, end]).T)
    return apart[:, 0], apart[:, 1], owner[kept]


def _borders(layers: list[_Pieces]) -> Ints:
    """Every moment at which something starts or ends."""
    # Runs that are sorted each: the stable sort only merges them.
    sides = [side for start, end, _ in layers for side in (start, end)]
    moments = np.sort(np.concatenate(sides), kind="stable")
    new: Flags = np.append(True, moments[1:] > moments[:-1])[: len(moments)]
    return np.asarray(moments[new])


def _device_work(trace: Trace, forest: CallForest) -> list[_Pieces]:
    """Computation and copies, then communication, owned by the names of the launching calls."""
    device, links = device_columns(trace), link_launches(trace)
    call = enclosing(links.node, forest.parent, np.isin(forest.role, CALL_ROLES))
    owner = np.where(links.call_row >= 0, len(forest.names), len(forest.names) + 1)
    owner[call >= 0] = forest.name[call[call >= 0]]
    start, end = start_and_end(device)
    busy = device["kind"].is_in(BUSY_KINDS).to_numpy()
    talks = is_communication(trace)
    return [
        _pieces(start[chosen], end[chosen], owner[chosen])
        for chosen in (busy & ~talks, busy & talks)
    ]


def _host_calls(trace: Trace, forest: CallForest) -> list[_Pieces]:
    """The innermost calls of the main thread, then of the others, owned by their names."""
    nodes = np.flatnonzero(np.isin(forest.role, CALL_ROLES))
    if not len(nodes):
        return []
    on_main = forest.thread[nodes] == forest.threads.index(threads(trace)[0])
    return [_innermost(forest, nodes[on_main]), _innermost(forest, nodes[~on_main])]


def _innermost(forest: CallForest, nodes: Nodes) -> _Pieces:
    """The calls' own time: before, between and after the calls they make."""
    wanted = np.zeros(len(forest), dtype=np.bool_)
    wanted[nodes] = True
    caller = enclosing(forest.parent[nodes], forest.parent, wanted)
    start, end = forest.self_start, forest.end
    order = np.lexsort((nodes, caller))
    callee, caller = nodes[order][caller[order] >= 0], caller[order][caller[order] >= 0]
    first = np.append(True, caller[1:] != caller[:-1])[: len(caller)]
    before = np.where(first, start[caller], np.append(0, end[callee[:-1]])[: len(callee)])
    last = np.append(first[1:], True)[: len(caller)]
    own_from = start.copy()
    own_from[caller[last]] = end[callee[last]]
    return _pieces(
        np.concatenate([before, own_from[nodes]]),
        np.concatenate([start[callee], end[nodes]]),
        forest.name[np.concatenate([caller, nodes])],
    )


_AMOUNTS = ("calls", "host_self_ns", "device_self_ns")
_SIDES = ("left", "right")

DATA_LOADER = "data loader"
"""Stands for every class of data loaders, which two runs need not share."""

SCHEMA: dict[str, pl.DataType] = {
    "name": pl.String(),
    **{f"{side}_{amount}": pl.Float64() for amount in _AMOUNTS for side in _SIDES},
    **dict.fromkeys(("left_share_ns", "right_share_ns", "change_ns"), pl.Float64()),
    **dict.fromkeys(("left_spread_ns", "right_spread_ns", "effect_size", "p_value"), pl.Float64()),
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
    traces = (left, right)
    shares, amounts = [_shares(each) for each in traces], [_amounts(each) for each in traces]
    names = sorted({*shares[0], *shares[1], *amounts[0], *amounts[1]})
    none = [np.zeros(_complete_steps(each)) for each in traces]
    both = [
        [found.get(name, zero) for found, zero in zip(shares, none, strict=True)] for name in names
    ]
    rows = []
    for name, sides, p in zip(names, both, _p_values(both), strict=True):
        means = [float(side.mean()) if len(side) else 0.0 for side in sides]
        compared = min(map(len, sides)) > 1
        rows.append(
            (
                name,
                *(found.get(name, {}).get(amount, 0.0) for amount in _AMOUNTS for found in amounts),
                *means,
                means[1] - means[0],
                *(float(side.std(ddof=1)) if len(side) > 1 else None for side in sides),
                effect_size(*sides) if compared else None,
                p,
            )
        )
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

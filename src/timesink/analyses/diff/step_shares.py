"""Which call every moment of a step is spent on, so that calls add up to the step.

A moment belongs to the call that launched the device work of that moment (computation before
communication, what started first before what started later), else to the innermost call of the
main thread, else of another thread, else to nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.call_tree import threads
from timesink.analyses.columns import device_columns, start_and_end
from timesink.analyses.enclosing import enclosing
from timesink.analyses.forest import (
    COLLECTIVE,
    DATA_LOADER,
    OPERATOR,
    OPTIMIZER,
    WRAPPER,
    CallForest,
    call_forest,
)
from timesink.analyses.links import link_launches
from timesink.analyses.nesting import Nodes
from timesink.analyses.once import once_per_trace
from timesink.analyses.operators import NO_LAUNCH
from timesink.analyses.roles import is_communication
from timesink.analyses.steps import find_steps
from timesink.model import intervals
from timesink.model.arrays import Flags, Ints
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

OUTSIDE = "device work outside of calls"
NOBODY = "neither a call nor device work"
CALL_ROLES = (OPERATOR, DATA_LOADER, OPTIMIZER, COLLECTIVE, WRAPPER)
"""Roles of calls that do something; steps and modules only frame others."""


@once_per_trace
def step_shares(trace: Trace) -> pl.DataFrame:
    """How much of each complete step every call name takes; rows of a step add up to it.

    `step` counts the complete steps from 0.
    """
    steps = find_steps(trace).filter("complete")
    bounds = steps.select("start_ns", "end_ns").to_numpy().reshape(-1, 2)
    forest = call_forest(trace)
    layers = [*_device_work(trace, forest), *_host_calls(trace, forest)]
    marks = _Pieces(bounds[:, 0], bounds[:, 1], np.arange(len(bounds)))
    moments = _borders([marks, *layers])
    owner = np.full(len(moments), -1, dtype=np.int64)
    for pieces in layers:
        free = np.flatnonzero(owner < 0)
        owner[free] = pieces.owners_at(moments[free])
    names = pl.Series([*forest.names, OUTSIDE, NO_LAUNCH, NOBODY], dtype=pl.String)
    shares = (
        pl.DataFrame(
            {
                "step": marks.owners_at(moments),
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


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Disjoint stretches of time in order, each with an owner."""

    start: Ints
    end: Ints
    owner: Ints

    def owners_at(self, moments: Ints) -> Ints:
        """Who owns each moment; -1 between pieces."""
        return np.append(self.owner, -1)[intervals.holding(moments, self.start, self.end)]


def _pieces(start: Ints, end: Ints, owner: Ints) -> _Pieces:
    """Of ranges that overlap: each moment goes to the one that started first."""
    kept, apart = intervals.first_come(np.stack([start, end]).T)
    return _Pieces(apart[:, 0], apart[:, 1], owner[kept])


def _borders(layers: list[_Pieces]) -> Ints:
    """Every moment at which something starts or ends."""
    # Runs that are sorted each: the stable sort only merges them.
    sides = [side for one in layers for side in (one.start, one.end)]
    moments = np.sort(np.concatenate(sides), kind="stable")
    new: Flags = np.append(True, moments[1:] > moments[:-1])[: len(moments)]
    return np.asarray(moments[new])


# -- device work -----------------------------------------------------------------------------------


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


# -- calls -----------------------------------------------------------------------------------------


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

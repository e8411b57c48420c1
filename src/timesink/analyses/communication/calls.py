"""Which events are one and the same collective call.

A call may be recorded up to three times: as an annotation (`nccl:all_reduce`), as the call that
carries its arguments, and as kernels and copies on the device.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses import names
from timesink.analyses.columns import (
    device_columns,
    device_kinds,
    device_names,
    host_columns,
    numbers,
)
from timesink.analyses.communication import kinds as collectives
from timesink.analyses.forest import call_forest
from timesink.analyses.links import link_launches
from timesink.analyses.nesting import Nodes
from timesink.analyses.once import once_per_trace
from timesink.analyses.roles import is_communication
from timesink.model.arrays import Flags, Ints
from timesink.model.trace import Trace

_NONE = -1


# -- calls on the host -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CollectiveCalls:
    """Host calls named as collectives, in the order of the forest."""

    node: Nodes
    carries_arguments: Flags
    call: Nodes
    """For each: the one of them that stands for the same collective."""
    place: Nodes
    """For each node of the forest: its place in `node`, -1 for other calls."""

    @property
    def is_alone(self) -> Flags:
        """Those that stand for themselves."""
        return np.asarray(self.call == np.arange(len(self.node)))


@once_per_trace
def collective_calls(trace: Trace) -> CollectiveCalls:
    """Host calls named as collectives, and which of them are the same."""
    forest = call_forest(trace)
    node = np.flatnonzero(forest.named(names.is_collective_call))
    place = np.full(len(forest), _NONE, dtype=np.int64)
    place[node] = np.arange(len(node))
    carries = forest.named(lambda name: name == collectives.ARGUMENTS_CALL)[node]
    around = _nearest(forest.parent[node], place, forest.parent)
    # Calls that carry arguments are one with the collective they lie in, or the first in them.
    call = np.arange(len(carries))
    inside = np.flatnonzero(around != _NONE)
    first_inside = np.full(len(carries), _NONE, dtype=np.int64)
    first_inside[around[inside][::-1]] = inside[::-1]
    wraps = carries & (first_inside != _NONE)
    call[wraps] = first_inside[wraps]
    lies_in = carries & (around != _NONE) & ~carries[around]
    call[lies_in] = around[lies_in]
    while not np.array_equal(call[call], call):
        call = call[call]
    return CollectiveCalls(node, carries, call, place)


def _nearest(node: Nodes, place: Nodes, parent: Nodes) -> Nodes:
    """The collective call that each node is or lies in, as its place; -1 for none."""
    found = np.full(len(node), _NONE, dtype=np.int64)
    pending = np.flatnonzero(node != _NONE)
    at = node[pending]
    while len(pending):
        found[pending] = place[at]
        onward = (place[at] == _NONE) & (parent[at] != _NONE)
        pending, at = pending[onward], parent[at[onward]]
    return found


# -- work on the device ----------------------------------------------------------------------------


@once_per_trace
def collective_work(trace: Trace) -> pl.DataFrame:
    """Communication on the device: its row in `trace.device`, times, and the call it belongs to.

    Calls are numbered as in :func:`collective_calls`.  Work that none of them made is a call of
    its own, with a number beyond theirs.
    """
    calls, device = collective_calls(trace), device_columns(trace)
    rows = np.flatnonzero(is_communication(trace))
    named = device_names(trace).matching(names.is_collective_kernel)[rows]
    named |= device_kinds(trace).among("collective")[rows]
    launched_in = link_launches(trace).node[rows]
    place = _nearest(launched_in, calls.place, call_forest(trace).parent)
    # External ids may be anything: they count where nothing speaks against them.
    doubtful = np.flatnonzero((place == _NONE) & (named | (launched_in == _NONE)))
    if len(doubtful) and len(calls.node):
        ids = numbers(device["external_id"])[rows[doubtful]]
        place[doubtful] = _named_by_id(ids, trace, calls)
    call = np.arange(len(rows)) + len(calls.node)
    known = place != _NONE
    call[known] = calls.call[place[known]]
    rows, call = rows[named | known], call[named | known]
    start = device["ts_ns"].to_numpy()[rows]
    return pl.DataFrame(
        {
            "name": device["name"].gather(rows).cast(pl.String),
            "row": rows,
            "call": call,
            "start_ns": start,
            "end_ns": start + device["dur_ns"].to_numpy()[rows],
        },
    )


def _named_by_id(external_id: Ints, trace: Trace, calls: CollectiveCalls) -> Nodes:
    """The first call that has the external id of each event; -1 for none."""
    ids = numbers(host_columns(trace)["external_id"])[call_forest(trace).row[calls.node]]
    order = np.argsort(ids, kind="stable")
    at = np.minimum(np.searchsorted(ids[order], external_id), len(order) - 1)
    found = order[at]
    return np.where((external_id != 0) & (ids[found] == external_id), found, _NONE)


@once_per_trace
def recorded_arguments(trace: Trace) -> pl.DataFrame:
    """What the host events of :func:`collective_calls` carry: `index`, and their inputs."""
    rows = call_forest(trace).row[collective_calls(trace).node]
    carried = trace.lazy("host").select("index", "input_dims", "input_types")
    return carried.collect()[rows]

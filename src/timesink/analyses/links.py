"""Which call launched which device work, and inside which host call it was made.

Device work joins its launching call as :mod:`timesink.model.launches` says.  The call belongs to
the innermost host call around it on its thread; external ids only choose among those around it,
or help where there is none, because they repeat and are zero in many recordings.  Device work that
carries nothing but an external id belongs to the operator that has it, where no call does.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import (
    device_columns,
    host_columns,
    host_kinds,
    host_lanes,
    memoize_structure,
    numbers,
    start_and_end,
)
from timesink.analyses.forest import CallForest, call_forest
from timesink.model.intervals import Flags, Ints
from timesink.model.launches import LAUNCH_KINDS, has_external_id_only, match_launches
from timesink.model.nested_calls import Nodes
from timesink.model.trace import Trace
from timesink.model.vendors import names_where

_CALLS_APART = names_where("calls_apart", value=True)
"""Makers whose profiler shows the calls of a thread in a process of their own, same thread."""


class Links(msgspec.Struct, frozen=True, eq=False):
    """Launches of a trace; -1 where something is not in it."""

    calls: Ints
    """Rows in `trace.host` of all runtime and driver calls."""
    call_node: Nodes
    """For each of `calls`: the host call it was made in, a node of the forest."""
    call_alone: Flags
    """For each of `calls`: whether no callee of that host call overlaps it."""
    call_row: Ints
    """For each row of `trace.device`: the row in `trace.host` of the launching call."""
    node: Nodes
    """For each row of `trace.device`: the host call its launch was made in, or that has its id."""


@memoize_structure
def launching_calls(trace: Trace) -> Ints:
    """For each row of `trace.device` the row in `trace.host` of the launching call, or -1."""
    calls, launch = _launches(trace)
    return np.where(launch >= 0, calls[launch] if len(calls) else -1, -1)


@memoize_structure
def origin_rows(trace: Trace) -> Ints:
    """For each row of `trace.device` the row of its launching call, else of its operator, or -1."""
    call = launching_calls(trace)
    if not ((call < 0) & has_external_id_only(device_columns(trace))).any():
        return call
    node, forest = link_launches(trace).node, call_forest(trace)
    row = forest.row[node] if len(forest) else node
    return np.where((call < 0) & (node >= 0), row, call)


@memoize_structure
def _launches(trace: Trace) -> tuple[Ints, Ints]:
    """Rows of all runtime and driver calls, and for each device event the place of its call."""
    calls = np.flatnonzero(host_kinds(trace).among(*LAUNCH_KINDS))
    columns = ("name", "pid", "ts_ns", "dur_ns", "correlation", "external_id")
    launches = host_columns(trace).select(columns)[calls]
    return calls, match_launches(launches, device_columns(trace), trace.lazy("tracks"))


class _MadeCalls(NamedTuple):
    """Runtime and driver calls, with an id that ties them to others; 0 for none."""

    start: Ints
    end: Ints
    id: Ints


@memoize_structure
def link_launches(trace: Trace) -> Links:
    """Tie device work to the calls that launched it, and these to operators."""
    host, forest = host_columns(trace), call_forest(trace)
    calls, launch = _launches(trace)
    ids = numbers(host["external_id"])
    launch_calls = _MadeCalls(*start_and_end(host, calls), ids[calls])
    call_node, is_lone = _owners(
        launch_calls, _threads_of(trace, calls, forest), forest, ids[forest.row]
    )
    inside = np.where(launch >= 0, call_node[launch] if len(calls) else -1, -1)
    return Links(
        calls=calls,
        call_node=call_node,
        call_alone=is_lone,
        call_row=launching_calls(trace),
        node=_captured_nodes(trace, forest, _nodes_of_work(trace, forest, ids[forest.row], inside)),
    )


def _captured_nodes(trace: Trace, forest: CallForest, node: Nodes) -> Nodes:
    """The nodes of device work; what a graph replays belongs to the call that was captured."""
    row = captured_call_rows(trace)
    if not (row >= 0).any():
        return node
    node_of_row = np.full(host_columns(trace).height, -1, dtype=np.int64)
    node_of_row[forest.row] = np.arange(len(forest))
    return np.where(row >= 0, node_of_row[row], node)


@memoize_structure
def captured_call_rows(trace: Trace) -> Ints:
    """For each row of `trace.device` the row of its captured call, -1 where it has none.

    >>> import timesink
    >>> int(captured_call_rows(timesink.open(timesink.sample())).max())
    -1
    """
    wanted = trace.lazy("device").select("captured_call").collect()["captured_call"]
    if wanted.null_count() == len(wanted):
        return np.full(len(wanted), -1, dtype=np.int64)
    index = trace.lazy("host").select("index").collect()["index"].cast(pl.Int64).to_numpy()
    row = first_with_id(wanted.fill_null(-1).to_numpy(), index)
    return np.where(wanted.is_not_null().to_numpy(), row, -1)


def _nodes_of_work(trace: Trace, forest: CallForest, ids: Ints, inside: Nodes) -> Nodes:
    """The node each piece of device work was launched in, else the last begun that has its id."""
    device = device_columns(trace)
    rows = np.flatnonzero((inside < 0) & has_external_id_only(device) & bool(len(forest)))
    if not len(rows):
        return inside
    node = inside.copy()
    wanted, moment = numbers(device["external_id"])[rows], device["ts_ns"].to_numpy()[rows]
    # Ids and times are ranks, so that both together are one number to look for.
    distinct_ids, times = np.unique(ids), np.sort(forest.start)
    width = len(times) + 1
    order = np.lexsort((forest.start, ids))
    rank = np.searchsorted(times, forest.start[order], side="right")
    key = np.searchsorted(distinct_ids, ids[order]) * width + rank
    sought = np.searchsorted(distinct_ids, wanted) * width + np.searchsorted(
        times, moment, side="right"
    )
    latest = order[np.maximum(np.searchsorted(key, sought, side="right") - 1, 0)]
    node[rows] = np.where((ids[latest] == wanted) & (forest.start[latest] <= moment), latest, -1)
    return node


def _threads_of(trace: Trace, calls: Ints, forest: CallForest) -> Ints:
    """The forest's number of each call's thread, -1 where no node is on it."""
    lane, lanes = host_lanes(trace)
    number_of = {thread: number for number, thread in enumerate(forest.threads)}
    number_of_tid = {}
    if trace.metadata.vendor in _CALLS_APART:
        # Threads whose number no other process has.
        often = Counter(tid for _, tid in forest.threads)
        number_of_tid = {tid: n for n, (_, tid) in enumerate(forest.threads) if often[tid] == 1}
    numbers = [number_of.get(place, number_of_tid.get(place[1], -1)) for place in lanes]
    return np.asarray(np.array(numbers or [-1], dtype=np.int64)[lane[calls]])


def _owners(
    launch_calls: _MadeCalls, thread: Ints, forest: CallForest, external: Ints
) -> tuple[Nodes, Flags]:
    start, end, wanted = launch_calls
    if not len(forest) or not len(start):
        return np.full(len(start), -1, dtype=np.int64), np.zeros(len(start), dtype=np.bool_)
    latest = forest.last_begun(thread, start)
    innermost, confirmed, touched = _around(latest, launch_calls, external, forest)
    owner = np.where(confirmed >= 0, confirmed, innermost)
    doubtful = np.flatnonzero((confirmed < 0) & (wanted != 0))
    if len(doubtful):
        named = first_with_id(wanted[doubtful], external)
        overlaps = (named >= 0) & (forest.start[named] <= start[doubtful])
        overlaps &= (forest.end[named] >= start[doubtful]) & (latest[doubtful] >= 0)
        overlaps &= forest.thread[named] == forest.thread[latest[doubtful]]
        better = overlaps | (owner[doubtful] < 0)
        owner[doubtful[better]] = named[better]
    following = np.append(forest.start, np.iinfo(np.int64).max)[latest + 1]
    next_thread = np.append(forest.thread, -1)[latest + 1] != forest.thread[latest]
    return owner, (owner == innermost) & ~touched & ((following >= end) | next_thread)


def _around(
    latest: Nodes, calls: _MadeCalls, external: Ints, forest: CallForest
) -> tuple[Nodes, Nodes, Flags]:
    """The innermost node around each call, and the innermost one that has its id as well.

    The third tells whether a node that is not around the call overlaps it.
    """
    start, end, wanted = calls
    innermost = np.full(len(latest), -1, dtype=np.int64)
    confirmed = innermost.copy()
    touched = np.zeros(len(latest), dtype=np.bool_)
    pending = np.flatnonzero(latest >= 0)
    node = latest[pending]
    while len(pending):
        around = forest.end[node] >= end[pending]
        touched[pending[~around & (forest.end[node] > start[pending])]] = True
        new = around & (innermost[pending] < 0)
        innermost[pending[new]] = node[new]
        same = around & ((external[node] == wanted[pending]) & (wanted[pending] != 0))
        confirmed[pending[same]] = node[same]
        settled = same | (around & (wanted[pending] == 0))
        onward = ~settled & (forest.parent[node] >= 0)
        pending, node = pending[onward], forest.parent[node[onward]]
    return innermost, confirmed, touched


def first_with_id(wanted: Ints, external: Ints) -> Nodes:
    """The place of the first that has each wanted id; -1 without one.

    >>> ids = np.array([5, 3, 3])
    >>> first_with_id(np.array([3, 4]), ids), first_with_id(np.array([3]), ids[:0])
    (array([ 1, -1]), array([-1]))
    """
    if not len(external):
        return np.full(len(wanted), -1)
    order = np.argsort(external, kind="stable")
    place = np.minimum(np.searchsorted(external[order], wanted), len(order) - 1)
    candidates = order[place]
    return np.where(external[candidates] == wanted, candidates, -1)

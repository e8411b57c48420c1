"""Which call launched which device work, and inside which host call it was made.

Device work joins its launching call by correlation id.  The call belongs to the innermost host
call around it on its thread; external ids only choose among those around it, or help where
there is none, because they repeat and are zero in many recordings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.columns import (
    device_columns,
    host_columns,
    host_kinds,
    host_lanes,
    numbers,
    once_per_trace,
)
from timesink.analyses.forest import CallForest, Nodes, call_forest
from timesink.model.arrays import Flags, Ints
from timesink.model.trace import Trace
from timesink.model.vendors import names_where

LAUNCH_KINDS = ("runtime", "driver")
_CALLS_APART = names_where("calls_apart", value=True)
"""Makers whose profiler shows the calls of a thread in a process of their own, same thread."""


@dataclass(frozen=True, eq=False)
class Links:
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
    """For each row of `trace.device`: the host call its launch was made in."""


@once_per_trace
def launching_calls(trace: Trace) -> Ints:
    """For each row of `trace.device` the row in `trace.host` of the launching call, or -1."""
    calls, launch = _launches(trace)
    return np.where(launch >= 0, calls[launch] if len(calls) else -1, -1)


@once_per_trace
def _launches(trace: Trace) -> tuple[Ints, Ints]:
    """Rows of all runtime and driver calls, and for each device event the place of its call."""
    host = host_columns(trace)
    calls = np.flatnonzero(host_kinds(trace).among(*LAUNCH_KINDS))
    made = _LaunchCalls.of(host, calls, id_column="correlation")
    lane, lanes = host_lanes(trace)
    seen = np.bincount(lane[calls], minlength=len(lanes))
    processes = {lanes[place][0] for place in np.flatnonzero(seen)} - {""}
    if len(processes) < 2:
        return calls, _launching_call(device_columns(trace), made)
    return calls, _own_launching_call(device_columns(trace), made, host["pid"][calls], processes)


@once_per_trace
def link_launches(trace: Trace) -> Links:
    """Tie device work to the calls that launched it, and these to operators."""
    host = host_columns(trace)
    calls, launch = _launches(trace)
    made = _LaunchCalls.of(host, calls, id_column="external_id")
    forest = call_forest(trace)
    external = numbers(host["external_id"])[forest.row]
    call_node, alone = _owners(made, _threads_of(trace, calls, forest), forest, external)
    known = launch >= 0
    return Links(
        calls=calls,
        call_node=call_node,
        call_alone=alone,
        call_row=launching_calls(trace),
        node=np.where(known, call_node[launch] if len(calls) else -1, -1),
    )


# -- device work to its call -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _LaunchCalls:
    """Runtime and driver calls, with an id that ties them to others; 0 for none."""

    start: Ints
    end: Ints
    id: Ints

    @classmethod
    def of(cls, host: pl.DataFrame, rows: Ints, *, id_column: str) -> _LaunchCalls:
        start = host["ts_ns"].to_numpy()[rows]
        return cls(start, start + host["dur_ns"].to_numpy()[rows], numbers(host[id_column])[rows])


def _launching_call(device: pl.DataFrame, made: _LaunchCalls) -> Ints:
    """Place in the list of calls for each device event; of those with its id the latest before."""
    calls = _by_id(made, np.arange(len(made.id)))
    return _latest(calls, numbers(device["correlation"]), device["ts_ns"].to_numpy())


def _own_launching_call(
    device: pl.DataFrame, made: _LaunchCalls, process: pl.Series, processes: Iterable[str]
) -> Ints:
    """The same where several processes make calls.

    Ids repeat from process to process: where a device event carries a process that makes calls,
    only calls of that process count.
    """
    wanted, moment = numbers(device["correlation"]), device["ts_ns"].to_numpy()
    calls = {name: _by_id(made, _rows_of(process, name)) for name in processes}
    found = _latest(_joined(list(calls.values())), wanted, moment)
    for name, mine in calls.items():
        if len(mine.place):
            own = _rows_of(device["pid"], name)
            found[own] = _latest(mine, wanted[own], moment[own])
    return found


def _rows_of(process: pl.Series, name: str) -> NDArray[np.intp]:
    return np.flatnonzero((process == name).fill_null(value=False).to_numpy())


@dataclass(frozen=True, slots=True)
class _Launches:
    """Calls with an id, by id and start."""

    place: NDArray[np.intp]
    id: Ints
    start: Ints


def _joined(parts: Sequence[_Launches]) -> _Launches:
    place, ids, start = (
        np.concatenate(columns)
        for columns in zip(*((part.place, part.id, part.start) for part in parts), strict=True)
    )
    order = np.lexsort((place, start, ids))
    return _Launches(place[order], ids[order], start[order])


def _by_id(made: _LaunchCalls, rows: NDArray[np.intp]) -> _Launches:
    """The calls among the rows of one process."""
    ids, start, end = made.id, made.start, made.end
    place = rows[ids[rows] > 0]
    place = place[np.lexsort((-end[place], start[place], ids[place]))]
    ids, start, end = ids[place], start[place], end[place]
    # A runtime call encloses the driver call it makes, which has its id: the outer one launches.
    inner = np.append(
        np.full(min(1, len(place)), False), (ids[1:] == ids[:-1]) & (start[1:] < end[:-1])
    )
    return _Launches(place[~inner], ids[~inner], start[~inner])


def _latest(calls: _Launches, wanted: Ints, moment: Ints) -> Ints:
    """Of the calls with the wanted id the latest before the moment, else the first; -1 for none."""
    first = np.searchsorted(calls.id, wanted)
    beyond = np.searchsorted(calls.id, wanted, side="right")
    found = np.full(len(wanted), -1, dtype=np.int64)
    known = np.flatnonzero((beyond > first) & (wanted > 0))
    low, high = first[known], beyond[known] - 1
    while (low < high).any():
        middle = (low + high + 1) // 2
        reached = calls.start[middle] <= moment[known]
        low, high = np.where(reached, middle, low), np.where(reached, high, middle - 1)
    found[known] = calls.place[low]
    return found


# -- a call to the host call around it -------------------------------------------------------------


def _threads_of(trace: Trace, calls: Ints, forest: CallForest) -> Ints:
    """The forest's number of each call's thread, -1 where no node is on it."""
    lane, lanes = host_lanes(trace)
    number_of = {thread: number for number, thread in enumerate(forest.threads)}
    alone = _lone_threads(forest) if trace.metadata.vendor in _CALLS_APART else {}
    numbers = [number_of.get(place, alone.get(place[1], -1)) for place in lanes]
    return np.array(numbers or [-1], dtype=np.int64)[lane[calls]]


def _lone_threads(forest: CallForest) -> dict[str, int]:
    """Threads whose number no other process has."""
    often = Counter(tid for _, tid in forest.threads)
    return {tid: n for n, (_, tid) in enumerate(forest.threads) if often[tid] == 1}


def _owners(
    made: _LaunchCalls,
    thread: Ints,
    forest: CallForest,
    external: Ints,
) -> tuple[Nodes, Flags]:
    start, end, wanted = made.start, made.end, made.id
    if not len(forest) or not len(start):
        return np.full(len(start), -1, dtype=np.int64), np.zeros(len(start), dtype=np.bool_)
    latest = forest.last_begun(thread, start)
    innermost, confirmed, touched = _around(latest, made, external, forest)
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
    latest: Nodes, calls: _LaunchCalls, external: Ints, forest: CallForest
) -> tuple[Nodes, Nodes, Flags]:
    """The innermost node around each call, and the innermost one that has its id as well.

    The third tells whether a node that is not around the call overlaps it.
    """
    start, end, wanted = calls.start, calls.end, calls.id
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
    """The place of the first that has each wanted id; -1 without one."""
    order = np.argsort(external, kind="stable")
    place = np.minimum(np.searchsorted(external[order], wanted), len(order) - 1)
    found = order[place]
    return np.where(external[found] == wanted, found, -1)

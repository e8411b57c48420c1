"""Host calls nested by thread: who called whom.

Calls are in pre-order, so every subtree is one stretch: subtree sums and post-order need no walk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses import names
from timesink.analyses.columns import (
    Codes,
    encode,
    host_columns,
    host_kinds,
    host_lanes,
    host_names,
    lane_codes,
    memoize_per_trace,
    recording_of,
    start_and_end,
    values_at,
)
from timesink.model import vendors
from timesink.model.arrays import MAX_NARROW, Places, densify, narrow, wide
from timesink.model.intervals import Flags, Ints, union_starts
from timesink.model.nested_calls import (
    Nesting,
    NestingTimes,
    Nodes,
    enclosing_calls,
    levels,
    nest_in_order,
    nesting_times,
    pre_order,
    subtree_sizes,
)
from timesink.model.schema import CAPTURED_KINDS, HOST_KINDS
from timesink.model.trace import Trace
from timesink.runtime.native import array_view, is_native, native_module


def children_of(node: int, parent: Nodes, size: Places) -> Nodes:
    """The calls that a call makes itself, in order."""
    below = slice(node + 1, node + int(size[node]))
    return np.asarray(np.flatnonzero(parent[below] == node) + node + 1)


def descendant_mask(roots: Nodes, size: Places) -> Flags:
    """Which calls are among some, or called by one of these, however deep."""
    return interval_mask(roots, roots + size[roots], len(size))


def interval_mask(first: Places, beyond: Places, many: int) -> Flags:
    """Which of so many places lie in a stretch, from its first place to before the one beyond."""
    if not len(first):
        return np.zeros(many, dtype=np.bool_)
    borders = np.zeros(many + 1, dtype=np.int32)
    np.add.at(borders, first, 1)
    np.subtract.at(borders, beyond, 1)
    return np.asarray(np.cumsum(borders, out=borders)[:-1] > 0)


def outermost(nodes: Nodes, group: Places, size: Places) -> Ints:
    """Places of the calls, given in pre-order, that no other of their group encloses."""
    order = np.argsort(group, kind="stable")
    # Groups side by side on one line: calls end where their subtrees do.
    start = wide(group[order]) * (len(size) + 1) + nodes[order]
    return np.asarray(order[union_starts(start, start + size[nodes[order]])])


def nest_calls(thread: Ints, start: Ints, end: Ints, frames: Flags | None = None) -> Nesting:
    """Nest calls that are in pre-order, thread by thread; by compiled code where there is any.

    `frames` stay callers of what outlasts them.
    """
    count = len(start)
    if not is_native() or count > MAX_NARROW:
        return nest_in_order(thread, start, end, frames)
    if thread.max(initial=0) > MAX_NARROW:
        thread = densify(thread)
    thread = np.ascontiguousarray(thread, np.int32)
    times = [np.ascontiguousarray(column, np.int64) for column in (start, end)]
    flags = np.zeros(count, np.bool_) if frames is None else np.ascontiguousarray(frames)
    parent, depth, size = (np.empty(count, np.int32) for _ in range(3))
    self_start, crossing = np.empty(count, np.int64), np.empty(count, np.bool_)
    native_module().nest(
        array_view(thread, np.int32),
        *(array_view(array, np.int64) for array in times),
        array_view(flags, np.bool_),
        *(array_view(array, np.int32) for array in (parent, depth)),
        array_view(self_start, np.int64),
        array_view(size, np.int32),
        array_view(crossing, np.bool_),
    )
    return Nesting(parent, depth, crossing, self_start, size)


_END_OF_TIME = np.iinfo(np.int64).max

NOT_A_NODE = -1
OPERATOR, STEP, DATA_LOADER, OPTIMIZER, MODULE, COLLECTIVE, PYTHON, WRAPPER = range(8)
ROLE_NAMES = (
    *("operator", "step", "data_loader", "optimizer"),
    *("module", "collective", "python", "wrapper"),
)

_FRAMES = (STEP, MODULE)
"""Roles that frame whole stretches of work: a call that outlasts one does not replace it."""
_IS_FRAME = np.isin(np.arange(len(ROLE_NAMES)), _FRAMES)


@dataclass(frozen=True, eq=False)
class NestedCalls:
    """Calls in pre-order, thread after thread; arrays have one entry per call."""

    thread: Codes
    """Place in `threads`."""
    start: Ints
    end: Ints
    parent: Nodes
    depth: Places
    name: Codes
    """Place in `names`."""
    names: Sequence[str]
    threads: Sequence[tuple[str, str]]
    """Process and thread."""

    def __len__(self) -> int:
        return len(self.thread)

    @cached_property
    def size(self) -> Places:
        """How many calls a subtree has, the call itself included."""
        return subtree_sizes(self.depth, self.parent)

    def remember_size(self, size: Places | None) -> None:
        """Keep what was counted already."""
        if size is not None:
            self.__dict__["size"] = size

    def flags(self, test: Callable[[str], object]) -> Flags:
        """For each of `names`: whether it passes the test."""
        return np.array([bool(test(name)) for name in self.names] or [False], dtype=np.bool_)

    def named(self, test: Callable[[str], object]) -> Flags:
        """Which calls have a name that passes the test."""
        return self.flags(test)[self.name]

    def names_of(self, nodes: Nodes) -> pl.Series:
        """Names of some calls; null where there is no call."""
        code = np.where(nodes >= 0, self.name[nodes], -1) if len(self) else nodes
        return values_at(pl.Series(self.names, dtype=pl.String), code)

    def children(self, node: int) -> Nodes:
        """The calls made directly by one call, in order; the roots of all threads for -1."""
        if node < 0:
            return np.flatnonzero(self.parent < 0)
        return children_of(node, self.parent, self.size)

    def subtree_sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum of the values over each call and everything it calls."""
        if not values.any():
            return values
        before = np.concatenate([np.zeros(1, dtype=values.dtype), np.cumsum(values)])
        return np.asarray(before[np.arange(len(self)) + self.size] - before[:-1])

    def last_begun(self, thread: Ints, moment: Ints) -> Nodes:
        """The call that had begun last on a thread, by its number, at each moment; else -1."""
        latest = np.full(len(moment), -1, dtype=np.int64)
        borders = np.searchsorted(self.thread, np.arange(len(self.threads) + 1))
        for number in np.unique(thread[thread >= 0]):
            mine = np.flatnonzero(thread == number)
            first, last = borders[number], borders[number + 1]
            place = np.searchsorted(self.start[first:last], moment[mine], side="right") - 1
            latest[mine] = np.where(place >= 0, place + first, -1)
        return latest

    def at(self, moments: pl.DataFrame, beyond_ns: int | Ints = 0) -> Nodes:
        """The innermost call of its thread at each moment that goes on until then; else -1."""
        number_of = {thread: number for number, thread in enumerate(self.threads)}
        lane, lanes = lane_codes(moments)
        thread = np.array([number_of.get(name, -1) for name in lanes], dtype=np.int64)[lane]
        moment = moments["ts_ns"].to_numpy()
        nodes, until = self.last_begun(thread, moment), moment + beyond_ns
        climbing = np.flatnonzero(nodes >= 0)
        while len(climbing):
            climbing = climbing[self.end[nodes[climbing]] < until[climbing]]
            nodes[climbing] = self.parent[nodes[climbing]]
            climbing = climbing[nodes[climbing] >= 0]
        return nodes


Nested = TypeVar("Nested", bound=NestedCalls)


def nested_calls(calls: pl.DataFrame, kind: type[Nested]) -> Nested:
    """Calls nested by their times alone, whatever they are."""
    thread, threads = lane_codes(calls) if calls.height else (np.zeros(0, dtype=np.int64), [])
    start, end = start_and_end(calls)
    order = pre_order(thread, start, end)
    thread, start, end = thread[order], start[order], end[order]
    nest = nest_calls(thread, start, end)
    name, names = encode(calls["name"])
    texts = [text or "" for text in names]
    nested = kind(thread, start, end, nest.parent, nest.depth, name[order], texts, threads)
    nested.remember_size(nest.size)
    return nested


@dataclass(frozen=True, eq=False)
class CallForest(NestedCalls):
    """Host calls; threads are in the order of their first call."""

    row: Nodes
    """Row in `trace.host`."""
    role: NDArray[np.int8]
    stands_for: Nodes
    """The node a call is part of: itself, or the same-named caller it is the only callee of."""
    crossing: Flags
    """Calls that start inside another call of their thread and outlast it."""
    self_start: Ints
    """Where a call's own time begins: its start, or the end of the call it crosses."""

    @property
    def post_order(self) -> Ints:
        """Rank of each call when callees come before their caller."""
        return np.arange(len(self)) + self.size - 1 - self.depth

    @cached_property
    def is_operator(self) -> Flags:
        """Which calls are rows of operator statistics."""
        chosen: Flags = self.role == OPERATOR
        chosen &= self.stands_for == np.arange(len(self))
        return chosen


@memoize_per_trace
def call_forest(trace: Trace) -> CallForest:
    """Nest the host calls of a trace: operators, modules, steps, data loading, optimizers.

    On every clock they lie in one another as recorded.
    """
    recording = recording_of(trace)()
    if recording is None or recording is trace:
        return _nest_host_calls(trace)
    recorded = call_forest(recording)
    start, end = start_and_end(host_columns(trace), recorded.row)
    late, self_start = np.flatnonzero(recorded.self_start != recorded.start), start
    if len(late):
        self_start = start.copy()
        self_start[late] = np.maximum(start[late], end[_ending_at(recorded, late)])
    moved = replace(recorded, start=start, end=end, self_start=self_start)
    # What all clocks have in common is found once.
    moved.remember_size(recorded.size)
    return moved


def _ending_at(forest: CallForest, late: Nodes) -> Nodes:
    """For calls whose own time begins at the end of another of their thread: that one."""
    order = np.lexsort((forest.end, forest.thread))
    ends = np.unique(forest.end)
    key = wide(forest.thread[order]) * len(ends) + np.searchsorted(ends, forest.end[order])
    wanted = wide(forest.thread[late]) * len(ends) + np.searchsorted(ends, forest.self_start[late])
    return np.asarray(order[np.searchsorted(key, wanted)])


def _nest_host_calls(trace: Trace) -> CallForest:
    host = host_columns(trace)
    named = host_names(trace)
    role = _roles(trace)
    rows = np.flatnonzero(role != NOT_A_NODE)
    start, end = start_and_end(host, rows)
    lane, lanes = host_lanes(trace)
    thread, threads = _threads(lane[rows], lanes, start)
    frames = _IS_FRAME[role[rows]]
    # Captured calls take no time: they are nested by their callers.
    by = captured_nesting(trace)
    by_start, by_end = (start, end) if by is None else (by.start[rows], by.end[rows])
    order = pre_order(thread, by_start, by_end, frames)
    rows, thread, start, end = rows[order], thread[order], start[order], end[order]
    nest = nest_calls(thread, by_start[order], by_end[order], frames[order])
    self_start = nest.self_start if nest.crossing.any() else start
    if by is not None:
        is_captured = host_kinds(trace).among(*CAPTURED_KINDS)[rows]
        self_start = np.where(is_captured, start, by.recorded(nest.self_start))
    name = named.codes[rows]
    recorded = host_kinds(trace).among("operator", "captured_operator")
    recorded &= role != STEP
    forest = CallForest(
        row=narrow(rows, len(role)),
        thread=narrow(thread, len(threads)),
        start=start,
        end=end,
        parent=nest.parent,
        depth=nest.depth,
        name=name,
        role=role[rows],
        stands_for=_stands_for(nest.parent, name, recorded[rows]),
        crossing=nest.crossing,
        self_start=self_start,
        names=named.texts,
        threads=threads,
    )
    forest.remember_size(nest.size)
    return forest


@memoize_per_trace
def captured_nesting(trace: Trace) -> NestingTimes | None:
    """Starts and ends to nest all host calls by, where some were captured; else None."""
    columns = ("kind", "index", "ts_ns", "dur_ns", "captured_caller")
    return nesting_times(trace.lazy("host").select(columns).collect(engine="in-memory"))


def _roles(trace: Trace) -> NDArray[np.int8]:
    """What part each host event plays, `NOT_A_NODE` for those that play none."""
    named, kinds = host_names(trace), host_kinds(trace)
    by_name = np.array(
        [
            next((role for role, test in _ROLE_TESTS if test(text)), OPERATOR)
            for text in named.texts
        ],
        dtype=np.int8,
    )
    of_kind = {
        "operator": np.where(by_name == COLLECTIVE, OPERATOR, by_name),
        "annotation": np.where(_IS_BARE[by_name], NOT_A_NODE, by_name),
        "module": np.full(len(by_name), MODULE),
        "captured_operator": np.where(by_name == COLLECTIVE, OPERATOR, by_name),
        "captured_module": np.full(len(by_name), MODULE),
        "captured_annotation": np.where(_IS_BARE[by_name], NOT_A_NODE, by_name),
    }
    role_of = np.full((len(HOST_KINDS), len(by_name)), NOT_A_NODE, dtype=np.int8)
    for kind, roles in of_kind.items():
        role_of[HOST_KINDS.index(kind)] = roles
    role: NDArray[np.int8] = role_of[kinds.codes, named.codes]
    role[is_python_region(trace)] = PYTHON
    return role


_ROLE_TESTS = (
    (STEP, names.is_profiler_step),
    (DATA_LOADER, names.is_data_loader),
    (OPTIMIZER, names.is_optimizer_step),
    (COLLECTIVE, vendors.is_collective_call),
    (WRAPPER, names.is_wrapper),
    (PYTHON, names.is_lightning_mark),
)


_IS_BARE = np.isin(np.arange(len(ROLE_NAMES)), (OPERATOR, WRAPPER))
"""Roles that an annotation does not play."""


def is_python_region(trace: Trace) -> Flags:
    """Which host events have the old category `Python`: regions and not single functions."""
    functions = host_kinds(trace).among("python_function")
    if not functions.any():
        return functions
    regions = host_columns(trace)["category"].is_in(["Python", "python"])
    functions &= regions.fill_null(value=False).to_numpy()
    return functions


def _threads(
    lane: Codes, lanes: Sequence[tuple[str, str]], start: Ints
) -> tuple[Codes, list[tuple[str, str]]]:
    """The thread of each call, numbered in the order of their first calls."""
    if len(lanes) == 1:
        return lane, list(lanes)
    first = np.full(len(lanes), _END_OF_TIME)
    np.minimum.at(first, lane, start)
    used = [number for number in range(len(lanes)) if first[number] < _END_OF_TIME]
    # Threads that start together are told apart by text; numbers of lanes follow no order.
    used.sort(key=lambda number: (first[number], lanes[number]))
    place = np.zeros(len(lanes), dtype=np.int64)
    place[used] = np.arange(len(used))
    return place[lane], [lanes[number] for number in used]


def _stands_for(parent: Nodes, name: Codes, mergeable: Flags) -> Nodes:
    """An operator that only calls one operator of the same name is one call with it."""
    stands_for = narrow(np.arange(len(parent)), len(parent))
    same = np.flatnonzero((parent >= 0) & (name == name[parent]))
    same = same[mergeable[same] & mergeable[parent[same]]]
    if not len(same):
        return stands_for
    callees = np.bincount(parent[parent >= 0], minlength=len(parent))
    only = same[callees[parent[same]] == 1]
    stands_for[only] = parent[only]
    while True:
        further = stands_for[stands_for]
        if np.array_equal(further, stands_for):
            return stands_for
        stands_for = further


def callers_among(nodes: Nodes, parent: Nodes, wanted: Flags) -> Ints:
    """For each of some wanted nodes, in order: the place among them of its nearest wanted caller.

    -1 where there is none.
    """
    caller = enclosing_calls(parent[nodes], parent, wanted)
    return np.where(caller >= 0, np.searchsorted(nodes, caller), -1)


def chains(caller: Nodes, depth: Ints, kind: Ints) -> tuple[Ints, Nodes]:
    """A row per chain of callers: that of each call, callers' rows first; and its first call.

    Of equal depth they are in the order of their first calls.  Calls are in one row where they are
    of one kind and their callers are in one row.
    """
    row = np.full(len(caller), -1, dtype=np.int64)
    firsts: list[Nodes] = []
    rows = 0
    for level in levels(depth):
        above = np.where(caller[level] >= 0, row[caller[level]], -1)
        key = (above + 1) * (int(kind.max()) + 1) + kind[level]
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        # In the order of their first calls: how kinds are numbered depends on what was read before.
        order = np.argsort(first)
        turn = np.empty(len(order), dtype=np.int64)
        turn[order] = np.arange(len(order))
        row[level] = rows + turn[place]
        firsts.append(level[first[order]])
        rows += len(first)
    return row, np.concatenate(firsts or [np.zeros(0, dtype=np.int64)])

"""Host calls nested by thread: who called whom.

Calls of one thread lie inside one another, so sorting by (start, -end) puts them in pre-order:
parents before children, every subtree in one stretch.  Depth, parent, subtree sums and
post-order then follow from whole-array arithmetic; only threads whose calls cross one another
are walked call by call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses import names
from timesink.analyses.columns import host_columns, host_lanes, host_names
from timesink.analyses.once import once_per_trace
from timesink.analyses.texts import Codes, Texts
from timesink.model.schema import HOST_KINDS
from timesink.model.trace import Trace

Nodes: TypeAlias = NDArray[np.int64]
"""Positions of nodes in the forest; -1 where there is none."""

_END_OF_TIME = np.iinfo(np.int64).max

NOT_A_NODE = -1
OPERATOR, STEP, DATA_LOADER, OPTIMIZER, MODULE, COLLECTIVE, PYTHON, WRAPPER = range(8)
ROLE_NAMES = (
    "operator",
    "step",
    "data_loader",
    "optimizer",
    "module",
    "collective",
    "python",
    "wrapper",
)

_FRAMES = (STEP, MODULE)
"""Roles that frame whole stretches of work: a call that outlasts one does not replace it."""


@dataclass(frozen=True, eq=False)
class CallForest:
    """Host calls in pre-order, thread after thread; arrays have one entry per call."""

    row: Nodes
    """Row in `trace.host`."""
    thread: Codes
    """Place in `threads`."""
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    parent: Nodes
    depth: NDArray[np.int64]
    name: Codes
    """Place in `names`."""
    role: NDArray[np.int8]
    stands_for: Nodes
    """The node a call is part of: itself, or the same-named caller it is the only callee of."""
    crossing: NDArray[np.bool_]
    """Calls that start inside another call of their thread and outlast it."""
    self_start: NDArray[np.int64]
    """Where a call's own time begins: its start, or the end of the call it crosses."""
    names: Sequence[str]
    threads: Sequence[tuple[str, str]]
    """Process and thread, in the order of their first call."""

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """How many calls a subtree has, the call itself included."""
        size = np.ones(len(self), dtype=np.int64)
        for nodes in reversed(list(_levels(self.depth))[1:]):
            np.add.at(size, self.parent[nodes], size[nodes])
        return size

    @cached_property
    def post_order(self) -> NDArray[np.int64]:
        """Rank of each call when callees come before their caller."""
        return np.arange(len(self)) + self.size - 1 - self.depth

    @cached_property
    def is_operator(self) -> NDArray[np.bool_]:
        """Which calls are rows of operator statistics."""
        chosen: NDArray[np.bool_] = self.role == OPERATOR
        chosen &= self.stands_for == np.arange(len(self))
        return chosen

    def subtree_sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum of the values over each call and everything it calls."""
        if not values.any():
            return values.copy()
        before = np.concatenate([np.zeros(1, dtype=values.dtype), np.cumsum(values)])
        sums: NDArray[Any] = before[np.arange(len(self)) + self.size] - before[:-1]
        return sums

    def children(self, node: int) -> Nodes:
        """The calls made directly by one call, in order; the roots of all threads for -1."""
        if node < 0:
            return np.flatnonzero(self.parent < 0)
        below = slice(node + 1, node + int(self.size[node]))
        return np.flatnonzero(self.parent[below] == node) + node + 1


@once_per_trace
def call_forest(trace: Trace) -> CallForest:
    """Nest the host calls of a trace: operators, modules, steps, data loading, optimizers.

    >>> import timesink
    >>> forest = call_forest(timesink.open(timesink.sample()))
    >>> bool((forest.depth[forest.parent >= 0] > 0).all())
    True
    """
    host = host_columns(trace)
    named = host_names(trace)
    role = _roles(host, named)
    rows = np.flatnonzero(role != NOT_A_NODE)
    start = host["ts_ns"].to_numpy()[rows]
    end = start + host["dur_ns"].to_numpy()[rows]
    lane, lanes = host_lanes(trace)
    thread, threads = _threads(lane[rows], lanes, start)
    frames = np.isin(role[rows], _FRAMES)
    order = _pre_order(thread, start, end, frames)
    rows, thread, start, end = rows[order], thread[order], start[order], end[order]
    nest = _nest(thread, start, end, frames[order])
    name = named.codes[rows]
    return CallForest(
        row=rows,
        thread=thread,
        start=start,
        end=end,
        parent=nest.parent,
        depth=nest.depth,
        name=name,
        role=role[rows],
        stands_for=_stands_for(nest.parent, name, _is_recorded_operator(host, role)[rows]),
        crossing=nest.crossing,
        self_start=nest.self_start,
        names=named.texts,
        threads=threads,
    )


# -- which calls -----------------------------------------------------------------------------------


def _roles(host: pl.DataFrame, named: Texts) -> NDArray[np.int8]:
    """What part each host event plays, `NOT_A_NODE` for those that play none."""
    by_name = np.array([_role_of_name(text) for text in named.texts], dtype=np.int8)
    of_kind = {
        "operator": np.where(by_name == COLLECTIVE, OPERATOR, by_name),
        "annotation": np.where(np.isin(by_name, (OPERATOR, WRAPPER)), NOT_A_NODE, by_name),
        "module": np.full(len(by_name), MODULE),
    }
    role_of = np.full((len(HOST_KINDS), len(by_name)), NOT_A_NODE, dtype=np.int8)
    for kind, roles in of_kind.items():
        role_of[HOST_KINDS.index(kind)] = roles
    role: NDArray[np.int8] = role_of[host["kind"].to_physical().to_numpy(), named.codes]
    role[_is_python_region(host)] = PYTHON
    return role


_ROLE_TESTS = (
    (STEP, names.is_profiler_step),
    (DATA_LOADER, names.is_data_loader),
    (OPTIMIZER, names.is_optimizer_step),
    (COLLECTIVE, names.is_collective_call),
    (WRAPPER, names.is_wrapper),
    (PYTHON, names.is_lightning_mark),
)


def _role_of_name(name: str) -> int:
    return next((role for role, test in _ROLE_TESTS if test(name)), OPERATOR)


def _is_python_region(host: pl.DataFrame) -> NDArray[np.bool_]:
    """Events of the old category `Python`, which marks regions and not single functions."""
    functions = host["kind"] == "python_function"
    if not functions.any():
        return np.zeros(host.height, dtype=np.bool_)
    regions = functions & host["category"].is_in(["Python", "python"])
    return regions.fill_null(value=False).to_numpy()


def _is_recorded_operator(host: pl.DataFrame, role: NDArray[np.int8]) -> NDArray[np.bool_]:
    recorded: NDArray[np.bool_] = (host["kind"] == "operator").to_numpy()
    recorded &= role != STEP
    return recorded


def _threads(
    lane: Codes, lanes: Sequence[tuple[str, str]], start: NDArray[np.int64]
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


# -- order and nesting -----------------------------------------------------------------------------


def _pre_order(
    thread: Codes, start: NDArray[np.int64], end: NDArray[np.int64], frames: NDArray[np.bool_]
) -> Nodes:
    """By thread, start and longest first; of equal ones frames first, then as in the table."""
    by_thread = np.argsort(thread.astype(np.int32), kind="stable")
    borders = np.flatnonzero(np.diff(thread[by_thread])) + 1
    return np.concatenate(
        [_by_start(part, start, end, frames) for part in np.split(by_thread, borders)]
        or [np.zeros(0, dtype=np.int64)]
    )


def _by_start(
    part: Nodes, start: NDArray[np.int64], end: NDArray[np.int64], frames: NDArray[np.bool_]
) -> Nodes:
    order = part[np.argsort(start[part], kind="stable")]
    starts = start[order]
    same = starts[1:] == starts[:-1]
    if same.any():
        # Equal starts are few: only they are sorted by length as well.
        tied = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
        among = order[tied]
        order[tied] = among[np.lexsort((~frames[among], -end[among], start[among]))]
    return order


@dataclass(frozen=True, slots=True)
class _Nest:
    parent: Nodes
    depth: NDArray[np.int64]
    crossing: NDArray[np.bool_]
    self_start: NDArray[np.int64]


def _nest(
    thread: Codes, start: NDArray[np.int64], end: NDArray[np.int64], frames: NDArray[np.bool_]
) -> _Nest:
    depth = np.zeros(len(thread), dtype=np.int64)
    stretches = list(_stretches(thread))
    for part in stretches:
        depth[part] = _depth_when_nested(start[part], end[part])
    parent = _parents(depth)
    crossing = np.zeros(len(thread), dtype=np.bool_)
    self_start = start.copy()
    misfits = np.flatnonzero((parent >= 0) & (end > end[parent]))
    for number in np.unique(thread[misfits]):
        _walk(stretches[number], start, end, frames, _Nest(parent, depth, crossing, self_start))
    return _Nest(parent, depth, crossing, self_start)


def _stretches(thread: Codes) -> Iterator[slice]:
    borders = [0, *(np.flatnonzero(np.diff(thread)) + 1), len(thread)]
    for first, last in pairwise(borders):
        if last > first:
            yield slice(int(first), int(last))


def _depth_when_nested(start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Calls open at each start: those begun before it, less those ended by then."""
    first_after = np.arange(1, len(start) + 1)
    longer = np.flatnonzero(end[:-1] > start[1:])
    first_after[longer] = np.searchsorted(start, end[longer])
    # A call without length ends when it starts, and so before all that come after it.
    empty = np.flatnonzero(start == end)
    first_after[empty] = empty + 1
    ended = np.cumsum(np.bincount(first_after, minlength=len(start) + 1))[:-1]
    return np.arange(len(start)) - ended


def _parents(depth: NDArray[np.int64]) -> Nodes:
    """The latest call one level up."""
    parent = np.full(len(depth), -1, dtype=np.int64)
    above: Nodes | None = None
    for nodes in _levels(depth):
        if above is not None and len(above):
            parent[nodes] = above[np.searchsorted(above, nodes) - 1]
        above = nodes
    return parent


def _levels(depth: NDArray[np.int64]) -> Iterator[Nodes]:
    """Nodes of depth 0, then of depth 1, and so on, each in pre-order."""
    if not len(depth):
        return
    by_depth = np.argsort(np.minimum(depth, 32767).astype(np.int16), kind="stable")
    counts = np.bincount(depth)
    yield from np.split(by_depth, np.cumsum(counts)[:-1])


def _walk(
    part: slice,
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    frames: NDArray[np.bool_],
    nest: _Nest,
) -> None:
    """Nest one thread whose calls cross, call by call.

    A call that outlasts the one it starts in becomes its sibling, and its own time starts where
    the other ends.  A step or module it outlasts stays its caller, though.
    """
    starts, ends, framing = start[part].tolist(), end[part].tolist(), frames[part].tolist()
    open_calls: list[int] = []
    for place, (begin, finish) in enumerate(zip(starts, ends, strict=True)):
        node = part.start + place
        while open_calls:
            limit = ends[open_calls[-1]]
            if begin < limit:
                if finish <= limit:
                    break
                nest.crossing[node] = True
                if framing[open_calls[-1]]:
                    break
                nest.self_start[node] = max(nest.self_start[node], limit)
            open_calls.pop()
        nest.parent[node] = part.start + open_calls[-1] if open_calls else -1
        nest.depth[node] = len(open_calls)
        open_calls.append(place)


def _stands_for(parent: Nodes, name: Codes, mergeable: NDArray[np.bool_]) -> Nodes:
    """An operator that only calls one operator of the same name is one call with it."""
    stands_for = np.arange(len(parent))
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

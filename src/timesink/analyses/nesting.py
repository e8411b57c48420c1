"""Order and nesting of calls by their times alone.

Sorted by (start, -end) the calls of a thread are in pre-order: parents before children, every
subtree in one stretch.  Depth and parent then follow from whole-array arithmetic; only threads
whose calls cross one another are walked call by call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from timesink.analyses.texts import Codes
from timesink.model.arrays import Flags, Ints

Nodes: TypeAlias = Ints
"""Positions of nodes in the forest; -1 where there is none."""


def pre_order(thread: Codes, start: Ints, end: Ints, frames: Flags) -> Nodes:
    """By thread, start and longest first; of equal ones frames first, then as in the table."""
    by_thread = np.argsort(thread.astype(np.int32), kind="stable")
    borders = np.flatnonzero(np.diff(thread[by_thread])) + 1
    return np.concatenate(
        [_by_start(part, start, end, frames) for part in np.split(by_thread, borders)]
        or [np.zeros(0, dtype=np.int64)]
    )


def _by_start(part: Nodes, start: Ints, end: Ints, frames: Flags) -> Nodes:
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
class Nesting:
    """How calls lie in one another; arrays have one entry per call, in pre-order."""

    parent: Nodes
    depth: Ints
    crossing: Flags
    self_start: Ints


def nest_calls(thread: Codes, start: Ints, end: Ints, frames: Flags) -> Nesting:
    """Nest calls that are in pre-order; `frames` stay callers of what outlasts them."""
    depth = np.zeros(len(thread), dtype=np.int64)
    stretches = list(stretches_of(thread))
    for part in stretches:
        depth[part] = depth_when_nested(start[part], end[part])
    # The latest call one level up.
    parent = np.full(len(depth), -1, dtype=np.int64)
    above: Nodes | None = None
    for nodes in levels(depth):
        if above is not None and len(above):
            parent[nodes] = above[np.searchsorted(above, nodes) - 1]
        above = nodes
    crossing = np.zeros(len(thread), dtype=np.bool_)
    self_start = start.copy()
    misfits = np.flatnonzero((parent >= 0) & (end > end[parent]))
    for number in np.unique(thread[misfits]):
        part = stretches[number]
        walked = _walk(start[part], end[part], frames[part])
        parent[part] = np.where(walked.parent >= 0, walked.parent + part.start, -1)
        depth[part], crossing[part] = walked.depth, walked.crossing
        self_start[part] = walked.self_start
    return Nesting(parent, depth, crossing, self_start)


def stretches_of(thread: Codes) -> Iterator[slice]:
    """Where each thread lies among calls that are sorted by thread."""
    borders = [0, *(np.flatnonzero(np.diff(thread)) + 1), len(thread)]
    for first, last in pairwise(borders):
        if last > first:
            yield slice(int(first), int(last))


def depth_when_nested(start: Ints, end: Ints) -> Ints:
    """Calls open at each start: those begun before it, less those ended by then."""
    first_after = np.arange(1, len(start) + 1)
    longer = np.flatnonzero(end[:-1] > start[1:])
    first_after[longer] = np.searchsorted(start, end[longer])
    # A call without length ends when it starts, and so before all that come after it.
    empty = np.flatnonzero(start == end)
    first_after[empty] = empty + 1
    ended = np.cumsum(np.bincount(first_after, minlength=len(start) + 1))[:-1]
    return np.arange(len(start)) - ended


def levels(depth: Ints) -> Iterator[Nodes]:
    """Nodes of depth 0, then of depth 1, and so on, each in pre-order."""
    if not len(depth):
        return
    counts = np.bincount(depth)
    # Short numbers are sorted digit by digit, ten times as fast.
    narrow = np.int16 if len(counts) <= np.iinfo(np.int16).max else np.int64
    by_depth = np.argsort(depth.astype(narrow), kind="stable")
    yield from np.split(by_depth, np.cumsum(counts)[:-1])


def subtree_sizes(depth: Ints, parent: Nodes) -> Ints:
    """How many calls the subtree of each call has, the call itself included."""
    size = np.ones(len(depth), dtype=np.int64)
    for nodes in reversed(list(levels(depth))[1:]):
        np.add.at(size, parent[nodes], size[nodes])
    return size


def children_of(node: int, parent: Nodes, size: Ints) -> Nodes:
    """The calls that a call makes itself, in order."""
    below = slice(node + 1, node + int(size[node]))
    return np.asarray(np.flatnonzero(parent[below] == node) + node + 1)


def within(roots: Nodes, size: Ints) -> Flags:
    """Which calls are among some, or called by one of these, however deep."""
    borders = np.zeros(len(size) + 1, dtype=np.int64)
    np.add.at(borders, roots, 1)
    np.add.at(borders, roots + size[roots], -1)
    return np.asarray(np.cumsum(borders)[:-1] > 0)


def _walk(start: Ints, end: Ints, frames: Flags) -> Nesting:
    """Nest one thread whose calls cross, call by call.

    A call that outlasts the one it starts in becomes its sibling, and its own time starts where
    the other ends.  A step or module it outlasts stays its caller, though.
    """
    starts, ends, framing = start.tolist(), end.tolist(), frames.tolist()
    parents, depths, crossing, own_starts = [], [], [], []
    open_calls: list[int] = []
    for place, (begin, finish) in enumerate(zip(starts, ends, strict=True)):
        own_start, crosses = begin, False
        while open_calls:
            limit = ends[open_calls[-1]]
            if begin < limit:
                if finish <= limit:
                    break
                crosses = True
                if framing[open_calls[-1]]:
                    break
                own_start = max(own_start, limit)
            open_calls.pop()
        parents.append(open_calls[-1] if open_calls else -1)
        depths.append(len(open_calls))
        crossing.append(crosses)
        own_starts.append(own_start)
        open_calls.append(place)
    return Nesting(
        np.array(parents, dtype=np.int64),
        np.array(depths, dtype=np.int64),
        np.array(crossing, dtype=np.bool_),
        np.array(own_starts, dtype=np.int64),
    )

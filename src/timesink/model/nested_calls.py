"""How calls lie in one another, by their times alone: pre-order, depths and callers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np
import polars as pl

from timesink.model.arrays import Places, narrow, run_slices
from timesink.model.intervals import Flags, Ints
from timesink.model.schema import CAPTURED_KINDS

# Order and nesting of calls by their times alone.
#
# Sorted by (start, -end) the calls of a thread are in pre-order: parents before children, every
# subtree in one stretch.  Depth and parent then follow from whole-array arithmetic; only threads
# whose calls cross one another are walked call by call.

Nodes: TypeAlias = Places
"""Positions of nodes in the forest; -1 where there is none."""


def pre_order(thread: Ints, start: Ints, end: Ints, frames: Flags | None = None) -> Nodes:
    """By thread, start and longest first; of equal ones frames first, then as in the table."""
    frames = np.zeros(len(start), dtype=np.bool_) if frames is None else frames
    by_thread = np.argsort(thread.astype(np.int32), kind="stable")
    parts = [by_thread[:0]]
    for part in (by_thread[run] for run in run_slices(thread[by_thread])):
        order = part
        if (start[part[1:]] < start[part[:-1]]).any():
            order = part[np.argsort(start[part], kind="stable")]
        same = start[order[1:]] == start[order[:-1]]
        if same.any():
            # Equal starts are few: only they are sorted by length as well.
            tied = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
            among = order[tied]
            order[tied] = among[np.lexsort((~frames[among], -end[among], start[among]))]
        parts.append(order)
    return np.concatenate(parts)


class Nesting(msgspec.Struct, frozen=True):
    """How calls lie in one another; arrays have one entry per call, in pre-order."""

    parent: Nodes
    depth: Places
    crossing: Flags
    self_start: Ints
    size: Places | None = None
    """How many calls each subtree has, where that was counted on the way."""


def nest_in_order(thread: Ints, start: Ints, end: Ints, frames: Flags | None = None) -> Nesting:
    """Nest calls that are in pre-order; `frames` stay callers of what outlasts them.

    Threads whose calls cross are walked call by call.
    """
    frames = np.zeros(len(start), dtype=np.bool_) if frames is None else frames
    depth = np.zeros(len(thread), dtype=np.int64)
    # Numbers of threads need not follow one another: some have no call here.
    stretches = {int(thread[part.start]): part for part in run_slices(thread)}
    for part in stretches.values():
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
    for number in np.unique(thread[misfits]).tolist():
        part = stretches[number]
        walked = walk_by_loop(start[part], end[part], frames[part])
        parent[part] = np.where(walked.parent >= 0, walked.parent + part.start, -1)
        depth[part], crossing[part] = walked.depth, walked.crossing
        self_start[part] = walked.self_start
    many = len(thread)
    return Nesting(narrow(parent, many), narrow(depth, many), crossing, self_start)


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


def levels(depth: Places) -> Iterator[Nodes]:
    """Nodes of depth 0, then of depth 1, and so on, each in pre-order."""
    if not len(depth):
        return
    counts = np.bincount(depth)
    # Short numbers are sorted digit by digit, ten times as fast.
    narrow = np.int16 if len(counts) <= np.iinfo(np.int16).max else np.int64
    by_depth = np.argsort(depth.astype(narrow), kind="stable")
    yield from np.split(by_depth, np.cumsum(counts)[:-1])


def subtree_sizes(depth: Places, parent: Nodes) -> Places:
    """How many calls the subtree of each call has, the call itself included."""
    size = np.ones(len(depth), dtype=np.int64)
    for nodes in reversed(list(levels(depth))[1:]):
        np.add.at(size, parent[nodes], size[nodes])
    return narrow(size, len(size))


def walk_by_loop(start: Ints, end: Ints, frames: Flags) -> Nesting:
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


def enclosing_calls(nodes: Nodes, parent: Nodes, wanted: Flags) -> Nodes:
    """For each node itself or its nearest caller that is wanted; -1 where there is none."""
    holders = np.array(nodes, dtype=np.int64)
    climbing = np.flatnonzero(holders >= 0)
    while len(climbing):
        climbing = climbing[~wanted[holders[climbing]]]
        holders[climbing] = parent[holders[climbing]]
        climbing = climbing[holders[climbing] >= 0]
    return holders


_ROOM_BITS, _MAX_BITS = 20, 62
"""Between two moments of a recording a million borders of captured calls find room."""


class NestingTimes(NamedTuple):
    """Starts and ends that say how calls lie in one another, not when they were made."""

    start: Ints
    end: Ints
    origin: int
    moments: Ints | None
    """The times they stand for, where these are too far apart to be counted from the origin."""

    def recorded(self, times: Ints) -> Ints:
        """What some of these times stand for."""
        places = times >> _ROOM_BITS
        return places + self.origin if self.moments is None else np.asarray(self.moments[places])


def nesting_times(host: pl.DataFrame) -> NestingTimes | None:
    """Starts and ends of host calls to nest them by, where some were captured; else None.

    Captured calls take no time, so their callers say how they lie in one another; all those of a
    replay lie right before the end of the call that replays them.

    >>> from timesink.model.schema import HOST
    >>> columns = {"index": [7, 8], "ts_ns": [5, 5], "dur_ns": [0, 0], "captured_caller": [None, 7]}
    >>> kinds = pl.Series(["captured_module", "captured_operator"], dtype=HOST.schema["kind"])
    >>> start, end, *_ = nesting_times(pl.DataFrame(columns).with_columns(kind=kinds))
    >>> bool(start[0] < start[1] < end[1] < end[0])
    True
    """
    is_captured = host["kind"].is_in(CAPTURED_KINDS).to_numpy()
    rows = np.flatnonzero(is_captured)
    if not len(rows):
        return None
    start = host["ts_ns"].to_numpy()
    end = start + host["dur_ns"].to_numpy()
    origin, moments = int(start.min()), None
    if (int(end.max()) - origin).bit_length() + _ROOM_BITS > _MAX_BITS:
        # Beyond some hours ranks stand for times: no recording has more than 2^43 of them.
        moments = np.unique(np.concatenate([start, end]))
    start, end = (
        (side - origin if moments is None else np.searchsorted(moments, side)) << _ROOM_BITS
        for side in (start, end)
    )
    order = rows[np.argsort(host["index"].to_numpy()[rows], kind="stable")]
    index = host["index"].cast(pl.Int64).to_numpy()[order]
    caller = host["captured_caller"].fill_null(-1).to_numpy()[order]
    place = np.searchsorted(index, caller)
    parent = np.where(caller >= 0, place, -1)
    depth = np.zeros(len(order), dtype=np.int64)
    # Callers come first, so each pass settles one level.
    pending = np.flatnonzero(parent >= 0)
    while len(pending):
        above = depth[parent[pending]] + 1
        changed = above != depth[pending]
        depth[pending] = above
        pending = pending[changed]
    size = subtree_sizes(depth, parent)
    # Of all captured calls that return at one moment, the place of each border among theirs.
    moment = start[order]
    new_moment = np.append(True, moment[1:] != moment[:-1])
    first = np.maximum.accumulate(np.where(new_moment, np.arange(len(order)), 0))
    number = np.arange(len(order)) - first
    enter = 2 * number - depth
    leave = enter + 2 * size - 1
    room = 1 << _ROOM_BITS
    start[order] = moment - room + 1 + np.minimum(enter, room - 2)
    end[order] = moment - room + 1 + np.minimum(leave, room - 2)
    return NestingTimes(start, end, origin, moments)

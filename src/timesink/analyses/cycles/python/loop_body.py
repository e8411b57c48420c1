"""Where the body of a loop begins and ends around the call that marks it.

A loop does more than its main call: it fetches before and hands on after.  Calls between two
marking calls belong to the later one, unless they follow the last marking call of the recording
and do not precede the first: those close a body.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timesink.analyses.cycles.python.calls import PythonCalls
from timesink.analyses.nesting import Nodes
from timesink.model import intervals
from timesink.model.arrays import Flags, Ints

_BREAK_LENGTHS, _BREAK_NS = 5, 50_000_000
"""A pause of so many typical calls, and at least so long, ends a chain of cycles."""
_USUAL = 0.5
"""A call belongs to the loop when it comes between this share of the marking calls."""
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Body:
    """Cycles of one thread: the marking call of each, and the time it spans."""

    nodes: Nodes
    start: Ints
    end: Ints


@dataclass(frozen=True, eq=False)
class _Beside:
    """Calls on top that are no marking calls: their names, times, and between which they are."""

    name: Ints
    start: Ints
    end: Ints
    gap: Ints
    """How many marking calls began before."""

    def chosen(self, which: Flags) -> _Beside:
        return _Beside(self.name[which], self.start[which], self.end[which], self.gap[which])


def loop_bodies(calls: PythonCalls, top: Nodes, chosen: Nodes, lane: int) -> Body:
    """Widen the marking calls of one thread to the bodies of the loop they are in."""
    nodes = chosen[calls.lane[chosen] == lane]
    on_top = top[calls.lane[top] == lane]
    holder = _holders(calls, on_top, nodes)
    # The call on top that holds just one marking call; else the marking call itself.
    alone = np.bincount(holder + 1, minlength=len(calls) + 1)[holder + 1] == 1
    core = np.where((holder >= 0) & alone, holder, nodes)
    start, end = calls.start[core], calls.end[core]
    inside = intervals.holding(calls.start[on_top], start, end) >= 0
    rest = on_top[~inside & ~np.isin(on_top, holder) & ~calls.barred[calls.name[on_top]]]
    begins = calls.start[rest]
    beside = _Beside(calls.name[rest], begins, calls.end[rest], np.searchsorted(start, begins))
    # Which of the other calls close a body, and which open one; both come in most gaps.
    count = len(nodes)
    name, gap = beside.name, beside.gap
    size = int(name.max(initial=0)) + 1
    inner = (gap > 0) & (gap < count)
    seen = np.unique(np.stack([name[inner], gap[inner]]), axis=1)[0]
    usual = np.bincount(seen, minlength=size) >= max(1, _USUAL * (count - 1))
    first = np.bincount(name[gap == 0], minlength=size) > 0
    last = np.bincount(name[gap == count], minlength=size) > 0
    closes = usual & last & ~first
    closing, opening = closes[name], (usual & ~closes)[name]
    # Ends moved behind the closing calls that follow at once.
    stop = np.full(len(end) + 1, _NEVER)
    np.minimum.at(stop, beside.gap[~closing], beside.start[~closing])
    closers = beside.chosen(closing & (beside.gap > 0) & (beside.start < stop[beside.gap]))
    moved = end.copy()
    np.maximum.at(moved, closers.gap - 1, closers.end)
    end = moved
    return Body(nodes, _opened(beside.chosen(opening), start, end), end)


def _holders(calls: PythonCalls, on_top: Nodes, nodes: Nodes) -> Nodes:
    """The call on top each marking call is in, or is; -1 where it is in none."""
    above = np.searchsorted(on_top, nodes, side="right") - 1
    holder = on_top[np.maximum(above, 0)] if len(on_top) else np.full(len(nodes), -1)
    held = (above >= 0) & (nodes < holder + calls.size[holder])
    return np.where(held, holder, -1)


def _opened(openers: _Beside, start: Ints, end: Ints) -> Ints:
    """Starts moved before the opening calls; after a long pause before the last round of them."""
    longest = max(_BREAK_LENGTHS * float(np.median(end - start)), _BREAK_NS)
    free_from = np.concatenate([[start[0] - longest], end[:-1]]).astype(np.int64)
    openers = openers.chosen(openers.gap < len(start))
    openers = openers.chosen(openers.start >= free_from[openers.gap])
    if not len(openers.gap):
        return start
    earliest = start.copy()
    np.minimum.at(earliest, openers.gap, openers.start)
    # The call that most often comes first between two marking calls.
    rows = np.flatnonzero(openers.gap > 0)
    rows = rows if len(rows) else np.arange(len(openers.gap))
    firsts = rows[np.unique(openers.gap[rows], return_index=True)[1]]
    leads = openers.chosen(openers.name == int(np.bincount(openers.name[firsts]).argmax()))
    latest = free_from - 1
    np.maximum.at(latest, leads.gap, leads.start)
    near = start - free_from < longest
    recent = (latest >= free_from) & (start - latest < longest)
    return np.where(near, earliest, np.where(recent, latest, start))

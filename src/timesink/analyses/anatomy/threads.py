"""Which threads of a process do the work of its cycles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.behaviour.calls import process_of_host
from timesink.analyses.behaviour.functions import host_classes
from timesink.analyses.behaviour.untraced import WORK, OwnThread, own_threads
from timesink.analyses.behaviour.windows import Windows
from timesink.analyses.columns import host_lanes
from timesink.analyses.cycles.cycles import Cycles
from timesink.model import intervals
from timesink.model.arrays import Ints
from timesink.model.intervals import IntervalSet
from timesink.model.trace import Trace

Rows = NDArray[np.intp]
"""Rows of `trace.host`."""

_RARER = 10
"""A thread that works beside another one's work so many times less than it would by chance works in
its stead."""


@dataclass(frozen=True, slots=True, eq=False)
class Crew:
    """Cycles of one process, and the host events of the threads that work for them."""

    process: str
    windows: Windows
    own: Rows
    """Calls of the thread that marks these cycles; none where no thread does."""
    instead: Rows
    """Calls of threads that work while that one does not, as in the backward pass."""
    lanes: Ints
    """Numbers of these threads, in the sense of `host_lanes`."""


def crews(trace: Trace, cycles: Cycles, windows: Mapping[str, Windows]) -> list[Crew]:
    """All cycles by the threads that work for them.

    Cycles that no thread marks, as those of a kernel sequence, are worked for by every thread of
    their process.
    """
    marked = [] if cycles.on_device else [_crew(own) for own in own_threads(trace, cycles, windows)]
    return [*marked, *_unmarked(trace, windows, marked)]


def _crew(own: OwnThread) -> Crew:
    calls = own.calls
    others = list(_in_stead(own))
    instead = [calls.row[calls.of(thread)][calls.is_work[calls.of(thread)]] for thread in others]
    return Crew(
        process=calls.process,
        windows=own.windows,
        own=calls.row[calls.of(own.thread)],
        instead=np.concatenate([calls.row[:0], *instead]),
        lanes=np.array([own.thread, *others], dtype=np.int64),
    )


def _in_stead(own: OwnThread) -> Iterator[int]:
    """Threads that hardly ever work while the own thread does.

    One that works beside it, such as a loader of data, shares its time with the other's work.
    Python functions and annotations tell nothing: the own thread is in one while it waits.
    """
    calls, bounds = own.calls, _pairs(own.windows)
    length = int((bounds[:, 1] - bounds[:, 0]).sum())
    mine = _pairs(calls.working(own.thread))
    at_work = int(intervals.coverage_within(mine, bounds).sum())
    for thread in np.unique(calls.thread[calls.is_work]).tolist():
        if thread == own.thread:
            continue
        theirs = _pairs(calls.working(thread))
        here = int(intervals.coverage_within(theirs, bounds).sum())
        both = intervals.intersect(theirs, mine)
        beside = int(intervals.coverage_within(both, bounds).sum())
        if here and _RARER * beside * length <= here * at_work:
            yield thread


def _pairs(stretches: Windows) -> IntervalSet:
    return np.stack([stretches.start, stretches.end]).T


def _unmarked(trace: Trace, windows: Mapping[str, Windows], marked: list[Crew]) -> Iterator[Crew]:
    """Cycles of no known thread, with all calls of their process that are work for sure."""
    process, _ = process_of_host(trace, list(windows))
    is_work = np.isin(host_classes(trace), WORK)
    lanes = host_lanes(trace)[0]
    for number, (pid, window) in enumerate(windows.items()):
        known = [crew.windows.row for crew in marked if crew.process == pid]
        rest = ~np.isin(window.row, np.concatenate([window.row[:0], *known]))
        if rest.any():
            mine = process == number
            working = np.flatnonzero(mine & is_work)
            used = np.unique(lanes[mine])
            yield Crew(pid, window.take(rest), working[:0], working, used)

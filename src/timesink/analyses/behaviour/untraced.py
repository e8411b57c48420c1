"""The time of a cycle's own thread that is in no recorded call, as functions of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from timesink.analyses.behaviour.calls import (
    HOST_NUMBER,
    Calls,
    CycleWork,
    Windows,
    concat_calls,
    process_of_host,
)
from timesink.analyses.behaviour.classes import FUNCTION_CLASSES, SIDE_WAIT, UNTRACED
from timesink.analyses.behaviour.functions import (
    NO_CALL,
    NOT_COUNTED,
    SCHEDULED,
    WAITING,
    function_name,
    host_classes,
)
from timesink.analyses.columns import host_columns, host_lanes, host_names, start_and_end
from timesink.analyses.cycles.marks import family_name
from timesink.analyses.cycles.spans import Cycles
from timesink.analyses.names import is_waiting_call
from timesink.model import intervals
from timesink.model.intervals import Flags, Ints, union_starts
from timesink.model.trace import Trace

_CLASS = FUNCTION_CLASSES.index(UNTRACED)
WORK = tuple(
    FUNCTION_CLASSES.index(name)
    for name in ("cpu_operator", "cpu_launch", "cpu_copy", "cpu_sync", "cpu_other")
)
"""Calls that show a thread at work.  Python functions and annotations may just as well wait."""
_RARER = 10
"""A thread that runs beside a thread's calls so many times less than it would by chance works in
its stead."""


def with_untraced(
    trace: Trace, cycles: Cycles, windows: Mapping[str, Windows], host: CycleWork
) -> CycleWork:
    """Host work with what the threads that mark cycles did while they were in no recorded call.

    The shares of such a thread then add up to the whole cycle.  Cycles of a kernel sequence have no
    thread of their own.
    """
    threads = () if cycles.on_device else own_threads(trace, cycles, windows)
    parts = [host.calls]
    for thread in threads:
        for function, gaps in enumerate(_untraced_times(thread), len(host.functions)):
            many = len(gaps.row)
            calls = Calls(
                row=gaps.row,
                function=np.full(many, function, dtype=np.int64),
                function_class=np.full(many, _CLASS, dtype=np.int8),
                device=np.full(many, HOST_NUMBER, dtype=np.int64),
                start=gaps.start,
                end=gaps.end,
                time=gaps.end - gaps.start,
                calls=np.ones(many, dtype=np.int64),
            )
            parts.append(calls)
    return replace(host, calls=concat_calls(parts), functions=[*host.functions, NO_CALL, WAITING])


class OwnThread(msgspec.Struct, frozen=True, eq=False):
    """A thread that marks cycles, the cycles it marks, and all calls of its process by thread."""

    process: str
    thread: int
    windows: Windows
    row: NDArray[np.intp]
    """Of each call: its row in `trace.host`."""
    start: Ints
    end: Ints
    lane: Ints
    """Of each call: its thread."""
    is_work: Flags

    def of(self, thread: int) -> slice:
        """Where the calls of a thread are."""
        first, beyond = np.searchsorted(self.lane, [thread, thread + 1]).tolist()
        return slice(first, beyond)

    def working(self, thread: int) -> Windows:
        """When a thread is in a call that is work for sure."""
        mine = self.of(thread)
        work = self.is_work[mine]
        return _merge_windows(self.start[mine][work], self.end[mine][work])


def own_threads(
    trace: Trace, cycles: Cycles, windows: Mapping[str, Windows]
) -> Iterator[OwnThread]:
    """The threads that mark the cycles of each process, with the cycles each of them marks.

    That is the thread whose mark lies longest in a cycle; of equal ones that with most marks.
    """
    is_marked = is_mark(trace, cycles)
    classes = host_classes(trace)
    counted = (classes != NOT_COUNTED) & ~np.isin(classes, SCHEDULED)
    process, _ = process_of_host(trace, list(windows))
    lanes, host = host_lanes(trace)[0], host_columns(trace)
    for number, (pid, window) in enumerate(windows.items()):
        rows = np.flatnonzero(counted & (process == number))
        rows = rows[np.argsort(lanes[rows], kind="stable")]
        start, end = start_and_end(host, rows)
        lane, is_work = lanes[rows], np.isin(classes[rows], WORK)
        marks = np.flatnonzero(is_marked[rows])
        if not len(marks):
            continue
        threads, thread = np.unique(lane[marks], return_inverse=True)
        pieces = window.cut(start[marks], end[marks])
        mark_time = np.zeros((len(window.row), len(threads)), dtype=np.int64)
        np.add.at(mark_time, (pieces.window, thread[pieces.call]), pieces.end - pieces.start)
        by_marks = np.argsort(-np.bincount(thread), kind="stable")
        chosen = by_marks[mark_time[:, by_marks].argmax(axis=1)]
        has_mark = mark_time.max(axis=1) > 0
        for place in np.unique(chosen[has_mark]).tolist():
            marked = window.take(has_mark & (chosen == place))
            yield OwnThread(pid, int(threads[place]), marked, rows, start, end, lane, is_work)


def is_mark(trace: Trace, cycles: Cycles) -> Flags:
    """Which host events are marks of cycles, whatever their numbers."""
    marks = {_without_numbers(name) for name in cycles.table["name"].drop_nulls().unique()}
    return host_names(trace).matching(lambda name: _without_numbers(name) in marks)


def _without_numbers(name: str) -> str:
    return family_name(function_name(name))


def _untraced_times(marker: OwnThread) -> tuple[Windows, Windows]:
    """When a thread is in no call in its cycles: for nobody known, and waiting for others."""
    mine = marker.of(marker.thread)
    busy = _merge_windows(marker.start[mine], marker.end[mine])
    gaps = _outside(marker.windows, busy)
    stand_ins = [working for _, working in in_stead(marker, busy)]
    start, end = (
        np.concatenate(
            [getattr(gaps, side)[:0], *(getattr(stand_in, side) for stand_in in stand_ins)]
        )
        for side in ("start", "end")
    )
    stand_in_times = _merge_windows(start, end)
    return _outside(gaps, stand_in_times), _inside(gaps, stand_in_times)


def in_stead(marker: OwnThread, at_it: Windows) -> Iterator[tuple[int, Windows]]:
    """Threads that hardly ever work while the own thread is at something, and when they work.

    One that works beside it, such as a loader of data, shares its time with what the other does.
    """
    bounds, mine = marker.windows.ranges, at_it.ranges
    length = int((marker.windows.end - marker.windows.start).sum())
    occupied = int(intervals.coverage_within(mine, bounds).sum())
    for thread in np.unique(marker.lane[marker.is_work]).tolist():
        working = marker.working(thread)
        here = int(intervals.coverage_within(working.ranges, bounds).sum())
        both = intervals.intersect(working.ranges, mine)
        beside = int(intervals.coverage_within(both, bounds).sum())
        if thread != marker.thread and here and _RARER * beside * length <= here * occupied:
            yield thread, working


def _merge_windows(start: Ints, end: Ints) -> Windows:
    """Stretches of time that overlap or touch as one, in order."""
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    first = np.flatnonzero(union_starts(start, end, joins_touching=True))
    reached = np.maximum.reduceat(end, first) if len(first) else end
    return Windows(np.arange(len(first)), start[first], reached)


def _inside(windows: Windows, stretches: Windows) -> Windows:
    """The parts of stretches that lie in windows, with the rows of these."""
    pieces = windows.cut(stretches.start, stretches.end)
    some = pieces.end > pieces.start
    return Windows(pieces.row[some], pieces.start[some], pieces.end[some])


def _outside(windows: Windows, stretches: Windows) -> Windows:
    """The parts of windows that no stretch covers; stretches are in order and apart."""
    if not len(windows.row):
        return windows
    starts = np.concatenate([[windows.start.min()], stretches.end])
    ends = np.concatenate([stretches.start, [windows.end.max()]])
    return _inside(windows, Windows(np.arange(len(starts)), starts, np.maximum(starts, ends)))


_CALLS = tuple(FUNCTION_CLASSES.index(name) for name in ("cpu_python", "cpu_other"))


def classes_with_waits(trace: Trace, cycles: Cycles) -> NDArray[np.int8]:
    """Class of every host event, with calls that wait beside the cycles in one of their own.

    A sampler that sleeps between samples, or a loader that waits for a queue, is in such a call
    nearly always.  On the thread that marks cycles, or without marks on threads that work, a wait
    is time the program loses.
    """
    classes = host_classes(trace)
    waits = np.isin(classes, _CALLS) & host_names(trace).matching(is_waiting_call)
    if not waits.any():
        return classes
    lanes = host_lanes(trace)[0]
    marks = is_mark(trace, cycles)
    if not marks.any():
        marks = np.isin(classes, WORK)
    beside = waits & ~np.isin(lanes, np.unique(lanes[marks]))
    return np.where(beside, FUNCTION_CLASSES.index(SIDE_WAIT), classes).astype(np.int8)

"""Background threads: they launch nothing, and no other thread waits for them.

A monitor that sleeps, a watchdog that polls events, a logger: what they do decides nothing, so
times of steps, parts of steps and the critical path leave them out.  A thread with operators, with
launches or with marks is no such thread, nor is one whose work another thread waits for.
"""

from __future__ import annotations

import msgspec
import numpy as np

from timesink.analyses import names
from timesink.analyses.columns import (
    host_columns,
    host_kinds,
    host_lanes,
    host_names,
    memoize_per_trace,
    memoize_structure,
    start_and_end,
)
from timesink.analyses.forest import is_python_region, nest_calls
from timesink.analyses.links import launching_calls
from timesink.model import vendors
from timesink.model.arrays import prefix_sums
from timesink.model.intervals import Flags, Ints
from timesink.model.launches import LAUNCH_KINDS
from timesink.model.nested_calls import pre_order
from timesink.model.trace import Trace

CALL_KINDS = (
    *("operator", "annotation", "python_function", "module", *LAUNCH_KINDS),
    *("collective", "sync", "other"),
)
"""Host kinds that are calls; the rest frames or marks a recording."""

QUIET_NS = 20_000
"""A thread without any call for this long may have handed its work to another."""
_BUSY_SHARE = 0.5
"""Of a stretch in which a thread waits for another, that one works for this share at least."""
_SERVING_SHARE = 0.1
"""Of what a thread does at all, others wait for this share at least; by chance it is far less."""
_NEAR_SHARE = 0.2
"""A thread that is waited for does something new in this last part of the wait: it hands over."""


@memoize_structure
def background_calls(trace: Trace) -> Flags:
    """Which rows of `trace.host` belong to background threads."""
    lane, lanes = host_lanes(trace)
    background = np.zeros(len(lanes), dtype=np.bool_)
    background[_background_lanes(trace)] = True
    return background[lane] if background.any() else np.zeros(len(lane), dtype=np.bool_)


def _background_lanes(trace: Trace) -> list[int]:
    """Numbers of background threads, as `host_lanes` numbers them."""
    lane, lanes = host_lanes(trace)
    if len(lanes) < 2:
        return []
    is_call = host_kinds(trace).among(*CALL_KINDS)
    works = np.bincount(lane[_shows_work(trace)], minlength=len(lanes)) > 0
    candidates = np.flatnonzero((np.bincount(lane[is_call], minlength=len(lanes)) > 0) & ~works)
    if not works.any() or not len(candidates):
        return []
    # Whoever works for a thread that counts does count, and so do those that work for it.
    process = [pid for pid, _ in lanes]
    left = {int(place): _busy_thread(trace, int(place)) for place in candidates}
    servants = [place for place, thread in left.items() if len(thread.busy_start)]
    counted = np.flatnonzero(works).tolist() if servants else []
    for place in counted:
        for other in [servant for servant in servants if process[servant] == process[place]]:
            if _waits_for(_waiting_stretches(trace, place), left[other]):
                servants.remove(other)
                left.pop(other)
                counted.append(other)
    return list(left)


def _shows_work(trace: Trace) -> Flags:
    """Which host events show that their thread does the program's work."""
    kinds, called = host_kinds(trace), host_names(trace)
    works = kinds.among("operator", "module", "collective") | is_python_region(trace)
    marks = called.matching(
        lambda name: names.frames_calls(name) or vendors.is_collective_call(name)
    )
    works |= kinds.among("annotation") & marks
    polls = called.matching(lambda name: "Query" in name or vendors.waits_for_device(name))
    works |= kinds.among(*LAUNCH_KINDS) & ~polls
    launch = launching_calls(trace)
    works[launch[launch >= 0]] = True
    return works


class _BusyThread(msgspec.Struct, frozen=True, eq=False):
    """When a thread is inside of a call that does not wait, as disjoint stretches in order."""

    border: Ints
    """When its calls start and end."""
    busy_start: Ints
    busy_end: Ints


@memoize_structure
def _calls_by_lane(trace: Trace) -> tuple[Ints, Ints]:
    """Rows of all calls, those of a thread together, and where each thread begins among them."""
    lane, lanes = host_lanes(trace)
    rows = np.flatnonzero(host_kinds(trace).among(*CALL_KINDS))
    rows = rows[np.argsort(lane[rows], kind="stable")]
    return rows, np.searchsorted(lane[rows], np.arange(len(lanes) + 1))


def _calls_of(trace: Trace, place: int) -> Ints:
    rows, begins = _calls_by_lane(trace)
    return rows[begins[place] : begins[place + 1]]


@memoize_structure
def _waiting_calls(trace: Trace) -> Flags:
    return host_names(trace).matching(names.is_waiting_call)


def _busy_thread(trace: Trace, place: int) -> _BusyThread:
    rows = _calls_of(trace, place)
    start, end = start_and_end(host_columns(trace), rows)
    thread = np.zeros(len(rows), dtype=np.int64)
    order = pre_order(thread, start, end)
    start, end, rows = start[order], end[order], rows[order]
    nest = nest_calls(thread, start, end)
    waits = _waiting_calls(trace)[rows]
    # A moment belongs to the innermost call: borders sorted by time, and at one time inner last.
    number = np.arange(len(rows))
    time = np.concatenate([start, end])
    inner = np.concatenate([number, nest.parent])
    depth = np.concatenate([nest.depth, -nest.depth])
    is_start = np.concatenate([np.ones(len(rows), np.bool_), np.zeros(len(rows), np.bool_)])
    by_time = np.lexsort((depth, is_start, time))
    time, inner = time[by_time], inner[by_time]
    busy = (inner >= 0) & ~waits[inner]
    busy[:-1] &= time[1:] > time[:-1]
    first = np.flatnonzero(busy[:-1])
    return _BusyThread(time, time[first], time[first + 1])


@memoize_structure
def _runtime_calls(trace: Trace) -> Flags:
    return host_kinds(trace).among(*LAUNCH_KINDS)


@memoize_per_trace
def _waiting_stretches(trace: Trace, place: int) -> tuple[Ints, Ints]:
    """When a thread makes no call for a while and waits for no device: starts and ends."""
    rows = _calls_of(trace, place)
    start, end = start_and_end(host_columns(trace), rows)
    is_runtime = _runtime_calls(trace)[rows]
    time = np.concatenate([start, end])
    # What begins with the start of a runtime call is the runtime's.
    runtime = np.concatenate([is_runtime, np.zeros(len(rows), dtype=np.bool_)])
    order = np.argsort(time, kind="stable")
    time, runtime = time[order], runtime[order]
    quiet = np.flatnonzero((np.diff(time) >= QUIET_NS) & ~runtime[:-1])
    return time[quiet], time[quiet + 1]


def _waits_for(stretches: tuple[Ints, Ints], other: _BusyThread) -> bool:
    """Whether a thread waits, in some of these stretches, for what another does meanwhile."""
    begin, end = stretches
    if not len(begin) or not len(other.busy_start):
        return False
    length = other.busy_end - other.busy_start
    so_far = prefix_sums(length)

    def worked(moment: Ints) -> Ints:
        before = np.searchsorted(other.busy_start, moment, side="right")
        over = np.maximum(other.busy_end[np.maximum(before - 1, 0)] - moment, 0)
        return np.asarray(so_far[before] - np.where(before > 0, over, 0))

    busy = worked(end) - worked(begin)
    near = np.maximum(QUIET_NS, (_NEAR_SHARE * (end - begin)).astype(np.int64))
    acts = np.searchsorted(other.border, end, side="right") > np.searchsorted(
        other.border, np.maximum(end - near, begin), side="right"
    )
    serves = acts & (busy >= _BUSY_SHARE * (end - begin))
    return bool(busy[serves].sum() >= _SERVING_SHARE * length.sum()) and bool(serves.any())

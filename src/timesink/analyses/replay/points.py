"""Host calls of every kind, cut at their borders, and where their threads wait.

Between two borders a thread does one thing.  Calls in pre-order, each with its start and its end,
are an Euler tour: the places of all borders follow from depths and sizes alone.  A thread waits for
a device, or for another thread that does its work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import msgspec
import numpy as np

from timesink.analyses.background import CALL_KINDS, QUIET_NS, background_calls
from timesink.analyses.columns import (
    Codes,
    device_names,
    host_columns,
    host_kinds,
    host_lanes,
    host_names,
    memoize_per_trace,
    start_and_end,
)
from timesink.analyses.device_activities import Activities
from timesink.analyses.forest import NestedCalls, descendant_mask, nest_calls
from timesink.analyses.thresholds import PointsLimits
from timesink.model import intervals, vendors
from timesink.model.arrays import Places, narrow, run_starts, running_argmax
from timesink.model.intervals import Flags, Floats, Ints
from timesink.model.launches import LAUNCH_KINDS
from timesink.model.nested_calls import Nodes, pre_order
from timesink.model.trace import Trace


@dataclass(frozen=True, eq=False)
class RecordedCalls(NestedCalls):
    """Host calls of a trace, those of runtimes and of Python included; none in the background."""

    row: Places
    """Row in `trace.host`."""
    place: Nodes
    """For each row of `trace.host` the call it is; -1 for what is none."""


class HostPoints(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """Starts and ends of all calls, thread after thread, in the order in which they came."""

    calls: RecordedCalls
    time: Ints
    """When, as recorded; never earlier than the point before it on its thread."""
    owner: Nodes
    """The innermost call that goes on after the point; -1 where there is none."""
    call: Nodes
    """The call that starts or ends here."""
    is_start: Flags
    start: Places
    """For each call the point where it starts, and `end` where it ends."""
    end: Places
    first: Ints
    """Where the points of each thread begin, and the number of all."""

    def thread_of(self, point: Places) -> Codes:
        """The thread of each of some points, a place in `calls.threads`."""
        return np.searchsorted(self.first, point, side="right") - 1

    @property
    def length(self) -> Ints:
        """From each point to the next of its thread; 0 after the last."""
        length = np.diff(self.time, append=self.time[-1:])
        length[self.first[1:] - 1] = 0
        return length


@memoize_per_trace
def host_points(trace: Trace) -> HostPoints:
    """Cut the threads of a trace at the borders of their calls."""
    kinds = host_kinds(trace)
    row = np.flatnonzero(kinds.among(*CALL_KINDS) & ~background_calls(trace))
    lane, lanes = host_lanes(trace)
    start, end = start_and_end(host_columns(trace), row)
    is_used = np.bincount(lane[row], minlength=len(lanes)) > 0
    lanes = [lanes[number] for number in np.flatnonzero(is_used).tolist()]
    thread = (np.cumsum(is_used) - 1)[lane[row]]
    order = pre_order(thread, start, end) if len(row) else row
    row, thread, start, end = row[order], thread[order], start[order], end[order]
    nest = nest_calls(thread, start, end)
    row = narrow(row, host_columns(trace).height)
    place = narrow(np.full(host_columns(trace).height, -1), len(row))
    place[row] = np.arange(len(row))
    named = host_names(trace)
    calls = RecordedCalls(
        narrow(thread, len(lanes)),
        start,
        end,
        nest.parent,
        nest.depth,
        named.codes[row],
        named.texts,
        lanes,
        row,
        place,
    )
    calls.remember_size(nest.size)
    number = narrow(np.arange(len(row)), 2 * len(row))
    starts = 2 * number - nest.depth
    ends = starts + 2 * calls.size - 1
    time = np.empty(2 * len(row), dtype=np.int64)
    owner, call = (np.empty(2 * len(row), dtype=number.dtype) for _ in range(2))
    is_start = np.zeros(2 * len(row), dtype=np.bool_)
    time[starts], time[ends] = start, end
    owner[starts], owner[ends] = number, nest.parent
    call[starts], call[ends] = number, number
    is_start[starts] = True
    first = np.append(starts[run_starts(thread)], len(time)).astype(np.int64)
    for low, high in pairwise(first):
        # A call that outlasts the one it began in begins after it.
        np.maximum.accumulate(time[low:high], out=time[low:high])
    return HostPoints(calls, time, owner, call, is_start, starts, ends, first)


# -- where threads wait ----------------------------------------------------------------------------


NOBODY = -1
_LONG_AGO, _NEVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max

_NEAR_NS, _NEAR_SHARE = 10_000, 0.2
"""How soon after the end of the work it returned, at most: this, or this share of its length."""
_SKEW_NS, _MAX_SKEW_NS, _SKEW_SHARE = 5_000, 30_000, 0.01
"""By how much the clocks of host and device may differ: at least, and where waits show it at most,
or by this share of the wait that shows it."""
_MAX_THREADS = 24


class Waits(msgspec.Struct, frozen=True, eq=False):
    """Points at which a thread goes on after it waited, and what it waited for."""

    point: Ints
    least: Floats
    """What the stretch before the point takes at least."""
    activity: Ints
    """The device activity it waited for; -1 where it was a point of another thread."""
    source: Ints
    """That point; -1 where it was an activity."""
    lag: Floats
    """How long after that it goes on."""

    def __getitem__(self, chosen: Ints) -> Waits:
        least, lag = self.least[chosen], self.lag[chosen]
        return Waits(self.point[chosen], least, self.activity[chosen], self.source[chosen], lag)


def all_of(waits: Iterable[Waits]) -> Waits:
    """Several lists of waits as one; of those at one point the first counts."""
    parts = [(wait.point, wait.least, wait.activity, wait.source, wait.lag) for wait in waits]
    point, least, activity, source, lag = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    _, first = np.unique(point, return_index=True)
    return Waits(point, least, activity, source, lag)[first]


def device_waits(trace: Trace, points: HostPoints, work: Activities) -> Waits:
    """Calls that return when work of a device is done: they wait for it, or for the queue."""
    calls, named = points.calls, host_names(trace)
    is_runtime = host_kinds(trace).among(*LAUNCH_KINDS)[calls.row]
    outer = is_runtime & ~((calls.parent >= 0) & is_runtime[calls.parent])
    says = named.matching(vendors.waits_for_device)[calls.row]
    call = np.flatnonzero(outer & (says | (calls.end - calls.start >= PointsLimits.held_ns)))
    if not len(work) or not len(call):
        return Waits(
            *(np.zeros(0, dtype) for dtype in (np.int64, float, np.int64, np.int64, float))
        )
    start, end, says = points.time[points.start[call]], points.time[points.end[call]], says[call]
    near = np.maximum(_NEAR_NS, _NEAR_SHARE * (end - start))
    process = np.array([pid for pid, _ in calls.threads])
    last, pending = (np.full(len(call), NOBODY) for _ in range(2))
    of_device = named.matching(vendors.waits_for_all_streams)[calls.row[call]]
    of_device |= says & (work.lanes.height == 1)
    of_work = np.where(work.launched, calls.place[work.call], NOBODY)
    for pid in np.unique(process[calls.thread[call]]):
        # Processes wait for their own work; whose it is that nobody launched is not known.
        mine = np.flatnonzero(process[calls.thread[call]] == pid)
        its = np.flatnonzero((of_work < 0) | (process[calls.thread[of_work]] == pid))
        all_streams = mine[of_device[mine]]
        skew = _clock_skew(work, its, start[all_streams], end[all_streams])
        last[mine] = _last_launched(work, its, start[mine], end[mine] + skew)
        pending[mine] = _queue_was_full(work, its, start[mine], end[mine], near[mine])
    done = work.end[last]
    # What a call launches itself goes on beside it, unless it is a copy through a buffer; one that
    # takes very long and ends with its own work found the queue full.
    its_own = (last >= 0) & (work.call[last] == calls.row[call])
    staged = device_names(trace).matching(lambda name: "Pageable" in name)[work.row[last]]
    stuck = end - start >= PointsLimits.stuck_ns
    ends_with_it = (done > start) & (end - done <= near) & (~its_own | staged | stuck)
    is_wait = (last >= 0) & (says | ends_with_it)
    activity = np.where(is_wait, last, np.where(says, NOBODY, pending))
    has_activity = activity >= 0
    call, activity, start, end = (
        call[has_activity],
        activity[has_activity],
        start[has_activity],
        end[has_activity],
    )
    done = work.end[activity]
    waited, late = done > start, np.maximum(end - done, 0).astype(np.float64)
    usual = float(np.median(late[waited])) if waited.any() else 0.0
    return Waits(
        point=points.end[call],
        least=np.where(waited, np.minimum(end - start, PointsLimits.return_ns), end - start).astype(
            np.float64
        ),
        activity=activity,
        source=np.full(len(call), NOBODY),
        lag=np.where(waited, late, np.minimum(late, usual)),
    )


def _clock_skew(work: Activities, its: Ints, start: Ints, end: Ints) -> int:
    """How much later the device's clock says that work ended for which calls had waited.

    Such calls return when all that was launched before is done.  Where most of the time in them is
    in calls that seem to return a little earlier, the clocks differ by that.
    """
    its = its[np.argsort(work.call_start[its], kind="stable")]
    place = np.searchsorted(work.call_start[its], start, side="right")
    done = np.append(_LONG_AGO, np.maximum.accumulate(work.end[its]))[place]
    waited, length = done > start, end - start
    most = np.maximum(_MAX_SKEW_NS, (_SKEW_SHARE * length).astype(np.int64))
    early = waited & (done > end) & (done - end <= most)
    if 2 * int(length[early].sum()) <= int(length[waited].sum()):
        return _SKEW_NS
    return max(_SKEW_NS, int((done - end)[early].max()))


def _last_launched(work: Activities, its: Ints, start: Ints, end: Ints) -> Ints:
    """Of some that were launched by each start, and over by each end, the last to end; or -1."""
    activity, latest = np.full(len(start), NOBODY), np.full(len(start), _LONG_AGO)
    for lane in range(work.lanes.height):
        mine = its[work.lane[its] == lane]
        if not len(mine):
            continue
        mine = mine[np.argsort(work.call_start[mine], kind="stable")]
        last = running_argmax(work.end[mine])
        most = work.end[mine[last]]
        place = np.searchsorted(work.call_start[mine], start, side="right") - 1
        over = np.where(place >= 0, most[place], _NEVER)
        better = (over <= end) & (over > latest)
        activity[better], latest[better] = mine[last[place[better]]], over[better]
    return activity


def _queue_was_full(work: Activities, its: Ints, start: Ints, end: Ints, near: Floats) -> Ints:
    """The activity that ended as each call returned, while very many were pending; or -1."""
    if not len(its):
        return np.full(len(start), NOBODY)
    by_end = its[np.argsort(work.end[its], kind="stable")]
    place = np.searchsorted(work.end[by_end], end, side="right") - 1
    done = np.where(place >= 0, work.end[by_end[place]], _LONG_AGO)
    launched = np.searchsorted(np.sort(work.call_start[its]), start)
    full = (
        (launched - place - 1 >= PointsLimits.many_pending) & (done > start) & (end - done <= near)
    )
    return np.where(full, by_end[place], NOBODY)


def hand_overs(points: HostPoints, main: int) -> Iterator[Waits]:
    """Threads that are quiet while another works for them: the backward pass, above all.

    A thread that begins anew for no reason that is seen keeps its distance to the main thread.
    """
    threads = range(len(points.first) - 1)
    process = [pid for pid, _ in points.calls.threads]
    length = points.length
    quiet = [
        np.flatnonzero(length[low:high] >= QUIET_NS) + low for low, high in pairwise(points.first)
    ]
    # Of very many threads those that do most hand work to one another.
    busiest = np.argsort(-np.diff(points.first), kind="stable")[:_MAX_THREADS].tolist()
    for giver in busiest:
        for taker in busiest:
            if giver != taker and process[giver] == process[taker] and len(quiet[giver]):
                yield from _between(points, quiet[giver], quiet[taker], taker)
    for other in threads:
        time, low, high = points.time, points.first[main], points.first[main + 1]
        idle = quiet[other][
            (length[quiet[other]] >= PointsLimits.idle_ns) & (points.owner[quiet[other]] < 0)
        ]
        resume = np.append(points.first[other], idle + 1)
        apart = other == main or process[other] != process[main]
        resume = resume[(time[resume] >= time[low]) & (not apart)]
        source = np.searchsorted(time[low:high], time[resume], side="right") - 1 + low
        # While both are quiet it is busy with what nobody recorded.
        begins = resume == points.first[other]
        moved = begins | (time[source] >= time[np.maximum(resume - 1, 0)])
        yield _after(points, resume[moved], source[moved])


def _between(points: HostPoints, gap: Ints, taken: Ints, taker: int) -> Iterator[Waits]:
    """Stretches in which one thread is quiet because another, quiet before, works for it."""
    time, low, high = points.time, points.first[taker], points.first[taker + 1]
    resumes = np.append(low, taken + 1)
    place = np.searchsorted(time[resumes], time[gap])
    gap, place = gap[place < len(resumes)], place[place < len(resumes)]
    begin, end, resume = time[gap], time[gap + 1], resumes[place]
    quiet_since = np.where(place > 0, time[resume - 1], _LONG_AGO)
    last = np.searchsorted(time[low:high], end, side="right") - 1 + low
    again = np.where(last + 1 < high, time[np.minimum(last + 1, high - 1)], _NEVER)
    fits = (time[resume] <= end) & (quiet_since <= begin) & (again - end >= 0)
    fits &= (again == _NEVER) | (again - time[last] >= QUIET_NS)
    fits &= time[last] - time[resume] >= PointsLimits.busy_share * (end - begin)
    gap, resume, last = gap[fits], resume[fits], last[fits]
    yield _after(points, resume, gap)
    yield _after(points, gap + 1, last)


def _after(points: HostPoints, point: Ints, source: Ints) -> Waits:
    lag = (points.time[point] - points.time[source]).astype(np.float64)
    return Waits(point, np.zeros(len(point)), np.full(len(point), NOBODY), source, lag)


# -- collectives of the host, which threads wait for without a call -------------------------------


def talks_on_host(name: str) -> bool:
    """Whether a call communicates itself; those of libraries for devices only launch that."""
    return vendors.is_collective_call(name) and vendors.library_in(name) is None


class CollectiveWaits(msgspec.Struct, frozen=True, eq=False):
    """Points after which a thread waits for a collective of the host, in order."""

    point: Ints
    share: Floats
    """Of the stretch after the point."""
    call: Nodes
    """The collective."""

    def by_point(self, many: int) -> Floats:
        """By host point: which share of the stretch after it waits."""
        shares = np.zeros(many)
        shares[self.point] = self.share
        return shares


@memoize_per_trace
def waits_for_collectives(points: HostPoints) -> CollectiveWaits:
    """Where threads wait for a collective of the host, and for how much of a stretch."""
    calls, length = points.calls, points.length
    collectives = np.flatnonzero(calls.named(talks_on_host)) if len(calls) else points.first[:0]
    if not len(collectives):
        return CollectiveWaits(points.first[:0], np.zeros(0), points.first[:0])
    long = np.flatnonzero(length >= PointsLimits.min_wait_ns)
    inside = descendant_mask(collectives, calls.size)
    long = long[~((points.owner[long] >= 0) & inside[points.owner[long]])]
    ends = points.time[long] + length[long]
    near = np.maximum(PointsLimits.min_wait_ns, PointsLimits.same_end_share * length[long])
    nearest = _nearest(np.sort(calls.end[collectives]), ends)
    is_met = np.abs(ends - nearest) <= near
    spans = np.stack([points.time[long], ends]).T
    taken = intervals.coverage_within(
        intervals.merge(np.stack([calls.start[collectives], calls.end[collectives]]).T), spans
    )
    share = taken / length[long]
    waits = is_met & (share >= PointsLimits.min_waiting_share)
    by_end = collectives[np.argsort(calls.end[collectives], kind="stable")]
    awaited = by_end[np.searchsorted(calls.end[by_end], nearest[waits])]
    return CollectiveWaits(long[waits], share[waits], awaited)


def _nearest(ordered: Ints, moments: Ints) -> Ints:
    """For each moment the value of an ascending array that is nearest to it."""
    after = np.clip(np.searchsorted(ordered, moments), 1, max(len(ordered) - 1, 1))
    before, after = ordered[after - 1], ordered[np.minimum(after, len(ordered) - 1)]
    return np.where(moments - before <= after - moments, before, after)

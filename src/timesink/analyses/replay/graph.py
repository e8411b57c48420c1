"""What depends on what in a recording: threads, streams, launches, waits and hand-overs.

Every moment that others depend on is a node: a launch, the begin and the end of a wait, a thread
that hands its work to another or goes on, the end of a device activity.  A node comes a while after
the one before it on its thread or stream, and a while after the one it needs, whichever is later.
In the order of the recording every node stands behind those it depends on, so one pass plays it.
"""

from __future__ import annotations

from itertools import pairwise

import msgspec
import numpy as np

from timesink.analyses.columns import memoize_per_trace
from timesink.analyses.device_activities import Activities, device_activities
from timesink.analyses.replay.points import (
    NOBODY,
    HostPoints,
    Waits,
    all_of,
    device_waits,
    hand_overs,
    host_points,
)
from timesink.analyses.steps import find_steps
from timesink.analyses.thresholds import GraphLimits
from timesink.model import vendors
from timesink.model.arrays import Places, is_among, narrow, run_slices, running_argmax
from timesink.model.intervals import Flags, Floats, Ints
from timesink.model.trace import Trace

_PACE_NS, _LATENCY_NS = 1_500.0, 5_000.0
"""From one activity to a queued one, and from a launch to an idle device, where nothing tells."""


class ReplayGraph(msgspec.Struct, frozen=True, eq=False):
    """Nodes in the order of the recording, and what each of them depends on; times in ns."""

    points: HostPoints
    work: Activities
    time: Ints
    """When it came, as recorded."""
    point: Places
    """The host point it is; -1 for what a device does."""
    activity: Places
    """The activity that ends there; -1 for all else."""
    before: Places
    """The one before it on its thread or stream; -1 for none."""
    gap: Floats
    """What passes since then at least: the pace of a stream, or what a wait takes.  Between points
    at which a thread does not wait it is the work of the thread, whatever that takes."""
    needs: Places
    """The other one it waits for; -1 for none."""
    lag: Floats
    """What passes since that one."""
    waits: Flags
    """Whether the stretch before it is one in which its thread waits."""
    node_of_point: Places
    """By host point: its node; -1 where nothing depends on it."""
    node_of_activity: Places
    dropped: int
    """Dependencies that the recording contradicts."""

    def __len__(self) -> int:
        return len(self.time)

    @property
    def thread_nodes(self) -> Ints:
        """Nodes that are host points, in the order of these."""
        nodes = np.flatnonzero(self.point >= 0)
        return np.asarray(nodes[np.argsort(self.point[nodes], kind="stable")])


@memoize_per_trace
def replay_graph(trace: Trace) -> ReplayGraph:
    """The dependencies of a recording."""
    points, work = host_points(trace), device_activities(trace)
    launch = _launch_points(points, work)
    marks = _marks(trace, points)
    main = _main(points, launch, marks)
    waits = all_of([device_waits(trace, points, work), *hand_overs(points, main)])
    first = points.first[points.thread_of(waits.point)]
    chosen = np.zeros(len(points.time), dtype=np.bool_)
    for some in (
        points.first[:-1],
        points.first[1:] - 1,
        launch[launch >= 0],
        marks,
        waits.point,
        np.maximum(waits.point - 1, first),
        waits.source[waits.source >= 0],
    ):
        chosen[some] = True
    return _assemble_graph(points, work, launch, np.flatnonzero(chosen), waits)


def main_thread(trace: Trace, points: HostPoints, work: Activities) -> int:
    """The thread of the steps, else the first that launches anything."""
    return _main(points, _launch_points(points, work), _marks(trace, points))


def _launch_points(points: HostPoints, work: Activities) -> Ints:
    """For each activity the point of its launch; -1 where that is not known.

    That is where the call begins: a device may start before the call returns.  One that takes very
    long and returns before the device starts loads code or waits for room first, and launches last.
    """
    launch, calls = np.full(len(work), NOBODY), points.calls
    launched = np.flatnonzero(work.launched)
    call = calls.place[work.call[launched]]
    launched, call = launched[call >= 0], call[call >= 0]
    is_long = calls.end[call] - calls.start[call] > GraphLimits.long_launch_ns
    is_last = is_long & (work.start[launched] >= calls.end[call])
    launch[launched] = np.where(is_last, points.end[call], points.start[call])
    return launch


def _main(points: HostPoints, launch: Ints, marks: Ints) -> int:
    """The thread of the steps, else the first that launches anything."""
    some = marks if len(marks) else launch[launch >= 0]
    return int(points.thread_of(some[points.time[some].argmin()])) if len(some) else 0


def _marks(trace: Trace, points: HostPoints) -> Ints:
    """Where steps begin and end on the host."""
    steps, calls = find_steps(trace), points.calls
    begins = is_among(calls.start, steps["host_start_ns"].to_numpy())
    ends = is_among(calls.end, steps["host_end_ns"].to_numpy())
    return np.concatenate([points.start[begins], points.end[ends]])


class _Streams(msgspec.Struct, frozen=True, eq=False):
    """How activities follow one another, and their launches; by activity."""

    before: Ints
    """The one before it on its stream; -1 for the first."""
    gap: Floats
    latency: Floats
    """From the start of its launch."""
    across: Ints
    """One of another stream it waited for; -1 for none."""


def _streams(work: Activities, launched: Flags, follows_stream_wait: Flags) -> _Streams:
    """What delayed each activity: its launch, the one before it, or another stream."""
    order = np.lexsort((work.end, work.start, work.lane))
    before = np.full(len(work), NOBODY)
    for part in (order[run] for run in run_slices(work.lane[order])):
        # Of work that overlaps on one stream the last to end is in the way of what follows.
        before[part[1:]] = part[running_argmax(work.end[part])[:-1]]
    follows = before >= 0
    free = np.where(follows, work.end[before], np.iinfo(np.int64).min // 2)
    gap, latency = (work.start - free).astype(np.float64), work.start - work.call_start * 1.0
    queued = follows & launched & (work.call_start + GraphLimits.queued_ns < free)
    idle = follows & launched & (work.call_start > free)
    pace = max(float(np.median(gap[queued])), 0.0) if queued.any() else _PACE_NS
    if pace > GraphLimits.max_pace_ns:  # most of the few that were queued waited for something else
        pace = _PACE_NS
    usual = float(np.median(latency[idle])) if idle.any() else _LATENCY_NS
    # Whichever of the two came later decided; the other could have been later than it was.
    by_launch = launched & (~follows | (work.call_start + usual >= free + pace))
    # What started later still, on an idle stream that was told to wait, waited for another one.
    stalled = launched & follows_stream_wait & ~queued & (latency > usual + GraphLimits.queued_ns)
    stalled &= ~follows | (gap > pace + GraphLimits.queued_ns)
    late = (queued & (gap > pace + 2 * GraphLimits.skew_ns)) | stalled
    across = _waited_across(work, late, follows_stream_wait)
    by_launch &= across < 0
    lag = np.where(by_launch, latency, np.minimum(latency, usual))
    is_behind = launched & ~by_launch & (across < 0)
    return _Streams(
        before=before,
        gap=np.where(is_behind | ~launched, gap, np.minimum(gap, pace)),
        latency=np.maximum(lag, 0.0),
        across=across,
    )


def _follows_stream_wait(points: HostPoints, work: Activities, launch: Ints) -> Flags:
    """Which activities were launched after a call that made their stream wait for an event.

    Calls do not say which stream that was: it is that of the next launch of the thread, and all
    that follows on other streams was not told to wait.
    """
    follows = np.zeros(len(work), dtype=np.bool_)
    calls = points.calls
    waits = np.flatnonzero(calls.named(vendors.orders_streams))
    launched = np.flatnonzero(launch >= 0)
    if not len(waits) or not len(launched):
        return follows
    # Calls are sorted by thread and start, so their numbers tell both.
    call = points.call[launch[launched]]
    order = np.lexsort((call, work.lane[launched], calls.thread[call]))
    launched, call = launched[order], call[order]
    same = np.zeros(len(launched), dtype=np.bool_)
    same[1:] = np.diff(work.lane[launched]) == 0
    same[1:] &= np.diff(calls.thread[call]) == 0
    last = waits[np.maximum(np.searchsorted(waits, call) - 1, 0)]
    is_ordered = (last < call) & (calls.thread[last] == calls.thread[call])
    is_ordered[1:] &= ~same[1:] | (last[1:] > call[:-1])
    follows[launched] = is_ordered
    return follows


def _waited_across(work: Activities, late: Flags, follows_stream_wait: Flags) -> Ints:
    """For late activities one of another stream that ended just before they started; or -1."""
    across = np.full(len(work), NOBODY)
    late_rows = np.flatnonzero(late)
    if work.lanes.height < 2 or not len(late_rows):
        return across
    by_end = np.argsort(work.end, kind="stable")
    ends = work.end[by_end]
    passed = np.full(len(work), np.inf)
    last = np.searchsorted(ends, work.start[late_rows] + GraphLimits.skew_ns, side="right") - 1
    for row, latest in zip(late_rows.tolist(), last.tolist(), strict=True):
        place = latest
        while place >= 0 and work.start[row] - ends[place] <= GraphLimits.after_event_ns:
            other = by_end[place]
            if work.lane[other] != work.lane[row] and work.device[other] == work.device[row]:
                across[row], passed[row] = other, work.start[row] - ends[place]
                break
            place -= 1
    # How soon work starts after that of another stream differs from maker to maker: as soon as
    # where the host told a stream to wait.
    pauses = passed[late & follows_stream_wait & (across >= 0)]
    soon = float(
        np.clip(pauses.max(initial=0.0), GraphLimits.after_another_ns, GraphLimits.after_event_ns)
    )
    across[passed > soon] = NOBODY
    return across


def _latency_from(launch: Ints, points: HostPoints, work: Activities, streams: _Streams) -> Floats:
    """How long activities begin after the points of their launches, which may end their calls."""
    latency, launched = streams.latency.copy(), np.flatnonzero(launch >= 0)
    since = work.start[launched] - points.time[launch[launched]]
    latency[launched] = np.maximum(np.minimum(latency[launched], since), 0.0)
    return latency


def _assemble_graph(
    points: HostPoints, work: Activities, launch: Ints, chosen: Ints, waits: Waits
) -> ReplayGraph:
    """Number the nodes by time, and tie each to what it depends on."""
    told_to_wait = _follows_stream_wait(points, work, launch)
    streams = _streams(work, launch >= 0, told_to_wait)
    latency = _latency_from(launch, points, work, streams)
    across = np.flatnonzero(streams.across >= 0)
    # First drafts: the beginning, host points, activities, and starts that need another stream.
    many = 1 + len(chosen) + len(work) + len(across)
    host, device = 1 + np.arange(len(chosen)), 1 + len(chosen) + np.arange(len(work))
    starts = many - len(across) + np.arange(len(across))
    before, needs = np.full(many, NOBODY), np.full(many, NOBODY)
    gap, lag = np.zeros(many), np.zeros(many)
    # Numbers of nodes and of points, of which there are about as many.
    room = max(many, len(points.time) + 1)
    of_point = narrow(np.full(len(points.time) + 1, NOBODY), room)
    of_point[chosen] = host
    origin = min((int(times.min()) for times in (points.time, work.start) if len(times)), default=0)
    time = np.full(many, origin)
    time[host], time[device] = points.time[chosen], work.end
    # Points of a thread follow one another; after a wait it is something else that counts as well.
    before[host] = host - 1
    heads = of_point[points.first[:-1]]
    before[heads], gap[heads] = 0, time[heads] - origin
    after = of_point[waits.point]
    gap[after], lag[after] = waits.least, waits.lag
    needs[after] = np.where(
        waits.activity >= 0, device[waits.activity] if len(work) else 0, of_point[waits.source]
    )
    time[after] = np.maximum(time[after], time[needs[after]])
    for low, high in pairwise([*heads.tolist(), len(chosen) + 1]):
        np.maximum.accumulate(time[low:high], out=time[low:high])
    is_wait = np.zeros(many, dtype=np.bool_)
    is_wait[after] = True
    # Activities of a stream follow one another, and their launches.
    before[device] = np.where(streams.before >= 0, streams.before + 1 + len(chosen), NOBODY)
    needs[device] = of_point[launch]
    gap[device], lag[device] = streams.gap, latency
    # A start that needs its launch and another stream is a node of its own.
    other = streams.across[across]
    time[starts] = np.maximum(work.start[across], work.end[other])
    before[starts], gap[starts] = needs[device[across]], latency[across]
    needs[starts], lag[starts] = device[other], np.maximum(work.start[across] - work.end[other], 0)
    needs[device[across]], lag[device[across]] = starts, 0.0
    # In the order of the recording; at one moment devices are first, since threads wait for them.
    first = np.concatenate([[0], np.full(len(chosen), 2), np.full(many - 1 - len(chosen), 1)])
    order = np.lexsort((np.arange(many), first, time))
    place = narrow(np.empty(many + 1, dtype=np.int64), room)
    place[order], place[NOBODY] = np.arange(many), NOBODY
    before, needs = place[before[order]], place[needs[order]]
    wrong = [(links >= np.arange(many)) for links in (before, needs)]
    for links, bad in zip((before, needs), wrong, strict=True):
        links[bad] = NOBODY
    # What depends on nothing that is known keeps its distance to the beginning.
    is_wait[order[wrong[1]]] = False
    begins = time.copy()
    begins[device] = work.start
    unlinked = np.flatnonzero((before <= 0) & (needs < 0))[1:]
    before[unlinked], gap[order[unlinked]] = 0, begins[order[unlinked]] - origin
    kind, worked = (narrow(np.full(many, NOBODY), room) for _ in range(2))
    kind[host] = chosen
    worked[device] = np.arange(len(work))
    return ReplayGraph(
        points=points,
        work=work,
        time=time[order],
        point=kind[order],
        activity=worked[order],
        before=before,
        gap=gap[order],
        needs=needs,
        lag=lag[order],
        waits=is_wait[order],
        node_of_point=place[of_point[:-1]],
        node_of_activity=place[device],
        dropped=int(sum(bad.sum() for bad in wrong)),
    )

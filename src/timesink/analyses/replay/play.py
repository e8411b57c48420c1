"""One pass over the graph of a recording: when each node comes, as recorded or at other costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl

from timesink.analyses.columns import memoize_per_trace
from timesink.analyses.device_activities import NO_CALL, Activities
from timesink.analyses.forest import interval_mask
from timesink.analyses.replay.graph import ReplayGraph, replay_graph
from timesink.analyses.replay.points import HostPoints
from timesink.analyses.steps import marks_of, step_at
from timesink.analyses.thresholds import PlayLimits
from timesink.model.arrays import prefix_sums, ragged_ranges
from timesink.model.intervals import Flags, Floats, Ints
from timesink.model.trace import Trace
from timesink.runtime.native import ArrayView, array_view, is_native, native_module

_LONG_AGO = float("-inf")


@dataclass(frozen=True, eq=False)
class Played:
    """A recording played again; times in ns from its beginning."""

    graph: ReplayGraph
    work: Floats
    """By host point: what its thread had worked so far."""
    node: Floats
    """By node: when it comes."""
    length: Floats
    """By activity: how long it takes."""

    @cached_property
    def passes(self) -> tuple[Floats, Floats]:
        """By node: what passes since the node before it, at least, and since the one it needs."""
        return passes_of(self.graph, self.work, self.length)

    @cached_property
    def point(self) -> Floats:
        """By host point: when it comes."""
        graph, points, nodes = self.graph, self.graph.points, self.graph.thread_nodes
        at, every = graph.point[nodes], np.arange(len(points.time))
        # The last node of its thread until then: every thread begins with one.
        place = np.cumsum(graph.node_of_point >= 0) - 1
        come = self.node[nodes][place] + (self.work - self.work[at][place])
        # Inside of a wait everything keeps its share of it.
        following = np.minimum(place + 1, len(nodes) - 1)
        inside = graph.waits[nodes[following]] & (at[place] < every) & (at[following] > every)
        low, high = nodes[place[inside]], nodes[following[inside]]
        since, until = graph.time[low], graph.time[high]
        share = (points.time[inside] - since) / np.maximum(until - since, 1)
        come[inside] = self.node[low] + np.clip(share, 0, 1) * (self.node[high] - self.node[low])
        return np.asarray(come)

    @property
    def ends(self) -> Floats:
        """By activity: when it ends."""
        return self.node[self.graph.node_of_activity]


def work_so_far(
    graph: ReplayGraph, cost: Floats | None = None, scale: Floats | None = None
) -> Floats:
    """By host point: what its thread had worked so far, waits left out.

    `cost` by point is taken out: it passed before a start and after an end.  Where the recording
    has less than that between two points, the rest goes from what follows.
    """
    points = graph.points
    if is_compiled(graph):
        so_far = np.empty(len(points.time))
        nothing = np.zeros(0)
        arrays = (
            array_view(points.time, np.int64),
            array_view(points.is_start, np.bool_),
            array_view(points.first, np.int64),
            *(array_view(nothing if by is None else by, np.float64) for by in (cost, scale)),
        )
        least, result = PlayLimits.min_share, array_view(so_far, np.float64)
        native_module().work(_views_of(graph), arrays, least, result)
        return so_far
    return work_by_arrays(graph, cost, scale)


def work_by_arrays(
    graph: ReplayGraph, cost: Floats | None = None, scale: Floats | None = None
) -> Floats:
    """The same without compiled code."""
    points = graph.points
    length = points.length.astype(np.float64)
    if scale is not None:
        length *= scale
    length[waited_stretches(graph, len(length))] = 0.0
    so_far = prefix_sums(length)[:-1]
    if cost is None:
        return so_far
    spent = np.cumsum(cost)
    spent -= np.where(points.is_start, 0.0, cost)  # what an end costs comes after it
    # Nothing takes no time at all, so that all keeps its order.
    least = PlayLimits.min_share * so_far
    progress = so_far - spent - least
    for low, high in pairwise(points.first):
        progress[low:high] = np.maximum.accumulate(progress[low:high])
    return np.asarray(progress + least)


def waited_stretches(graph: ReplayGraph, many: int) -> Flags:
    """By host point: whether its thread waits after it, for what the recording holds."""
    after = np.flatnonzero(graph.waits)
    high = graph.point[after]
    low = graph.point[graph.before[after]]
    return interval_mask(np.where(low < 0, high, low), high, many)


def play(graph: ReplayGraph, work: Floats | None = None, lengths: Floats | None = None) -> Played:
    """When everything comes, if threads work and activities last as given, else as recorded."""
    work = work_so_far(graph) if work is None else work
    recorded = (graph.work.end - graph.work.start).astype(np.float64)
    length = recorded if lengths is None else lengths
    return Played(graph, work, moments_of_nodes(graph, work, length), length)


def passes_of(graph: ReplayGraph, work: Floats, length: Floats) -> tuple[Floats, Floats]:
    """By node: what passes since the node before it, at least, and since the one it needs.

    An activity takes its length beside what passes before it begins.
    """
    gap, lag = graph.gap.copy(), graph.lag.copy()
    at = graph.point
    plain = np.flatnonzero((at >= 0) & ~graph.waits & (graph.before >= 0))
    plain = plain[at[graph.before[plain]] >= 0]
    gap[plain] = work[at[plain]] - work[at[graph.before[plain]]]
    doing = graph.activity >= 0
    gap[doing] += length[graph.activity[doing]]
    lag[doing] += length[graph.activity[doing]]
    return gap, lag


@memoize_per_trace
def recorded_play(trace: Trace) -> Played:
    """A recording played as it was."""
    return play(replay_graph(trace))


def moments_of_nodes(graph: ReplayGraph, work: Floats, length: Floats) -> Floats:
    """When each node comes: the later of two, for one after the other."""
    if not is_compiled(graph):
        gap, lag = passes_of(graph, work, length)
        return moments_by_loop(graph.before, gap, graph.needs, lag)
    come = np.empty(len(graph) + 1)
    native_module().play(
        _views_of(graph), *(array_view(array, np.float64) for array in (work, length, come))
    )
    return come[:-1]


def path_natively(played: Played, last: int) -> tuple[Ints, Flags]:
    """The nodes that decided when the last one came, and which by the one they need."""
    graph, count = played.graph, len(played.graph)
    nodes, by_need = np.empty(count, np.int64), np.empty(count, np.bool_)
    arrays = (array_view(array, np.float64) for array in (played.work, played.length, played.node))
    results = array_view(nodes, np.int64), array_view(by_need, np.bool_)
    many = native_module().path(_views_of(graph), *arrays, last, *results)
    return nodes[:many][::-1].copy(), by_need[:many][::-1].copy()


def is_compiled(graph: ReplayGraph) -> bool:
    """Whether compiled code plays a graph: it counts in 32 bits."""
    return is_native() and graph.before.dtype == np.int32


def _views_of(graph: ReplayGraph) -> tuple[ArrayView, ...]:
    links, places = (graph.before, graph.needs), (graph.point, graph.activity)
    return (
        *(array_view(numbers, np.int32) for numbers in links),
        *(array_view(times, np.float64) for times in (graph.gap, graph.lag)),
        *(array_view(numbers, np.int32) for numbers in places),
        array_view(graph.waits, np.bool_),
    )


def moments_by_loop(before: Ints, gap: Floats, needs: Ints, lag: Floats) -> Floats:
    """The same without compiled code: no array operation does that."""
    come = [_LONG_AGO] * (len(before) + 1)  # the last stands for what is not there
    come[0] = 0.0
    triples = zip(before.tolist(), gap.tolist(), needs.tolist(), lag.tolist(), strict=True)
    next(triples, None)
    for number, (earlier, passes, other, more) in enumerate(triples, 1):
        moment, later = come[earlier] + passes, come[other] + more
        if later > moment:  # noqa: PLR1730 - a call of max() takes twice as long as all the rest
            moment = later
        come[number] = moment
    return np.array(come[:-1])


def step_lengths(steps: pl.DataFrame, played: Played) -> Floats:
    """How long each step takes, from the end of the one before it to its own, its work included."""
    work = played.graph.work
    marks = marks_of(steps)
    begin, end = _moments(played, marks)
    inside = work_by_step(played.graph, marks)
    in_step = inside >= 0
    last = np.full(len(marks), _LONG_AGO)
    np.maximum.at(last, inside[in_step], played.ends[in_step])
    end = np.maximum.accumulate(np.maximum(end, last))
    # What was left to do on the devices when the first began does not count for it.
    for first in steps["start_ns"].to_list()[:1]:
        left = np.flatnonzero(work.end == first) if first > marks[0, 0] else work.row[:0]
        delay = first - marks[0, 0] if not len(left) else 0
        begin[0] = max(float(begin[0]) + delay, played.ends[left].max(initial=_LONG_AGO))
    begin[1:] = np.maximum(begin[1:], end[:-1])
    return np.maximum(end - begin, 0.0)


def work_by_step(graph: ReplayGraph, marks: Ints) -> Ints:
    """The step, from the host's start to its end, that each activity is part of; -1 for none.

    Work belongs to the step of its launch or operator, as in the table of steps.  Where the
    recording has work of devices alone, steps are made of its times.
    """
    return _work_by_step(graph.work, marks.tobytes(), is_device_only=_is_device_only(graph, marks))


@memoize_per_trace
def _work_by_step(work: Activities, marks: bytes, *, is_device_only: bool) -> Ints:
    """The same, found once: whatever a program is changed to, it has the steps of its recording."""
    bounds = np.frombuffer(marks, np.int64).reshape(-1, 2)
    step = step_at(work.origin_start, work.origin_end, bounds)
    return step if is_device_only else np.where(work.origin != NO_CALL, step, -1)


def _is_device_only(graph: ReplayGraph, marks: Ints) -> bool:
    """Whether steps are no stretches of a thread, but of what devices did."""
    work = graph.work
    if not len(graph.points.time):
        return True
    if not len(work) or not len(marks):
        return False
    span = (int(work.start.min()), int(work.end.max()))
    return bool((work.origin == NO_CALL).all() and (marks[0, 0], marks[-1, 1]) == span)


def _moments(played: Played, marks: Ints) -> tuple[Floats, Floats]:
    """When moments of the recording come, on the thread that has most of them as its own."""
    graph, points = played.graph, played.graph.points
    if _is_device_only(graph, marks):
        # Of devices alone a step is their work: nothing else says when it begins and ends.
        starts = played.ends - played.length
        begin = np.full(len(marks), starts.min(initial=np.inf) if len(starts) else 0.0)
        return begin, begin.copy()
    low, high = _thread_of(points, graph.node_of_point, marks)
    nodes = graph.node_of_point[low:high]
    nodes = nodes[nodes >= 0]
    time, come = points.time[graph.point[nodes]], played.node[nodes]
    first = np.minimum(np.searchsorted(time, marks[:, 0]), len(time) - 1)
    last = np.maximum(np.searchsorted(time, marks[:, 1], side="right") - 1, 0)
    begin = come[first] + (marks[:, 0] - time[first])
    return np.asarray(begin), np.asarray(come[last] + (marks[:, 1] - time[last]))


def _thread_of(points: HostPoints, node_of_point: Ints, marks: Ints) -> tuple[int, int]:
    """From which point to which one the thread goes most of whose nodes are at some moments."""
    moments = np.unique(marks)
    best, most = (0, 0), -1
    for low, high in pairwise(points.first.tolist()):
        # The points of a thread are in the order of their times.
        time = points.time[low:high]
        since, until = (np.searchsorted(time, moments, side) for side in ("left", "right"))
        nodes = int((node_of_point[ragged_ranges(low + since, until - since)] >= 0).sum())
        if nodes > most:
            best, most = (low, high), nodes
    return best

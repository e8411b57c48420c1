"""Changes of a program, played: how long a cycle takes if parts take another time, or none."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec
import numpy as np
from msgspec.structs import replace

from timesink.analyses import names
from timesink.analyses.columns import device_kinds, device_names, host_kinds, memoize_per_trace
from timesink.analyses.device_activities import device_activities
from timesink.analyses.forest import call_forest, descendant_mask
from timesink.analyses.graphs import captured_nodes
from timesink.analyses.kernels.peaks import DevicePeaks, load_peaks
from timesink.analyses.links import link_launches
from timesink.analyses.replay.changes import AskedChange, name_filter
from timesink.analyses.replay.graph import ReplayGraph
from timesink.analyses.replay.play import Played, play, step_lengths, work_by_step
from timesink.analyses.replay.points import NOBODY, HostPoints, talks_on_host, waits_for_collectives
from timesink.analyses.steps import complete_steps, find_steps, is_communication, marks_of, step_at
from timesink.analyses.thresholds import WhatIfLimits
from timesink.errors import UsageError
from timesink.model import intervals, vendors
from timesink.model.intervals import Flags, Floats, Ints, union_starts
from timesink.model.launches import LAUNCH_KINDS
from timesink.model.schema import KERNEL_KINDS
from timesink.model.trace import Trace


class Scenario(msgspec.Struct, frozen=True, eq=False):
    """A program with changes: what its threads and devices take, and what depends on what."""

    trace: Trace
    graph: ReplayGraph
    stretch: Floats
    """By host point: what its thread works until the next."""
    length: Floats
    """By activity."""

    least_ns: float = 0.0
    """No cycle is shorter than this, whatever is played: batches take so long to be made."""
    batch: float = 1.0
    """How many times as many samples a cycle has."""
    need: Floats = msgspec.field(default_factory=lambda: np.zeros(0))
    """By activity: how much of its length it has a whole device for itself, see `device_need`."""

    @classmethod
    def of(cls, trace: Trace, played: Played) -> Scenario:
        """The program as it was played."""
        points = played.graph.points
        stretch = np.diff(played.work, append=played.work[-1:])
        stretch[points.first[1:] - 1] = 0.0
        scenario = cls(trace, played.graph, stretch, played.length)
        need = replace(scenario, need=device_need(trace))
        # Today's steps are long enough, wherever their kernels began.
        today, least = step_ns(scenario, played), busy_step_ns(need)
        return replace(need, need=need.need * min(1.0, today / least if least else 1.0))

    def played(self) -> Played:
        """When everything comes."""
        work = np.zeros(len(self.stretch))
        np.cumsum(self.stretch[:-1], out=work[1:])
        return play(self.graph, work, self.length)


def apply_change(scenario: Scenario, change: AskedChange) -> Scenario:
    """The program with one change more; refused where nothing is what the change names."""
    chosen = _chosen(scenario, change)
    # A program of the host alone launches nothing, and can still do its work in one pass.
    launched = change.action not in ("fuse", "graph") or chosen.activities.any()
    by_host = change.action == "fuse" and not len(scenario.graph.work)
    if chosen.is_empty or not (launched or by_host):
        raise UsageError(
            f"{change.text}: nothing in the recording matches",
            "timesink analyze RUN --view operators, --view kernels and --view launches show names",
        )
    return _ACTIONS[change.action](scenario, chosen, change)


def cycle_ns(scenario: Scenario, played: Played | None = None) -> float:
    """How long a complete cycle takes, the middle one."""
    steps = complete_steps(scenario.trace)
    lengths = step_lengths(steps, scenario.played() if played is None else played)
    return max(
        float(np.median(lengths)) if len(lengths) else 0.0,
        scenario.least_ns,
        busy_step_ns(scenario),
    )


def step_ns(scenario: Scenario, played: Played | None = None) -> float:
    """How long a complete step takes in the mean, as every answer has it."""
    steps = complete_steps(scenario.trace)
    lengths = step_lengths(steps, scenario.played() if played is None else played)
    return max(
        float(np.mean(lengths)) if len(lengths) else 0.0, scenario.least_ns, busy_step_ns(scenario)
    )


@memoize_per_trace
def device_need(trace: Trace) -> Floats:
    """By activity: the share of its length for which it has a whole device for itself.

    A kernel fills a device by its blocks, one for each multiprocessor; where their number is not
    known it fills all of it.  Kernels that together are more than a device share it, so however
    they are launched they take as long as they covered.  Copies and communication share nothing.
    """
    work = device_activities(trace)
    need = np.zeros(len(work))
    kernels = (
        device_kinds(trace).among(*KERNEL_KINDS)[work.row] & ~is_communication(trace)[work.row]
    )
    blocks = trace.lazy("device").select("blocks_per_sm").collect()["blocks_per_sm"]
    fills = blocks.fill_nan(None).fill_null(1.0).to_numpy()[work.row]
    fills = np.where(fills > 0, np.minimum(fills, 1.0), 1.0)
    for device in np.unique(work.device[kernels]).tolist():
        mine = np.flatnonzero(kernels & (work.device == device) & (work.end > work.start))
        if len(mine):
            start, end = work.start[mine], work.end[mine]
            at, load = intervals.sweep(start, end, fills[mine])
            passed = np.append(0.0, np.cumsum(np.diff(at) / np.maximum(load, 1.0)))
            share = passed[np.searchsorted(at, end)] - passed[np.searchsorted(at, start)]
            need[mine] = fills[mine] * share / (end - start)
    return need


def busy_step_ns(scenario: Scenario) -> float:
    """How long the kernels of a step need the busiest device at least, in the mean."""
    steps = complete_steps(scenario.trace).height
    return float(needed_of_device(scenario).sum()) / max(steps, 1)


def needed_of_device(scenario: Scenario) -> Floats:
    """By activity: how long it needs the device that steps need longest; 0 for all others."""
    work, needed = scenario.graph.work, np.zeros(len(scenario.length))
    if not len(scenario.need):
        return needed
    marks = marks_of(complete_steps(scenario.trace))
    inside = (scenario.need > 0) & (work_by_step(scenario.graph, marks) >= 0)
    if inside.any():
        needed = np.where(inside, scenario.need * scenario.length, 0.0)
        first = int(work.device.min())
        busiest = first + int(np.bincount(work.device - first, needed).argmax())
        needed[work.device != busiest] = 0.0
    return needed


class _Selection(msgspec.Struct, frozen=True, eq=False):
    """What a selector names."""

    stretches: Flags
    """By host point: the stretch after it."""
    activities: Flags
    waits: Flags
    """By node: waits for the device."""
    roots: Flags
    """By call: those that are named themselves."""

    @property
    def is_empty(self) -> bool:
        return not (self.stretches.any() or self.activities.any() or self.waits.any())


def _chosen(scenario: Scenario, change: AskedChange) -> _Selection:
    """What a change is about."""
    graph, calls = scenario.graph, scenario.graph.points.calls
    nothing = _Selection(
        np.zeros(len(graph.points.time), np.bool_),
        np.zeros(len(graph.work), np.bool_),
        np.zeros(len(graph), np.bool_),
        np.zeros(len(calls), np.bool_),
    )
    on_device = _chosen_work(scenario, change)
    if on_device is not None:
        if change.sort == "communication":
            return _with_host_collectives(scenario, replace(nothing, activities=on_device))
        if change.sort != "copy":
            return replace(nothing, activities=on_device)
        if change.action == "remove":
            return _with_copy_calls(scenario, replace(nothing, activities=on_device))
        return replace(nothing, activities=on_device, stretches=_held_calls(scenario, on_device))
    return _chosen_calls(scenario, change, nothing)


def _with_host_collectives(scenario: Scenario, chosen: _Selection) -> _Selection:
    """Collectives of devices, and those that threads of the host make."""
    graph, points, calls = scenario.graph, scenario.graph.points, scenario.graph.points.calls
    collectives = (
        np.flatnonzero(calls.named(talks_on_host)) if len(calls) else np.zeros(0, np.int64)
    )
    if not len(collectives):
        return chosen
    inside = descendant_mask(collectives, calls.size)
    waits = device_waits(graph)
    waits[waits] = inside[points.call[graph.point[waits]]]
    roots = np.zeros(len(calls), dtype=np.bool_)
    roots[collectives] = True
    stretches = (points.owner >= 0) & inside[points.owner]
    return replace(chosen, stretches=stretches, waits=waits, roots=roots)


def _chosen_work(scenario: Scenario, change: AskedChange) -> Flags | None:
    """Activities that are named themselves; None where calls are."""
    trace, row = scenario.trace, scenario.graph.work.row
    kinds, sort = device_kinds(trace), change.sort
    talks = is_communication(trace)[row]
    if sort == "communication":
        return talks
    if change.action == "device":
        return kinds.among(*KERNEL_KINDS)[row] & ~talks
    if change.action == "batch":
        return ~talks & ~launched_by(scenario, names.is_optimizer_step)
    if sort not in ("kernel", "copy"):
        return None
    named = device_names(trace)
    right = kinds.among(*(KERNEL_KINDS if sort == "kernel" else ("memcpy", "memset")))[row]
    texts = [named.texts[code] for code in np.unique(named.codes[row[right]]).tolist()]
    fits = name_filter(change.pattern, texts, names.short_kernel_name)
    return right & named.matching(fits)[row]


def _held_calls(scenario: Scenario, copies: Flags) -> Flags:
    """Stretches of calls that last as long as the copies they make, as those of pageable memory."""
    work, points = scenario.graph.work, scenario.graph.points
    call = _launches(scenario)
    shared = np.minimum(work.end, work.call_end) - np.maximum(work.start, work.call_start)
    is_synchronous = (
        copies & (call >= 0) & (shared > WhatIfLimits.held_share * (work.end - work.start))
    )
    stretches = np.zeros(len(points.time), dtype=np.bool_)
    for place in call[is_synchronous].tolist():
        stretches[points.start[place] : points.end[place]] = True
    return stretches


def _with_copy_calls(scenario: Scenario, chosen: _Selection) -> _Selection:
    """Copies with the calls that make them, and what is there for their sake alone.

    That is a wait for the copy in the call that makes it, or in the same operator, and events that
    order its stream with others, where no other launch stands between.
    """
    graph, points, calls = scenario.graph, scenario.graph.points, scenario.graph.points.calls
    launcher = _launches(scenario)
    launchers_left = np.unique(launcher[~chosen.activities & (launcher >= 0)])
    gone = np.setdiff1d(launcher[chosen.activities & (launcher >= 0)], launchers_left)
    waits = np.flatnonzero(device_waits(graph))
    awaited = graph.activity[graph.needs[waits]]
    waiting, maker = points.call[graph.point[waits]], launcher[awaited]
    same = waiting == maker
    same |= (calls.parent[waiting] >= 0) & (calls.parent[waiting] == calls.parent[maker])
    waits = waits[chosen.activities[awaited] & (maker >= 0) & same]
    freed = np.zeros(len(graph), dtype=np.bool_)
    freed[waits] = True
    removable = np.concatenate(
        [gone, points.call[graph.point[waits]], _stream_orders(scenario, gone)]
    )
    stretches = np.zeros(len(points.time), dtype=np.bool_)
    for call in np.unique(removable).tolist():
        stretches[points.start[call] : points.end[call]] = True
    return replace(chosen, stretches=stretches, waits=freed)


def _stream_orders(scenario: Scenario, copies: Ints) -> Ints:
    """Calls about events between some launches and those before or after them on other streams."""
    calls, call = scenario.graph.points.calls, _launches(scenario)
    launched, first = np.unique(call, return_index=True)
    launches, lane = launched[launched >= 0], scenario.graph.work.lane[first[launched >= 0]]
    events = np.flatnonzero(calls.named(vendors.is_stream_order))
    if not len(events) or not len(copies):
        return events[:0]
    after = np.searchsorted(launches, events)
    is_order = np.zeros(len(events), dtype=np.bool_)
    for side, other in ((after - 1, after), (after, after - 1)):
        is_valid = (side >= 0) & (side < len(launches))
        side, other = (np.clip(neighbours, 0, len(launches) - 1) for neighbours in (side, other))  # noqa: PLW2901
        # Calls are sorted by thread, so neighbours may be of another one.
        is_valid &= calls.thread[launches[side]] == calls.thread[events]
        is_unshared = (side == other) | (calls.thread[launches[other]] != calls.thread[events])
        is_order |= (
            is_valid & np.isin(launches[side], copies) & (is_unshared | (lane[side] != lane[other]))
        )
    return np.asarray(events[is_order])


def _chosen_calls(scenario: Scenario, change: AskedChange, nothing: _Selection) -> _Selection:
    trace, graph = scenario.trace, scenario.graph
    points, calls, sort = graph.points, graph.points.calls, change.sort
    if sort == "cycle":
        waits = device_waits(graph)
        everything = np.ones(len(points.time), np.bool_), np.ones(len(graph.work), np.bool_)
        return _Selection(*everything, waits, nothing.roots)
    if not len(calls) or sort == "outside":
        return replace(nothing, stretches=_outside_of_calls(points)) if len(calls) else nothing
    runtime = host_kinds(trace).among(*LAUNCH_KINDS)[calls.row]
    if sort == "loading":
        roots = calls.named(names.is_data_loader)
    else:
        right = {"call": runtime, "sync": runtime | True}.get(sort, ~runtime)
        texts = [calls.names[code] for code in np.unique(calls.name[right]).tolist()]
        roots = calls.named(name_filter(change.pattern, texts)) & right
    inside = roots if sort == "self" else descendant_mask(np.flatnonzero(roots), calls.size)
    stretches = (points.owner >= 0) & inside[points.owner]
    waits = device_waits(graph)
    waits[waits] = inside[points.call[graph.point[waits]]]
    if sort == "sync":
        # Of what is around a wait only the wait is meant.
        ends = points.call[graph.point[waits]]
        stretches = np.zeros(len(stretches), dtype=np.bool_)
        for low, high in zip(points.start[ends].tolist(), points.end[ends].tolist(), strict=True):
            stretches[low:high] = True
        return replace(nothing, stretches=stretches, waits=waits, roots=roots)
    if sort in ("host", "self", "loading"):
        return replace(nothing, stretches=stretches, roots=roots)
    if sort == "call":
        return replace(nothing, stretches=stretches, waits=waits, roots=roots)
    activities = _launched_in(scenario, inside) | _captured_in(scenario, change.pattern)
    return _Selection(stretches, activities, waits, roots)


def _captured_in(scenario: Scenario, pattern: str) -> Flags:
    """Activities that a graph replays, of captured calls with such a name or of what they call."""
    forest, work = call_forest(scenario.trace), scenario.graph.work
    captured = captured_nodes(scenario.trace)
    if not captured.any() or not len(work):
        return np.zeros(len(work), dtype=np.bool_)
    texts = [forest.names[code] for code in np.unique(forest.name[captured]).tolist()]
    roots = forest.named(name_filter(pattern, texts)) & captured
    inside = descendant_mask(np.flatnonzero(roots), forest.size)
    node = link_launches(scenario.trace).node[work.row]
    return np.asarray((node >= 0) & inside[node])


def _outside_of_calls(points: HostPoints) -> Flags:
    """Stretches in which a thread is in no call but the mark of a step, and waits for nobody."""
    calls = points.calls
    bare = points.owner < 0
    bare |= calls.named(names.is_profiler_step)[points.owner]
    return np.asarray(bare & (waits_for_collectives(points).by_point(len(bare)) == 0))


def device_waits(graph: ReplayGraph) -> Flags:
    """By node: where a thread goes on after it waited for a device."""
    waits = graph.waits & (graph.point >= 0) & (graph.needs >= 0)
    return np.asarray(waits & (graph.activity[graph.needs] >= 0))


def starts_between_streams(graph: ReplayGraph) -> Flags:
    """By node: starts that need work of another stream as well; they stand between the two."""
    other = (graph.point < 0) & (graph.activity < 0) & (graph.needs >= 0)
    return np.asarray(other & (np.arange(len(graph)) > 0))


def _launched_in(scenario: Scenario, inside: Flags) -> Flags:
    """Activities that were launched inside of some calls."""
    if not len(inside):
        return np.zeros(len(scenario.graph.work), np.bool_)
    call = _launches(scenario)
    return np.asarray((call >= 0) & inside[call])


def launched_by(scenario: Scenario, test: Callable[[str], bool]) -> Flags:
    """Activities that were launched inside of calls whose name passes a test."""
    calls = scenario.graph.points.calls
    return _launched_in(scenario, descendant_mask(np.flatnonzero(calls.named(test)), calls.size))


def _launches(scenario: Scenario) -> Ints:
    """By activity: the call that launched it; -1 where that is not known."""
    work, calls = scenario.graph.work, scenario.graph.points.calls
    return np.where(work.launched, calls.place[work.call] if len(calls.place) else 0, NOBODY)


class NamedWork(msgspec.Struct, frozen=True):
    """What a change is about, per cycle."""

    calls: float
    activities: float
    waits: float
    host_ns: float
    device_ns: float
    wait_ns: float
    """How long threads wait there for the device."""


def named_by(scenario: Scenario, change: AskedChange, played: Played) -> NamedWork:
    """How much there is of what a change names, in the complete cycles of a program as played."""
    chosen, graph, steps = (
        _chosen(scenario, change),
        scenario.graph,
        complete_steps(scenario.trace),
    )
    marks = steps.select("host_start_ns", "host_end_ns").to_numpy()
    points, work = graph.points, graph.work

    def within_cycles(start: Ints, end: Ints) -> Flags:
        return np.asarray(step_at(start, end, marks) >= 0)

    stretches, activities = np.flatnonzero(chosen.stretches), np.flatnonzero(chosen.activities)
    moments = points.time[stretches]
    stretches = stretches[within_cycles(moments, moments)]
    activities = activities[within_cycles(work.call_start[activities], work.call_end[activities])]
    waits = np.flatnonzero(chosen.waits)
    moments = points.time[graph.point[waits]]
    waits = waits[within_cycles(moments, moments)]
    roots = np.flatnonzero(chosen.roots)
    calls = within_cycles(points.calls.start[roots], points.calls.end[roots])
    waited = played.node[waits] - played.node[graph.before[waits]]
    many = max(steps.height, 1)
    return NamedWork(
        calls=float(calls.sum()) / many,
        activities=activities.size / many,
        waits=len(waits) / many,
        host_ns=float(scenario.stretch[stretches].sum()) / many,
        device_ns=float(scenario.length[activities].sum()) / many,
        wait_ns=float(waited.sum()) / many,
    )


def _scale_work(scenario: Scenario, chosen: _Selection, change: AskedChange) -> Scenario:
    stretch = scenario.stretch.copy()
    stretch[chosen.stretches] *= change.factor
    if change.sort == "communication" and chosen.roots.any():
        # Threads that did nothing until a collective ended go on that much sooner, or later.
        waits = waits_for_collectives(scenario.graph.points)
        stretch[waits.point] *= 1 - waits.share * (1 - change.factor)
    length = np.where(chosen.activities, scenario.length * change.factor, scenario.length)
    return replace(scenario, stretch=stretch, length=length)


def _remove_work(scenario: Scenario, chosen: _Selection, change: AskedChange) -> Scenario:
    """Work that takes nothing and waits for nothing; what follows it on its stream still does."""
    graph = scenario.graph
    needs, gap = graph.needs.copy(), graph.gap.copy()
    gone = graph.node_of_activity[chosen.activities]
    # What stands first keeps its distance to the beginning.
    follows = gone[graph.before[gone] > 0]
    needs[follows], gap[follows] = NOBODY, 0.0
    # A start that needed another stream as well stands between the two: nobody waits for what is
    # gone, whether the host told its stream to or not.
    between = np.flatnonzero(starts_between_streams(graph))
    needed = graph.activity[graph.needs[between]]
    freed = between[(needed >= 0) & chosen.activities[needed]]
    needs[freed] = NOBODY
    needs[chosen.waits], gap[chosen.waits] = NOBODY, 0.0
    less = replace(scenario, graph=replace(graph, needs=needs, gap=gap))
    return _scale_work(less, chosen, replace(change, factor=0.0))


def _outermost(scenario: Scenario, chosen: _Selection) -> Ints:
    """Calls that are named, without those inside of others."""
    calls, roots = scenario.graph.points.calls, np.flatnonzero(chosen.roots)
    return roots[union_starts(roots, roots + calls.size[roots])]


def _fuse_launches(scenario: Scenario, chosen: _Selection, _: AskedChange) -> Scenario:
    """One launch in place of many: the host works once, and the device does not stop between."""
    graph, points = scenario.graph, scenario.graph.points
    if not len(graph.work):
        return replace(scenario, stretch=_in_one_pass(scenario, chosen))
    stretch = scenario.stretch.copy()
    needs, gap, lag = graph.needs.copy(), graph.gap.copy(), graph.lag.copy()
    call, lane = _launches(scenario), graph.work.lane
    order = np.argsort(call, kind="stable")
    launched = call[order]
    for root in _outermost(scenario, chosen).tolist():
        low, high = np.searchsorted(launched, (root, root + int(points.calls.size[root])))
        mine = order[low:high]
        launches = np.unique(call[mine])
        if len(launches) > 1:
            stretch[points.start[root] : points.end[root]] /= len(launches)
            first = mine[np.argmin(call[mine])]
            nodes = graph.node_of_activity[mine]
            # On its stream one goes on after the other; on others all come from the one launch.
            same = (lane[mine] == lane[first]) & (nodes > graph.node_of_activity[first])
            rest = nodes[same & (graph.before[nodes] > 0)]
            needs[rest], lag[rest], gap[rest] = NOBODY, 0.0, 0.0
            apart = nodes[lane[mine] != lane[first]]
            needs[apart] = graph.needs[graph.node_of_activity[first]]
    return replace(scenario, stretch=stretch, graph=replace(graph, needs=needs, gap=gap, lag=lag))


def _in_one_pass(scenario: Scenario, chosen: _Selection) -> Floats:
    """Stretches of the host where calls pass once over what their operators passed over in turn."""
    points, stretch = scenario.graph.points, scenario.stretch.copy()
    calls = points.calls
    for root in _outermost(scenario, chosen).tolist():
        mine = slice(int(points.start[root]), int(points.end[root]))
        inside = points.owner[mine] > root  # calls inside come after it, in pre-order
        names = calls.name[points.owner[mine][inside]]
        by_name = np.bincount(names, scenario.stretch[mine][inside]) if len(names) else np.zeros(1)
        total = float(scenario.stretch[mine].sum())
        if total > 0 and by_name.max() > 0:
            stretch[mine] *= min(1.0, WhatIfLimits.passes * float(by_name.max()) / total)
    return stretch


def _as_graph(scenario: Scenario, chosen: _Selection, change: AskedChange) -> Scenario:
    """Everything launched at once: no host code between, and the pace of a graph."""
    graph = scenario.graph
    nodes = graph.node_of_activity[chosen.activities]
    gap, lag = graph.gap.copy(), graph.lag.copy()
    # Work that nobody is known to have launched waits for reasons that are not known either.
    nodes = nodes[(graph.needs[nodes] >= 0) & (graph.before[nodes] > 0)]
    gap[nodes] = np.minimum(gap[nodes], WhatIfLimits.pace_ns)
    handed = graph.waits & (graph.point >= 0) & (graph.needs >= 0)
    handed[handed] = graph.point[graph.needs[handed]] >= 0
    handed[handed] = chosen.stretches[graph.point[handed] - 1]
    lag[handed] = 0.0
    # No graph loads data, or talks to other hosts.
    calls, owner = graph.points.calls, graph.points.owner
    is_excluded = calls.named(
        lambda name: names.is_data_loader(name) or vendors.is_collective_call(name)
    )
    inside = descendant_mask(np.flatnonzero(is_excluded), calls.size)
    stays = (owner >= 0) & inside[owner] if len(calls) else owner >= 0
    stays |= _uses_results(scenario)
    left = np.where(stays, 1.0, waits_for_collectives(graph.points).by_point(len(stays)))
    stretch = np.where(chosen.stretches, scenario.stretch * left, scenario.stretch)
    stretch[_first_launches(scenario, chosen, change)] += WhatIfLimits.graph_launch_ns
    return replace(scenario, stretch=stretch, graph=replace(graph, gap=gap, lag=lag))


def _uses_results(scenario: Scenario) -> Flags:
    """Stretches outside of calls from a wait for the device to the next launch.

    What a program does with what it waited for, before it asks for more, no graph holds.
    """
    graph, points = scenario.graph, scenario.graph.points
    many = len(points.time)
    place = np.arange(many)
    waited, launched = np.full(many, -1), np.full(many, -1)
    after = graph.point[device_waits(graph)]
    waited[after] = after
    call = _launches(scenario)
    begun = points.start[np.unique(call[call >= 0])]
    launched[begun] = begun
    last_wait, last_launch = np.maximum.accumulate(waited), np.maximum.accumulate(launched)
    thread_first = points.first[np.searchsorted(points.first, place, side="right") - 1]
    result: Flags = (last_wait >= thread_first) & (last_wait > last_launch)
    return result & _outside_of_calls(points)


def _first_launches(scenario: Scenario, chosen: _Selection, change: AskedChange) -> Ints:
    """Where the first launch of each cycle begins, or of each call that is named."""
    work, points = scenario.graph.work, scenario.graph.points
    call = _launches(scenario)
    mine = np.flatnonzero(chosen.activities & (call >= 0))
    if change.sort == "cycle":
        steps = find_steps(scenario.trace).select("host_start_ns", "host_end_ns").to_numpy()
        part = step_at(work.call_start[mine], work.call_end[mine], steps)
    else:
        part = np.searchsorted(_outermost(scenario, chosen), call[mine], side="right")
    order = np.lexsort((work.call_start[mine], part))
    _, first = np.unique(part[order], return_index=True)
    return np.asarray(points.start[call[mine[order[first]]]])


def _overlap_work(scenario: Scenario, chosen: _Selection, _: AskedChange) -> Scenario:
    """Work on a stream of its own that waits for what came before it, but nothing for it."""
    graph, work = scenario.graph, scenario.graph.work
    before, needs = graph.before.copy(), graph.needs.copy()
    lag = graph.lag.copy()
    aside = np.zeros(len(graph) + 1, dtype=np.bool_)  # the last stands for what is not there
    aside[graph.node_of_activity[chosen.activities]] = True
    needs[starts_between_streams(graph) & aside[needs]] = NOBODY
    doing = np.flatnonzero(graph.activity >= 0)
    lane = work.lane[graph.activity[doing]]
    order = np.lexsort((doing, aside[doing], lane))
    same_lane = np.zeros(len(doing), dtype=np.bool_)
    same_lane[1:] = (lane[order[1:]] == lane[order[:-1]]) & (
        aside[doing[order[1:]]] == aside[doing[order[:-1]]]
    )
    previous = np.full(len(graph), NOBODY)
    previous[doing[order[same_lane]]] = doing[order[np.flatnonzero(same_lane) - 1]]
    after_other = doing[(before[doing] > 0) & (aside[before[doing]] != aside[doing])]
    later = after_other[aside[after_other] & (previous[after_other] >= 0)]
    # It waits for what came before on the stream, unless its launch came later still.
    queued = graph.time[before[later]] > np.where(needs[later] >= 0, graph.time[needs[later]], -1)
    waits = later[queued]
    needs[waits], lag[waits] = before[waits], graph.gap[waits]
    before[later] = previous[later]
    free = after_other[~aside[after_other]]
    before[free] = np.where((previous[free] < 0) & (needs[free] < 0), 0, previous[free])
    return replace(scenario, graph=replace(graph, before=before, needs=needs, lag=lag))


def _on_device(scenario: Scenario, chosen: _Selection, change: AskedChange) -> Scenario:
    """Matrix work by what the tensor cores of both devices can do, all else by their memory."""
    base, new = two_devices(change)
    memory = _ratio(base.dram_bytes_per_s, new.dram_bytes_per_s)
    if not memory:
        raise UsageError(
            f"{change.text}: the bandwidth of a device is not known", "choose another device"
        )
    named = device_names(scenario.trace)
    factor = np.array(
        [
            (_tensor_ratio(base, new, text) if names.uses_tensor_cores(text) else None) or memory
            for text in named.texts
        ]
        or [1.0]
    )
    scaled = scenario.length * factor[named.codes][scenario.graph.work.row]
    return replace(scenario, length=np.where(chosen.activities, scaled, scenario.length))


_TYPES = (
    ("fp4_tensor", ("e2m1", "fp4")),
    ("fp8_tensor", ("e4m3", "e5m2", "fp8")),
    ("int8_tensor", ("int8", "i8816", "i16832")),
    ("tf32_tensor", ("tf32", "_s1688")),
    ("fp64_tensor", ("f64", "d884")),
)
"""What names of kernels have in them, by precision; others are of 16 bits."""


def _tensor_ratio(base: DevicePeaks, new: DevicePeaks, kernel: str) -> float | None:
    lower = kernel.lower()
    precisions = [
        type_precision for type_precision, parts in _TYPES if any(part in lower for part in parts)
    ]
    for precision in (*precisions, "bf16_tensor", "fp16_tensor"):
        ratio = _ratio(base.peak(precision), new.peak(precision))
        if ratio:
            return ratio
    return None


def _ratio(base: float | None, new: float | None) -> float | None:
    return base / new if base and new else None


def two_devices(change: AskedChange) -> tuple[DevicePeaks, DevicePeaks]:
    """The devices a change names: of several models that fit the one with the shortest name."""
    base, new = change.pattern.split(":")
    return _peaks(base), _peaks(new)


def _peaks(name: str) -> DevicePeaks:
    fits = [row for row in load_peaks() if name.strip().lower() in row.device.lower()]
    if not fits:
        titles = ", ".join(row.device for row in load_peaks())
        raise UsageError(f"--device: no peaks of {name!r} are known", f"known are {titles}")
    return min(fits, key=lambda row: len(row.device))


def _more_workers(scenario: Scenario, chosen: _Selection, change: AskedChange) -> Scenario:
    """Loading beside the program: a batch is there as soon as so many workers can have made it."""
    calls = scenario.graph.points.calls
    if math.isfinite(change.factor) and calls.named(names.loads_in_processes)[chosen.roots].any():
        raise UsageError(
            f"{change.text}: batches are loaded in other processes, which are not recorded",
            "try --loader-workers inf, which gives the largest possible saving",
        )
    taken = named_by(scenario, change, scenario.played()).host_ns
    least = max(scenario.least_ns, taken / change.factor)
    stretch = np.where(chosen.stretches, 0.0, scenario.stretch)
    return replace(scenario, stretch=stretch, least_ns=least)


def _batch_cycles(scenario: Scenario, chosen: _Selection, change: AskedChange) -> Scenario:
    """Cycles of more samples: device work and loading take so many times as long, at most."""
    loads = _chosen(scenario, AskedChange("scale", "loading")).stretches
    more = _scale_work(scenario, replace(chosen, stretches=loads), change)
    return replace(
        more, least_ns=scenario.least_ns * change.factor, batch=scenario.batch * change.factor
    )


_ACTIONS: Mapping[str, Callable[[Scenario, _Selection, AskedChange], Scenario]] = {
    "scale": _scale_work,
    "remove": _remove_work,
    "fuse": _fuse_launches,
    "graph": _as_graph,
    "overlap": _overlap_work,
    "device": _on_device,
    "loader-workers": _more_workers,
    "batch": _batch_cycles,
}

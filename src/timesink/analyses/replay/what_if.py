"""Changes of a program, played: how long a cycle takes if parts of it take another time, or none.

A change is an action on what a selector names:

    kernel:PATTERN     kernels by name             op:PATTERN      host calls, with the work they launch
    copy:PATTERN       copies by name              host:PATTERN    host calls, without that work
    sync:PATTERN       waits for the device, by the call that waits or one around it
    call:PATTERN       runtime calls by name       communication   collectives
    loading            data loading                cycle           everything
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np

from timesink.analyses import names
from timesink.analyses.columns import device_kinds, device_names, host_kinds
from timesink.analyses.forest import within
from timesink.analyses.kernels.peaks import DevicePeaks, load_peaks
from timesink.analyses.replay.graph import ReplayGraph
from timesink.analyses.replay.simulation import Played, play
from timesink.analyses.replay.waits import NOBODY
from timesink.analyses.steps import find_steps, is_communication, step_at
from timesink.errors import UsageError
from timesink.model.arrays import Flags, Floats, Ints
from timesink.model.launches import LAUNCH_KINDS
from timesink.model.schema import KERNEL_KINDS
from timesink.model.trace import Trace

ACTIONS = ("scale", "remove", "fuse", "graph", "overlap", "device", "loader-workers")
SORTS = ("kernel", "copy", "op", "host", "call", "sync")
_WHOLE = ("communication", "loading", "cycle")
_HINT = "such as 'kernel:flash*', 'op:aten::add', 'sync:aten::item', 'communication' or 'cycle'"

_GRAPH_LAUNCH_NS = 10_000.0
"""What launching a whole graph takes the host."""
_GRAPH_PACE_NS = 1_000.0
"""From one node of a graph to the next, at most."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a program.

    >>> parse_change("scale", "kernel:flash*=0.5")
    Change(action='scale', sort='kernel', pattern='flash*', factor=0.5)
    """

    action: str
    sort: str = "cycle"
    pattern: str = "*"
    factor: float = 0.0
    """What lengths are multiplied by; of `loader-workers` how many there are."""

    @property
    def text(self) -> str:
        """The change as it is asked for."""
        what = self.sort if self.sort in _WHOLE else f"{self.sort}:{self.pattern}"
        if self.action == "device":
            return f"--device {self.pattern}"
        if self.action == "loader-workers":
            return f"--loader-workers {self.factor:g}"
        return f"--{self.action} '{what}{f'={self.factor:g}' if self.action == 'scale' else ''}'"


def parse_change(action: str, text: str) -> Change:
    """The change an option asks for; refused in a sentence where it makes no sense."""
    if action == "device":
        if not re.fullmatch(r"[^:]+:[^:]+", text):
            raise UsageError(f"--device {text}: not two devices", "try --device H100:B200")
        return Change(action, pattern=text)
    if action == "loader-workers":
        return Change(action, "loading", factor=_number(action, text, least=1.0))
    what, factor = text, 0.0
    if action == "scale":
        what, found, number = text.rpartition("=")
        if not found:
            raise UsageError(f"--scale {text}: no factor", "try --scale 'kernel:flash*=0.5'")
        factor = _number(action, number)
    if what in _WHOLE:
        return Change(action, what, factor=factor)
    sort, found, pattern = what.partition(":")
    if action == "fuse" and sort not in SORTS:
        sort, found, pattern = "op", ":", what
    if not found or sort not in SORTS or not pattern:
        raise UsageError(f"--{action} {text}: nothing that can be chosen", _HINT)
    return Change(action, sort, pattern, factor)


def _number(action: str, text: str, least: float = 0.0) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value >= least or (math.isinf(value) and action != "loader-workers"):
        raise UsageError(f"--{action} {text}: not a number from {least:g}", "try 0.5, or 2")
    return value


@dataclass(frozen=True, eq=False)
class Scenario:
    """A program with changes: what its threads and devices take, and what depends on what."""

    trace: Trace
    graph: ReplayGraph
    stretch: Floats
    """By host point: what its thread works until the next."""
    length: Floats
    """By activity."""

    @classmethod
    def of(cls, trace: Trace, played: Played) -> Scenario:
        """The program as it was played."""
        points = played.graph.points
        stretch = np.diff(played.work, append=played.work[-1:])
        stretch[points.first[1:] - 1] = 0.0
        return cls(trace, played.graph, stretch, played.length)

    def played(self) -> Played:
        """When everything comes."""
        work = np.append(0.0, np.cumsum(self.stretch)[:-1])
        return play(self.graph, work if len(self.stretch) else self.stretch, self.length)


def changed(one: Scenario, change: Change) -> Scenario:
    """The program with one change more; refused where nothing is what the change names."""
    chosen = _chosen(one, change)
    if chosen.is_empty:
        raise UsageError(
            f"{change.text}: nothing in the recording is that",
            "timesink analyze RUN --view operators, --view kernels and --view launches show names",
        )
    return _ACTIONS[change.action](one, chosen, change)


@dataclass(frozen=True, eq=False)
class _Chosen:
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


def _fits(pattern: str) -> Callable[[str], bool]:
    """Whether a name, whole or short, fits a pattern; a text without stars is looked for in it."""
    wanted = pattern.lower()
    if not re.search(r"[*?\[]", wanted):
        wanted = f"*{wanted}*"

    def fits(name: str) -> bool:
        return fnmatchcase(name.lower(), wanted) or fnmatchcase(
            names.short_kernel_name(name).lower(), wanted
        )

    return fits


def _chosen(one: Scenario, change: Change) -> _Chosen:
    trace, graph = one.trace, one.graph
    points, work, calls = graph.points, graph.work, graph.points.calls
    fits, sort = _fits("*" if change.action == "device" else change.pattern), change.sort
    named, nothing = calls.named(fits), np.zeros(len(calls), dtype=np.bool_)
    kinds, runtime = device_kinds(trace), host_kinds(trace).among(*LAUNCH_KINDS)[calls.row]
    no_work, no_waits = np.zeros(len(work), np.bool_), np.zeros(len(graph), np.bool_)
    by_name = device_names(trace).matching(fits)[work.row]
    is_kernel = kinds.among(*KERNEL_KINDS)[work.row]
    if sort == "kernel":
        return _Chosen(np.zeros(len(points.time), np.bool_), by_name & is_kernel, no_waits, nothing)
    if sort == "copy":
        copies = kinds.among("memcpy", "memset")[work.row] & by_name
        return _Chosen(np.zeros(len(points.time), np.bool_), copies, no_waits, nothing)
    if sort == "communication":
        talks = is_communication(trace)[work.row]
        return _Chosen(np.zeros(len(points.time), np.bool_), talks, no_waits, nothing)
    roots = {
        "cycle": nothing | True,
        "loading": calls.named(names.is_data_loader),
        "call": named & runtime,
    }.get(sort, named & ~runtime)
    if sort == "sync":
        roots = named
    inside = within(np.flatnonzero(roots), calls.size)
    owner = points.owner
    stretches = (owner >= 0) & inside[owner] if len(calls) else owner >= 0
    if sort == "cycle":
        stretches = np.ones(len(owner), dtype=np.bool_)
    at = graph.point
    waits = graph.waits & (at >= 0) & (graph.needs >= 0) & (graph.activity[graph.needs] >= 0)
    waits[waits] = inside[points.call[at[waits]]]
    if sort == "sync":
        # Of what is around a wait only the wait is meant.
        ends = points.call[at[waits]]
        stretches = np.zeros(len(owner), dtype=np.bool_)
        for low, high in zip(points.start[ends].tolist(), points.end[ends].tolist(), strict=True):
            stretches[low:high] = True
        return _Chosen(stretches, no_work, waits, roots)
    if sort in ("host", "loading"):
        return _Chosen(stretches, no_work, no_waits, roots)
    call = np.where(work.launched, calls.place[work.call], NOBODY)
    launched = (call >= 0) & inside[call] if len(calls) else no_work
    return _Chosen(stretches, launched | (sort == "cycle"), waits, roots)


def _scaled(one: Scenario, chosen: _Chosen, change: Change) -> Scenario:
    stretch = np.where(chosen.stretches, one.stretch * change.factor, one.stretch)
    length = np.where(chosen.activities, one.length * change.factor, one.length)
    return replace(one, stretch=stretch, length=length)


def _removed(one: Scenario, chosen: _Chosen, change: Change) -> Scenario:
    """Work that takes nothing and waits for nothing; what follows it on its stream still does."""
    graph = one.graph
    needs, gap = graph.needs.copy(), graph.gap.copy()
    gone = graph.node_of_activity[chosen.activities]
    needs[gone] = np.where(graph.before[gone] >= 0, NOBODY, needs[gone])
    gap[gone] = 0.0
    needs[chosen.waits], gap[chosen.waits] = NOBODY, 0.0
    less = replace(one, graph=replace(graph, needs=needs, gap=gap))
    return _scaled(less, chosen, replace(change, factor=0.0))


def _fused(one: Scenario, chosen: _Chosen, change: Change) -> Scenario:
    """One launch in place of many: the host works once, and the device does not stop between."""
    graph, calls = one.graph, one.graph.points.calls
    points, work = graph.points, graph.work
    roots = np.flatnonzero(chosen.roots)
    ends = np.maximum.accumulate(np.append(0, roots[:-1] + calls.size[roots[:-1]]))
    outer = roots[roots >= ends]  # calls inside of one that is named are part of it
    stretch, needs, gap, lag = (
        one.stretch.copy(),
        graph.needs.copy(),
        graph.gap.copy(),
        graph.lag.copy(),
    )
    call = np.where(work.launched, calls.place[work.call], NOBODY)
    order = np.argsort(call, kind="stable")
    for root in outer.tolist():
        low, high = np.searchsorted(call[order], (root, root + int(calls.size[root])))
        mine = order[low:high]
        launches = np.unique(call[mine])
        if len(launches) > 1:
            part = slice(points.start[root], points.end[root])
            stretch[part] /= len(launches)
            nodes = graph.node_of_activity[mine]
            first = nodes[np.argmin(call[mine])]
            rest = nodes[(nodes > first) & (graph.before[nodes] >= 0)]
            needs[rest], lag[rest], gap[rest] = NOBODY, 0.0, 0.0
    return replace(one, stretch=stretch, graph=replace(graph, needs=needs, gap=gap, lag=lag))


def _as_graph(one: Scenario, chosen: _Chosen, change: Change) -> Scenario:
    """Everything launched at once: no host code between, and the pace of a graph."""
    graph = one.graph
    nodes = graph.node_of_activity[chosen.activities]
    gap, lag = graph.gap.copy(), graph.lag.copy()
    gap[nodes] = np.minimum(gap[nodes], _GRAPH_PACE_NS)
    handed = graph.waits & (graph.point >= 0) & (graph.needs >= 0)
    handed[handed] = graph.point[graph.needs[handed]] >= 0
    handed[handed] = chosen.stretches[graph.point[handed] - 1]
    lag[handed] = 0.0
    loads = _chosen(one, Change("remove", "loading")).stretches
    stretch = np.where(chosen.stretches & ~loads, 0.0, one.stretch)
    first = _first_launches(one, chosen)
    stretch[first] += _GRAPH_LAUNCH_NS
    return replace(one, stretch=stretch, graph=replace(graph, gap=gap, lag=lag))


def _first_launches(one: Scenario, chosen: _Chosen) -> Ints:
    """Where the first launch of each cycle begins."""
    work, points = one.graph.work, one.graph.points
    steps = find_steps(one.trace).select("host_start_ns", "host_end_ns").to_numpy()
    mine = np.flatnonzero(chosen.activities & work.launched)
    mine = mine[points.calls.place[work.call[mine]] >= 0]
    cycle = step_at(work.call_start[mine], work.call_end[mine], steps)
    order = np.lexsort((work.call_start[mine], cycle))
    _, first = np.unique(cycle[order], return_index=True)
    return points.start[points.calls.place[work.call[mine[order[first]]]]]


def _overlapped(one: Scenario, chosen: _Chosen, change: Change) -> Scenario:
    """Work on a stream of its own, that no other device work waits for."""
    graph, work = one.graph, one.graph.work
    before, needs, gap = graph.before.copy(), graph.needs.copy(), graph.gap.copy()
    aside = np.zeros(len(graph) + 1, dtype=np.bool_)
    aside[graph.node_of_activity[chosen.activities]] = True
    doing = (graph.activity >= 0) & ~aside[:-1]
    # A start that needed another stream as well stands between the two.
    between = (graph.point < 0) & (graph.activity < 0) & (np.arange(len(graph)) > 0)
    cut = between & aside[needs]
    needs[cut] = NOBODY
    last: dict[int, dict[bool, int]] = {}
    for node in np.flatnonzero(graph.activity >= 0).tolist():
        lane = last.setdefault(int(work.lane[graph.activity[node]]), {})
        kind = bool(aside[node])
        if before[node] != lane.get(kind, NOBODY):
            before[node] = lane.get(kind, NOBODY)
            gap[node] = 0.0
        lane[kind] = node
    alone = doing & (before < 0) & (needs < 0)
    before[alone] = 0
    lost = (graph.activity >= 0) & (before < 0) & (needs < 0)
    before[lost] = 0
    return replace(one, graph=replace(graph, before=before, needs=needs, gap=gap))


def _on_device(one: Scenario, chosen: _Chosen, change: Change) -> Scenario:
    """Matrix work by what the tensor cores of both devices can do, all else by their memory."""
    base, new = (_peaks(name) for name in change.pattern.split(":"))
    factors = _ratios(base, new)
    named = device_names(one.trace)
    matrix = np.array([names.uses_tensor_cores(text) is True for text in named.texts] or [False])
    kinds = device_kinds(one.trace).among("kernel")[one.graph.work.row]
    by_kernel = np.where(
        matrix[named.codes][one.graph.work.row], factors["matrix"], factors["memory"]
    )
    return replace(one, length=np.where(kinds, one.length * by_kernel, one.length))


def _peaks(name: str) -> DevicePeaks:
    fits = [one for one in load_peaks() if name.lower() in one.device.lower()]
    if not fits:
        raise UsageError(
            f"--device: no peaks of {name!r} are known", "timesink kernels --peaks lists them"
        )
    return min(fits, key=lambda one: len(one.device))


def _ratios(base: DevicePeaks, new: DevicePeaks) -> Mapping[str, float]:
    tensor = (base.peak("bf16_tensor") or 0) / (new.peak("bf16_tensor") or math.inf)
    memory = (base.dram_bytes_per_s or 0) / (new.dram_bytes_per_s or math.inf)
    if not tensor or not memory:
        raise UsageError(
            f"--device {base.device}:{new.device}: a peak is not known", "choose two others"
        )
    return {"matrix": tensor, "memory": memory}


def _more_workers(one: Scenario, chosen: _Chosen, change: Change) -> Scenario:
    """Loading beside the program: a batch is there as soon as so many workers can have made it."""
    return replace(one, stretch=np.where(chosen.stretches, 0.0, one.stretch))


_ACTIONS: Mapping[str, Callable[[Scenario, _Chosen, Change], Scenario]] = {
    "scale": _scaled,
    "remove": _removed,
    "fuse": _fused,
    "graph": _as_graph,
    "overlap": _overlapped,
    "device": _on_device,
    "loader-workers": _more_workers,
}

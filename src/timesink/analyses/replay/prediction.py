"""How long a cycle takes after changes, between which bounds, and what decides it then."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import polars as pl

from timesink.analyses import names
from timesink.analyses.columns import device_kinds, device_names, host_kinds, once_per_trace
from timesink.analyses.replay import Played, play, recorded_play, work_by_step, worked
from timesink.analyses.replay.changes import AskedChange
from timesink.analyses.replay.critical_path import critical_path
from timesink.analyses.replay.own_clock import OwnClock, StepTime, own_clock, step_time
from timesink.analyses.replay.what_if import Scenario, changed, cycle_ns, device_waits
from timesink.analyses.steps import find_steps
from timesink.errors import UsageError
from timesink.model.intervals import Flags, Floats, Ints
from timesink.model.launches import LAUNCH_KINDS
from timesink.model.schema import KERNEL_KINDS
from timesink.model.trace import Trace

_MOST_COSTS = 4.0
"""How many times what recording cost is taken out, at most, for the lower end of an interval."""
_ROUNDS = 3


@dataclass(frozen=True, eq=False)
class OwnProgram:
    """A program as it runs by itself, and as it may at both ends of what is known of that."""

    clock: OwnClock
    times: StepTime
    now: Scenario
    ends: tuple[tuple[float, Scenario], ...]
    """The step time at each end of its interval, and the program that has it; or none."""

    @property
    def cycle_ns(self) -> float:
        """The step time today, without profiler overhead; as recorded where that is not known."""
        times = self.times
        return times.recorded_ns if times.corrected_ns is None else times.corrected_ns


@once_per_trace
def program_of(trace: Trace) -> OwnProgram:
    """The program of a recording, on its own clock where that is known."""
    clock, times = own_clock(trace), step_time(trace)
    played = recorded_play(trace) if clock.played is None else clock.played
    now = Scenario.of(trace, played)
    interval = clock.interval_ns
    if interval is None or times.interval_ns is None or interval[0] >= interval[1]:
        return OwnProgram(clock, times, now, ())
    recorded = Scenario.of(trace, play(played.graph, worked(played.graph), played.length))
    # Replays are fitted by the median of their cycles; the answer is about the mean.
    ends = tuple(
        (mean, _with_cycle(end, recorded, now))
        for mean, end in zip(times.interval_ns, interval, strict=True)
    )
    return OwnProgram(clock, times, now, ends)


def _with_cycle(wanted: float, recorded: Scenario, now: Scenario) -> Scenario:
    """The program if recording had cost more or less, so that its cycle is as long as wanted."""

    def at(dose: float) -> Scenario:
        stretch = recorded.stretch + dose * (now.stretch - recorded.stretch)
        return replace(now, stretch=np.maximum(stretch, 0.0))

    usual, sides = cycle_ns(now), (0.0, _MOST_COSTS)
    lengths = [cycle_ns(at(side)) for side in sides]
    fits = [(usual - wanted) * (each - wanted) <= 0 and each != usual for each in lengths]
    if not any(fits):
        return at(sides[int(np.argmin([abs(one - wanted) for one in lengths]))])
    side = fits.index(True)
    (low, low_ns), (high, high_ns) = (1.0, usual), (sides[side], lengths[side])
    middle = high
    for _ in range(_ROUNDS):
        if low_ns == high_ns:
            break
        middle = low + (high - low) * (wanted - low_ns) / (high_ns - low_ns)
        length = cycle_ns(at(middle))
        if (length - wanted) * (low_ns - wanted) > 0:
            low, low_ns = middle, length
        else:
            high, high_ns = middle, length
    return at(middle)


@dataclass(frozen=True, eq=False)
class Prediction:
    """A program with changes."""

    program: OwnProgram
    scenario: Scenario
    played: Played
    cycle_ns: float
    interval_ns: tuple[float, float] | None
    """As far as the clock is known; None where it is recorded or measured without any error."""

    @property
    def saving_ns(self) -> float:
        """What a cycle takes less than today; less than nothing where it takes longer."""
        return self.program.cycle_ns - self.cycle_ns

    @cached_property
    def path(self) -> pl.DataFrame:
        """What decides a cycle: `kind`, `name` and `path_ns`, the largest first."""
        return path_parts(self.scenario, self.played, self.cycle_ns)


def predicted(
    program: OwnProgram, changes: tuple[AskedChange, ...] = (), *, bounds: bool = True
) -> Prediction:
    """The program with all of the changes, one after the other."""
    scenario = _with_changes(program.now, changes)
    played = scenario.played()
    new = _scaled(program.cycle_ns, program.now, cycle_ns(scenario, played), changes)
    ends = [
        _scaled(end, one, cycle_ns(_with_changes(one, changes)), changes)
        for end, one in (program.ends if bounds else ())
    ]
    interval = (min(*ends, new), max(*ends, new)) if ends else None
    return Prediction(program, scenario, played, new, interval)


def _with_changes(one: Scenario, changes: tuple[AskedChange, ...]) -> Scenario:
    for change in changes:
        one = changed(one, change)
    return one


def _scaled(today: float, now: Scenario, new: float, changes: tuple[AskedChange, ...]) -> float:
    """A played cycle on the clock of the program.

    Less work never makes a cycle longer, nor more work a shorter one: where a cycle begins may
    move as well.
    """
    usual = cycle_ns(now)
    if not usual:
        return today
    ratio = new / usual
    if all(change.only_shortens for change in changes):
        ratio = min(ratio, 1.0)
    if all(change.only_lengthens for change in changes):
        ratio = max(ratio, 1.0)
    return today * ratio


# -- what decides a cycle --------------------------------------------------------------------------


def path_parts(one: Scenario, played: Played, cycle: float) -> pl.DataFrame:
    """The critical path of the complete cycles by kind and name, so that it adds up to a cycle."""
    steps = find_steps(one.trace).filter("complete")
    schema = {"kind": pl.String(), "name": pl.String(), "path_ns": pl.Float64()}
    if steps.is_empty():
        return pl.DataFrame(schema=schema)
    if one.least_ns and one.least_ns >= cycle_ns(replace(one, least_ns=0.0), played):
        return pl.DataFrame([("data_loading", "", cycle)], schema=schema, orient="row")
    pieces = critical_path(one.trace, played, _window(steps, played))
    pieces = pieces.group_by("kind", "name").agg(pl.col("dur_ns").sum())
    told = [_called(name) for name in pieces["name"]]
    found = pieces.select(
        pl.col("kind").cast(pl.String), pl.Series("name", told, dtype=pl.String), "dur_ns"
    )
    whole = max(int(pieces["dur_ns"].sum()), 1)
    return (
        found.group_by("kind", "name")
        .agg((pl.col("dur_ns").sum() * (cycle / whole)).alias("path_ns"))
        .sort("path_ns", "kind", "name", descending=[True, False, False])
    )


@lru_cache(maxsize=10_000)
def _called(name: str) -> str:
    """What a piece of the path is told as: steps differ in their number only."""
    return "" if names.is_profiler_step(name) else names.short_kernel_name(name)


def _window(steps: pl.DataFrame, played: Played) -> tuple[float, float]:
    """From the start of the first of these steps to the end of their last work, as played."""
    points = played.graph.points
    come, marks = played.point, steps.select("host_start_ns", "host_end_ns").to_numpy()
    begins = come[points.time == marks[0, 0]]
    inside = work_by_step(played.graph, marks) >= 0
    ends = np.concatenate([come[points.time == marks[-1, 1]], played.ends[inside]])
    return (
        float(begins.min()) if len(begins) else 0.0,
        float(ends.max()) if len(ends) else float(played.node.max(initial=0.0)),
    )


# -- every single change worth a try ---------------------------------------------------------------

_MOST_KERNELS, _MOST_WAITS, _MOST_CALLS = 8, 6, 8


@dataclass(frozen=True, eq=False)
class Ranked:
    """A single change, and what it does."""

    change: AskedChange
    prediction: Prediction
    saving_ns: float
    """Beside the changes made before it."""


def best_changes(program: OwnProgram, before: tuple[AskedChange, ...] = ()) -> list[Ranked]:
    """Single changes of a program that has some already, those that save most first."""
    base = predicted(program, before, bounds=False)
    ranked = []
    for change in _single_changes(base):
        try:
            found = predicted(program, (*before, change), bounds=False)
        except UsageError:
            continue
        ranked.append(Ranked(change, found, base.cycle_ns - found.cycle_ns))
    return sorted(ranked, key=lambda one: -one.saving_ns)


def _single_changes(base: Prediction) -> Iterator[AskedChange]:
    one, played = base.scenario, base.played
    trace, work = one.trace, one.graph.work
    named = device_names(trace).renamed(names.short_kernel_name)
    kernels = device_kinds(trace).among(*KERNEL_KINDS)[work.row]
    for text in _largest(named.texts, named.codes[work.row], one.length * kernels, _MOST_KERNELS):
        yield AskedChange("scale", "kernel", glob.escape(text), 0.5)
    calls, graph = one.graph.points.calls, one.graph
    if len(calls):
        operator = _operators(trace, one)
        waits = np.flatnonzero(device_waits(graph))
        waited = played.node[waits] - played.node[graph.before[waits]]
        waiting = operator.outer[graph.points.call[graph.point[waits]]]
        for text in _largest(calls.names, calls.name[waiting], waited, _MOST_WAITS):
            yield AskedChange("remove", "sync", glob.escape(text))
        owner = graph.points.owner
        inside = (owner >= 0) & operator.known[owner]
        spent = np.where(inside, one.stretch, 0.0)
        of_call = calls.name[operator.inner[owner]]
        for text in _largest(calls.names, of_call, spent, _MOST_CALLS):
            yield AskedChange("remove", "host", glob.escape(text))
    yield AskedChange("fuse", "op", "Optimizer.step")
    yield AskedChange("graph")
    yield AskedChange("overlap", "communication")
    yield AskedChange("loader-workers", "loading", factor=float("inf"))
    yield AskedChange("scale", "copy", "*", 0.5)


def _largest(texts: Sequence[str], code: Ints, amount: Floats, most: int) -> Iterator[str]:
    total = np.bincount(code, amount, minlength=1) if len(code) else np.zeros(1)
    for place in np.argsort(-total, kind="stable")[:most].tolist():
        if total[place] > 0 and texts[place]:
            yield texts[place]


@dataclass(frozen=True, eq=False)
class _Operators:
    """By call: the operator it is part of; itself where there is none."""

    inner: Ints
    outer: Ints
    known: Flags
    """Whether there is one."""


def _operators(trace: Trace, one: Scenario) -> _Operators:
    calls = one.graph.points.calls
    kinds = host_kinds(trace)
    operator = kinds.among("operator")[calls.row] & ~calls.named(names.frames_calls)
    runtime = kinds.among(*LAUNCH_KINDS)[calls.row]
    number = np.arange(len(calls))
    inner, outer = number.copy(), number.copy()
    known = operator.copy()
    for depth in range(1, int(calls.depth.max(initial=0)) + 1):
        here = np.flatnonzero(calls.depth == depth)
        up = calls.parent[here]
        below = known[up] & (operator[here] | runtime[here])
        inner[here[below & runtime[here]]] = inner[up[below & runtime[here]]]
        outer[here[below]] = outer[up[below]]
        known[here] |= below
    return _Operators(inner, outer, known)

"""How long a cycle takes after changes, between which bounds, and what decides it then."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import replace

from timesink.analyses import names
from timesink.analyses.columns import (
    device_kinds,
    device_names,
    host_copies,
    host_kinds,
    memoize_per_trace,
    memoize_structure,
)
from timesink.analyses.program_traits import program_traits
from timesink.analyses.replay.changes import AskedChange
from timesink.analyses.replay.critical_path import critical_path
from timesink.analyses.replay.own_clock import (
    COST_ERROR,
    ESTIMATED,
    OwnClock,
    StepTime,
    own_clock,
    step_time,
)
from timesink.analyses.replay.play import (
    Played,
    play,
    recorded_play,
    work_by_step,
    work_so_far,
)
from timesink.analyses.replay.points import host_points, talks_on_host
from timesink.analyses.replay.what_if import (
    Scenario,
    apply_change,
    busy_step_ns,
    cycle_ns,
    device_waits,
    launched_by,
    needed_of_device,
    step_ns,
)
from timesink.analyses.steps import complete_steps, is_communication, marks_of, step_at
from timesink.analyses.thresholds import PredictionLimits
from timesink.errors import UsageError
from timesink.model import vendors
from timesink.model.arrays import narrow
from timesink.model.intervals import Flags, Floats, Ints
from timesink.model.launches import LAUNCH_KINDS
from timesink.model.nested_calls import levels
from timesink.model.schema import KERNEL_KINDS
from timesink.model.trace import Trace

_ROUNDS = 3


@dataclass(frozen=True, eq=False)
class OwnProgram:
    """A program as it runs by itself, and as it may at both ends of what is known of that."""

    clock: OwnClock
    times: StepTime
    played: Played
    now: Scenario

    @cached_property
    def ends(self) -> tuple[tuple[float, Scenario], ...]:
        """The step time at each end of its interval, and the program that has it; or none."""
        return _ends_of(self.clock, self.times, self.played, self.now)

    @property
    def cycle_ns(self) -> float:
        """The step time today, without profiler overhead; as recorded where that is not known."""
        times = self.times
        return times.recorded_ns if times.corrected_ns is None else times.corrected_ns


@memoize_per_trace
def program_of(trace: Trace) -> OwnProgram:
    """The program of a recording, on the clock without profiler overhead where that is known."""
    clock, times = own_clock(trace), step_time(trace)
    played = recorded_play(trace) if clock.played is None else clock.played
    return OwnProgram(clock, times, played, Scenario.of(trace, played))


def _ends_of(
    clock: OwnClock, times: StepTime, played: Played, now: Scenario
) -> tuple[tuple[float, Scenario], ...]:
    interval, trace = clock.interval_ns, now.trace
    if interval is None or times.interval_ns is None or interval[0] >= interval[1]:
        return ()
    recorded = Scenario.of(trace, play(played.graph, work_so_far(played.graph), played.length))
    if clock.source == ESTIMATED:
        # As the interval of the clock was made: costs that are off, and a replay that is. Only the
        # costs say how long the host takes where the device decides today.  Where something outside
        # decides, the program is as recorded.
        doses = (1 + COST_ERROR, 0.0 if clock.outside else 1 - COST_ERROR)
        less, more = (
            (mean, _at_dose(dose, recorded, now))
            for mean, dose in zip(times.interval_ns, doses, strict=True)
        )
        return less, more
    # Replays are fitted by the median of their cycles; the answer is about the mean.
    return tuple(
        (mean, _with_cycle(end, recorded, now))
        for mean, end in zip(times.interval_ns, interval, strict=True)
    )


def _at_dose(dose: float, recorded: Scenario, now: Scenario) -> Scenario:
    """The program with so many times what recording is thought to have cost taken out."""
    stretch = recorded.stretch + dose * (now.stretch - recorded.stretch)
    return replace(now, stretch=np.maximum(stretch, 0.0))


def _with_cycle(wanted: float, recorded: Scenario, now: Scenario) -> Scenario:
    """The program if recording had cost more or less, so that its cycle is as long as wanted."""

    def at(dose: float) -> Scenario:
        return _at_dose(dose, recorded, now)

    usual, sides = cycle_ns(now), (0.0, PredictionLimits.max_costs)
    lengths = [cycle_ns(at(side)) for side in sides]
    fits = [
        (usual - wanted) * (side_length - wanted) <= 0 and side_length != usual
        for side_length in lengths
    ]
    if not any(fits):
        # No host is that fast or slow: the device decides, and the rest is the replay's error.
        return at(1 + COST_ERROR if wanted < usual else 1 - COST_ERROR)
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
        """What decides the step time: `kind`, `name` and `path_ns`, the largest first."""
        return path_parts(self.scenario, self.played, self.cycle_ns)


def predict(
    program: OwnProgram, changes: tuple[AskedChange, ...] = (), *, bounds: bool = True
) -> Prediction:
    """The program with all of the changes, in order."""
    scenario = _with_changes(program.now, changes)
    played = scenario.played()
    new = _scale_to_clock(program.cycle_ns, program.now, step_ns(scenario, played), changes)
    ends = [
        _scale_to_clock(end, bound, step_ns(_with_changes(bound, changes)), changes)
        for end, bound in (program.ends if bounds else ())
    ]
    interval = (min(*ends, new), max(*ends, new)) if ends else None
    return Prediction(program, scenario, played, new, interval)


def _with_changes(scenario: Scenario, changes: tuple[AskedChange, ...]) -> Scenario:
    for change in changes:
        scenario = apply_change(scenario, change)
    return scenario


def _scale_to_clock(
    today: float, now: Scenario, new: float, changes: tuple[AskedChange, ...]
) -> float:
    """A played cycle on the clock of the program.

    Less work never makes a cycle longer, nor more work a shorter one: where a cycle begins may
    move as well.
    """
    usual = step_ns(now)
    if not usual:
        return today
    ratio = new / usual
    if all(change.only_shortens for change in changes):
        ratio = min(ratio, 1.0)
    if all(change.only_lengthens for change in changes):
        ratio = max(ratio, 1.0)
    return today * ratio


def fixed_waits(
    program: OwnProgram, changes: tuple[AskedChange, ...], scale: AskedChange
) -> tuple[float, pl.DataFrame]:
    """What of a cycle a scale among the changes leaves as it is, and what that is.

    The latter by `kind`, the `name` that has most of it, and its `share`, the largest first.
    """
    today, new = (
        predict(program, tuple(chosen), bounds=False).cycle_ns
        for chosen in ((change for change in changes if change is not scale), changes)
    )
    nothing = (replace(change, factor=0.0) if change is scale else change for change in changes)
    left = predict(program, tuple(nothing), bounds=False)
    # What half as fast, or twice, does not change either: some only comes to light at none.
    fixed = min((new - scale.factor * today) / (1 - scale.factor), left.cycle_ns)
    is_named = pl.col("name") != ""
    by_kind = left.path.group_by("kind", maintain_order=True).agg(
        pl.col("name").filter(is_named).first().fill_null(""),
        share=pl.col("path_ns").sum() / max(left.cycle_ns, 1.0),
    )
    return fixed, by_kind.sort("share", descending=True, maintain_order=True)


# -- what decides a cycle --------------------------------------------------------------------------


def path_parts(scenario: Scenario, played: Played, cycle: float) -> pl.DataFrame:
    """The critical path of the complete cycles by kind and name, so that it adds up to a cycle."""
    steps = complete_steps(scenario.trace)
    schema = {"kind": pl.String(), "name": pl.String(), "path_ns": pl.Float64()}
    if steps.is_empty():
        return pl.DataFrame(schema=schema)
    if scenario.least_ns and scenario.least_ns >= cycle_ns(replace(scenario, least_ns=0.0), played):
        return pl.DataFrame([("data_loading", "", cycle)], schema=schema, orient="row")
    if busy_step_ns(scenario) > step_ns(
        replace(scenario, need=scenario.need[:0], least_ns=0.0), played
    ):
        pieces = _kernels_of_full_device(scenario)
    else:
        pieces = critical_path(scenario.trace, played, _window(steps, played))
    pieces = pieces.group_by("kind", "name").agg(pl.col("dur_ns").sum())
    titles = [_piece_title(name) for name in pieces["name"]]
    parts = pieces.select(
        pl.col("kind").cast(pl.String), pl.Series("name", titles, dtype=pl.String), "dur_ns"
    )
    total = max(int(pieces["dur_ns"].sum()), 1)
    return (
        parts.group_by("kind", "name")
        .agg((pl.col("dur_ns").sum() * (cycle / total)).alias("path_ns"))
        .sort("path_ns", "kind", "name", descending=[True, False, False])
    )


def _kernels_of_full_device(scenario: Scenario) -> pl.DataFrame:
    """What decides where kernels need all of a device: these, by what they need of it."""
    needed = needed_of_device(scenario)
    chosen = np.flatnonzero(needed > 0)
    named = device_names(scenario.trace)
    texts = [
        named.texts[code] or "" for code in named.codes[scenario.graph.work.row[chosen]].tolist()
    ]
    return pl.DataFrame(
        {"kind": ["kernel"] * len(chosen), "name": texts, "dur_ns": needed[chosen]},
        schema={"kind": pl.String(), "name": pl.String(), "dur_ns": pl.Float64()},
    )


@lru_cache(maxsize=10_000)
def _piece_title(name: str) -> str:
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

_MAX_KERNELS, _MAX_WAITS, _MAX_CALLS = 8, 6, 4
_COPIES = ("aten::to", "aten::contiguous", "aten::clone")
"""Calls that only copy or cast what others compute."""
_PAGEABLE = "Pageable"


class Ranked(msgspec.Struct, frozen=True, eq=False):
    """A single change, and what it does."""

    change: AskedChange
    prediction: Prediction
    saving_ns: float
    """Beside the changes made before it."""


def best_changes(
    program: OwnProgram,
    before: tuple[AskedChange, ...] = (),
    at_roof: Mapping[str, float] | None = None,
) -> list[Ranked]:
    """Single changes of a program that has some already, those that save most first.

    `at_roof` is what kernels take at their roofs, as a share of what they take, by short name.
    """
    base = predict(program, before, bounds=False)
    ranked = []
    for change in dict.fromkeys(_single_changes(base, at_roof or {})):
        try:
            prediction = predict(program, (*before, change), bounds=False)
        except UsageError:
            continue
        ranked.append(Ranked(change, prediction, base.cycle_ns - prediction.cycle_ns))
    return sorted(ranked, key=lambda candidate: -candidate.saving_ns)


def _single_changes(base: Prediction, at_roof: Mapping[str, float]) -> Iterator[AskedChange]:
    """What a person can change: no operator is offered for removal that computes the program."""
    scenario, traits = base.scenario, program_traits(base.scenario.trace)
    yield from _faster_kernels(scenario, at_roof)
    yield from _fewer_waits(base)
    yield from _fewer_copies(scenario)
    bare = base.path.filter(pl.col("kind") == "host", pl.col("name") == "")["path_ns"].sum()
    if bare > PredictionLimits.min_bare_share * base.cycle_ns:
        yield AskedChange("scale", "outside", factor=PredictionLimits.half)
    if "unfused-optimizer" in traits:
        yield AskedChange("fuse", "op", "Optimizer.step")
    if "graphs" not in traits:
        yield AskedChange("graph")
    yield AskedChange("overlap", "communication")
    if any(talks_on_host(name) for name in scenario.graph.points.calls.names if name):
        # A library for devices takes next to none of the time that the host does.
        yield AskedChange("remove", "communication")
    if "loader" in traits:
        yield AskedChange("loader-workers", "loading", factor=float("inf"))


def _faster_kernels(scenario: Scenario, at_roof: Mapping[str, float]) -> Iterator[AskedChange]:
    """The largest kernels at their roofs, or at half their time where no roof is known."""
    trace, work = scenario.trace, scenario.graph.work
    named = device_names(trace).renamed(names.short_kernel_name)
    kernels = device_kinds(trace).among(*KERNEL_KINDS)[work.row]
    kernels &= ~is_communication(trace)[work.row]
    for text in _largest(
        named.texts, named.codes[work.row], scenario.length * kernels, _MAX_KERNELS
    ):
        factor = round(at_roof.get(text, PredictionLimits.half), 3)
        if not factor:
            yield AskedChange("remove", "kernel", glob.escape(text))
        elif factor < PredictionLimits.at_roof:
            yield AskedChange("scale", "kernel", glob.escape(text), factor)


def _fewer_waits(base: Prediction) -> Iterator[AskedChange]:
    """Waits for the device, by the operator around them; calls of the allocator."""
    scenario, played = base.scenario, base.played
    graph, calls = scenario.graph, scenario.graph.points.calls
    if not len(calls):
        return
    # What waits outside of all steps, as a profiler at its end, is no part of the program.
    marks = marks_of(complete_steps(scenario.trace))
    inside = step_at(calls.start, calls.end, marks) >= 0
    waits = np.flatnonzero(device_waits(graph))
    waits = waits[inside[graph.points.call[graph.point[waits]]]]
    # A launch waits for a place in the queue, if it copies nothing: nobody can leave that out.
    queued = ~device_kinds(scenario.trace).among("memcpy")[graph.work.row] & graph.work.launched
    launches = calls.place[graph.work.call[queued]]
    waits = waits[~np.isin(graph.points.call[graph.point[waits]], launches)]
    waited = played.node[waits] - played.node[graph.before[waits]]
    waiting, _ = waiting_calls(scenario.trace, scenario, waits)
    for text in _largest(calls.names, calls.name[waiting], waited, _MAX_WAITS):
        yield AskedChange("remove", "sync", glob.escape(text))
    spent = np.where(calls.named(vendors.is_allocator_call) & inside, calls.end - calls.start, 0)
    for text in _largest(calls.names, calls.name, spent.astype(np.float64), _MAX_CALLS):
        yield AskedChange("remove", "call", glob.escape(text))


def _fewer_copies(scenario: Scenario) -> Iterator[AskedChange]:
    """Copies that are pinned or done meanwhile; calls that only copy or cast on the device."""
    work, calls = scenario.graph.work, scenario.graph.points.calls
    copies = device_kinds(scenario.trace).among("memcpy")[work.row]
    if copies.any():
        texts = {device_names(scenario.trace).texts[code] for code in _codes(scenario, copies)}
        if any(_PAGEABLE in text for text in texts):
            yield AskedChange("scale", "copy", f"*{_PAGEABLE}*", PredictionLimits.half)
        yield from _overlapped_copies(scenario)
    if not len(calls):
        return
    for name in _COPIES:
        inside = launched_by(scenario, name.__eq__)
        # What sends inputs to the device is needed; what casts there may not be.
        sent = float(scenario.length[inside & copies].sum())
        if 2 * sent <= float(scenario.length[inside].sum()):
            yield AskedChange("remove", "op", name)


def _overlapped_copies(scenario: Scenario) -> Iterator[AskedChange]:
    """Copies from or to the host that are made on a stream of kernels; others are beside these."""
    work = scenario.graph.work
    kernels = device_kinds(scenario.trace).among(*KERNEL_KINDS)[work.row]
    lanes = np.unique(work.lane[kernels & ~is_communication(scenario.trace)[work.row]])
    named = device_names(scenario.trace)
    between = host_copies(scenario.trace)[work.row] & np.isin(work.lane, lanes)
    for text in sorted(filter(None, (named.texts[code] for code in _codes(scenario, between)))):
        yield AskedChange("overlap", "copy", glob.escape(text))


def _codes(scenario: Scenario, chosen: Flags) -> Sequence[int]:
    codes: list[int] = np.unique(
        device_names(scenario.trace).codes[scenario.graph.work.row[chosen]]
    ).tolist()
    return codes


def _largest(texts: Sequence[str], code: Ints, amount: Floats, most: int) -> Iterator[str]:
    total = np.bincount(code, amount, minlength=1) if len(code) else np.zeros(1)
    for place in np.argsort(-total, kind="stable")[:most].tolist():
        if total[place] > 0 and texts[place]:
            yield texts[place]


class _Operators(msgspec.Struct, frozen=True, eq=False):
    """By call: the outermost operator it is part of; itself where there is none."""

    outer: Ints
    has_operator: Flags
    """Whether there is one."""


def waiting_calls(trace: Trace, scenario: Scenario, waits: Ints) -> tuple[Ints, Flags]:
    """For waits, which are nodes, the outermost operator around each, and whether there is one.

    Where there is none it is the call that waits.
    """
    return operators_around(trace, scenario.graph.points.call[scenario.graph.point[waits]])


def operators_around(trace: Trace, call: Ints) -> tuple[Ints, Flags]:
    """For calls the outermost operator around each, itself without one; and whether there is."""
    operator = _operators(trace)
    return operator.outer[call], operator.has_operator[call]


@memoize_structure
def _operators(trace: Trace) -> _Operators:
    calls = host_points(trace).calls
    kinds = host_kinds(trace)
    operator = kinds.among("operator")[calls.row] & ~calls.named(names.frames_calls)
    runtime = kinds.among(*LAUNCH_KINDS)[calls.row]
    outer = narrow(np.arange(len(calls)), len(calls))
    has_operator = operator.copy()
    either = operator | runtime
    for here in list(levels(calls.depth))[1:]:
        below = here[has_operator[calls.parent[here]] & either[here]]
        outer[below] = outer[calls.parent[below]]
        has_operator[below] = True
    return _Operators(outer, has_operator)

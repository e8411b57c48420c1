"""The clock without profiler overhead: how long a cycle takes when nobody records it.

Every recorded call costs the host something: before its start and after its end.  These costs are
taken out of the threads, and the recording is played again.  Where cycles without the profiler were
measured, the costs are scaled until it fits them: then only the split is a model.  The timeline
has the same events where the replay puts them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np
import polars as pl
from msgspec import structs

from timesink.analyses import names
from timesink.analyses.columns import (
    host_kinds,
    lane_codes,
    memoize_per_trace,
    recording_of,
    seed_memo,
)
from timesink.analyses.fitness import carry_fitness, recording_fitness
from timesink.analyses.forest import descendant_mask
from timesink.analyses.links import first_with_id
from timesink.analyses.replay.graph import ReplayGraph, main_thread, replay_graph
from timesink.analyses.replay.play import (
    Played,
    play,
    step_lengths,
    waited_stretches,
    work_so_far,
)
from timesink.analyses.steps import bounds_of, complete_lengths, complete_steps, step_at
from timesink.analyses.thresholds import OwnClockLimits
from timesink.model import units, vendors
from timesink.model.data_files import csv_rows
from timesink.model.fitness import OVERHEAD
from timesink.model.intervals import Flags, Floats, Ints
from timesink.model.launches import LAUNCH_KINDS
from timesink.model.trace import Trace

MEASURED, ESTIMATED, NONE = "measured", "estimated", "none"
CLOCK_KEY, PROGRAM_CLOCK = "timesink_clock", "own"
"""How the metadata of a timeline tell that it is the program's own."""
_LIKELY_COST_FACTOR, _MAX_COST_FACTOR = 2.0, 4.0
"""Costs are likely up to so many times those of the table, and at most so many."""
_LONG_CALLS = "library calls take"
"""Of a cycle; with more of that nobody can tell what it takes without."""
_AWAITED_NS, _AWAITED_SHARE = 200_000, 0.01
"""A call that waits for others and is silent for so long found nothing ready; with more than this
share of the steps in such waits, whatever delivers may decide how long they take."""
_ROUNDS, _NEAR, _AS_USUAL = 12, 0.001, 0.03
"""How often costs are tried, at most, and how near to the measurement is near enough: for those
that are looked for, and for those of the table."""


class OwnClock(msgspec.Struct, frozen=True, eq=False):
    """How long a cycle takes, as recorded and by itself."""

    recorded_ns: float
    """The middle of the complete cycles."""
    own_ns: float | None
    interval_ns: tuple[float, float] | None
    """95 % interval."""
    source: str
    """Where it comes from: `measured`, `estimated` or `none`."""
    why: str
    """Why there is none, as a sentence; else empty."""
    scale: float
    """What the costs of the table were multiplied by."""
    played: Played | None
    """The program as it runs by itself."""
    outside: str = ""
    """Why it may take as long as recorded, whatever recording costs, as a sentence; else empty."""

    @property
    def is_known(self) -> bool:
        """Whether there is a clock without profiler overhead at all."""
        return self.own_ns is not None

    def bounds_of(self, length_ns: float, recorded_ns: float) -> tuple[float, float] | None:
        """95 % interval of another length on this clock, which was recorded as so long."""
        if self.interval_ns is None or not self.own_ns:
            return None
        low, high = (end / self.own_ns * length_ns for end in self.interval_ns)
        if self.source == ESTIMATED:
            high = recorded_ns if self.outside else min(high, recorded_ns)
        return min(low, length_ns), max(high, length_ns)


class StepTime(msgspec.Struct, frozen=True):
    """The step time of an answer: the mean of the complete steps, to which parts of a step add up.

    `OwnClock` has medians, since that is what is measured on unprofiled steps.
    """

    recorded_ns: float
    corrected_ns: float | None
    """Without profiler overhead; None where that is not known."""
    interval_ns: tuple[float, float] | None
    """95 % interval of the corrected step time."""
    why: str = ""
    """Why there is no corrected step time, as a clause; empty where there is one."""

    @classmethod
    def of(cls, clock: OwnClock, recorded: Trace, corrected: Trace | None) -> StepTime:
        """The mean on both clocks, with as much doubt as the clock has."""
        mean = _mean(recorded)
        if corrected is None or not clock.own_ns:
            return cls(mean, None, None, clock.why)
        length = _mean(corrected)
        return cls(mean, length, clock.bounds_of(length, mean))


def _mean(trace: Trace) -> float:
    lengths = complete_lengths(trace)
    return float(lengths.mean()) if len(lengths) else 0.0


@memoize_per_trace
def step_time(trace: Trace) -> StepTime:
    """How long a step of a recording takes on average, without profiler overhead and as recorded.

    >>> import timesink
    >>> found = step_time(timesink.open(timesink.sample()))
    >>> found.corrected_ns < found.recorded_ns
    True
    """
    clock = own_clock(trace)
    return StepTime.of(clock, trace, own_timeline(trace) if clock.is_known else None)


def own_median_ns(trace: Trace) -> float | None:
    """The median step without profiler overhead; None where that is not known.

    An estimated median is that of the timeline, which all tables are about.
    """
    clock = own_clock(trace)
    if clock.source != ESTIMATED:
        return clock.own_ns
    return float(np.median(complete_lengths(own_timeline(trace))))


@memoize_per_trace
def own_clock(trace: Trace) -> OwnClock:
    """How long a cycle takes by itself: as measured, or else as estimated, if that can be told."""
    steps = complete_steps(trace)
    if steps.is_empty():
        return OwnClock(0.0, None, None, NONE, "there is no complete step", 0.0, None)
    recorded = float(np.median((steps["end_ns"] - steps["start_ns"]).to_numpy()))
    program = _Program.of(trace, steps)
    plain = _plain_cycles(trace)
    if trace.metadata.extra.get(CLOCK_KEY) == PROGRAM_CLOCK:
        return OwnClock(recorded, None, None, NONE, "they are without it already", 0.0, None)
    if len(plain) and float(np.median(plain)) > OwnClockLimits.slower * recorded:
        why = "unprofiled steps took longer than profiled ones"
        return OwnClock(recorded, None, None, NONE, why, 0.0, None)
    if len(plain) and steps["marked"].all():
        fitted = _fitted_to(program, float(np.median(plain)))
        if fitted is not None:
            scale, played = fitted
            plain_ns = float(np.median(plain))
            return OwnClock(recorded, plain_ns, _interval(plain), MEASURED, "", scale, played)
    return _estimate_clock(trace, program, recorded)


@memoize_per_trace
def own_timeline(trace: Trace) -> Trace:
    """The recording as the program runs by itself; as it is where that cannot be told."""
    clock = own_clock(trace)
    if clock.played is None:
        return trace
    moved = moved_timeline(trace, clock.played)
    extra = {**trace.metadata.extra, CLOCK_KEY: PROGRAM_CLOCK}
    timeline = replace(moved, metadata=replace(moved.metadata, extra=extra))
    _remember_recording(timeline, trace)
    return carry_fitness(timeline, trace)


class _Dose(msgspec.Struct, frozen=True):
    """How much of what recording may have cost is taken out."""

    cost: float
    """Costs of calls are that many times those of the table."""
    host: float = 1.0
    """Host code takes that many times as long."""
    long: float = 1.0
    """The same of very long stretches inside of calls of libraries."""


class _Program(msgspec.Struct, frozen=True, eq=False):
    """What is played, with the costs of its points."""

    graph: ReplayGraph
    steps: pl.DataFrame
    cost: Floats
    """By host point, as the table has it."""
    pause: float
    """What recording adds to the pause before a kernel that was queued."""
    long: Flags
    """By host point: whether it begins a very long stretch inside of a library."""

    @classmethod
    def of(cls, trace: Trace, steps: pl.DataFrame) -> _Program:
        graph = replay_graph(trace)
        points = graph.points
        inside = host_kinds(trace).among("operator")[points.calls.row]
        inside &= ~points.calls.named(names.frames_calls)  # what old profilers call operators
        long = (points.length >= OwnClockLimits.long_ns) & (points.owner >= 0)
        long[long] = inside[points.owner[long]]
        table = _table().get(trace.metadata.format, {})
        return cls(graph, steps, *costs_of(trace, graph, table), long)

    def played(self, dose: _Dose) -> Played:
        """The program with some of its host time taken out."""
        scale = np.where(self.long, dose.long, dose.host)
        work = work_so_far(self.graph, dose.cost * self.cost, scale)
        gap = self.graph.gap
        pause = np.maximum(
            gap - dose.cost * self.pause, np.minimum(gap, OwnClockLimits.min_pause_ns)
        )
        on_device = (self.graph.activity >= 0) & (self.graph.before > 0)
        return play(structs.replace(self.graph, gap=np.where(on_device, pause, gap)), work)

    def cycle_ns(self, played: Played) -> float:
        return float(np.median(step_lengths(self.steps, played)))


def _fitted_to(program: _Program, wanted: float) -> tuple[float, Played] | None:
    """Costs under which a cycle takes as long as it was measured; None where none do.

    Where likely costs leave too much, calls of libraries that were very long are shortened, for
    some prepare anew under a profiler what they keep without; then costs grow, and at last all of
    the host's code is shortened.  A host that was slower without the profiler, by chance, is
    lengthened.
    """
    stages: tuple[tuple[float, float, Callable[[float], _Dose]], ...] = (
        (0.0, _LIKELY_COST_FACTOR, _Dose),
        (1.0, OwnClockLimits.slower, lambda value: _Dose(0.0, host=value)),
        (1.0, 0.0, lambda value: _Dose(1.0, long=value)),
        (_LIKELY_COST_FACTOR, _MAX_COST_FACTOR, lambda value: _Dose(value, long=0.0)),
        (1.0, 0.0, lambda value: _Dose(_MAX_COST_FACTOR, host=value, long=0.0)),
    )
    usual = program.played(_Dose(1.0))
    if abs(program.cycle_ns(usual) / wanted - 1) < _AS_USUAL:
        # Where the device decides, many costs fit: nothing speaks against those of the table.
        return 1.0, usual
    for begin, end, dose in stages:
        first, last = (program.cycle_ns(program.played(dose(amount))) for amount in (begin, end))
        if min(first, last) <= wanted <= max(first, last):
            return _between(program, dose, ((begin, first), (end, last)), wanted)
    return None


_Sample: TypeAlias = tuple[float, float]


def _between(
    program: _Program, dose: Callable[[float], _Dose], ends: tuple[_Sample, _Sample], wanted: float
) -> tuple[float, Played]:
    """The dose between two after which a cycle takes so long: by a line, as it nearly is one."""
    low, high = ends
    best, played = dose(high[0]), None
    for number in range(_ROUNDS):
        span = high[1] - low[1]
        share = (wanted - low[1]) / span if span and number % 3 < 2 else 0.5
        middle = low[0] + share * (high[0] - low[0])
        best, played = dose(middle), program.played(dose(middle))
        reached = program.cycle_ns(played)
        if abs(reached / wanted - 1) < _NEAR:
            break
        below = (reached > wanted) == (low[1] > wanted)
        low, high = ((middle, reached), high) if below else (low, (middle, reached))
    return best.cost, played or program.played(best)


def _interval(plain: Floats) -> tuple[float, float]:
    """95 % interval of the middle of measured cycles, by their order."""
    ordered, many = np.sort(plain), len(plain)
    reach = 0.98 * np.sqrt(many)
    low, high = int(np.floor((many - 1) / 2 - reach)), int(np.ceil((many - 1) / 2 + reach))
    return float(ordered[max(low, 0)]), float(ordered[min(high, many - 1)])


def _plain_cycles(trace: Trace) -> Floats:
    """Cycles that were measured without the profiler, in ns; none where too few were."""
    run = trace.metadata.run
    if run is None or not run.overhead.cycle_us:
        return np.zeros(0)
    return np.array(run.plain_ns or (1000.0 * run.overhead.cycle_us,), float)


def _why_not(trace: Trace, program: _Program) -> str:
    """Why nobody can tell what recording cost; empty where one can."""
    if not program.cost.any():
        return "the overhead of this profiler is unknown"
    if not vendors.profiler_costs_measured(trace.metadata.vendor):
        return _unmeasured_reason(trace.metadata.vendor)
    work = program.graph.work
    unlinked = 1.0 - float(work.launched.mean()) if len(work) else 0.0
    if unlinked > OwnClockLimits.unlinked_share:
        return (
            f"{100 * unlinked:.0f} % of the device work has no launch in the recording, "
            "so its start on a faster host is unknown"
        )
    points, place = program.graph.points, np.flatnonzero(program.long)
    bounds = bounds_of(program.steps)
    cycle = step_at(points.time[place], points.time[place], bounds)
    lost = np.bincount(cycle[cycle >= 0], points.length[place[cycle >= 0]], minlength=len(bounds))
    share = float(np.median(lost / np.maximum(bounds[:, 1] - bounds[:, 0], 1)))
    if share <= OwnClockLimits.long_share:
        return ""
    longest = place[points.length[place].argmax()]
    name = points.calls.names[points.calls.name[points.owner[longest]]]
    return (
        f"{_LONG_CALLS} {100 * share:.0f} % of a step on the host, mostly {name}, and may be "
        "much shorter without a profiler"
    )


def may_be_overhead(trace: Trace, name: str) -> bool:
    """Whether much of the time in such calls may be profiler overhead, and nobody can tell."""
    why = own_clock(trace).why
    return why.startswith(_LONG_CALLS) and f"mostly {name}," in why


def _unmeasured_reason(vendor: str) -> str:
    measured = " and ".join(
        vendors.TITLES[name]
        for name in sorted(vendors.names_where("profiler_costs_measured", value=True))
    )
    device = vendors.TITLES.get(vendor, "devices of an unknown maker")
    return f"profiler overhead was measured on {measured} only, not on {device}"


def _estimate_clock(trace: Trace, program: _Program, recorded: float) -> OwnClock:
    why = _why_not(trace, program)
    unfit = recording_fitness(trace).against(OVERHEAD)
    if not why and unfit:
        sentence = unfit[0].sentence.partition(". ")[0].removesuffix(".")
        why = f"{sentence[:1].lower()}{sentence[1:]}"
    if why:
        return OwnClock(recorded, None, None, NONE, why, 0.0, None)
    # Of the outer two only their length is needed: each is large, and gone before the next.
    low, high = (
        program.cycle_ns(program.played(_Dose(dose))) for dose in (1.0 + _ERROR, 1.0 - _ERROR)
    )
    least, scale, played = OwnClockLimits.min_left * recorded, 1.0, program.played(_Dose(1.0))
    usual = program.cycle_ns(played)
    if high < least or not recorded:
        share = f"{100 * OwnClockLimits.min_left:.0f} %"
        why = f"the estimated overhead would leave less than {share} of the step"
        return OwnClock(recorded, None, None, NONE, why, 0.0, None)
    if usual < least:
        scale, played = _between(program, _Dose, ((1.0 - _ERROR, high), (1.0, usual)), least)
    estimate = min(program.cycle_ns(played), recorded)
    low, high = low * (1.0 - _MODEL_ERROR), high * (1.0 + _MODEL_ERROR)
    # Higher costs may move the borders of a step the other way: the estimate is always inside.
    low, high = min(low, high, estimate), min(max(low, high, estimate), recorded)
    outside = _outside(trace, program)
    interval = (low, recorded if outside else high)
    return OwnClock(recorded, estimate, interval, ESTIMATED, "", scale, played, outside)


def _outside(trace: Trace, program: _Program) -> str:
    """What steps wait for that the recording does not hold, as a sentence; empty for nothing.

    What delivers it has a pace of its own: less overhead before such a wait makes the wait longer.
    """
    graph = program.graph
    points, calls = graph.points, graph.points.calls
    waiting = np.flatnonzero(calls.named(names.awaits_others)) if len(calls) else points.owner[:0]
    if not len(waiting):
        return ""
    inside = np.append(descendant_mask(waiting, calls.size), False)[points.owner]
    inside &= points.length >= _AWAITED_NS
    main = main_thread(trace, points, graph.work)  # some call waits, so there are threads
    inside[: points.first[main]] = False
    inside[points.first[main + 1] :] = False
    inside &= ~waited_stretches(graph, len(points.time))
    spans = program.steps.select("host_start_ns", "host_end_ns").to_numpy()
    place = np.flatnonzero(inside)
    place = place[step_at(points.time[place], points.time[place], spans) >= 0]
    awaited = points.length[place]
    if not len(place) or awaited.sum() <= _AWAITED_SHARE * complete_lengths(trace).sum():
        return ""
    longest = calls.names[calls.name[points.owner[place[awaited.argmax()]]]]
    mean_wait = units.brief_ns(float(awaited.sum()) / len(spans))
    return (
        f"steps wait {mean_wait} on average for unrecorded work, mostly in {longest}, so they may "
        "take as long as recorded"
    )


# -- what recording a call costs -------------------------------------------------------------------

_ERROR, _MODEL_ERROR = 0.25, 0.04
"""How far costs are from those of the table, as a share, and a replay from the program."""
COST_ERROR = _ERROR


def costs_of(
    trace: Trace, graph: ReplayGraph, table: Mapping[tuple[str, str], float]
) -> tuple[Floats, float]:
    """What recording costs at each point of the host, half at each end of a call, and per kernel.

    The table has costs by sort of call and option of the profiler, in ns, on one machine; a slower
    host pays more.
    """
    points, kinds, options = graph.points, host_kinds(trace), recorded_options(trace)
    per_kind = np.array(
        [
            sum(
                cost
                for (call, option), cost in table.items()
                if call == _CALL_OF_KIND.get(kind) and (not option or option in options)
            )
            for kind in kinds.texts
        ]
    )
    per_call = per_kind[kinds.codes[points.calls.row]]
    # Compiled code tells the profiler of its kernels from Python.
    per_call = per_call + table.get(("triton", ""), 0.0) * points.calls.named(_is_triton)
    by_point = (per_call * host_slowness(trace, graph))[points.call] / 2
    return np.asarray(by_point), table.get(("kernel", ""), 0.0)


def _is_triton(name: str) -> bool:
    return name.startswith("triton_")


def host_slowness(trace: Trace, graph: ReplayGraph) -> float:
    """How many times as long short calls take as on the machine of the table; 1 if none tells."""
    calls = graph.points.calls
    leaf = np.flatnonzero(calls.size == 1)
    code, length = calls.name[leaf], (calls.end - calls.start)[leaf]
    ratios = []
    for name, usual in _usual_calls().get(trace.metadata.format, {}).items():
        if name in calls.names:
            mine = length[code == calls.names.index(name)]
            if len(mine) >= OwnClockLimits.min_calls:
                ratios.append(np.log(max(float(np.median(mine)), 1.0) / usual))
    return float(np.clip(np.exp(np.median(ratios)), *_HOSTS)) if ratios else 1.0


_HOSTS = 0.25, 5.0
"""Hosts faster or slower than that were measured wrongly."""


@lru_cache(maxsize=1)
def _usual_calls() -> Mapping[str, Mapping[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for row in csv_rows(Path(__file__).with_name("usual_calls.csv")):
        table.setdefault(row["format"], {})[row["call"]] = float(row["dur_ns"])
    return table


_CALL_OF_KIND = {
    **{kind: kind for kind in ("operator", "annotation", "module")},
    "python_function": "python",
    **dict.fromkeys(LAUNCH_KINDS, "runtime"),
}


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Mapping[tuple[str, str], float]]:
    """Costs in ns by format, and by call and option of the profiler."""
    table: dict[str, dict[tuple[str, str], float]] = {}
    for row in csv_rows(Path(__file__).with_name("recording_costs.csv"), like=""):
        table.setdefault(row["format"], {})[row["call"], row["option"]] = float(row["cost_ns"])
    return table


def recorded_options(trace: Trace) -> frozenset[str]:
    """What the profiler was asked to record beside calls: `shapes`, `stack`, `memory`, `where`."""
    extra, run = trace.metadata.extra, trace.metadata.run
    option_keys = {"shapes": "record_shapes", "stack": "with_stack", "memory": "profile_memory"}
    options = {"where"} if run is not None and run.options.where else set()
    return frozenset(options | {name for name, key in option_keys.items() if extra.get(key)})


# -- the same events where a replay puts them ------------------------------------------------------


_MOVED = ("steps", "counters", "host", "device")
_MOVED_ON_DEMAND = ("memory", "flows")
"""Tables that few answers need: they are moved whenever one does."""


def moved_timeline(trace: Trace, played: Played) -> Trace:
    """The trace with every event where the replay has it.

    What the replay knows nothing of, marks and counters, moves with its thread or stream, or else
    with the thread of the steps.
    """
    clocks = _LaneClocks(trace, played)
    frames = {name: clocks.moved(name, trace.lazy(name).collect()).lazy() for name in _MOVED}
    for name in _MOVED_ON_DEMAND:
        if name in trace.frames:
            move = partial(clocks.moved, name)
            frames[name] = trace.lazy(name).map_batches(
                move, projection_pushdown=False, predicate_pushdown=False, slice_pushdown=False
            )
    clocks.forget_exact_times()
    moved = replace(trace, frames={**trace.frames, **frames})
    _remember_recording(moved, trace)
    return moved


def _remember_recording(timeline: Trace, recording: Trace) -> None:
    # Weakly: each of them remembers the other, and both go when nobody else has them.
    seed_memo(timeline, recording_of, recording_of(recording))


class _LaneClocks:
    """For each thread and stream: when its recorded moments come."""

    def __init__(self, trace: Trace, played: Played) -> None:
        graph, points, work = played.graph, played.graph.points, played.graph.work
        self._origin = int(graph.time[0])
        self._clocks: dict[tuple[str, str], tuple[Ints, Floats]] = {}
        come = played.point
        for thread, lane in enumerate(points.calls.threads):
            part = slice(points.first[thread], points.first[thread + 1])
            self._clocks[lane] = points.time[part], come[part]
        marks = trace.lazy("steps").select("pid", "tid").head(1).collect()
        lane = lane_codes(marks)[1][0] if marks.height else ("", "")
        most = int(np.diff(points.first).argmax()) if len(points.first) > 1 else -1
        usual = points.calls.threads[most] if most >= 0 else lane
        self._usual = self._clocks.get(lane, self._clocks.get(usual))
        events = trace.lazy("device").select("pid", "tid").collect()
        lane_of, lanes = lane_codes(events) if events.height else (work.row, [])
        for number, lane in enumerate(lanes):
            mine = np.flatnonzero(lane_of[work.row] == number)
            if len(mine):
                ends = played.ends[mine]
                starts = ends - played.length[mine]
                time = np.concatenate([work.start[mine], work.end[mine]])
                order = np.argsort(time, kind="stable")
                moved = np.maximum.accumulate(np.concatenate([starts, ends])[order])
                self._clocks.setdefault(lane, (time[order], moved))
        self._exact = _exact_times(trace, played)

    def forget_exact_times(self) -> None:
        """Tables that are moved later have none, and there are many."""
        self._exact.clear()

    def moved(self, name: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of a table at their new times."""
        if not rows.height or "ts_ns" not in rows.columns:
            return rows
        start = rows["ts_ns"].to_numpy()
        end = start + rows["dur_ns"].to_numpy() if "dur_ns" in rows.columns else start
        begin, finish = np.empty(len(start)), np.empty(len(start))
        left = np.arange(len(start))
        if name in self._exact:
            place, *exact_times = self._exact[name]
            begin[place], finish[place] = exact_times
            is_left = np.ones(len(start), dtype=np.bool_)
            is_left[place] = False
            left = left[is_left]
        if len(left):
            self._move_rest(rows, left, (start, end), (begin, finish))
        first = np.rint(begin).astype(np.int64) + self._origin
        columns = [pl.Series("ts_ns", first)]
        if "dur_ns" in rows.columns:
            last = np.rint(finish).astype(np.int64) + self._origin
            columns.append(pl.Series("dur_ns", np.maximum(last - first, 0)))
        return rows.with_columns(columns)

    def _move_rest(
        self, rows: pl.DataFrame, left: Ints, times: tuple[Ints, Ints], moved: tuple[Floats, Floats]
    ) -> None:
        """Put rows that no replay knows where the clock of their thread or stream has them."""
        (start, end), (begin, finish) = times, moved
        code, lanes = left * 0, [("", "")]
        if "tid" in rows.columns:
            code, lanes = lane_codes(rows.select("pid", "tid")[left])
        for number, lane in enumerate(lanes):
            mine = left[code == number]
            clock = self._clocks.get(lane, self._usual)
            begin[mine] = self._at(start[mine], clock)
            finish[mine] = self._at(end[mine], clock) if end is not start else begin[mine]

    def _at(self, moment: Ints, clock: tuple[Ints, Floats] | None) -> Floats:
        """When moments come: between two that are known, in proportion; beyond them, as far off."""
        if clock is None:
            return np.asarray(moment - self._origin, dtype=np.float64)
        time, come = clock
        inside = np.interp(moment - self._origin, time - self._origin, come)
        outside = np.minimum(moment - time[0], 0) + np.maximum(moment - time[-1], 0)
        return np.asarray(inside + outside)


def _exact_times(trace: Trace, played: Played) -> dict[str, tuple[Ints, Floats, Floats]]:
    """By table: rows that are played themselves, when they begin and when they end."""
    points, work = played.graph.points, played.graph.work
    calls, begin, end = points.calls, played.point[points.start], played.point[points.end]
    marks = trace.lazy("steps").select("index").collect()["index"].to_numpy()
    of_mark = first_with_id(marks, trace.lazy("host").select("index").collect()["index"].to_numpy())
    mark = np.flatnonzero(of_mark >= 0)
    call = calls.place[of_mark[mark]]
    mark, call = mark[call >= 0], call[call >= 0]
    ends = played.ends
    return {
        "host": (calls.row, begin, end),
        "steps": (mark, begin[call], end[call]),
        "device": (work.row, ends - played.length, ends),
    }

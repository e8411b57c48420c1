"""The files of a side as behaviour: read from tables, computed from recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from timesink.analyses.behaviour.anatomy import Anatomy
from timesink.analyses.behaviour.functions import mended
from timesink.answers.ahead import CycleSearch
from timesink.answers.comparison.sides import SideSource
from timesink.errors import NotFoundError, TimesinkError, UnreadableError
from timesink.formats.counters import read_counters
from timesink.formats.options import Progress
from timesink.model.health import behaviour_notes
from timesink.model.recorded_run import RecordedRun
from timesink.model.trace import Trace
from timesink.sources.sidecars import find_beside

if TYPE_CHECKING:
    from timesink.analyses.diff.program import Program
    from timesink.analyses.work.cycle_work import ProcessWork

_OF_COUNTERS = ("bad_counter_row", "unreadable_counters")


@dataclass(frozen=True, slots=True)
class CycleUnit:
    """What a cycle is."""

    method: str | None
    """How it was found (`cycles.METHODS`); None for a behaviour table, which does not say."""
    anchor: str | None
    """What marks it; None where that is not one thing."""
    between_marks: bool = False
    """Whether it lasts from one mark to the next, and not as long as its mark."""

    def is_that_of(self, other: CycleUnit) -> bool:
        """Whether cycles of both may be set beside each other."""
        if self.method == other.method == "kernels":
            return True  # two makers name the same work differently
        # Where a table does not say, the check of the workload tells.
        if None in {self.anchor, other.anchor}:
            return True
        return self.anchor == other.anchor and self.between_marks == other.between_marks


@dataclass(frozen=True, slots=True, eq=False)
class SideRun:
    """One file of a side: what it says, cycle by cycle."""

    source: SideSource
    behaviour: pl.DataFrame
    unit: CycleUnit
    trace: Trace | None = None
    """The recording; None for a behaviour table, whose cycles are what they are."""
    rank: int | None = None
    confidence: float | None = None
    notes: tuple[str, ...] = ()
    anatomies: Mapping[str, Anatomy] = field(default_factory=dict)
    """What the cycles of each process are made of, by process; of a timeline only."""
    programs: Mapping[str, Program] = field(default_factory=dict)
    """What the cycles of each process call, by process; of a timeline only."""
    beside: pl.DataFrame | None = None
    """Counters that were sampled beside a behaviour table."""
    recorded: RecordedRun | None = None
    """What the recorder says about the run."""
    peak_memory_bytes: int | None = None
    """Most that was allocated at a time, where allocations were recorded."""
    work: Mapping[str, ProcessWork] = field(default_factory=dict)
    """What the cycles of each process compute and move, by process; of recorded shapes only."""


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """One file of a side of which there is no behaviour."""

    source: SideSource
    error: TimesinkError
    trace: Trace | None = None
    """The recording, where only its cycles were not found."""


@dataclass(frozen=True, slots=True)
class SideReadOptions:
    """How files are read."""

    cache: bool = True
    jobs: int | None = None
    progress: Progress | None = None
    finding: CycleSearch = field(default_factory=CycleSearch)


def run_or_failure(source: SideSource, trace: Trace, finding: CycleSearch) -> SideRun | Failure:
    """What a trace says, cycle by cycle, or why it says nothing."""
    try:
        return run_of(source, trace, finding)
    except NotFoundError as error:
        return Failure(source, error, replace(trace))
    except TimesinkError as error:
        return Failure(source, error)


def run_of(source: SideSource, trace: Trace, finding: CycleSearch) -> SideRun:
    """What a trace says, cycle by cycle."""
    if trace.behaviour.height:
        return _of_table(source, trace)
    if source.is_table or not trace.has_timeline:
        raise UnreadableError(
            f"{source.path}: holds no cycle",
            "give a recording with a timeline, or a behaviour table with rows",
        )
    return _of_timeline(source, trace, finding)


def with_faults(trace: Trace, notes: Sequence[str] = ()) -> tuple[str, ...]:
    """Notes on behaviour, with what was lost on the way to it."""
    if any(entry.code in _OF_COUNTERS for entry in trace.health):
        # Samples that were there, and could not be read, are no missing samples.
        # Tables are compared without waiting for what only recordings need.
        from timesink.analyses.behaviour.table import NO_SAMPLES  # noqa: PLC0415

        notes = [note for note in notes if note != NO_SAMPLES]
    return (*notes, *behaviour_notes(trace.health, of_table=trace.has_behaviour))


def _of_table(source: SideSource, trace: Trace) -> SideRun:
    table, notes = mended(trace.behaviour)
    beside = trace.counters if trace.counters.height else None
    path = find_beside(source.path) if beside is None else None
    if path is not None:
        try:
            beside, _ = read_counters(path)
        except TimesinkError as error:
            notes = (*notes, f"counters beside the table were not read: {error.message}")
    anchors = table["anchor"].drop_nulls().cast(pl.String).unique().to_list()
    return SideRun(
        source,
        table,
        CycleUnit(None, anchors[0] if len(anchors) == 1 else None),
        rank=_rank(source, trace),
        notes=with_faults(trace, notes),
        beside=beside,
    )


def _rank(source: SideSource, trace: Trace) -> int | None:
    """The rank the recording states, else that of its name."""
    stated = trace.metadata.distributed.rank
    return source.recording.rank if stated is None else stated


def _of_timeline(source: SideSource, trace: Trace, finding: CycleSearch) -> SideRun:
    from timesink.analyses.behaviour.calls import without_recorders_ranges  # noqa: PLC0415
    from timesink.analyses.behaviour.functions import load_classes  # noqa: PLC0415
    from timesink.analyses.behaviour.recorded_anatomy import anatomies  # noqa: PLC0415
    from timesink.analyses.behaviour.table import behaviour_table  # noqa: PLC0415
    from timesink.analyses.cycles.annotations import mark_note  # noqa: PLC0415
    from timesink.analyses.cycles.search import find_cycles  # noqa: PLC0415
    from timesink.analyses.diff.program import programs  # noqa: PLC0415
    from timesink.analyses.memory_curve import peak_memory, recording_start  # noqa: PLC0415
    from timesink.analyses.work.cycle_work import process_work  # noqa: PLC0415

    cycles = find_cycles(trace, marker=finding.marker, by=finding.by)
    program = without_recorders_ranges(trace, cycles)
    found = behaviour_table(program, cycles, load_classes(finding.metric_map))
    if found.table.is_empty():
        raise UnreadableError(
            f"{source.path}: nothing was recorded inside its {cycles.table.height} cycles",
            "choose other cycles with --marker or --by",
        )
    return SideRun(
        source,
        found.table,
        CycleUnit(cycles.method, cycles.anchor, mark_note(cycles.anchor) in cycles.notes),
        # A fresh one: the tables it has loaded go, and are loaded again should they be needed.
        trace=replace(trace),
        rank=_rank(source, trace),
        confidence=cycles.confidence,
        notes=with_faults(trace, [*cycles.notes, *found.notes]),
        anatomies=anatomies(program, cycles),
        programs=programs(program, cycles, recording_start(trace)),
        recorded=trace.metadata.run,
        peak_memory_bytes=peak_memory(trace),
        work=process_work(program, cycles),
    )


# -- one unit of repetition for all runs that are set beside each other ---------------------------


def by_units_of(failure: Failure, runs: Sequence[SideRun], finding: CycleSearch) -> SideRun | None:
    """A recording in which nothing was seen to repeat, by the unit of another; None without."""
    if failure.trace is None or finding.says_unit:
        return None
    units = _distinct([run.unit for run in runs])
    tried = (_by(failure.source, failure.trace, unit, finding) for unit in units)
    return next((run for run in tried if run is not None), None)


def with_common_unit(
    runs: Sequence[SideRun], finding: CycleSearch
) -> tuple[list[SideRun], list[str]]:
    """Runs whose cycles are the same unit, where one is found that all of them have.

    Cycles of behaviour tables are what they are; recordings are searched again for the unit of
    another run.
    """
    units = _distinct([run.unit for run in runs])
    if len(units) < 2 or all(run.trace is None for run in runs):
        return list(runs), []  # of tables alone, the check of the workload says it
    for unit in units:
        found: list[SideRun] = []
        for run in runs:
            again: SideRun | None = run
            if not run.unit.is_that_of(unit):
                again = None if run.trace is None else _by(run.source, run.trace, unit, finding)
            if again is None:
                break
            found.append(again)
        else:
            others = ", ".join(_words(one) for one in units if one != unit)
            said = f"cycles of all runs are taken as {_words(unit)}; on its own, one had {others}"
            return found, [said]
    listed = "; ".join(_words(unit) for unit in units[:4])
    return list(runs), [f"cycles are not the same unit in all runs: {listed}"]


def _distinct(units: Sequence[CycleUnit]) -> list[CycleUnit]:
    distinct: list[CycleUnit] = []
    for unit in units:
        if not any(unit.is_that_of(other) for other in distinct):
            distinct.append(unit)
    return distinct


def _by(source: SideSource, trace: Trace, unit: CycleUnit, finding: CycleSearch) -> SideRun | None:
    """The run by its mark, and by the way it was found; None where neither gives this unit."""
    by_name = unit.anchor is not None and unit.method in (None, "marker", "python")
    ways = [replace(finding, marker=unit.anchor)] if by_name else []
    ways += [replace(finding, by=unit.method)] if unit.method else []
    # A mark that is asked for by name may be the cycle, where it was found to lie between two.
    for way in ways[::-1] if unit.method == "marker" else ways:
        with suppress(TimesinkError):
            again = run_of(source, trace, way)
            if again.unit.is_that_of(unit):
                return again
    return None


def _words(unit: CycleUnit) -> str:
    return unit.anchor or (f"found by {unit.method}" if unit.method else "of several kinds")

"""What the files of sides say cycle by cycle: read at once, kept beside traces, found out once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import polars as pl
from msgspec import structs

from timesink.analyses.behaviour import of_cycles_alone
from timesink.analyses.behaviour.anatomy import Anatomy
from timesink.analyses.behaviour.cycle_places import with_calls
from timesink.comparison.inputs import (
    LEFT_OUT,
    CycleUnit,
    Failure,
    ProcessedRun,
    RecordingRef,
    SideReadOptions,
    run_of,
    run_or_failure,
)
from timesink.comparison.prefetch import CycleSearch, Helpers
from timesink.errors import TimesinkError, UnreadableError, UsageError
from timesink.formats.registry import read_trace
from timesink.model.fitness import Fitness, Reason
from timesink.model.recorded_run import RecordedRun, recorded_run
from timesink.model.trace import Trace
from timesink.sources import Recording
from timesink.sources.cache import Cache, wait_until_saved
from timesink.sources.kept_answers import KeptAnswer, Tables, from_bytes, to_bytes
from timesink.sources.opening import Opened, key_of, open_each, open_recording, open_trace
from timesink.sources.sidecars import run_file_in

if TYPE_CHECKING:
    from timesink.analyses.work.cycle_work import ProcessWork
    from timesink.comparison.program.calls import Program

_BEHAVIOUR = "behaviour"
_BESIDE = "beside"
_OF_PROGRAM = ("sites", "counts", "nodes")
_OF_WORK = {"sets": "work sets", "counts": "work counts"}
_TUPLES = ("denies", "ranks")
_PLAIN = ("rank", "confidence", "notes", "peak_memory_bytes")
_NOT_THE_PROGRAM = frozenset({"timesink"})
"""Versions of what the program does not run on."""
_NAMED = ("function", "annotation")


# -- a run as tables and plain data: what is kept of a recording once its trace is gone ------------


def tables_of(run: ProcessedRun, *, calls: bool = True) -> Tables:
    """All that a run says but its source and its trace; `calls` takes a while."""
    tables, plain = {_BEHAVIOUR: run.behaviour}, {}
    if run.beside is not None:
        tables[_BESIDE] = run.beside
    for pid, anatomy in run.anatomies.items():
        values = {field.name: getattr(anatomy, field.name) for field in fields(anatomy)}
        del values["find_calls"]
        if calls:
            values["calls"] = anatomy.calls
        table_names = [name for name, value in values.items() if isinstance(value, pl.DataFrame)]
        tables |= {_name(pid, name): values.pop(name) for name in table_names}
        plain[pid] = {"tables": table_names, "values": values}
    programs = {}
    for pid, program in run.programs.items():
        tables |= {_name(pid, name): getattr(program, name) for name in _OF_PROGRAM}
        programs[pid] = {
            "host": program.host, "typed": program.typed, "vendor": program.vendor
        }  # fmt: skip
    for pid, work in run.work.items():
        tables |= {_name(pid, named): getattr(work, name) for name, named in _OF_WORK.items()}
    works = {
        pid: {"device": process_work.device, "devices": process_work.devices}
        for pid, process_work in run.work.items()
    }
    about = asdict(run.unit) | {name: getattr(run, name) for name in _PLAIN}
    recorded = None if run.recorded is None else asdict(run.recorded)
    about |= {"recorded": recorded, "anatomies": plain, "programs": programs, "work": works}
    about["reasons"] = [asdict(reason) for reason in run.fitness.reasons]
    return Tables(about, tables)


def run_of_tables(tables: Tables, source: RecordingRef, trace: Trace | None = None) -> ProcessedRun:
    """The run that was kept, of this source."""
    about = tables.about
    recorded = about.get("recorded")
    anatomies = {}
    for pid, plain in about["anatomies"].items():
        values: dict[str, Any] = {**plain["values"], "notes": tuple(plain["values"]["notes"])}
        values |= {name: tables.tables[_name(pid, name)] for name in plain["tables"]}
        calls = values.pop("calls", None)
        anatomy = Anatomy(**values)
        anatomies[pid] = anatomy if calls is None else replace(anatomy, find_calls=calls.clone)
    return ProcessedRun(
        source,
        tables.tables[_BEHAVIOUR],
        CycleUnit(about["method"], about["anchor"], about["between_marks"]),
        trace=trace,
        rank=about["rank"],
        confidence=about["confidence"],
        notes=tuple(about["notes"]),
        anatomies=anatomies if trace is None else with_calls(trace, anatomies),
        programs=_programs(tables),
        beside=tables.tables.get(_BESIDE),
        recorded=None if recorded is None else recorded_run(recorded)[0],
        peak_memory_bytes=about.get("peak_memory_bytes"),  # older baselines do not say
        work=_work(tables),
        fitness=_fitness(tables),
    )


def _fitness(tables: Tables) -> Fitness:
    """What the recording can answer; older baselines do not say."""
    reasons = tables.about.get("reasons", ())
    return Fitness(
        tuple(
            Reason(**{**reason, **{name: tuple(reason.get(name, ())) for name in _TUPLES}})
            for reason in reasons
        )
    )


def _programs(tables: Tables) -> dict[str, Program]:
    """What the cycles of each process call; older baselines do not say."""
    flags_by_pid = tables.about.get("programs", {})
    if not flags_by_pid:
        return {}
    from timesink.comparison.program.calls import Program  # noqa: PLC0415 - tables have none

    return {
        pid: Program(sites, counts, nodes, **flags)
        for pid, flags in flags_by_pid.items()
        for sites, counts, nodes in [[tables.tables[_name(pid, name)] for name in _OF_PROGRAM]]
    }


def _work(tables: Tables) -> dict[str, ProcessWork]:
    """What the cycles of each process compute and move; older baselines do not say."""
    values_by_pid = tables.about.get("work", {})
    if not values_by_pid:
        return {}
    from timesink.analyses.work.cycle_work import ProcessWork  # noqa: PLC0415 - tables have none

    return {
        pid: ProcessWork(
            sets=tables.tables[_name(pid, _OF_WORK["sets"])],
            counts=tables.tables[_name(pid, _OF_WORK["counts"])],
            **values,
        )
        for pid, values in values_by_pid.items()
    }


def _name(pid: str, table: str) -> str:
    return f"{table} of {pid}"


def keep_runs(
    store: Cache, recordings: Sequence[Recording], finding: CycleSearch, cores: int
) -> None:
    """Find out what recordings say and keep it; errors are left to whoever asks for it."""
    for recording in recordings:
        source = RecordingRef(recording, is_table=False, job="")
        with suppress(TimesinkError):
            trace = open_recording(recording, store, jobs=cores, in_background=True)
            place = place_for(source, finding, store)
            if place is not None and place.load() is None:
                _save_run(place, run_of(source, trace, finding))
    for recording in recordings:
        wait_until_saved(store, key_of(recording, store))


def place_for(
    source: RecordingRef, finding: CycleSearch, store: Cache | None = None
) -> KeptAnswer | None:
    """Where the run of a recording is kept; None where it is not."""
    # A map of one's own may change at any time.
    if finding.metric_map is not None:
        return None
    store = store or Cache.default()
    key = key_of(source.recording, store)
    question = ("run", str(source.path), finding.marker, finding.by)
    return KeptAnswer.about(store, key, question) if key else None


def _save_run(place: KeptAnswer, run: ProcessedRun) -> None:
    """Keep the run of a recording, without the calls: only budgets and baselines need them."""
    tables = tables_of(run, calls=False)
    place.save(to_bytes(tables.about, tables.tables))


# -- recordings as runs: several at once, and from the cache where it has them --------------------


def recorded_runs(
    recorded: Mapping[Recording, RecordingRef], how: SideReadOptions
) -> Iterator[tuple[object, ProcessedRun | Failure]]:
    """The key of each source, and what came of its recording."""
    finding = how.finding
    if not how.cache or finding.metric_map is not None:
        # What goes by a map of one's own is not kept, so nobody else can find it.
        opened = open_each(list(recorded), cache=how.cache, jobs=how.jobs, progress=how.progress)
        for opened_recording in opened:
            source = recorded[opened_recording.recording]
            yield source.key, _kept_or_found(source, opened_recording, how)
        return
    with Helpers(list(recorded), finding, how.jobs) as helpers:
        theirs = [source for recording, source in recorded.items() if helpers.have(recording)]
        for recording, source in recorded.items():
            if source not in theirs:
                yield (
                    source.key,
                    _kept_or_found(source, _open_source(recording, helpers.cores, how), how),
                )
        helpers.wait()
    for source in theirs:
        yield source.key, _kept_or_found(source, _open_source(source.recording, how.jobs, how), how)


def _open_source(recording: Recording, cores: int | None, how: SideReadOptions) -> Opened:
    """One recording, kept in the cache while its cycles are looked for."""
    store = Cache.default()
    try:
        trace = open_recording(
            recording, store, jobs=cores, progress=how.progress, in_background=store.is_writable()
        )
    except TimesinkError as error:
        return Opened(recording, None, error)
    return Opened(recording, trace)


def _kept_or_found(
    source: RecordingRef, opened: Opened, how: SideReadOptions
) -> ProcessedRun | Failure:
    """The run of a recording: as it was kept, else found and kept."""
    trace = opened.trace
    if trace is None:
        return Failure(source, opened.error or UnreadableError.empty(source.path))
    place = place_for(source, how.finding) if how.cache else None
    content = None if place is None else place.load()
    tables = None if content is None else from_bytes(content)
    if tables is not None:
        return run_of_tables(tables, source, replace(trace))
    run = run_or_failure(source, trace, how.finding)
    if place is not None and isinstance(run, ProcessedRun) and run.trace is not None:
        _save_run(place, run)
    return run


# -- what recorders say that two sides do not have in common ---------------------------------------


def recorded_otherwise(base: Sequence[ProcessedRun], new: Sequence[ProcessedRun]) -> list[str]:
    """How the recordings of two sides differ before anything is measured, in sentences.

    Sides whose files disagree among themselves, or that no recorder described, say nothing.
    """
    notes = []
    before, now = (_common_value(side, _unit) for side in (base, new))
    if before and now and before != now:
        notes.append(f"steps were recorded by {before} in base, by {now} in new")
    old, other = (
        dict(_common_value(side, lambda recorder: tuple(sorted(recorder.versions.items()))) or ())
        for side in (base, new)
    )
    changed = [
        f"{name} {old[name]} → {other[name]}"
        for name in old
        if name in other and old[name] != other[name] and name not in _NOT_THE_PROGRAM
    ]
    return [*notes, *([f"recorded with other versions: {', '.join(changed)}"] if changed else [])]


def _common_value(side: Sequence[ProcessedRun], said_by: Callable[[RecordedRun], Any]) -> Any:
    """What all recorders of a side say; None where they differ, or one file has none."""
    values = {None if run.recorded is None else said_by(run.recorded) for run in side}
    return values.pop() if len(values) == 1 else None


def _unit(run: RecordedRun) -> str | None:
    """How steps are found; whichever optimizer steps, it is its step."""
    by, name = run.cycles.by, run.cycles.name
    return f"{by} {name}" if by in _NAMED and name else by


# -- one unit of repetition for all runs that are set beside each other ---------------------------


def by_units_of(
    failure: Failure, runs: Sequence[ProcessedRun], finding: CycleSearch
) -> ProcessedRun | None:
    """A recording in which nothing was seen to repeat, by the unit of another; None without."""
    if failure.trace is None or finding.says_unit:
        return None
    units = _distinct_units([run.unit for run in runs])
    tried = (_by_unit(failure.source, failure.trace, unit, finding) for unit in units)
    return next((run for run in tried if run is not None), None)


def with_common_unit(
    runs: Sequence[ProcessedRun], finding: CycleSearch
) -> tuple[list[ProcessedRun], list[str]]:
    """Runs whose cycles are the same unit, where one is found that all of them have.

    Cycles of behaviour tables are what they are; recordings are searched again for the unit of
    another run.
    """
    units = _distinct_units([run.unit for run in runs])
    if len(units) < 2 or all(run.trace is None for run in runs):
        return list(runs), []  # of tables alone, the check of the workload says it
    for unit in units:
        common_runs: list[ProcessedRun] = []
        for run in runs:
            again: ProcessedRun | None = run
            if not run.unit.is_that_of(unit):
                again = (
                    None if run.trace is None else _by_unit(run.source, run.trace, unit, finding)
                )
            if again is None:
                break
            common_runs.append(again)
        else:
            other_units = ", ".join(_unit_words(other) for other in units if other != unit)
            note = (
                f"steps of all runs are taken as {_unit_words(unit)}; by itself, one had "
                f"{other_units}"
            )
            return common_runs, [note]
    listed = "; ".join(_unit_words(unit) for unit in units[:4])
    return list(runs), [f"steps are not the same unit in all runs: {listed}"]


def _distinct_units(units: Sequence[CycleUnit]) -> list[CycleUnit]:
    distinct: list[CycleUnit] = []
    for unit in units:
        if not any(unit.is_that_of(other) for other in distinct):
            distinct.append(unit)
    return distinct


def _by_unit(
    source: RecordingRef, trace: Trace, unit: CycleUnit, finding: CycleSearch
) -> ProcessedRun | None:
    """The run by its mark, and by the way it was found; None where neither gives this unit."""
    by_name = unit.anchor is not None and unit.method in (None, "marker", "python")
    ways = [structs.replace(finding, marker=unit.anchor)] if by_name else []
    ways += [structs.replace(finding, by=unit.method)] if unit.method else []
    # A mark that is asked for by name may be the cycle, where it was found to lie between two.
    for way in ways[::-1] if unit.method == "marker" else ways:
        with suppress(TimesinkError):
            again = run_of(source, trace, way)
            if again.unit.is_that_of(unit):
                return again
    return None


def _unit_words(unit: CycleUnit) -> str:
    return unit.anchor or (f"found by {unit.method}" if unit.method else "of several types")


# -- files of sides --------------------------------------------------------------------------------


class Runs:
    """Files that were read; one that is on both sides is read once."""

    def __init__(
        self, reading: SideReadOptions, runs_by_key: Mapping[object, ProcessedRun] | None = None
    ) -> None:
        self.reading = reading
        self._kept = frozenset(runs_by_key or ())
        self._read: dict[object, ProcessedRun | Failure] = dict(runs_by_key or {})

    def was_kept(self, source: RecordingRef) -> bool:
        """Whether a file is one of a baseline, and is not read again."""
        return source.key in self._kept

    def of(self, sources: Sequence[RecordingRef]) -> tuple[list[ProcessedRun], list[Failure]]:
        """The runs of files, and what came to nothing."""
        recorded = {}
        for source in (source for source in sources if source.key not in self._read):
            if source.is_plain:
                self._read[source.key] = _plain_run(source)
            elif source.is_table or source.is_export or source.trace is not None:
                self._read[source.key] = _from_file(source, self.reading.finding)
            else:
                recorded[source.recording] = source
        if recorded:
            self._read.update(recorded_runs(recorded, self.reading))
        outcomes = [self._read[source.key] for source in sources]
        return (
            [outcome for outcome in outcomes if isinstance(outcome, ProcessedRun)],
            [outcome for outcome in outcomes if isinstance(outcome, Failure)],
        )


def _from_file(source: RecordingRef, finding: CycleSearch) -> ProcessedRun | Failure:
    """What is open already, an exported trace, or a behaviour table: small, and read directly."""
    try:
        trace = source.trace
        if trace is None:
            trace = open_trace(source.path) if source.is_export else read_trace(source.path)
    except TimesinkError as error:
        return Failure(source, error)
    return run_or_failure(source, trace, finding)


def _plain_run(source: RecordingRef) -> ProcessedRun | Failure:
    """Unprofiled steps of a run as behaviour in which nothing but their length was recorded."""
    file = run_file_in(source.path.parent)
    if file is None or file.run is None:
        return Failure(source, UnreadableError.empty(source.path))
    run = file.run
    lengths_ns = pl.Series(run.own_plain_ns, dtype=pl.Int64)
    start_ns = 1000 * (run.overhead.plain_started_us or run.started_us or 0)
    pids = [str(process.pid) for process in run.processes if process.pid is not None]
    table = pl.DataFrame(
        {
            "cycle": pl.Series(range(len(lengths_ns)), dtype=pl.Int64),
            "cycle_ts_ns": start_ns + lengths_ns.cum_sum() - lengths_ns,
            "cycle_dur_ns": lengths_ns,
        }
    ).with_columns(
        pid=pl.lit(pids[0] if pids else None, pl.String), anchor=pl.lit(run.cycles.name, pl.String)
    )
    behaviour = of_cycles_alone(table)
    return ProcessedRun(source, behaviour, CycleUnit(None, run.cycles.name), recorded=run)


def read_sides(
    runs: Runs, sides: Sequence[Sequence[RecordingRef]]
) -> tuple[list[list[ProcessedRun]], tuple[str, ...], tuple[str, ...]]:
    """The runs of each side, with cycles of one unit; notes, and why files could not be read.

    The notes say which cycles were taken, and name the files that could not be read as well.
    """
    finding = runs.reading.finding
    runs.of([source for side in sides for source in side])  # all of them at once
    read = [runs.of(side) for side in sides]
    everything = [run for side_runs, _ in read for run in side_runs]
    runs_by_side: list[list[ProcessedRun]] = []
    lost: list[str] = []
    for side_runs, failures in read:
        tried = [(failure, by_units_of(failure, everything, finding)) for failure in failures]
        runs_by_side.append([*side_runs, *(run for _, run in tried if run is not None)])
        lost += [failure.error.message for failure, run in tried if run is None]
        if not runs_by_side[-1]:
            raise failures[0].error
    every = [run for side in runs_by_side for run in side]
    noted: list[str] = []
    if finding.says_unit:
        check_recordings(every, finding)
    else:
        every, noted = with_common_unit(every, finding)
    remaining = iter(every)
    notes = (*(f"{LEFT_OUT}{reason}" for reason in lost), *noted)
    return [list(islice(remaining, len(side))) for side in runs_by_side], notes, tuple(lost)


def check_recordings(runs: Sequence[ProcessedRun], finding: CycleSearch) -> None:
    """Refuse to look for cycles where all of them are given."""
    if all(run.trace is None for run in runs):
        option = "--by" if finding.marker is None else "--marker"
        raise UsageError(
            f"{runs[0].source.path}: a behaviour table has fixed steps, {option} has no effect",
            f"leave out {option}, or name the recordings the tables were made from",
        )

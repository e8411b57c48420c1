"""What the files of sides say cycle by cycle: read at once, kept beside traces, found out once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import msgspec
import polars as pl
from msgspec import structs

from timesink.analyses.behaviour.anatomy import Anatomy, only_cycles
from timesink.analyses.behaviour.recorded_anatomy import with_calls
from timesink.analyses.behaviour.summary import of_cycles_alone
from timesink.analyses.columns import encode, host_columns
from timesink.comparison.inputs import LEFT_OUT, RecordingRef, SideReadOptions
from timesink.comparison.prefetch import CycleSearch, Helpers
from timesink.comparison.repeated_runs import timed_runs
from timesink.comparison.results import CycleUnit, Failure, Process, Run
from timesink.errors import NotFoundError, TimesinkError, UnreadableError, UsageError
from timesink.formats.behaviour import mend_table
from timesink.formats.counters import read_counters
from timesink.formats.source_file import read_trace
from timesink.model.fitness import Fitness, Reason
from timesink.model.health import behaviour_notes
from timesink.model.recorded_run import RecordedRun, recorded_run
from timesink.model.schema import host_and_pid
from timesink.model.trace import Trace
from timesink.model.units import count_noun, natural
from timesink.sources.cache import Cache, wait_until_saved
from timesink.sources.kept_answers import KeptAnswer, Tables, from_bytes, to_bytes
from timesink.sources.opening import Opened, key_of, open_each, open_recording, open_trace
from timesink.sources.recordings import Recording
from timesink.sources.sidecars import find_beside, run_file_in

if TYPE_CHECKING:
    from timesink.analyses.cycles.spans import Cycles
    from timesink.analyses.replay.own_clock import StepTime
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


def tables_of(run: Run, *, calls: bool = True) -> Tables:
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
    recorded = None if run.recorded is None else msgspec.to_builtins(run.recorded)
    about |= {"recorded": recorded, "anatomies": plain, "programs": programs, "work": works}
    about["reasons"] = [structs.asdict(reason) for reason in run.fitness.reasons]
    about["step_time"] = None if run.step_time is None else structs.asdict(run.step_time)
    return Tables(about, tables)


def run_of_tables(tables: Tables, source: RecordingRef, trace: Trace | None = None) -> Run:
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
    return Run(
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
        step_time=_stored_step_time(tables),
    )


def _stored_step_time(tables: Tables) -> StepTime | None:
    """The step time that was worked out; older baselines have none."""
    values = tables.about.get("step_time")
    if values is None:
        return None
    from timesink.analyses.replay.own_clock import StepTime  # noqa: PLC0415 - tables have none

    interval = values["interval_ns"]
    return StepTime(**{**values, "interval_ns": None if interval is None else tuple(interval)})


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


def _save_run(place: KeptAnswer, run: Run) -> None:
    """Keep the run of a recording, without the calls: only budgets and baselines need them."""
    tables = tables_of(run, calls=False)
    place.save(to_bytes(tables.about, tables.tables))


# -- recordings as runs: several at once, and from the cache where it has them --------------------


def recorded_runs(
    recorded: Mapping[Recording, RecordingRef], how: SideReadOptions
) -> Iterator[tuple[object, Run | Failure]]:
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


def _kept_or_found(source: RecordingRef, opened: Opened, how: SideReadOptions) -> Run | Failure:
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
    if place is not None and isinstance(run, Run) and run.trace is not None:
        _save_run(place, run)
    return run


# -- what recorders say that two sides do not have in common ---------------------------------------


def recorded_otherwise(base: Sequence[Run], new: Sequence[Run]) -> list[str]:
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


def _common_value(side: Sequence[Run], said_by: Callable[[RecordedRun], Any]) -> Any:
    """What all recorders of a side say; None where they differ, or one file has none."""
    values = {None if run.recorded is None else said_by(run.recorded) for run in side}
    return values.pop() if len(values) == 1 else None


def _unit(run: RecordedRun) -> str | None:
    """How steps are found; whichever optimizer steps, it is its step."""
    by, name = run.cycles.by, run.cycles.name
    return f"{by} {name}" if by in _NAMED and name else by


# -- one unit of repetition for all runs that are set beside each other ---------------------------


def by_units_of(failure: Failure, runs: Sequence[Run], finding: CycleSearch) -> Run | None:
    """A recording in which nothing was seen to repeat, by the unit of another; None without."""
    if failure.trace is None or finding.says_unit:
        return None
    units = _distinct_units([run.unit for run in runs])
    tried = (_by_unit(failure.source, failure.trace, unit, finding) for unit in units)
    return next((run for run in tried if run is not None), None)


def with_common_unit(runs: Sequence[Run], finding: CycleSearch) -> tuple[list[Run], list[str]]:
    """Runs whose cycles are the same unit, where one is found that all of them have.

    Cycles of behaviour tables are what they are; recordings are searched again for the unit of
    another run.
    """
    units = _distinct_units([run.unit for run in runs])
    if len(units) < 2 or all(run.trace is None for run in runs):
        return list(runs), []  # of tables alone, the check of the workload says it
    for unit in units:
        common_runs: list[Run] = []
        for run in runs:
            again: Run | None = run
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
) -> Run | None:
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


class RunReader:
    """Files that were read; one that is on both sides is read once."""

    def __init__(
        self, reading: SideReadOptions, runs_by_key: Mapping[object, Run] | None = None
    ) -> None:
        self.reading = reading
        self._kept = frozenset(runs_by_key or ())
        self._read: dict[object, Run | Failure] = dict(runs_by_key or {})

    def was_kept(self, source: RecordingRef) -> bool:
        """Whether a file is one of a baseline, and is not read again."""
        return source.key in self._kept

    def of(self, sources: Sequence[RecordingRef]) -> tuple[list[Run], list[Failure]]:
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
            [outcome for outcome in outcomes if isinstance(outcome, Run)],
            [outcome for outcome in outcomes if isinstance(outcome, Failure)],
        )


def _from_file(source: RecordingRef, finding: CycleSearch) -> Run | Failure:
    """What is open already, an exported trace, or a behaviour table: small, and read directly."""
    try:
        trace = source.trace
        if trace is None:
            trace = open_trace(source.path) if source.is_export else read_trace(source.path)
    except TimesinkError as error:
        return Failure(source, error)
    return run_or_failure(source, trace, finding)


def _plain_run(source: RecordingRef) -> Run | Failure:
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
    return Run(source, behaviour, CycleUnit(None, run.cycles.name), recorded=run)


def read_sides(
    runs: RunReader, sides: Sequence[Sequence[RecordingRef]]
) -> tuple[list[list[Run]], tuple[str, ...], tuple[str, ...]]:
    """The runs of each side, with cycles of one unit; notes, and why files could not be read.

    The notes say which cycles were taken, and name the files that could not be read as well.
    """
    finding = runs.reading.finding
    runs.of([source for side in sides for source in side])  # all of them at once
    read = [runs.of(side) for side in sides]
    everything = [run for side_runs, _ in read for run in side_runs]
    runs_by_side: list[list[Run]] = []
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


def check_recordings(runs: Sequence[Run], finding: CycleSearch) -> None:
    """Refuse to look for cycles where all of them are given."""
    if all(run.trace is None for run in runs):
        option = "--by" if finding.marker is None else "--marker"
        raise UsageError(
            f"{runs[0].source.path}: a behaviour table has fixed steps, {option} has no effect",
            f"leave out {option}, or name the recordings the tables were made from",
        )


# -- what traces say, cycle by cycle ---------------------------------------------------------------

_OF_COUNTERS = ("bad_counter_row", "unreadable_counters")


def run_or_failure(source: RecordingRef, trace: Trace, finding: CycleSearch) -> Run | Failure:
    """What a trace says, cycle by cycle, or why it says nothing."""
    try:
        return run_of(source, trace, finding)
    except NotFoundError as error:
        return Failure(source, error, replace(trace))
    except TimesinkError as error:
        return Failure(source, error)


def run_of(source: RecordingRef, trace: Trace, finding: CycleSearch) -> Run:
    """What a trace says, cycle by cycle."""
    if trace.behaviour.height:
        return _of_table(source, trace)
    if source.is_table or not trace.has_timeline:
        raise UnreadableError(
            f"{source.path}: holds no step",
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


def _of_table(source: RecordingRef, trace: Trace) -> Run:
    table, notes = mend_table(trace.behaviour)
    beside = trace.counters if trace.counters.height else None
    path = find_beside(source.path) if beside is None else None
    if path is not None:
        try:
            beside, _ = read_counters(path)
        except TimesinkError as error:
            notes = (*notes, f"counters beside the table were not read: {error.message}")
    anchors = table["anchor"].drop_nulls().cast(pl.String).unique().to_list()
    return Run(
        source,
        table,
        CycleUnit(None, anchors[0] if len(anchors) == 1 else None),
        rank=_rank(source, trace),
        notes=with_faults(trace, notes),
        beside=beside,
    )


def _refuse_damage(source: RecordingRef, trace: Trace) -> None:
    """Raise where no cycle can be found in what a damaged file has left, with the damage."""
    # As below.
    from timesink.analyses.damage import without_order  # noqa: PLC0415

    reason = without_order(trace)
    if reason is not None:
        raise UnreadableError(f"{source.path} cannot be judged: {reason.sentence}", reason.record)


def _rank(source: RecordingRef, trace: Trace) -> int | None:
    """The rank the recording states, else that of its name."""
    stated = trace.metadata.distributed.rank
    return source.recording.rank if stated is None else stated


def _of_timeline(source: RecordingRef, trace: Trace, finding: CycleSearch) -> Run:
    # Tables, and recordings that the cache has, wait for none of these.
    from timesink.analyses.behaviour.calls import without_recorders_ranges  # noqa: PLC0415
    from timesink.analyses.behaviour.classes import load_classes  # noqa: PLC0415
    from timesink.analyses.behaviour.recorded_anatomy import anatomies  # noqa: PLC0415
    from timesink.analyses.behaviour.table import behaviour_table  # noqa: PLC0415
    from timesink.analyses.cycles.annotations import mark_note  # noqa: PLC0415
    from timesink.analyses.cycles.search import find_cycles  # noqa: PLC0415
    from timesink.analyses.fitness import recording_fitness  # noqa: PLC0415
    from timesink.analyses.memory_curve import peak_memory, recording_start  # noqa: PLC0415
    from timesink.analyses.work.cycle_work import process_work  # noqa: PLC0415
    from timesink.comparison.program.calls import programs  # noqa: PLC0415

    _refuse_damage(source, trace)
    cycles = find_cycles(trace, marker=finding.marker, by=finding.by)
    program = without_recorders_ranges(trace, cycles)
    result = behaviour_table(program, cycles, load_classes(finding.metric_map))
    if result.table.is_empty():
        raise UnreadableError(
            f"{source.path}: nothing was recorded inside its "
            f"{count_noun(cycles.table.height, 'steps')}",
            "choose other steps with --marker or --by",
        )
    return Run(
        source,
        result.table,
        CycleUnit(cycles.method, cycles.anchor, mark_note(cycles.anchor) in cycles.notes),
        # A fresh one: the tables it has loaded go, and are loaded again should they be needed.
        trace=replace(trace),
        rank=_rank(source, trace),
        confidence=cycles.confidence,
        notes=with_faults(trace, [*cycles.notes, *result.notes]),
        anatomies=anatomies(program, cycles),
        programs=programs(program, cycles, recording_start(trace)),
        recorded=trace.metadata.run,
        peak_memory_bytes=peak_memory(trace),
        work=process_work(program, cycles),
        fitness=recording_fitness(trace),
        step_time=_step_time_at_once(trace, cycles),
    )


_LARGE = 200_000
"""Host events of a recording that takes longer to load again than to play while it is loaded: both
sides of a comparison need not be in memory at once."""


def _step_time_at_once(trace: Trace, cycles: Cycles) -> StepTime | None:
    """The step time of a large recording with marked steps, which most verdicts ask for."""
    if cycles.method != "step" or host_columns(trace).height < _LARGE:
        return None
    from timesink.analyses.replay.own_clock import step_time  # noqa: PLC0415 - as below

    return step_time(trace)


# -- the processes of a run: one per process, host and sort of cycle -------------------------------

UNKNOWN_PID = "unknown"


def processes_of(runs: Sequence[Run], *, ignore_hosts: bool = False) -> list[Process]:
    """Every process of a side, in the order of files, hosts and processes."""
    return [process for run in runs for process in _processes(run, ignore_hosts=ignore_hosts)]


def _processes(run: Run, *, ignore_hosts: bool) -> Iterator[Process]:
    parts = _parts_of(run.behaviour, ignore_hosts=ignore_hosts)
    keys = sorted(parts, key=lambda key: (key[1] or "", natural(key[0])))
    processes_of = {key: host_and_pid(key) for key in run.anatomies}
    for pid, host in keys:
        # None where several processes share the number.
        process_keys = [
            key
            for key, (machine, number) in processes_of.items()
            if pid in {number, number or UNKNOWN_PID} and host in (None, machine)
        ]
        only = process_keys[0] if len(process_keys) == 1 else None
        for suffix, rows in _by_suffix(parts[pid, host], run):
            yield Process(
                label="",
                source=str(run.source.path),
                pid=pid,
                behaviour=rows,
                host=host,
                rank=run.rank,
                method=run.unit.method,
                confidence=run.confidence,
                notes=run.notes,
                anatomy=None if only is None else only_cycles(run.anatomies[only], rows["cycle"]),
                program=None if only is None else run.programs.get(only),
                beside=run.beside,
                plain=timed_runs(run.recorded, str(run.source.path.parent)),
                peak_memory_bytes=run.peak_memory_bytes,
                work=None if only is None else run.work.get(only),
                fitness=run.fitness,
                step_time=_step_time(run),
                job=run.source.job,
                suffix=suffix,
                origin=run.source.key,
            )


def _parts_of(
    behaviour: pl.DataFrame, *, ignore_hosts: bool
) -> dict[tuple[str, str | None], pl.DataFrame]:
    """The rows of each process, by its number and its host."""
    hosts, pids = (encode(behaviour[name])[1] for name in ("host", "pid"))
    if len(hosts) == len(pids) == 1:
        host = None if ignore_hosts else (hosts[0] or "").strip() or None
        return {(UNKNOWN_PID if pids[0] is None else pids[0], host): behaviour}
    name, pid_of = pl.col("host").cast(pl.String).str.strip_chars(), pl.col("pid").cast(pl.String)
    # Empty is one host, and a process that names one host is all there.
    named = pl.when(name != "").then(name)
    only_one = named.drop_nulls().n_unique().over(pid_of) == 1
    host_of = pl.when(only_one).then(named.max().over(pid_of)).otherwise(named)
    table = behaviour.with_columns(
        pid_of.fill_null(UNKNOWN_PID).alias("_pid"),
        (pl.lit(None, pl.String) if ignore_hosts else host_of).alias("_host"),
    )
    parts = table.partition_by("_pid", "_host", as_dict=True, include_key=False)
    return cast("dict[tuple[str, str | None], pl.DataFrame]", parts)


def _step_time(run: Run) -> Callable[[], StepTime] | None:
    """How to work out the mean step of a recording without profiler overhead, on demand."""
    if run.trace is None or run.unit.method != "step":
        return None
    if run.step_time is not None:
        stored_time = run.step_time
        return lambda: stored_time
    # Only verdicts that it may turn need a replay of both recordings.
    from timesink.analyses.replay.own_clock import step_time  # noqa: PLC0415

    return partial(step_time, run.trace)


def _by_suffix(rows: pl.DataFrame, run: Run) -> Iterator[tuple[str, pl.DataFrame]]:
    """Rows by sort of cycle, where one table holds prompts and tokens."""
    if run.source.suffix:
        yield run.source.suffix, rows
        return
    types = sorted({kind or "generic" for kind in encode(rows["cycle_type"])[1]})
    if len(types) == 1:
        # Decode cycles without any others need no name of their own.
        suffix = "_prefill" if types[0] == "prefill" else ""
        yield "_layer" if run.unit.method == "layer" else suffix, rows
        return
    for kind in types:
        is_kind = pl.col("cycle_type").cast(pl.String).fill_null("generic") == kind
        yield ("" if kind == "generic" else f"_{kind}"), rows.filter(is_kind)

"""What recordings say cycle by cycle, kept beside their traces: it is not found out twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from functools import partial
from typing import Any, TypeVar

import polars as pl

from timesink.analyses.anatomy.anatomy import Anatomy
from timesink.analyses.anatomy.places import with_calls
from timesink.answers.ahead import Helpers, Question
from timesink.answers.comparison.runs import (
    CycleSearch,
    CycleUnit,
    Failure,
    SideReadOptions,
    SideRun,
    run_of,
    run_or_failure,
)
from timesink.answers.comparison.sides import SideSource
from timesink.errors import TimesinkError, UnreadableError
from timesink.formats.registry import read_trace
from timesink.model.recorded_run import RecordedRun, recorded_run
from timesink.model.trace import Trace
from timesink.sources.cache import Cache, wait_until_saved
from timesink.sources.kept_answers import KeptAnswer, Tables, from_bytes, to_bytes
from timesink.sources.opening import Opened, key_of, open_each, open_recording
from timesink.sources.recordings import Recording

# A run as tables and plain data, and back: what is kept of a recording once its trace is gone.

_BEHAVIOUR = "behaviour"
_BESIDE = "beside"


def tables_of(run: SideRun, *, calls: bool = True) -> Tables:
    """All that a run says but its source and its trace; `calls` takes a while."""
    tables, plain = {_BEHAVIOUR: run.behaviour}, {}
    if run.beside is not None:
        tables[_BESIDE] = run.beside
    for pid, anatomy in run.anatomies.items():
        values = {one.name: getattr(anatomy, one.name) for one in fields(anatomy)}
        del values["find_calls"]
        if calls:
            values["calls"] = anatomy.calls
        own = [name for name, value in values.items() if isinstance(value, pl.DataFrame)]
        tables |= {_name(pid, name): values.pop(name) for name in own}
        plain[pid] = {"tables": own, "values": values}
    about = {
        "method": run.unit.method,
        "anchor": run.unit.anchor,
        "between_marks": run.unit.between_marks,
        "rank": run.rank,
        "confidence": run.confidence,
        "notes": run.notes,
        "recorded": None if run.recorded is None else asdict(run.recorded),
        "anatomies": plain,
    }
    return Tables(about, tables)


def run_of_tables(kept: Tables, source: SideSource, trace: Trace | None = None) -> SideRun:
    """The run that was kept, of this source."""
    about = kept.about
    recorded = about.get("recorded")
    anatomies = dict(_anatomies(about["anatomies"], kept.tables))
    return SideRun(
        source,
        kept.tables[_BEHAVIOUR],
        CycleUnit(about["method"], about["anchor"], about["between_marks"]),
        trace=trace,
        rank=about["rank"],
        confidence=about["confidence"],
        notes=tuple(about["notes"]),
        anatomies=anatomies if trace is None else with_calls(trace, anatomies),
        beside=kept.tables.get(_BESIDE),
        recorded=None if recorded is None else recorded_run(recorded)[0],
    )


def _anatomies(
    plain: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]
) -> Iterator[tuple[str, Anatomy]]:
    for pid, about in plain.items():
        values: dict[str, Any] = dict(about["values"])
        values["notes"] = tuple(values["notes"])
        values |= {name: tables[_name(pid, name)] for name in about["tables"]}
        calls = values.pop("calls", None)
        found = Anatomy(**values)
        yield pid, found if calls is None else replace(found, find_calls=partial(_same, calls))


def _same(calls: pl.DataFrame) -> pl.DataFrame:
    return calls


def _name(pid: str, table: str) -> str:
    return f"{table} of {pid}"


def keep_runs(
    store: Cache, recordings: Sequence[Recording], question: Question, cores: int
) -> None:
    """Find out what recordings say and keep it; errors are left to whoever asks for it."""
    finding = CycleSearch(question.marker, question.by)
    for recording in recordings:
        source = SideSource(recording, is_table=False, job="")
        with suppress(TimesinkError):
            trace = open_recording(recording, store, jobs=cores, in_background=True)
            place = place_for(source, finding, store)
            if place is not None and place.load() is None:
                save_run(place, run_of(source, trace, finding))
    for recording in recordings:
        wait_until_saved(store, key_of(recording, store))


def place_for(
    source: SideSource, finding: CycleSearch, store: Cache | None = None
) -> KeptAnswer | None:
    """Where the run of a recording is kept; None where it is not."""
    # A map of one's own may change at any time.
    if finding.metric_map is not None:
        return None
    store = store or Cache.default()
    key = key_of(source.recording, store)
    question = ("run", str(source.path), finding.marker, finding.by)
    return KeptAnswer.about(store, key, question) if key else None


def load_run(place: KeptAnswer, source: SideSource, trace: Trace) -> SideRun | None:
    """The run of a recording as it was kept; None where none is."""
    content = place.load()
    kept = None if content is None else from_bytes(content)
    if kept is None:
        return None
    return run_of_tables(kept, source, replace(trace))


def save_run(place: KeptAnswer, run: SideRun) -> None:
    """Keep the run of a recording, without the calls: only budgets and baselines need them."""
    kept = tables_of(run, calls=False)
    place.save(to_bytes(kept.about, kept.tables))


# Recordings as runs: several at once, and from the cache where it has them.

Found = tuple[object, SideRun | Failure]
"""Key of a source, and what came of it."""


def recorded_runs(
    recorded: Mapping[Recording, SideSource], how: SideReadOptions
) -> Iterator[Found]:
    """What came of each recording."""
    finding = how.finding
    if not how.cache or finding.metric_map is not None:
        # What goes by a map of one's own is not kept, so nobody else can find it.
        opened = open_each(list(recorded), cache=how.cache, jobs=how.jobs, progress=how.progress)
        yield from (_found(recorded[one.recording], one, how) for one in opened)
        return
    with Helpers(list(recorded), Question(finding.marker, finding.by), how.jobs) as helpers:
        own = [one for one in recorded if not helpers.have(one)]
        for one in own:
            yield _found(recorded[one], _opened(one, helpers.cores, how), how)
        others = [one for one in recorded if helpers.have(one)]
        helpers.wait()
    for one in others:
        yield _found(recorded[one], _opened(one, how.jobs, how), how)


def _opened(recording: Recording, cores: int | None, how: SideReadOptions) -> Opened:
    """One recording, kept in the cache while its cycles are looked for."""
    store = Cache.default()
    try:
        trace = open_recording(
            recording, store, jobs=cores, progress=how.progress, in_background=store.is_writable()
        )
    except TimesinkError as error:
        return Opened(recording, None, error)
    return Opened(recording, trace)


def _found(source: SideSource, opened: Opened, how: SideReadOptions) -> Found:
    if opened.trace is None:
        error = opened.error or UnreadableError.empty(source.path)
        return source.key, Failure(source, error)
    return source.key, _kept_or_found(source, opened.trace, how)


def _kept_or_found(source: SideSource, trace: Trace, how: SideReadOptions) -> SideRun | Failure:
    """The run of a recording: as it was kept, else found and kept."""
    if not how.cache:
        return run_or_failure(source, trace, how.finding)
    place = place_for(source, how.finding)
    kept = None if place is None else load_run(place, source, trace)
    if kept is not None:
        return kept
    found = run_or_failure(source, trace, how.finding)
    if place is not None and isinstance(found, SideRun) and found.trace is not None:
        save_run(place, found)
    return found


# What recorders say that two sides do not have in common, in sentences.

_NOT_THE_PROGRAM = frozenset({"timesink"})
"""Versions of what the program does not run on."""
_NAMED = ("function", "annotation")
Fact = TypeVar("Fact")


def recorded_otherwise(base: Sequence[SideRun], new: Sequence[SideRun]) -> list[str]:
    """How the recordings of two sides differ before anything is measured.

    Sides whose files disagree among themselves, or that no recorder described, say nothing.
    """
    cycles = _both(base, new, _unit)
    versions = _both(base, new, lambda run: tuple(sorted(run.versions.items())))
    notes = []
    if cycles is not None and cycles[0] != cycles[1]:
        notes.append(f"cycles were recorded by {cycles[0]} in base, by {cycles[1]} in new")
    if versions is not None:
        notes += _changed(dict(versions[0]), dict(versions[1]))
    return notes


def _both(
    base: Sequence[SideRun], new: Sequence[SideRun], fact: Callable[[RecordedRun], Fact | None]
) -> tuple[Fact, Fact] | None:
    found = []
    for side in (base, new):
        told = {None if run.recorded is None else fact(run.recorded) for run in side}
        (only,) = told if len(told) == 1 else (None,)
        if only is None:
            return None
        found.append(only)
    return found[0], found[1]


def _unit(run: RecordedRun) -> str | None:
    """What a cycle is; whichever optimizer steps, it is its step."""
    by, name = run.cycles.by, run.cycles.name
    return f"{by} {name}" if by in _NAMED and name else by


def _changed(base: dict[str, str], new: dict[str, str]) -> list[str]:
    changed = [
        f"{name} {base[name]} → {new[name]}"
        for name in base
        if name in new and base[name] != new[name] and name not in _NOT_THE_PROGRAM
    ]
    return [f"recorded with other versions: {', '.join(changed)}"] if changed else []


class Runs:
    """Files that were read; one that is on both sides is read once."""

    def __init__(
        self, reading: SideReadOptions, known: Mapping[object, SideRun] | None = None
    ) -> None:
        self._reading = reading
        self._kept = frozenset(known or ())
        self._read: dict[object, SideRun | Failure] = dict(known or {})

    def was_kept(self, source: SideSource) -> bool:
        """Whether a file is one of a baseline, and is not read again."""
        return source.key in self._kept

    def of(self, sources: Sequence[SideSource]) -> tuple[list[SideRun], list[Failure]]:
        """The runs of files, and what came to nothing."""
        missing = [one for one in sources if one.key not in self._read]
        self._read.update(self._opened(missing))
        found = [self._read[one.key] for one in sources]
        return (
            [one for one in found if isinstance(one, SideRun)],
            [one for one in found if isinstance(one, Failure)],
        )

    def _opened(self, sources: Sequence[SideSource]) -> Iterator[tuple[object, SideRun | Failure]]:
        how = self._reading
        recorded = {}
        for source in sources:
            if source.is_table or source.is_export or source.trace is not None:
                yield source.key, _from_file(source, how.finding)
            else:
                recorded[source.recording] = source
        if not recorded:
            return
        # Behaviour tables are compared without waiting for what only recordings need.

        yield from recorded_runs(recorded, how)


def _from_file(source: SideSource, finding: CycleSearch) -> SideRun | Failure:
    try:
        trace = _opened_directly(source)
    except TimesinkError as error:
        return Failure(source, error)
    return run_or_failure(source, trace, finding)


def _opened_directly(source: SideSource) -> Trace:
    """What is open already, an exported trace, or a behaviour table: small, and read directly."""
    if source.trace is not None:
        return source.trace
    if source.is_export:
        from timesink.sources.opening import open_trace  # noqa: PLC0415

        return open_trace(source.path)
    return read_trace(source.path)

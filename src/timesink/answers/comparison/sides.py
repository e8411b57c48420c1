"""What a path holds: a recording, a behaviour table, a folder of them, or whole cases."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from timesink.errors import UnreadableError
from timesink.formats.file_names import is_named_as_table, rank_in_name
from timesink.formats.written_files import is_folder
from timesink.model.trace import Trace
from timesink.model.units import counted
from timesink.sources.discovery import find_recordings, recordings_in
from timesink.sources.places import folders_below, place_of, shown
from timesink.sources.recordings import Recording
from timesink.sources.run_facts import (
    find_behaviour_tables,
    is_behaviour_table,
    may_be_tables,
    why_no_table,
)

CASE_SIDES = (("normal_perf_data", "abnormal_perf_data"), ("normal", "abnormal"))
"""Folders whose names say which side of a case they are; the first pair that is there counts."""

SUFFIXES = ("_prefill", "_decode", "_layer")
"""How the names of behaviour tables say which cycles they hold."""

_ENDING = re.compile(
    r"\.(?:gz|zip|json|sqlite|csv|parquet|pt\.trace|trace|perf_data|behaviour)$", re.IGNORECASE
)
_TIMESTAMP = re.compile(r"(?<=[^.])\.\d{9,}$")
"""When a profiler began to write; another run has another."""
_TABLE_WORD = re.compile(r"[_.-](?:perf_data|behaviour)$", re.IGNORECASE)
LEFT_OUT = "left out: "
"""How notes begin that say why something is not compared ..."""
ALONE = "without a partner on the other side, and not compared"
"""... and those that say which processes are not."""


@dataclass(frozen=True, slots=True)
class CaseFolder:
    """A folder that holds both sides."""

    folder: Path
    base: Path
    new: Path


@dataclass(frozen=True, slots=True, eq=False)
class SideSource:
    """One file of a side, or one exported trace."""

    recording: Recording
    is_table: bool
    """Whether it is a behaviour table, which has no timeline."""
    job: str
    """Its name below the folder that was given, without endings: pairs files of both sides."""
    suffix: str = ""
    """Which cycles it holds, as its name says."""
    is_export: bool = False
    trace: Trace | None = None
    """What was given opened."""

    @property
    def path(self) -> Path:
        return self.recording.path

    @property
    def key(self) -> tuple[Path, int | None]:
        """What tells it from others: traces given opened may come from one file."""
        return self.path.resolve(), None if self.trace is None else id(self.trace)


@dataclass(frozen=True, slots=True)
class RunSide:
    """The files of one side, and what to know about them."""

    path: Path
    sources: tuple[SideSource, ...]
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Why files that are named as tables are not compared; notes name them as well."""


def find_cases(path: Path) -> list[CaseFolder]:
    """Cases at a path: folders that hold a normal and an abnormal run, in the order of names."""
    return [case for folder in folders_below(path) if (case := _case(folder)) is not None]


def _case(folder: Path) -> CaseFolder | None:
    for base, new in CASE_SIDES:
        if (folder / base).is_dir() and (folder / new).is_dir():
            return CaseFolder(folder, folder / base, folder / new)
    return None


def find_side(path: Path, rank: int | None = None) -> RunSide:
    """Every recording or behaviour table at a path, or those that may be of a rank; never none."""
    return of_rank(_side(path), rank)


def of_rank(side: RunSide, rank: int | None) -> RunSide:
    """The files of a side that may be of a rank; at least one."""
    fitting = tuple(one for one in side.sources if _may_be_rank(one, rank))
    if not fitting:
        raise UnreadableError.none_fits(side.path, [one.recording.label for one in side.sources])
    return replace(side, sources=fitting)


def _may_be_rank(source: SideSource, rank: int | None) -> bool:
    """Whether the name of the file says that it is the rank, or leaves it open."""
    return rank is None or source.recording.rank in (None, rank)


def _side(path: Path) -> RunSide:
    place = place_of(path)
    if not isinstance(place, Path):
        return _side_elsewhere(place)
    if is_folder(path):
        return RunSide(path, (_export(path),))
    if path.is_dir():
        return _side_in_folder(path)
    if is_behaviour_table(path):
        return RunSide(path, (_table(path, path.parent),))
    return RunSide(path, tuple(_trace(one, path.parent) for one in find_recordings(path)))


def _side_elsewhere(place: str) -> RunSide:
    """Recordings that a pattern fits, or that are behind a URL."""
    found = find_recordings(place)
    root = Path(os.path.commonpath([one.path.parent for one in found]))
    return _first_spans(Path(shown(place)), found, root)


def _side_in_folder(folder: Path) -> RunSide:
    """Tables of the folder itself before its traces, and both before what lies deeper."""
    found = _found_in_folder(folder)
    lost = _left_out(folder, found.sources)
    notes = (*found.notes, *(f"{LEFT_OUT}{why}" for why in lost.values()))
    # Other tables may lie there for other reasons.
    meant = [why for path, why in lost.items() if is_named_as_table(path.name)]
    return replace(found, notes=notes, left_out=tuple(meant))


def _found_in_folder(folder: Path) -> RunSide:
    tables = _distinct(find_behaviour_tables(folder))
    traces = len(recordings_in(folder))
    own = [path for path in tables if path.parent == folder]
    if own:
        beside = f"{folder}: the behaviour table is compared, not the trace beside it"
        return RunSide(folder, _tables(own, folder), (beside,) if traces else ())
    if tables and not traces:
        return RunSide(folder, (*_tables(tables, folder), *_traces_elsewhere(folder, tables)))
    return _by_content(folder) if not traces else _traces(folder)


def _by_content(folder: Path) -> RunSide:
    """What a folder without traces, and without tables named so, holds: tables of any name."""
    # Looked for last: every file has to be opened for it.
    tables = _distinct([path for path in _loose_files(folder) if is_behaviour_table(path)])
    own = [path for path in tables if path.parent == folder]
    try:
        below = _traces(folder)
    except UnreadableError as error:
        if not tables:
            raise _no_table(folder, error) from None
        return RunSide(folder, _tables(tables, folder))
    if not own:
        return below
    note = f"{folder}: its behaviour tables are compared, not the recordings in folders below"
    return RunSide(folder, _tables(own, folder), (note,))


def _loose_files(folder: Path) -> list[Path]:
    """Files that may be tables, without those that make up an exported trace."""
    return [path for path in may_be_tables(folder) if not is_folder(path.parent)]


def _no_table(folder: Path, error: UnreadableError) -> UnreadableError:
    """Why a folder has nothing to compare: its only table, where there is one, or what was said."""
    reasons = list(_left_out(folder, ()).values())
    if not reasons:
        return error
    more = f" (and {counted(len(reasons) - 1, 'other files')})" if len(reasons) > 1 else ""
    return UnreadableError(f"{reasons[0]}{more}", error.hint)


def _left_out(folder: Path, sources: Sequence[SideSource]) -> dict[Path, str]:
    """Why files are not compared that are meant as tables, by their name or their place.

    Among tables every CSV and Parquet file is; elsewhere only what is named as a table.
    """
    taken = {source.path.resolve() for source in sources}
    by_place = {source.path.resolve().parent for source in sources if source.is_table}
    by_place |= set() if sources else {folder.resolve()}
    meant = [
        path
        for path in _loose_files(folder)
        if path.resolve() not in taken
        and (is_named_as_table(path.name) or path.resolve().parent in by_place)
    ]
    return {path: why for path in meant if (why := _why_left_out(path)) is not None}


def _why_left_out(path: Path) -> str | None:
    if not is_behaviour_table(path):
        return why_no_table(path)
    if is_named_as_table(path.name):
        return None  # below a folder that has tables of its own, or beside traces
    return f"{path}: a behaviour table, but not named as one, as others here are"


def _traces_elsewhere(folder: Path, tables: Sequence[Path]) -> Iterator[SideSource]:
    """Recordings below a folder of which there is no behaviour table beside them."""
    places = {path.resolve().parent for path in tables}
    with suppress(UnreadableError):
        found = _traces(folder).sources
        yield from (one for one in found if one.path.resolve().parent not in places)


def _distinct(paths: Sequence[Path]) -> list[Path]:
    """Files in order, each once however many links lead to it; the shortest way counts."""
    nearest = sorted(paths, key=lambda path: (len(path.parts), path), reverse=True)
    return sorted({path.resolve(): path for path in nearest}.values())


def _tables(paths: Sequence[Path], root: Path) -> tuple[SideSource, ...]:
    return tuple(_table(path, root) for path in paths)


def _traces(folder: Path) -> RunSide:
    return _first_spans(folder, find_recordings(folder), folder)


def _first_spans(path: Path, found: Sequence[Recording], root: Path) -> RunSide:
    first = [one for one in found if one.span in (None, 1)]
    more = len(found) - len(first)
    note = f"{path}: the first span of each worker is compared; name a file for another ({more})"
    return RunSide(path, tuple(_trace(one, root) for one in first), (note,) if more else ())


def _export(path: Path) -> SideSource:
    recording = Recording(path, path.name, None, rank_in_name(path.name))
    return SideSource(recording, is_table=False, job=path.name, is_export=True)


def _trace(recording: Recording, root: Path) -> SideSource:
    job, suffix = _job(recording.path, root)
    return SideSource(recording, is_table=False, job=f"{job}{suffix}")


def _table(path: Path, root: Path) -> SideSource:
    job, suffix = _job(path, root)
    recording = Recording(path, path.name, None, rank_in_name(path.name))
    return SideSource(recording, is_table=True, job=job, suffix=suffix)


def _job(path: Path, root: Path) -> tuple[str, str]:
    below = path.relative_to(root) if path.is_relative_to(root) else Path(path.name)
    job = stem_of(below.name)
    # A file may be called by its cycles alone.
    suffix = next((suffix for suffix in SUFFIXES if f"_{job}".endswith(suffix)), "")
    job = f"_{job}".removesuffix(suffix).removeprefix("_")
    return (below.parent / job).as_posix(), suffix


def stem_of(name: str) -> str:
    """The name of a file without what only says its format."""
    stem = name
    while (shorter := _ENDING.sub("", stem)) not in ("", stem):
        stem = shorter
    return _TABLE_WORD.sub("", _TIMESTAMP.sub("", stem)) or stem


def side_of_trace(trace: Trace) -> RunSide:
    """A trace that is open already as a side."""
    about = trace.metadata
    path = Path(about.source)
    recording = Recording(path, about.worker or path.name, about.span, about.distributed.rank)
    return RunSide(
        path, (SideSource(recording, is_table=False, job=stem_of(path.name), trace=trace),)
    )

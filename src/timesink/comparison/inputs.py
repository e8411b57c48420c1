"""What a path holds: a recording, a behaviour table, a folder of them, or whole cases."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from timesink.comparison.prefetch import CycleSearch
from timesink.errors import UnreadableError, UsageError
from timesink.formats.file_names import is_named_as_table, rank_in_name
from timesink.formats.read_options import Progress
from timesink.formats.stored_names import is_folder
from timesink.model.trace import Trace
from timesink.model.units import count_noun
from timesink.patterns import regex
from timesink.sources.ab_folder import refuse_ab
from timesink.sources.discovery import find_recordings, recordings_in
from timesink.sources.places import display_place, folders_below, place_of
from timesink.sources.recordings import Recording
from timesink.sources.run_facts import (
    find_behaviour_tables,
    is_behaviour_table,
    may_be_tables,
    plain_run_in,
    why_no_table,
)
from timesink.sources.sidecars import RUN_FILE

CASE_SIDES = (("normal_perf_data", "abnormal_perf_data"), ("normal", "abnormal"))
"""Folders whose names say which side of a case they are; the first pair that is there counts."""

SUFFIXES = ("_prefill", "_decode", "_layer")
"""How the names of behaviour tables say which cycles they hold."""

_ENDING = regex(
    r"\.(?:gz|zip|json|sqlite|csv|parquet|pt\.trace|trace|perf_data|behaviour)$", re.IGNORECASE
)
_TIMESTAMP = regex(r"(?<=[^.])\.\d{9,}$")
"""When a profiler began to write; another run has another."""
_TABLE_WORD = regex(r"[_.-](?:perf_data|behaviour)$", re.IGNORECASE)
LEFT_OUT = "left out: "
"""How notes begin that say why something is not compared ..."""
UNPAIRED = "without a partner on the other side, and not compared"
"""... and those that say which processes are not."""
WHAT_COMPARES = "give two recordings, folders or behaviour tables, or a folder with both sides"
"""What to give instead of what cannot be compared."""


@dataclass(frozen=True, slots=True)
class CaseFolder:
    """A folder that holds both sides."""

    folder: Path
    base: Path
    new: Path


@dataclass(frozen=True, slots=True, eq=False)
class RecordingRef:
    """One file of a side, or one exported trace."""

    recording: Recording
    is_table: bool
    """Whether it is a behaviour table, which has no timeline."""
    job: str
    """Its name below the folder that was given, without endings: pairs files of both sides."""
    suffix: str = ""
    """Which cycles it holds, as its name says."""
    is_export: bool = False
    is_plain: bool = False
    """Whether it is the description of a run without a timeline: unprofiled steps alone."""
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
class RunInput:
    """The files of one side, and what to know about them."""

    path: Path
    sources: tuple[RecordingRef, ...]
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Why files that are named as tables are not compared; notes name them as well."""


GivenSide = Path | Trace | RunInput
"""A source: where it lies, a trace that is open, or the side that a baseline is."""


def find_cases(path: Path) -> list[CaseFolder]:
    """Cases at a path: folders that hold a normal and an abnormal run, in the order of names."""
    cases = []
    for folder in folders_below(path):
        both = ((folder / base, folder / new) for base, new in CASE_SIDES)
        sides = next((pair for pair in both if all(side.is_dir() for side in pair)), None)
        if sides is not None:
            cases.append(CaseFolder(folder, *sides))
    return cases


def check_given(sides: Sequence[GivenSide]) -> None:
    """Refuse what is not there before anything is read."""
    if not sides:
        raise UsageError("nothing to compare", WHAT_COMPARES)
    for side in sides:
        # A pattern and a URL are looked for when they are read.
        if isinstance(side, Path) and place_of(side) == side and not side.exists():
            raise UnreadableError.missing(side)


def path_of(side: GivenSide) -> Path:
    """Where a source is, or was read from."""
    if isinstance(side, Path):
        return side
    return Path(side.metadata.source) if isinstance(side, Trace) else side.path


def source_of(side: GivenSide) -> str:
    """Where it lies, as it may be shown: a URL without its password."""
    return display_place(place_of(path_of(side)))


def side_of(side: GivenSide, rank: int | None) -> RunInput:
    """What a source has to compare."""
    if isinstance(side, Path):
        return find_side(side, rank)
    return side_of_trace(side) if isinstance(side, Trace) else _of_rank(side, rank)


def side_of_trace(trace: Trace) -> RunInput:
    """A trace that is open already as a side."""
    about = trace.metadata
    path = Path(about.source)
    recording = Recording(path, about.worker or path.name, about.span, about.distributed.rank)
    return RunInput(
        path, (RecordingRef(recording, is_table=False, job=stem_of(path.name), trace=trace),)
    )


def _of_rank(side: RunInput, rank: int | None) -> RunInput:
    """The files of a side that may be of a rank, or leave it open; at least one."""
    fitting = tuple(
        source for source in side.sources if rank is None or source.recording.rank in (None, rank)
    )
    if not fitting:
        raise UnreadableError.none_fits(
            side.path, [source.recording.label for source in side.sources]
        )
    return replace(side, sources=fitting)


def find_side(path: Path, rank: int | None = None) -> RunInput:
    """Every recording or behaviour table at a path, or those that may be of a rank; never none."""
    place = place_of(path)
    refuse_ab(path)
    if not isinstance(place, Path):
        # Recordings that a pattern fits, or that are behind a URL.
        recordings = find_recordings(place)
        root = Path(os.path.commonpath([recording.path.parent for recording in recordings]))
        side = _first_spans(Path(display_place(place)), recordings, root)
    elif is_folder(path):
        recording = Recording(path, path.name, None, rank_in_name(path.name))
        export = RecordingRef(recording, is_table=False, job=path.name, is_export=True)
        side = RunInput(path, (export,))
    elif is_plain_recording(path):
        described = path / RUN_FILE
        recording = Recording(described, path.name, None, None)
        side = RunInput(path, (RecordingRef(recording, False, path.name, is_plain=True),))
    elif path.is_dir():
        side = _side_in_folder(path)
    elif is_behaviour_table(path):
        side = RunInput(path, _tables([path], path.parent))
    else:
        traces = tuple(_trace(recording, path.parent) for recording in find_recordings(path))
        side = RunInput(path, traces)
    return _of_rank(side, rank)


def is_plain_recording(folder: Path) -> bool:
    """Whether a folder holds unprofiled steps of a whole run, and no timeline."""
    file = plain_run_in(folder)
    return file is not None and file.run is not None and bool(file.run.own_plain_ns)


def _side_in_folder(folder: Path) -> RunInput:
    """Tables of the folder itself before its traces, and both before what lies deeper."""
    side = _found_in_folder(folder)
    lost = _left_out(folder, side.sources)
    notes = (*side.notes, *(f"{LEFT_OUT}{why}" for why in lost.values()))
    # Other tables may lie there for other reasons.
    reasons = [why for path, why in lost.items() if is_named_as_table(path.name)]
    return replace(side, notes=notes, left_out=tuple(reasons))


def _found_in_folder(folder: Path) -> RunInput:
    tables = _distinct(find_behaviour_tables(folder))
    traces = len(recordings_in(folder))
    direct_tables = [path for path in tables if path.parent == folder]
    if direct_tables:
        beside = f"{folder}: the behaviour table is compared, not the trace beside it"
        return RunInput(folder, _tables(direct_tables, folder), (beside,) if traces else ())
    if tables and not traces:
        # And recordings below it of which there is no behaviour table beside them.
        places = {path.resolve().parent for path in tables}
        sources = [*_tables(tables, folder)]
        with suppress(UnreadableError):
            below = _traces(folder).sources
            sources += [source for source in below if source.path.resolve().parent not in places]
        return RunInput(folder, tuple(sources))
    return _traces(folder) if traces else _by_content(folder)


def _by_content(folder: Path) -> RunInput:
    """What a folder without traces, and without tables named so, holds: tables of any name."""
    # Looked for last: every file has to be opened for it.
    tables = _distinct([path for path in _loose_files(folder) if is_behaviour_table(path)])
    direct_tables = [path for path in tables if path.parent == folder]
    try:
        below = _traces(folder)
    except UnreadableError as error:
        if tables:
            return RunInput(folder, _tables(tables, folder))
        # Its only table, where there is one, says why there is nothing to compare.
        reasons = list(_left_out(folder, ()).values())
        if not reasons:
            raise
        more = f" (and {count_noun(len(reasons) - 1, 'other files')})" if len(reasons) > 1 else ""
        raise UnreadableError(f"{reasons[0]}{more}", error.hint) from None
    if not direct_tables:
        return below
    note = f"{folder}: its behaviour tables are compared, not the recordings in folders below"
    return RunInput(folder, _tables(direct_tables, folder), (note,))


def _loose_files(folder: Path) -> list[Path]:
    """Files that may be tables, without those that make up an exported trace."""
    return [path for path in may_be_tables(folder) if not is_folder(path.parent)]


def _left_out(folder: Path, sources: Sequence[RecordingRef]) -> dict[Path, str]:
    """Why files are not compared that are meant as tables, by their name or their place.

    Among tables every CSV and Parquet file is; elsewhere only what is named as a table.
    """
    taken = {source.path.resolve() for source in sources}
    by_place = {source.path.resolve().parent for source in sources if source.is_table}
    by_place |= set() if sources else {folder.resolve()}
    candidates = [
        path
        for path in _loose_files(folder)
        if path.resolve() not in taken
        and (is_named_as_table(path.name) or path.resolve().parent in by_place)
    ]
    lost = {}
    for path in candidates:
        if not is_behaviour_table(path):
            lost[path] = why_no_table(path)
        elif not is_named_as_table(path.name):
            # Those named so lie below a folder that has tables of its own, or beside traces.
            lost[path] = f"{path}: a behaviour table, but not named as one, as others here are"
    return {path: why for path, why in lost.items() if why is not None}


def _distinct(paths: Sequence[Path]) -> list[Path]:
    """Files in order, each once however many links lead to it; the shortest way counts."""
    nearest = sorted(paths, key=lambda path: (len(path.parts), path), reverse=True)
    return sorted({path.resolve(): path for path in nearest}.values())


def _tables(paths: Sequence[Path], root: Path) -> tuple[RecordingRef, ...]:
    sources = []
    for path in paths:
        job, suffix = _job(path, root)
        recording = Recording(path, path.name, None, rank_in_name(path.name))
        sources.append(RecordingRef(recording, is_table=True, job=job, suffix=suffix))
    return tuple(sources)


def _traces(folder: Path) -> RunInput:
    return _first_spans(folder, find_recordings(folder), folder)


def _first_spans(path: Path, recordings: Sequence[Recording], root: Path) -> RunInput:
    first = [recording for recording in recordings if recording.span in (None, 1)]
    more = len(recordings) - len(first)
    note = f"{path}: the first span of each worker is compared; name a file for another ({more})"
    return RunInput(
        path, tuple(_trace(recording, root) for recording in first), (note,) if more else ()
    )


def _trace(recording: Recording, root: Path) -> RecordingRef:
    job, suffix = _job(recording.path, root)
    return RecordingRef(recording, is_table=False, job=f"{job}{suffix}")


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


@dataclass(frozen=True, slots=True)
class SideReadOptions:
    """How files are read."""

    cache: bool = True
    jobs: int | None = None
    progress: Progress | None = None
    finding: CycleSearch = field(default_factory=CycleSearch)

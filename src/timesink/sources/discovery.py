"""Recordings at a place: which files, whose worker, which span, which rank.

What a command was given is resolved once, as an `Input`, and handed down from there.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from timesink.errors import AmbiguousError, SeveralRunsError, TimesinkError, UnreadableError
from timesink.formats.collective_logs.signatures import is_log_folder
from timesink.formats.file_names import (
    Folder,
    folder_of,
    is_named_as_table,
    is_profiler_name,
    rank_in_head,
    stem_of,
    without_rank,
)
from timesink.formats.source_file import open_source
from timesink.formats.stored_names import is_folder
from timesink.model.units import count_noun, join_names, natural
from timesink.model.vendors import PARSED_FOLDERS
from timesink.patterns import regex
from timesink.recorder.places import CONTROL_FOLDER
from timesink.recorder.processes import safe_text
from timesink.sources.ab_folder import refuse_ab
from timesink.sources.captures import CaptureFile, named_captures
from timesink.sources.places import (
    Place,
    display_place,
    folders_below,
    is_pattern,
    is_url,
    place_of,
)
from timesink.sources.recordings import Recording, recording_of
from timesink.sources.sidecars import (
    counters_of_run,
    is_named_as_snapshot,
    is_snapshot_file,
    is_trace_file,
    run_file_in,
    sidecars_of,
)


def _refuse_raw_data(path: Path) -> None:
    """Say what makes traces of the data of a profiler, where a folder holds the data alone."""
    names = [entry.name for entry in path.iterdir() if entry.is_dir()]
    for row in PARSED_FOLDERS.values():
        if any(name.startswith(row.raw_folders) for name in names):
            raise UnreadableError(
                f"{path}: data of the profiler of {row.title} that was not parsed",
                f"parse it where it was recorded:  {row.parse_call}({path.name!r})",
            )


def files_at(path: Path) -> list[Path]:
    """The traces at a path: the file itself, or those of the folder, else of folders below it."""
    if not path.exists():
        raise UnreadableError.missing(path)
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UnreadableError(
            f"{path}: neither a file nor a folder", "give the trace as a file; pipes are not read"
        )
    # Folders inside a run are not part of it; a folder of runs has no trace of its own.
    files = _recorded_in(path) or _recorded_below(path)
    if not files:
        from timesink.sources.run_facts import find_behaviour_tables  # noqa: PLC0415 - few need it

        files = find_behaviour_tables(path)
    if files:
        return files
    _refuse_raw_data(path)
    if (path / CONTROL_FOLDER).is_dir():
        raise UnreadableError(
            f"{path}: this recording is not finished",
            "wait for `timesink record` to end; if it was killed, record again",
        )
    refuse_ab(path)
    run = run_file_in(path)
    if run is not None and run.run is not None and run.run.plain_ns:
        ranks = len(run.run.processes)
        of_one = f" of one of {ranks} processes," if ranks > 1 else ""
        cycles = count_noun(len(run.run.plain_ns), "unprofiled steps")
        raise UnreadableError(
            f"{path}: {cycles}{of_one} without a timeline",
            f"timesink info {shlex.quote(str(path))}  shows them",
        )
    if run is not None and run.run is None:
        hint = "copy the folder again, or record again"
        raise UnreadableError(f"{path}: no trace, and {', '.join(run.unused)}", hint)
    if run is not None:
        raise UnreadableError(
            f"{path}: a recording without a trace and without counters",
            (run.run and run.run.why_partial) or "record a program that uses PyTorch, or counters",
        )
    raise _no_trace(path)


def _no_trace(folder: Path) -> UnreadableError:
    if not is_log_folder(folder):
        return UnreadableError.no_trace(folder)
    return UnreadableError(
        f"{folder}: holds logs of collectives, which have no timeline",
        "ask  timesink analyze, or timesink compare with the logs of another run",
    )


def matching_traces(pattern: str) -> list[Path]:
    """Traces that a pattern of paths fits, and those in folders that it fits."""
    # The pattern may begin anywhere, which pathlib does not take.
    matches = [Path(match) for match in sorted(glob.glob(pattern, recursive=True))]  # noqa: PTH207
    named = [file for file in matches if file.is_file()]
    folders = [folder for folder in matches if folder.is_dir()]
    traces = [file for file in named if is_trace_file(file)]
    traces += [file for folder in folders for file in _recorded_in(folder)]
    traces = traces or [file for folder in folders for file in _recorded_below(folder)]
    files = traces or [file for file in named if is_named_as_table(file.name)] or named
    if not files:
        raise UnreadableError.no_match(pattern)
    return _each_once(files)


def _each_once(files: list[Path]) -> list[Path]:
    """A file is there once, however many ways and links lead to it; the first of them counts."""
    return list({file.resolve(): file for file in reversed(files)}.values())[::-1]


def traces_in(folder: Path) -> list[Path]:
    """Traces of one folder: those with the profiler's names if there are any, else by content."""
    listed = sorted(folder.iterdir())
    named = [file for file in listed if is_profiler_name(file.name) and file.is_file()]
    return _each_once(named or _originals([file for file in listed if is_trace_file(file)]))


def _originals(files: list[Path]) -> list[Path]:
    """Files without what a profiler of XLA writes for viewers beside `NAME.xplane.pb`."""
    names = {file.name.removesuffix(_XPLANE) for file in files if file.name.endswith(_XPLANE)}
    copies = {f"{name}{ending}" for name in names for ending in _FOR_VIEWERS}
    return [file for file in files if file.name not in copies]


_XPLANE, _FOR_VIEWERS = ".xplane.pb", (".trace.json", ".trace.json.gz")
"""The latter hold a million events at most, and fewer details."""


def traces_left_out(folder: Path) -> list[Path]:
    """Traces of a folder that `traces_in` does not take, because others have a profiler's names."""
    taken = set(traces_in(folder))
    if not any(is_profiler_name(file.name) for file in taken):
        return []
    other_files = (file for file in sorted(folder.iterdir()) if not is_profiler_name(file.name))
    return [file for file in other_files if is_trace_file(file)]


def _recorded_in(folder: Path) -> list[Path]:
    """Traces of one folder; of a recording without any, its counters."""
    traces = traces_in(folder) or _snapshots_in(folder)
    if traces:
        return traces
    run = run_file_in(folder)
    counters = None if run is None else counters_of_run(run)
    return [] if counters is None else [counters]


def _snapshots_in(folder: Path) -> list[Path]:
    """Memory snapshots of a folder without traces; beside a trace they are part of it."""
    named = (file for file in sorted(folder.iterdir()) if is_named_as_snapshot(file.name))
    return [file for file in named if file.is_file() and is_snapshot_file(file)]


def _recorded_below(folder: Path) -> list[Path]:
    return [file for run in folders_below(folder) for file in _recorded_in(run)]


def find_recordings(place: Place) -> list[Recording]:
    """Every trace at a place, ordered by run, worker and span.

    A place is a file, a folder, a pattern of paths (`"run/rank*.json.gz"`, `"run/**/*.json"`) or
    a URL of any of these.  Names follow the PyTorch profiler
    (`<worker>.<timestamp>.pt.trace.json[.gz]`); files with other names count as well when their
    ending says that they may be traces.

    >>> import timesink
    >>> [recording.worker for recording in find_recordings(f"{timesink.sample().parent}/unet*")]
    ['unet_train']
    """
    place = place_of(place)
    if is_url(place):
        # Most people never need what that loads.
        from timesink.sources.remote import remote_recordings  # noqa: PLC0415

        recordings = remote_recordings(str(place))
    elif is_pattern(place):
        recordings = [recording_of(file) for file in matching_traces(str(place))]
    else:
        recordings = [recording_of(file) for file in files_at(Path(place))]
    return told_runs(with_rank_numbers(recordings, stated_rank), stated_rank)


def recordings_in(folder: Path) -> list[Recording]:
    """The traces of exactly this folder, ordered by worker and span; none is no error."""
    files = traces_in(folder) or _snapshots_in(folder)
    return with_rank_numbers(map(recording_of, files), stated_rank)


def told_apart(recordings: Iterable[Recording]) -> list[Recording]:
    """Recordings of one run, none with the worker and span of another.

    Where both are the same, as of `a.json` and `a.json.gz`, the second goes by its file's name.
    """
    seen: set[tuple[str, int | None]] = set()
    apart = []
    for recording in recordings:
        named = (recording.worker, recording.span)
        own_name = safe_text(recording.path.name)
        apart.append(replace(recording, worker=own_name) if named in seen else recording)
        seen.add(named)
    return apart


def choose_recording(
    recordings: Iterable[Recording],
    *,
    worker: str | None = None,
    span: int | None = None,
    rank: int | None = None,
) -> list[Recording]:
    """Recordings that fit; a filter that is None fits everything."""
    return [
        recording
        for recording in recordings
        if worker in (None, recording.worker)
        and span in (None, recording.span)
        and (rank is None or stated_rank(recording) == rank)
    ]


def stated_rank(recording: Recording) -> int | None:
    """The rank a file states in its first bytes, else its name: a trace is not read for it."""
    if recording.remote is not None and recording.rank is not None:
        return recording.rank  # every look costs a way over the network
    stated = None
    with suppress(UnreadableError, OSError):
        if recording.remote is None:
            head = open_source(recording.path).head()
        else:
            from timesink.sources.remote import remote_head  # noqa: PLC0415 - start-up time

            head = remote_head(recording.remote.url)
        stated = rank_in_head(head)
    return recording.rank if stated is None else stated


def distinct_labels(recordings: Sequence[Recording]) -> list[str]:
    """Labels that tell recordings apart; paths where worker and span do not."""
    labels = [recording.label for recording in recordings]
    if len(set(labels)) == len(labels):
        return labels
    above = os.path.commonpath([recording.path.parent for recording in recordings])
    return [str(recording.path.relative_to(above)) for recording in recordings]


# Folders that are one run, by their names and the ranks in them.

RankOf = Callable[[Recording], int | None]
"""The rank a trace states in its first bytes, else the one of its name."""
_Ranks = Mapping[str, Sequence[int | None]]
"""Of the recordings of every folder."""


def told_runs(recordings: Sequence[Recording], rank_of: RankOf) -> list[Recording]:
    """Recordings with the run each is of, and the rank and host that folders of a run state.

    Folders are one run when their names differ only in the number of a rank or host: by words
    that say so, else where the ranks in them are known and none is there twice.
    """
    parents = sorted(
        {file_recording.path.parent for file_recording in recordings},
        key=lambda path: natural(str(path)),
    )
    if len(parents) == 1:
        return list(recordings)
    above = Path(os.path.commonpath(parents))
    similar_folders: defaultdict[str, list[Folder]] = defaultdict(list)
    for parent in parents:
        folder = folder_of(parent.relative_to(above).as_posix())
        similar_folders[folder.pattern].append(folder)
    inside: defaultdict[str, list[Recording]] = defaultdict(list)
    for recording in recordings:
        inside[recording.path.parent.relative_to(above).as_posix()].append(recording)
    run_recordings = []
    for name, folders in similar_folders.items():
        folder_files = {folder.name: inside[folder.name] for folder in folders}
        if len(folders) > 1 and _is_one_run(folders, folder_files, rank_of):
            run_recordings += _one_run_of_folders(name, folders, folder_files)
        else:
            run_recordings += [
                replace(file_recording, run=folder)
                for folder, files in folder_files.items()
                for file_recording in files
            ]
    return run_recordings


def _is_one_run(
    folders: Sequence[Folder], inside: dict[str, list[Recording]], rank_of: RankOf
) -> bool:
    """Whether folders of like names hold the ranks of one run."""
    named = {name: [recording.rank for recording in files] for name, files in inside.items()}
    says_so = all(folder.says_so for folder in folders)
    if _is_disjoint(named) and (_is_known(named) or says_so):
        return True
    stated = {name: [rank_of(recording) for recording in files] for name, files in inside.items()}
    if _is_disjoint(stated) and (_is_known(stated) or says_so):
        return True
    if all(folder.is_host for folder in folders):
        # Ranks of their host, then, not of the run.
        return stated == named
    # Folders called 0, 1, 2, ... as ranks are, and steps are not.
    numbers = [int(folder.name) for folder in folders if folder.name.isdecimal()]
    counted = len(numbers) == len(folders) > max(numbers, default=0) // 2 and 0 in numbers
    is_told = any(rank is not None for ranks in stated.values() for rank in ranks)
    return counted and not is_told


def _is_known(ranks: _Ranks) -> bool:
    return all(rank is not None for of_folder in ranks.values() for rank in of_folder)


def _is_disjoint(ranks: _Ranks) -> bool:
    """Whether no rank is in two folders; a folder may have several spans of one."""
    sets = [{rank for rank in of_folder if rank is not None} for of_folder in ranks.values()]
    return sum(map(len, sets)) == len(set().union(*sets))


def _one_run_of_folders(
    run: str, folders: Sequence[Folder], inside: Mapping[str, Sequence[Recording]]
) -> list[Recording]:
    """The recordings of one run, with names, ranks and hosts that tell them apart."""
    workers = Counter(worker for files in inside.values() for worker in {f.worker for f in files})
    are_ranks = _is_disjoint(
        {name: [recording.rank for recording in files] for name, files in inside.items()}
    )
    # Whether the numbers of folders are ranks: none is there twice.
    numbers = [folder.number for folder in folders]
    are_numbers = None not in numbers and len(set(numbers)) == len(numbers)
    run_recordings = []
    for folder in folders:
        files = inside[folder.name]
        is_single_worker = len({recording.worker for recording in files}) == 1
        number = folder.number if is_single_worker and are_numbers else None
        for recording in files:
            own_name = folder.name if is_single_worker else f"{folder.name}/{recording.worker}"
            rank = recording.rank if are_ranks else None
            run_recordings.append(
                replace(
                    recording,
                    run=run,
                    worker=own_name if workers[recording.worker] > 1 else recording.worker,
                    rank=number if rank is None else rank,
                    host=recording.host or folder.host,
                )
            )
    return run_recordings


# Several files of one rank: spans of it, or ranks of other hosts, or not to be told.

_NUMBERS = regex(r"[0-9]+")
_MONTHS = regex(r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE)
_HOST = regex(r"(?:^|(?<=[^a-z]))(?:host|node|machine)[-_. ]?[0-9]+", re.IGNORECASE)


def with_rank_numbers(recordings: Iterable[Recording], rank_of: RankOf) -> list[Recording]:
    """Spans as 1, 2, ...: timestamps are compared as numbers, so that 10 follows 9.

    Files without a timestamp come first and have no number; equal timestamps are one span.
    """
    of_worker: defaultdict[tuple[Path, str], list[Recording]] = defaultdict(list)
    for recording in _told_apart_in_rank(recordings, rank_of):
        of_worker[recording.path.parent, recording.worker].append(recording)
    result = []
    for key in sorted(of_worker, key=lambda key: (natural(str(key[0])), natural(key[1]))):
        worker_recordings = sorted(of_worker[key], key=lambda r: (r.span is not None, r.span or 0))
        stamps = sorted(
            {recording.span for recording in worker_recordings if recording.span is not None}
        )
        number: dict[int | None, int] = {stamp: place for place, stamp in enumerate(stamps, 1)}
        result += [
            replace(recording, span=number.get(recording.span)) for recording in worker_recordings
        ]
    return result


def _told_apart_in_rank(recordings: Iterable[Recording], rank_of: RankOf) -> list[Recording]:
    """Recordings of which those of one rank and one folder are what they are: mostly spans."""
    of_rank: defaultdict[tuple[Path, int | None], list[Recording]] = defaultdict(list)
    for recording in recordings:
        of_rank[recording.path.parent, recording.rank].append(recording)
    result: list[Recording] = []
    has_spans = False
    for (_, rank), rank_recordings in of_rank.items():
        is_told = (
            rank is None or len({rank_recording.worker for rank_recording in rank_recordings}) == 1
        )
        apart = rank_recordings if is_told else _of_one_rank(rank_recordings, rank_of)
        has_spans |= apart[0].worker != rank_recordings[0].worker
        result += apart
    # Where one rank has several, the only file of another is its first.
    return [
        _as_span(rank_recording, rank_recording.span or 0) if has_spans else rank_recording
        for rank_recording in result
    ]


def _of_one_rank(recordings: list[Recording], rank_of: RankOf) -> list[Recording]:
    stated = [rank_of(recording) for recording in recordings]
    if len(set(stated)) == len(recordings):
        # The names have the rank of something else, such as the host.
        return [
            replace(recording, rank=rank)
            for recording, rank in zip(recordings, stated, strict=True)
        ]
    names = {recording: without_rank(recording.path.name) for recording in recordings}
    if len({_HOST.sub("", name) for name in names.values()}) == 1 < len(set(names.values())):
        return [replace(recording, rank=None) for recording in recordings]
    # What of a name is the same in the files of every step and time.
    if len({_MONTHS.sub("", _NUMBERS.sub("", name)) for name in names.values()}) > 1:
        return recordings  # of several runs, as it seems
    places = {name: place for place, name in enumerate(sorted(set(names.values()), key=natural))}
    return [_as_span(recording, places[names[recording]]) for recording in recordings]


def _as_span(recording: Recording, span: int) -> Recording:
    if recording.rank is None:
        return recording
    return replace(recording, worker=f"rank{recording.rank}", span=span)


# The one run at a place, each rank once; several runs, or two files of a rank, are refused.

_MAX_SHOWN = 4
_MIN_RANKS = 2
"""Fewer are no set of ranks."""


def runs_among(recordings: Iterable[Recording]) -> dict[str, list[Recording]]:
    """Recordings by the run they are of, as `find_recordings` told them apart."""
    runs: defaultdict[str, list[Recording]] = defaultdict(list)
    for recording in recordings:
        runs[recording.run].append(recording)
    return dict(runs)


def one_run(recordings: Sequence[Recording], place: Place) -> tuple[list[Recording], list[str]]:
    """The recordings of the first span of the only run, and what to know about them."""
    runs = runs_among(recordings)
    if len(runs) > 1:
        raise _several_runs(runs, place)
    # The first span of each worker; a file without a number comes before all that have one.
    spans: defaultdict[str, set[int]] = defaultdict(set)
    for recording in recordings:
        spans[recording.worker].add(recording.span or 0)
    first = [
        candidate
        for candidate in recordings
        if (candidate.span or 0) == min(spans[candidate.worker])
    ]
    notes = []
    if (most := max(map(len, spans.values()))) > 1:
        shown_as = min(candidate.span or 1 for candidate in first)
        notes.append(f"{most} spans: this is span {shown_as}, choose with --span")
    # Without those that are another one in another form, as `a.json.gz`.
    by_stem: dict[tuple[Path, str], Recording] = {}
    for recording in first:
        twin = by_stem.setdefault((recording.path.parent, stem_of(recording.path.name)), recording)
        if twin is not recording:
            notes.append(
                f"{recording.path.name} is named as {twin.path.name}, in another form: "
                "only the latter is read"
            )
    ranks, stray_notes = _without_strays(list(by_stem.values()))
    _refuse_two_of_a_rank(ranks, place)
    left_out = traces_left_out(place) if isinstance(place, Path) and place.is_dir() else []
    if left_out:
        file_list = join_names([safe_text(file.name) for file in left_out], most=_MAX_SHOWN)
        stray_notes.append(
            f"left out, because others are named as a profiler names them: {file_list}"
        )
    return ranks, [*notes, *stray_notes]


def _refuse_two_of_a_rank(ranks: Sequence[Recording], place: Place) -> None:
    """Nobody could tell which of two files of one rank goes with the others."""
    of_rank: defaultdict[int, list[str]] = defaultdict(list)
    for recording in ranks:
        if recording.rank is not None:
            of_rank[recording.rank].append(recording.path.name)
    for rank, names in of_rank.items():
        if len(names) > 1:
            pattern = re.sub(
                r"(rank[-_. =]?)[0-9]+", r"\1*", names[0], count=1, flags=re.IGNORECASE
            )
            raise AmbiguousError(
                f"{display_place(place)}: two files are of rank {rank} ({names[0]}, {names[1]}), "
                "probably of two runs",
                "choose the files of one run by a pattern in quotes, e.g. "
                f"'{pattern}', or name one of them",
            )


def _without_strays(recordings: list[Recording]) -> tuple[list[Recording], list[str]]:
    """Recordings without those that are of no rank, where others are: a server, a merged trace."""
    unnamed = [recording for recording in recordings if recording.rank is None]
    if len(recordings) - len(unnamed) < _MIN_RANKS:
        return recordings, []
    strays = {recording for recording in unnamed if stated_rank(recording) is None}
    notes = [
        f"{recording.path.name} states no rank, as the others do: left out" for recording in strays
    ]
    return [recording for recording in recordings if recording not in strays], sorted(notes)


def _several_runs(runs: dict[str, list[Recording]], place: Place) -> SeveralRunsError:
    names = sorted(runs, key=natural)
    more = ", ..." if len(names) > _MAX_SHOWN else ""
    first = sorted(Path(recording.source).parent.as_posix() for recording in runs[names[0]])
    if runs[names[0]][0].remote is not None:
        first = sorted(recording.source.rpartition("/")[0] for recording in runs[names[0]])
    return SeveralRunsError(
        f"{display_place(place)}: holds {len(names)} runs ({', '.join(names[:_MAX_SHOWN])}{more})",
        f"name one run folder, e.g. {first[0]}, or a pattern of its files in quotes",
    )


# What a command was given.


@dataclass(frozen=True)
class Input:
    """What a command was given: a place, and which of its recordings are meant.

    Each part is looked up when it is asked for, and once: who checks an output, reads and words an
    answer has the same recordings.
    """

    source: str | Path
    """As the user wrote it."""
    worker: str | None = None
    span: int | None = None
    rank: int | None = None
    captures: Path | None = None
    """A file or folder that says what its graphs hold, instead of what lies beside it."""
    names_from: Path | None = None
    """A recording of the same program run eagerly, that names what its graphs replay."""

    @cached_property
    def place(self) -> Place:
        """A path, a pattern or a URL."""
        return place_of(self.source)

    @property
    def label(self) -> str:
        """The place as it may be shown."""
        return display_place(self.place)

    @cached_property
    def exported(self) -> Path | None:
        """The folder of Parquet tables, or of logs of collectives: there is nothing to look for."""
        if not isinstance(self.place, Path) or not self.place.is_dir():
            return None
        return self.place if is_folder(self.place) or is_log_folder(self.place) else None

    @cached_property
    def every_recording(self) -> list[Recording]:
        """All recordings at the place."""
        return find_recordings(self.place)

    @cached_property
    def recordings(self) -> list[Recording]:
        """Those that fit the choice; at least one."""
        fitting = choose_recording(
            self.every_recording, worker=self.worker, span=self.span, rank=self.rank
        )
        if not fitting:
            raise UnreadableError.none_fits(self.label, distinct_labels(self.every_recording))
        if self.captures is None and self.names_from is None:
            return fitting
        return [replace(item, captures=self._captures_of(item)) for item in fitting]

    def _captures_of(self, recording: Recording) -> tuple[CaptureFile, ...]:
        """What the user named, for one of the recordings."""
        rank = stated_rank(recording) if len(self.every_recording) > 1 else None
        files = [] if self.captures is None else named_captures(self.captures, rank)
        if self.names_from is not None:
            files += [
                CaptureFile(eager.path, is_eager=True)
                for eager in choose_recording(find_recordings(self.names_from), rank=rank)
                if eager.remote is None
            ]
        return tuple(files)

    @cached_property
    def recording(self) -> Recording:
        """The only one of them; several are refused."""
        if len(self.recordings) > 1:
            labels = distinct_labels(self.recordings)
            named = ", ".join(labels[:4]) + (", ..." if len(labels) > 4 else "")
            raise AmbiguousError(
                f"{self.label}: holds {len(labels)} traces ({named})",
                "choose one with --worker, --span or --rank, or name the file itself",
            )
        return self.recordings[0]

    @cached_property
    def run(self) -> tuple[list[Recording], list[str]]:
        """The ranks of the only run, and what to know about them; several runs are refused."""
        return one_run(self.recordings, self.place)

    def files(self) -> Iterator[Path]:
        """The files that are read for it; none where nothing can be read."""
        from timesink.sources.watch_folder import is_watch  # noqa: PLC0415 - only outputs need it

        place = self.place
        if is_url(place) or not str(self.source):
            return
        if isinstance(place, Path) and (self.exported or is_watch(place)):
            yield from place.rglob("*")
            return
        if isinstance(place, Path) and place.is_file():
            yield place
        yield from filter(None, (self.captures, self.names_from))
        with suppress(TimesinkError, OSError):
            for recording in self.every_recording:
                yield recording.path
                yield from sidecars_of(recording.path).files


def input_of(source: str | Path | Input, **choice: Any) -> Input:
    """What was given, resolved; `choice` is of worker, span and rank, where it is only a place."""
    return source if isinstance(source, Input) else Input(source, **choice)

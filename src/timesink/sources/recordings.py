"""One trace file of a run: where it is, whose it is, and which files belong together."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from timesink.formats.file_names import (
    Folder,
    folder_of,
    host_in_name,
    rank_in_name,
    rank_of_folder,
    without_rank,
    worker_and_span,
)
from timesink.model.units import natural
from timesink.recorder.processes import safe_text
from timesink.sources.places import without_password

# One file of a run.


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file behind a URL, as its file system listed it."""

    url: str = field(repr=False)
    """As whoever reads needs it, with the password if there is one."""
    size_bytes: int = 0
    version: str = ""
    """Another one for other content; empty where the file system does not tell."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One trace file of a run.  It can be sent to other machines, and read there."""

    path: Path
    """Of a remote file it has name and folder, and tells it from others; nothing is there."""
    worker: str
    span: int | None = None
    """1-based place among the worker's spans, in the order of their timestamps."""
    rank: int | None = None
    """Rank the name of the file or of its folder states; the trace itself may say more."""
    host: str | None = None
    """Host the name of the file or of its folder states."""
    run: str = "."
    """Which of the runs at a place it is of: the folder, below what all of them lie in."""
    remote: RemoteFile | None = None
    beside: tuple[RemoteFile, ...] = ()
    """Remote files that may belong to a remote trace: counters, what the recorder says."""

    @property
    def label(self) -> str:
        return self.worker if self.span is None else f"{self.worker} span {self.span}"

    @property
    def source(self) -> str:
        """Where it comes from, as it may be shown."""
        return str(self.path) if self.remote is None else without_password(self.remote.url)

    def size_bytes(self) -> int:
        """How large the file is; 0 where nobody knows."""
        if self.remote is not None:
            return self.remote.size_bytes
        with suppress(OSError):
            return self.path.stat().st_size
        return 0


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

_NUMBERS = re.compile(r"[0-9]+")
_MONTHS = re.compile(r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE)
_HOST = re.compile(r"(?:^|(?<=[^a-z]))(?:host|node|machine)[-_. ]?[0-9]+", re.IGNORECASE)


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


_TRACE_NAME = re.compile(r"\.(?:(?:json|sqlite|csv)(?:\.gz)?|json\.zip|parquet)$", re.IGNORECASE)


def recording_of(file: Path) -> Recording:
    """A file as a recording, as far as its name and that of its folder say."""
    worker, timestamp = worker_and_span(file.name)
    rank = rank_in_name(file.name)
    return Recording(
        path=file,
        worker=safe_text(worker or re.sub(_TRACE_NAME, "", file.name)),
        span=timestamp,
        rank=rank_of_folder(file.parent.name) if rank is None else rank,
        host=host_in_name(file.name),
    )

"""Recordings in a folder: which files, whose worker, which span, which rank."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from timesink.errors import UnreadableError
from timesink.readers.beside import looks_like_trace
from timesink.readers.names import rank_in_name, worker_and_span

_TRACE_NAME = re.compile(r"\.(?:json|json\.gz|json\.zip|sqlite|sqlite\.gz)$", re.IGNORECASE)
_PROFILER_NAME = re.compile(r"\.pt\.trace\.json(?:\.gz|\.zip)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Recording:
    """One trace file of a run."""

    path: Path
    worker: str
    span: int | None = None
    """1-based place among the worker's spans, in the order of their timestamps."""
    rank: int | None = None
    """Rank the file name states; the metadata of the trace may say more."""

    @property
    def label(self) -> str:
        return self.worker if self.span is None else f"{self.worker} span {self.span}"


def find_recordings(path: Path) -> list[Recording]:
    """Every trace at a path, ordered by worker and span; a file is its own only recording.

    Names follow the PyTorch profiler (`<worker>.<timestamp>.pt.trace.json[.gz]`); files with
    other names count as well when their ending says that they may be traces.
    """
    if not path.exists():
        raise UnreadableError.missing(path)
    if path.is_file():
        return _numbered([_recording(path)])
    # Folders inside a run are not part of it; a folder of runs has no trace of its own.
    files = _traces_among(path.iterdir()) or _traces_among(path.rglob("*"))
    recordings = [_recording(file) for file in files]
    if not recordings:
        raise UnreadableError(
            f"{path}: no trace in this folder",
            "traces end in .json, .json.gz, .zip or .sqlite; give the file itself if yours does not",
        )
    return _numbered(recordings)


def _traces_among(files: Iterable[Path]) -> list[Path]:
    listed = sorted(files)
    named = [file for file in listed if _PROFILER_NAME.search(file.name) and file.is_file()]
    return named or [file for file in listed if looks_like_trace(file)]


def _recording(file: Path) -> Recording:
    worker, timestamp = worker_and_span(file.name)
    return Recording(
        path=file,
        worker=worker or re.sub(_TRACE_NAME, "", file.name),
        span=timestamp,
        rank=rank_in_name(file.name),
    )


def _numbered(recordings: Iterable[Recording]) -> list[Recording]:
    """Spans as 1, 2, ...: timestamps are compared as numbers, so that 10 follows 9."""
    of_worker: defaultdict[tuple[Path, str], list[Recording]] = defaultdict(list)
    for recording in recordings:
        of_worker[recording.path.parent, recording.worker].append(recording)
    numbered = []
    for key in sorted(of_worker, key=lambda key: (str(key[0]), _natural(key[1]))):
        spans = sorted(of_worker[key], key=lambda r: (r.span is not None, r.span or 0))
        numbered += [
            replace(recording, span=place if recording.span is not None else None)
            for place, recording in enumerate(spans, 1)
        ]
    return numbered


def _natural(text: str) -> list[tuple[int, str]]:
    """Sort key that puts rank2 before rank10."""
    return [
        (int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text) if part
    ]


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
        and (rank is None or recording.rank == rank)
    ]

"""Recordings at a place: which files, whose worker, which span, which rank."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from timesink.errors import UnreadableError
from timesink.readers.folder_names import rank_of_folder
from timesink.readers.local_files import files_at, folders_below, matching, traces_in
from timesink.readers.names import (
    host_in_name,
    is_profiler_name,
    rank_in_head,
    rank_in_name,
    worker_and_span,
)
from timesink.readers.places import Place, is_pattern, is_url, place_of
from timesink.readers.rank_files import numbered
from timesink.readers.recording import Recording
from timesink.readers.run_folders import told_runs
from timesink.readers.source import open_source

__all__ = [
    "Recording",
    "choose_recording",
    "distinct_labels",
    "find_recordings",
    "folders_below",
    "is_named_by_profiler",
    "recording_of",
    "recordings_in",
    "sayable",
    "stated_rank",
    "told_apart",
]

_TRACE_NAME = re.compile(r"\.(?:(?:json|sqlite|csv)(?:\.gz)?|json\.zip|parquet)$", re.IGNORECASE)


def is_named_by_profiler(recording: Recording) -> bool:
    """Whether the file has the name PyTorch's profiler gives its traces."""
    return is_profiler_name(recording.path.name)


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
        from timesink.readers.remote_listing import remote_recordings  # noqa: PLC0415

        found = remote_recordings(str(place))
    elif is_pattern(place):
        found = [recording_of(file) for file in matching(str(place))]
    else:
        found = [recording_of(file) for file in files_at(Path(place))]
    return told_runs(numbered(found, stated_rank), stated_rank)


def recordings_in(folder: Path) -> list[Recording]:
    """The traces of exactly this folder, ordered by worker and span; none is no error."""
    return numbered((recording_of(file) for file in traces_in(folder)), stated_rank)


def told_apart(recordings: Iterable[Recording]) -> list[Recording]:
    """Recordings of one run, none with the worker and span of another.

    Where both are the same, as of `a.json` and `a.json.gz`, the second goes by its file's name.
    """
    seen: set[tuple[str, int | None]] = set()
    apart = []
    for recording in recordings:
        named = (recording.worker, recording.span)
        own_name = sayable(recording.path.name)
        apart.append(replace(recording, worker=own_name) if named in seen else recording)
        seen.add(named)
    return apart


def recording_of(file: Path) -> Recording:
    """A file as a recording, as far as its name and that of its folder say."""
    worker, timestamp = worker_and_span(file.name)
    rank = rank_in_name(file.name)
    return Recording(
        path=file,
        worker=sayable(worker or re.sub(_TRACE_NAME, "", file.name)),
        span=timestamp,
        rank=rank_of_folder(file.parent.name) if rank is None else rank,
        host=host_in_name(file.name),
    )


def sayable(name: str) -> str:
    r"""A name that fits into JSON and into an address; not every file name is proper text."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


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
        stated = rank_in_head(_head(recording))
    return recording.rank if stated is None else stated


def _head(recording: Recording) -> bytes:
    if recording.remote is None:
        return open_source(recording.path).head()
    from timesink.readers.remote_listing import remote_head  # noqa: PLC0415

    return remote_head(recording.remote.url)


def distinct_labels(recordings: Sequence[Recording]) -> list[str]:
    """Labels that tell recordings apart; paths where worker and span do not."""
    labels = [recording.label for recording in recordings]
    if len(set(labels)) == len(labels):
        return labels
    above = os.path.commonpath([recording.path.parent for recording in recordings])
    return [str(recording.path.relative_to(above)) for recording in recordings]

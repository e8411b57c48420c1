"""`timesink.open`: one trace from a path, from the cache when it is there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from timesink.errors import AmbiguousError, TimesinkError, UnreadableError
from timesink.model.health import merge_entries
from timesink.model.trace import Trace
from timesink.readers.beside import find_beside
from timesink.readers.discover import Recording, choose_recording, find_recordings
from timesink.readers.options import Progress, ReadOptions
from timesink.store.cache import Cache
from timesink.writers.folder import is_folder, read_folder


@dataclass(frozen=True, slots=True)
class Opened:
    """One recording of a folder: its trace, or why it could not be read."""

    recording: Recording
    trace: Trace | None
    error: TimesinkError | None = None


def open_trace(
    path: str | Path,
    *,
    worker: str | None = None,
    span: int | None = None,
    rank: int | None = None,
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Open the trace at a path: a file, or a folder that holds one (or one that fits).

    The second opening of an unchanged file comes from the cache.

    >>> import timesink
    >>> trace = timesink.open(timesink.sample())
    >>> trace.metadata.vendor
    'nvidia'
    """
    place = Path(path)
    if is_folder(place):
        return read_folder(place)
    fitting = find_chosen(place, worker=worker, span=span, rank=rank)
    if len(fitting) > 1:
        raise AmbiguousError.many_traces(path, [recording.label for recording in fitting])
    return open_recording(fitting[0], cache=cache, jobs=jobs, progress=progress)


def find_chosen(
    path: Path, *, worker: str | None = None, span: int | None = None, rank: int | None = None
) -> list[Recording]:
    """Recordings at a path that fit the choice; at least one."""
    found = find_recordings(path)
    fitting = choose_recording(found, worker=worker, span=span, rank=rank)
    if not fitting:
        raise UnreadableError(
            f"{path}: no trace fits the choice of worker, span or rank",
            "it holds " + ", ".join(recording.label for recording in found[:6]),
        )
    return fitting


def open_recording(
    recording: Recording,
    *,
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Open one recording, with the counters beside it."""
    counters = find_beside(recording.path)
    store = Cache.default() if cache else None
    key = ""
    if store is not None:
        files = [recording.path] if counters is None else [recording.path, counters]
        with contextlib.suppress(OSError):
            key = store.key(files)
        cached = store.load(key) if key else None
        if cached is not None:
            return _as_recorded(cached, recording)
    # A trace in the cache should not wait for readers to load.
    from timesink.readers.registry import read_trace  # noqa: PLC0415

    trace = read_trace(recording.path, ReadOptions(jobs=jobs, progress=progress))
    if counters is not None:
        trace = _with_counters(trace, counters)
    if store is not None and key:
        store.save(key, trace)
    return _as_recorded(trace, recording)


def _as_recorded(trace: Trace, recording: Recording) -> Trace:
    """The trace under the path it was asked by; equal files share one cache entry."""
    metadata = replace(
        trace.metadata, source=str(recording.path), worker=recording.worker, span=recording.span
    )
    return replace(trace, metadata=metadata)


def _with_counters(trace: Trace, counters: Path) -> Trace:
    from timesink.readers.counters_csv import read_counters  # noqa: PLC0415 - as above

    samples, health = read_counters(counters)
    frames = {**trace.frames, "counters": pl.concat([trace.lazy("counters"), samples.lazy()])}
    return replace(trace, frames=frames, health=merge_entries([*trace.health, *health]))


def open_each(
    recordings: Sequence[Recording],
    *,
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Iterator[Opened]:
    """Open many recordings; one that cannot be read is reported and the others stand."""
    for recording in recordings:
        try:
            yield Opened(recording, open_recording(recording, cache=cache, jobs=jobs, progress=progress))
        except TimesinkError as error:
            yield Opened(recording, None, error)

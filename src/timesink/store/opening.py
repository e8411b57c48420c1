"""`timesink.open`: one trace from a path, from the cache when it is there.

This module loads neither Polars nor a reader until it must: the processes that decode a large
trace are started first and work while the rest loads, and a trace in the cache needs no reader.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from timesink.errors import AmbiguousError, UnreadableError
from timesink.readers.beside import find_beside, find_run, find_topology
from timesink.readers.discover import (
    Recording,
    choose_recording,
    distinct_labels,
    find_recordings,
)
from timesink.readers.options import Progress, ReadOptions
from timesink.readers.source import open_source
from timesink.store.background import save_in_background, wait_until_saved
from timesink.store.cache import Cache
from timesink.store.free_memory import return_free_memory
from timesink.writers.marks import is_folder

if TYPE_CHECKING:
    from timesink.model.trace import Trace
    from timesink.readers.chrome.crew import Crew


_kept: WeakKeyDictionary[Trace, tuple[Cache, str]] = WeakKeyDictionary()


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
        from timesink.writers.folder import read_folder  # noqa: PLC0415

        return read_folder(place)
    fitting = find_chosen(place, worker=worker, span=span, rank=rank)
    if len(fitting) > 1:
        raise AmbiguousError.many_traces(path, distinct_labels(fitting, place))
    store = Cache.default() if cache else None
    return open_recording(fitting[0], store, jobs=jobs, progress=progress)


def find_chosen(
    path: Path, *, worker: str | None = None, span: int | None = None, rank: int | None = None
) -> list[Recording]:
    """Recordings at a path that fit the choice; at least one."""
    found = find_recordings(path)
    fitting = choose_recording(found, worker=worker, span=span, rank=rank)
    if not fitting:
        raise UnreadableError.none_fits(path, distinct_labels(found, path))
    return fitting


def open_recording(
    recording: Recording,
    store: Cache | None,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    in_background: bool = False,
) -> Trace:
    """Open one recording, with the counters beside it; from the store when it has it.

    A trace that had to be read is kept in the store: before this returns, or `in_background`.
    """
    if store is None:
        return _as_recorded(_read(recording.path, jobs, progress), recording)
    key = key_of(recording, store)
    wait_until_saved(store, key)
    trace = store.load(key)
    if trace is None:
        trace = _read(recording.path, jobs, progress)
        # A file that changed while it was read is not what the key says.
        if not key or key != key_of(recording, store):
            return _as_recorded(trace, recording)
        (save_in_background if in_background else Cache.save)(store, key, trace)
    opened = _as_recorded(trace, recording)
    _kept[opened] = (store, key)
    return opened


def kept_as(trace: Trace) -> tuple[Cache, str] | None:
    """The store and the key a trace is kept under; None for one that is not, or not as it is.

    >>> import timesink
    >>> trace = timesink.open(timesink.sample(), cache=False)
    >>> kept_as(trace) is None
    True
    """
    return _kept.get(trace)


def key_of(recording: Recording, store: Cache) -> str:
    """Key of a recording and of what is read with it; empty when they cannot be read."""
    with contextlib.suppress(OSError):
        return store.key([recording.path, *files_beside(recording.path)])
    return ""


def files_beside(path: Path) -> list[Path]:
    """What is read together with a trace: counters, the machine, what the recorder says."""
    run = find_run(path)
    beside = (find_beside(path), find_topology(path), None if run is None else run.path)
    return [file for file in beside if file is not None]


def _read(path: Path, jobs: int | None, progress: Progress | None) -> Trace:
    crew = _start_early(path, jobs)
    with crew or contextlib.nullcontext():
        from timesink.readers.registry import read_trace  # noqa: PLC0415 - the crew works meanwhile

        trace = read_trace(path, ReadOptions(jobs=jobs, progress=progress, crew=crew))
    return_free_memory()
    counters, topology, run = find_beside(path), find_topology(path), find_run(path)
    if topology is not None:
        trace = _with_topology(trace, topology)
    if run is not None:
        from timesink.readers.run_facts import with_run  # noqa: PLC0415

        trace = with_run(trace, run)
    return trace if counters is None else _with_counters(trace, counters)


def _start_early(path: Path, jobs: int | None) -> Crew | None:
    """Processes that decode a Chrome-format trace, already running; None for other files."""
    from timesink.readers.chrome.container import looks_like_events  # noqa: PLC0415
    from timesink.readers.chrome.crew import Crew  # noqa: PLC0415

    source = open_source(path)
    with contextlib.suppress(OSError):
        if looks_like_events(source.head()):
            return Crew(source, jobs)
    return None


def _as_recorded(trace: Trace, recording: Recording) -> Trace:
    """The trace under the path it was asked by; equal files share one cache entry."""
    metadata = replace(
        trace.metadata, source=str(recording.path), worker=recording.worker, span=recording.span
    )
    return replace(trace, metadata=metadata)


def _with_topology(trace: Trace, topology: Path) -> Trace:
    from timesink.readers.topology import with_topology  # noqa: PLC0415

    return with_topology(trace, topology)


def _with_counters(trace: Trace, counters: Path) -> Trace:
    import polars as pl  # noqa: PLC0415

    from timesink.model.health import HealthEntry, merge_entries  # noqa: PLC0415
    from timesink.readers.counters import read_counters  # noqa: PLC0415
    from timesink.readers.run_facts import samples_of_process  # noqa: PLC0415

    try:
        samples, health = read_counters(counters)
    except UnreadableError as error:
        # A stray file beside the trace does not make the trace unreadable.
        found = HealthEntry("unreadable_counters", 1, error.message)
        return replace(trace, health=merge_entries([*trace.health, found]))
    about = trace.metadata
    samples = samples_of_process(samples, about.run, Path(about.source).name)
    frames = {**trace.frames, "counters": pl.concat([trace.lazy("counters"), samples.lazy()])}
    return replace(trace, frames=frames, health=merge_entries([*trace.health, *health]))

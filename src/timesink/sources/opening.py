"""`timesink.open`: one trace from a place, from the cache when it is there.

This module loads neither Polars nor a reader until it must: the processes that decode a large
trace are started first and work while the rest loads, and a trace in the cache needs no reader.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, finalize

import msgspec
from msgspec import structs

from timesink.errors import TimesinkError, UnreadableError
from timesink.formats.chrome.container import looks_like_events
from timesink.formats.chrome.decoder_crew import WORTH_A_WORKER, DecoderCrew
from timesink.formats.file_names import rank_in_name
from timesink.formats.read_options import IsChosen, Progress, ReadOptions
from timesink.formats.source_file import names_its_profiler, open_source, read_trace
from timesink.formats.stored_names import is_folder
from timesink.runtime.memory import return_free_memory
from timesink.runtime.native import is_native
from timesink.runtime.workers import Workers, usable_cores
from timesink.sources.cache import Cache, save_in_background, wait_until_saved
from timesink.sources.captures import CaptureFile
from timesink.sources.discovery import Input, input_of
from timesink.sources.recordings import Recording, recording_of
from timesink.sources.remote import on_this_machine, remote_key
from timesink.sources.sidecars import sidecars_of

if TYPE_CHECKING:
    from timesink.model.trace import Trace


_HOST_KEYS = ("hostname", "host_name", "host")
"""Under which a trace may say where it was recorded."""

_stored_keys: WeakKeyDictionary[Trace, tuple[Cache, str]] = WeakKeyDictionary()


def open_trace(
    path: str | Path | Input,
    *,
    worker: str | None = None,
    span: int | None = None,
    rank: int | None = None,
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Open the trace at a path: a file, or a folder that holds one (or one that fits).

    A pattern of paths, and any URL that fsspec reaches (`timesink[remote]`), is as good as a path.
    The second opening of an unchanged file comes from the cache.

    >>> import timesink
    >>> trace = timesink.open(timesink.sample())
    >>> trace.metadata.vendor
    'nvidia'
    """
    chosen = input_of(path, worker=worker, span=span, rank=rank)
    if chosen.exported is not None:
        return _read_folder(chosen.exported)
    store = Cache.default() if cache else None
    return open_recording(chosen.recording, store, jobs=jobs, progress=progress)


def _read_folder(folder: Path) -> Trace:
    """A folder that is one trace as a whole: tables, or logs of collectives."""
    if is_folder(folder):
        from timesink.formats.parquet_folder import read_folder  # noqa: PLC0415 - start-up time

        return read_folder(folder)
    from timesink.formats.collective_logs.folder import read_log_folder  # noqa: PLC0415 - few

    return read_log_folder(folder)


class OpenedRun(msgspec.Struct, frozen=True):
    """The only run at a place: its recordings, and its trace where it has but one."""

    recordings: list[Recording]
    notes: tuple[str, ...]
    """What to know about the choice of them."""
    trace: Trace | None = None


_ahead: dict[int, Future[OpenedRun]] = {}
"""What is opened while its caller loads what it needs, by the number of its input.

It goes with its input: who does not ask for the run keeps no recording in memory.
"""


def open_ahead(
    source: Input, *, cache: bool = True, jobs: int | None = None, progress: Progress | None = None
) -> None:
    """Start to open the only run at a place: `open_run` of the same input takes it from there.

    Compiled code reads beside what loads meanwhile; without it nothing is gained.
    """
    if not is_native() or not isinstance(source.place, Path):
        return
    opened: Future[OpenedRun] = Future()

    def read() -> None:
        try:
            opened.set_result(_open_run(source, cache=cache, jobs=jobs, progress=progress))
        except BaseException as error:  # noqa: BLE001 - who asks for the run is told
            opened.set_exception(error)

    _ahead[id(source)] = opened
    finalize(source, _ahead.pop, id(source), None)
    Thread(target=read, daemon=True).start()


def open_run(
    source: Input, *, cache: bool = True, jobs: int | None = None, progress: Progress | None = None
) -> OpenedRun:
    """Look up the only run at a place, and open it where it is one recording, not several ranks."""
    opened = _ahead.pop(id(source), None)
    return (
        _open_run(source, cache=cache, jobs=jobs, progress=progress)
        if opened is None
        else opened.result()
    )


def _open_run(
    source: Input, *, cache: bool, jobs: int | None, progress: Progress | None
) -> OpenedRun:
    recordings, notes = source.run
    if len(recordings) > 1:
        return OpenedRun(recordings, tuple(notes))
    store = Cache.default() if cache else None
    trace = open_recording(recordings[0], store, jobs=jobs, progress=progress, in_background=True)
    return OpenedRun(recordings, tuple(notes), trace)


def open_recording(
    recording: Recording,
    store: Cache | None,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    in_background: bool = False,
    brief: IsChosen | None = None,
) -> Trace:
    """Open one recording, with the counters beside it; from the store when it has it.

    A trace that had to be read is kept in the store: before this returns, or `in_background`.
    One that is not to be kept may be read in `brief`, see `ReadOptions`.
    """
    if recording.remote is None and recording.path.is_dir():
        return _as_recorded(_read_folder(recording.path), recording)
    if store is None:
        with on_this_machine(recording, progress) as path:
            how = ReadOptions(jobs, progress, brief=brief)
            read = _read(path, recording, how, cache=False)
            read = _without_folder(read, path, recording)
        return _as_recorded(read, recording)
    key = key_of(recording, store)
    wait_until_saved(store, key)
    trace = store.load(key)
    if trace is None:
        key, trace = _read_and_keep(
            recording, store, key, ReadOptions(jobs, progress), in_background=in_background
        )
    opened = _as_recorded(trace, recording)
    if key:
        _stored_keys[opened] = (store, key)
    return opened


def _read_and_keep(
    recording: Recording, store: Cache, key: str, how: ReadOptions, *, in_background: bool
) -> tuple[str, Trace]:
    """Read a recording and keep it in the store; the key is empty where it is not kept."""
    with on_this_machine(recording, how.progress) as path:
        # What has no version is known by its content.
        key = key or _key_of_files(path, recording, store)
        cached_trace = None if recording.remote is None else store.load(key)
        if cached_trace is not None:
            return key, cached_trace
        read = _read(path, recording, how, cache=True)
        trace = _without_folder(read, path, recording)
    # A file that changed while it was read is not what the key says.
    if not key or (recording.remote is None and key != key_of(recording, store)):
        return "", trace
    (save_in_background if in_background else Cache.save)(store, key, trace)
    return key, trace


def kept_as(trace: Trace) -> tuple[Cache, str] | None:
    """The store and the key a trace is kept under; None for one that is not, or not as it is."""
    return _stored_keys.get(trace)


def key_of(recording: Recording, store: Cache) -> str:
    """Key of a recording and of what is read with it; empty when they cannot be read.

    That of a remote one needs no network, and is empty where its file system tells no versions.
    """
    if recording.remote is not None:
        key = remote_key(recording)
        return key and _with_named(key, recording, store)
    return _key_of_files(recording.path, recording, store)


def _key_of_files(path: Path, recording: Recording, store: Cache) -> str:
    with contextlib.suppress(OSError):
        beside = sidecars_of(path)
        labels = [file.label for file in beside.captures]
        return _with_named(store.key([path, *beside.files], *labels), recording, store)
    return ""


def _with_named(key: str, recording: Recording, store: Cache) -> str:
    """The key where captures were named; they may be read in two ways."""
    if not recording.captures:
        return key
    with contextlib.suppress(OSError):
        words = [f"{file.is_eager} {file.label}" for file in recording.captures]
        return store.key([file.path for file in recording.captures], key, *words)
    return ""


def _read(path: Path, recording: Recording, how: ReadOptions, *, cache: bool) -> Trace:
    # Processes that decode a Chrome-format trace are started before anything else is loaded.
    crew = None
    source = open_source(path)
    with contextlib.suppress(OSError):
        head = source.head()
        if looks_like_events(head):
            crew = DecoderCrew(source, how.jobs, how.brief, at_once=names_its_profiler(head))
    with crew or contextlib.nullcontext():
        trace = read_trace(path, replace(how, crew=crew))
    if how.brief is None:
        # Who reads in brief reads one trace after the other: the next one needs it again.
        return_free_memory()
    beside = sidecars_of(path)
    if beside.topology is not None:
        from timesink.sources.run_facts import with_topology  # noqa: PLC0415 - start-up time

        trace = with_topology(trace, beside.topology)
    if beside.run is not None:
        from timesink.sources.run_facts import with_run  # noqa: PLC0415 - start-up time

        trace = with_run(trace, beside.run)
    if beside.memory is not None:
        from timesink.sources.run_facts import with_snapshot  # noqa: PLC0415 - start-up time

        trace = with_snapshot(trace, beside.memory)
    if beside.counters is not None:
        trace = _with_counters(trace, beside.counters)
    if beside.compiled:
        from timesink.sources.compiled import with_compiled  # noqa: PLC0415 - start-up time

        trace = with_compiled(trace, beside.compiled)
    captures = recording.captures or beside.captures
    return _with_captures(trace, captures, how, cache=cache) if captures else trace


def _with_captures(
    trace: Trace, files: Sequence[CaptureFile], how: ReadOptions, *, cache: bool
) -> Trace:
    """The trace with the names of what its graphs replay."""
    from timesink.sources.captures import is_trace, with_captures  # noqa: PLC0415 - start-up time

    recordings = [recording_of(file.path) for file in files if is_trace(file)]
    opened = open_each(recordings, cache=cache, jobs=how.jobs) if recordings else ()
    traces = [capture.trace or capture.error for capture in opened]
    return with_captures(trace, files, traces)


def _without_folder(trace: Trace, path: Path, recording: Recording) -> Trace:
    """The trace of a copy, whose health does not name the folder of the copy: it goes away."""
    if recording.remote is None:
        return trace
    folder = f"{path.parent}/"
    health = [
        structs.replace(entry, example=entry.example.replace(folder, "")) for entry in trace.health
    ]
    return replace(trace, health=tuple(health))


def _as_recorded(trace: Trace, recording: Recording) -> Trace:
    """The trace under the place it was asked by; equal files share one cache entry."""
    # The rank a trace states, else that of its file among the others of the run.
    distributed = trace.metadata.distributed
    is_of_name = distributed.rank == rank_in_name(recording.path.name)
    if distributed.rank is None or (
        is_of_name and distributed.world_size is None and distributed.backend is None
    ):
        distributed = replace(distributed, rank=recording.rank)
    metadata = replace(
        trace.metadata,
        source=recording.source,
        worker=recording.worker,
        span=recording.span,
        distributed=distributed,
    )
    if recording.host is not None and not any(metadata.extra.get(key) for key in _HOST_KEYS):
        metadata = replace(metadata, extra={**metadata.extra, "host": recording.host})
    return replace(trace, metadata=metadata)


def _with_counters(trace: Trace, counters: Path) -> Trace:
    import polars as pl  # noqa: PLC0415 - start-up time

    from timesink.formats.counters import read_counters  # noqa: PLC0415
    from timesink.model.health import HealthEntry, merge_entries  # noqa: PLC0415
    from timesink.sources.run_facts import samples_of_process  # noqa: PLC0415

    try:
        samples, health = read_counters(counters)
    except UnreadableError as error:
        # A stray file beside the trace does not make the trace unreadable.
        entry = HealthEntry("unreadable_counters", 1, error.message)
        return replace(trace, health=merge_entries([*trace.health, entry]))
    about = trace.metadata
    samples = samples_of_process(samples, about.run, Path(about.source).name)
    frames = {**trace.frames, "counters": pl.concat([trace.lazy("counters"), samples.lazy()])}
    return replace(trace, frames=frames, health=merge_entries([*trace.health, *health]))


# Many recordings at once: each process reads whole files, the cache carries the results.


class Opened(msgspec.Struct, frozen=True):
    """One recording of a folder: its trace, or why it could not be read."""

    recording: Recording
    trace: Trace | None
    error: TimesinkError | None = None


def open_each(
    recordings: Sequence[Recording],
    *,
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Iterator[Opened]:
    """Open many recordings; one that cannot be read is reported and the others stand."""
    if len(recordings) == 1:
        store = Cache.default() if cache else None
        yield _open(recordings[0], store, jobs, progress)
        return
    if not cache and _processes_for(recordings, jobs) == 1:
        # Nothing has to get from one process to another.
        sizes = [recording.size_bytes() for recording in recordings]
        for place, recording in enumerate(recordings, 1):
            yield _open(recording, None, 1, None)
            if progress is not None:
                progress(sum(sizes[:place]), sum(sizes))
        return
    with tempfile.TemporaryDirectory(prefix="timesink-") as folder:
        # What the processes read reaches this one through a cache, its own if need be.
        store = Cache.default() if cache else Cache(Path(folder))
        if not store.is_writable():
            store, cache = Cache(Path(folder)), False
        _read_into(store, recordings, jobs, progress)
        for recording in recordings:
            opened = _open(recording, store, jobs, None)
            if opened.trace is not None and not cache:
                # The folder goes away, so the tables must be in memory.
                frames = {
                    name: frame.collect().lazy() for name, frame in opened.trace.frames.items()
                }
                opened = structs.replace(opened, trace=replace(opened.trace, frames=frames))
            yield opened


def _open(
    recording: Recording, store: Cache | None, jobs: int | None, progress: Progress | None
) -> Opened:
    try:
        return Opened(recording, open_recording(recording, store, jobs=jobs, progress=progress))
    except TimesinkError as error:
        return Opened(recording, None, error)


def _read_into(
    store: Cache, recordings: Sequence[Recording], jobs: int | None, progress: Progress | None
) -> None:
    """Read what the store lacks, with this process and `jobs - 1` others; small files with none."""
    missing = [r for r in recordings if not store.holds(key_of(r, store))]
    jobs = _processes_for(missing, jobs)
    shares = [(store, missing[place::jobs]) for place in range(1, jobs)]
    with Workers(__name__, "read_quietly", shares) as workers:
        local_recordings = missing[0::jobs]
        sizes = [recording.size_bytes() for recording in local_recordings]
        for place, recording in enumerate(local_recordings, 1):
            _open(recording, store, 1, None)
            if progress is not None:
                progress(sum(sizes[:place]), sum(sizes))
        # What a worker could not read is read by whoever opens it.
        deque(workers.results(lambda *_: None), maxlen=0)


def _processes_for(recordings: Sequence[Recording], jobs: int | None) -> int:
    """How many processes read recordings, this one included."""
    if jobs is None:
        # The size of some remote files is not known.
        sizes_bytes = [recording.size_bytes() for recording in recordings]
        jobs = usable_cores() if 0 in sizes_bytes or sum(sizes_bytes) >= WORTH_A_WORKER else 1
    return max(1, min(jobs, len(recordings)))


def read_quietly(store: Cache, recordings: Sequence[Recording]) -> None:
    """Read recordings into the store; errors are left to whoever opens them from it."""
    for recording in recordings:
        _open(recording, store, 1, None)

"""Many recordings at once: each process reads whole files, the cache carries the results."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.errors import TimesinkError
from timesink.readers.discover import Recording
from timesink.readers.options import Progress
from timesink.readers.workers import Workers, usable_cores
from timesink.store.cache import Cache
from timesink.store.opening import key_of, open_recording

if TYPE_CHECKING:
    from timesink.model.trace import Trace


@dataclass(frozen=True, slots=True)
class Opened:
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
    with tempfile.TemporaryDirectory(prefix="timesink-") as folder:
        # What the processes read reaches this one through a cache, its own if need be.
        store = Cache.default() if cache else Cache(Path(folder))
        if not store.is_writable():
            store, cache = Cache(Path(folder)), False
        _read_into(store, recordings, jobs or usable_cores(), progress)
        for recording in recordings:
            opened = _open(recording, store, jobs, None)
            # Without a cache the folder goes away, so the tables must be in memory.
            yield opened if cache else _loaded(opened)


def _open(
    recording: Recording, store: Cache | None, jobs: int | None, progress: Progress | None
) -> Opened:
    try:
        return Opened(recording, open_recording(recording, store, jobs=jobs, progress=progress))
    except TimesinkError as error:
        return Opened(recording, None, error)


def _loaded(opened: Opened) -> Opened:
    if opened.trace is None:
        return opened
    frames = {name: frame.collect().lazy() for name, frame in opened.trace.frames.items()}
    return replace(opened, trace=replace(opened.trace, frames=frames))


def _read_into(
    store: Cache, recordings: Sequence[Recording], jobs: int, progress: Progress | None
) -> None:
    """Read what the store lacks, with this process and `jobs - 1` others."""
    missing = [r for r in recordings if not store.holds(key_of(r, store))]
    jobs = max(1, min(jobs, len(missing)))
    shares = [(store, missing[place::jobs]) for place in range(1, jobs)]
    with Workers(__name__, "read_quietly", shares) as workers:
        own = missing[0::jobs]
        sizes = [recording.size_bytes() for recording in own]
        for place, recording in enumerate(own, 1):
            _open(recording, store, 1, None)
            if progress is not None:
                progress(sum(sizes[:place]), sum(sizes))
        # What a worker could not read is read by whoever opens it.
        deque(workers.results(lambda *_: None), maxlen=0)


def read_quietly(store: Cache, recordings: Sequence[Recording]) -> None:
    """Read recordings into the store; errors are left to whoever opens them from it."""
    for recording in recordings:
        _open(recording, store, 1, None)

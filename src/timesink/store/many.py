"""Many recordings at once: each process reads whole files, the cache carries the results."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.errors import TimesinkError
from timesink.readers.chrome.shares import usable_cores
from timesink.readers.discover import Recording
from timesink.readers.options import Progress
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
        store = Cache.default() if cache else Cache(Path(folder))
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
    workers = [_start_worker(store, missing[number::jobs]) for number in range(1, jobs)]
    try:
        _read_own(store, missing[0::jobs], progress)
        for worker in workers:
            worker.wait()
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def _read_own(store: Cache, recordings: Sequence[Recording], progress: Progress | None) -> None:
    sizes = [_packed_bytes(recording) for recording in recordings]
    for place, recording in enumerate(recordings):
        _open(recording, store, 1, None)
        if progress is not None:
            progress(sum(sizes[: place + 1]), sum(sizes))


def _packed_bytes(recording: Recording) -> int:
    with suppress(OSError):
        return recording.path.stat().st_size
    return 0


_WORKER_PROGRAM = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
store, recordings = pickle.load(sys.stdin.buffer)
from timesink.store.many import read_quietly
read_quietly(store, recordings)
"""


def _start_worker(store: Cache, recordings: Sequence[Recording]) -> subprocess.Popen[bytes]:
    worker = subprocess.Popen(  # noqa: S603 - our own interpreter, no shell
        [sys.executable, "-c", _WORKER_PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    if worker.stdin is not None:
        with suppress(BrokenPipeError), worker.stdin as stdin:
            # Classes of this package are not importable before the path is set.
            stdin.write(pickle.dumps(sys.path))
            stdin.write(pickle.dumps((store, list(recordings))))
    return worker


def read_quietly(store: Cache, recordings: Sequence[Recording]) -> None:
    """Read recordings into the store; errors are left to whoever opens them from it."""
    for recording in recordings:
        _open(recording, store, 1, None)

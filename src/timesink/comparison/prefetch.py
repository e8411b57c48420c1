"""Recordings that other processes look into while this one loads what it needs, or does its own.

Nothing heavy is imported here: a helper may start before Polars is loaded.  What helpers find is
kept in the cache, and taken from there.  One that fails is no error: what is missing then is found
by whoever asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from timesink.errors import TimesinkError
from timesink.formats.chrome.decoder_crew import WORTH_A_WORKER
from timesink.formats.file_names import is_named_as_table
from timesink.runtime.workers import Worker, usable_cores
from timesink.sources.cache import Cache
from timesink.sources.discovery import find_recordings, recordings_in
from timesink.sources.opening import key_of
from timesink.sources.recordings import Recording
from timesink.sources.sidecars import TRACE_ENDINGS

if TYPE_CHECKING:
    from typing_extensions import Self

_KEEPING = "timesink.comparison.reading"


class CycleSearch(msgspec.Struct, frozen=True):
    """How behaviour is found in a recording: as the user says, or (None) as it suggests."""

    marker: str | None = None
    by: str | None = None
    metric_map: str | Path | None = None

    @property
    def says_unit(self) -> bool:
        """Whether the user says how steps are found."""
        return self.marker is not None or self.by is not None


_early: dict[tuple[Path, CycleSearch], Worker] = {}
"""Helpers that started before anybody asked for what they find."""


@contextmanager
def started_early(
    paths: Sequence[Path], finding: CycleSearch, *, jobs: int | None = None
) -> Iterator[None]:
    """Look into the second of two recordings, while the block loads and looks into the first.

    Nothing happens where that does not pay: the cache has it, it is small, or there is one core.
    """
    cores, store = jobs or usable_cores(), Cache.default()
    recording = _second(paths) if cores > 1 else None
    if recording is None or not store.is_writable() or not _is_worth_it(recording, store):
        yield
        return
    place = recording.path.resolve(), finding
    _early[place] = worker = _helper([recording], store, finding, cores // 2)
    try:
        yield
    finally:
        _early.pop(place, None)
        worker.stop()


def _second(paths: Sequence[Path]) -> Recording | None:
    """The only recording at the second of two paths; None where it is anything else."""
    if len(paths) != 2 or paths[0].resolve() == paths[1].resolve():
        return None
    with suppress(TimesinkError, OSError):
        path = paths[1]
        if path.is_dir():
            # Tables go before the traces beside them.
            if any(is_named_as_table(file.name) for file in path.iterdir()):
                return None
            recordings = recordings_in(path)
        else:
            recordings = find_recordings(path)
        if len(recordings) == 1 and recordings[0].path.name.lower().endswith(TRACE_ENDINGS):
            return recordings[0]
    return None


class Helpers:
    """Processes that look into all but this one's own share of recordings."""

    def __init__(
        self, recordings: Sequence[Recording], finding: CycleSearch, jobs: int | None = None
    ) -> None:
        cores, store = jobs or usable_cores(), Cache.default()
        self._of: dict[Path, Worker] = {}
        for recording in recordings:
            early = _early.get((recording.path.resolve(), finding))
            if early is not None:
                self._of[recording.path] = early
        many = 2 if self._of else 1
        if not self._of and cores > 1 and len(recordings) > 1 and store.is_writable():
            missing = [recording for recording in recordings if _is_worth_it(recording, store)]
            many = max(1, min(cores, len(missing)))
            for place in range(1, many):
                share = missing[place::many]
                worker = _helper(share, store, finding, cores // many)
                self._of |= {recording.path: worker for recording in share}
        self.cores = jobs if many == 1 else max(1, cores // many)
        """For what this process reads itself; None is as many as there are."""

    def have(self, recording: Recording) -> bool:
        """Whether a helper looks into it."""
        return recording.path in self._of

    def wait(self) -> None:
        """Until all of them are done."""
        for worker in {id(helper): helper for helper in self._of.values()}.values():
            worker.result()
            worker.stop()
        self._of.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._of.values():
            worker.stop()


def _helper(
    recordings: Sequence[Recording], store: Cache, finding: CycleSearch, cores: int
) -> Worker:
    arguments = (store, list(recordings), finding, max(1, cores))
    return Worker(_KEEPING, "keep_runs", *arguments)


def _is_worth_it(recording: Recording, store: Cache) -> bool:
    """Whether a recording has to be read, and takes longer than starting a process."""
    with suppress(OSError):
        if recording.path.stat().st_size >= WORTH_A_WORKER:
            return not store.holds(key_of(recording, store))
    return False

"""Traces kept open between requests."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from timesink.model.units import counted
from timesink.readers.discover import Recording
from timesink.readers.options import Progress
from timesink.server.progress import Report
from timesink.store.opening import files_beside

if TYPE_CHECKING:
    from timesink.model.trace import Trace
    from timesink.store.many import Opened

MOST_EVENTS = 8_000_000
"""About 2 GB of tables; the traces used last stay, up to so many events together."""
_FEWEST_TRACES = 2
"""A comparison needs two, whatever their size."""

Key: TypeAlias = tuple[object, ...]
OpenEach: TypeAlias = Callable[[Sequence[Recording], Progress], Iterable["Opened"]]


@dataclass(eq=False)
class Place:
    """A trace that is open, or being opened, and what was made of it."""

    trace: Future[Trace] = field(default_factory=Future)
    report: Report = field(default_factory=Report)
    """How far whoever opens it has come."""
    made: dict[str, Any] = field(default_factory=dict)
    """What is worth keeping as long as the trace."""
    making: Lock = field(default_factory=Lock)

    @property
    def events(self) -> int:
        if not self.trace.done() or self.trace.exception():
            return 0
        return self.trace.result().metadata.events


class OpenTraces:
    """The traces used last.  Each file is read once, however many requests wait for it.

    A file that could not be read is remembered as such until it changes.
    """

    def __init__(self, open_each: OpenEach, most_events: int = MOST_EVENTS) -> None:
        self._open_each = open_each
        self._most_events = most_events
        self._lock = Lock()
        self._places: OrderedDict[Key, Place] = OrderedDict()

    def get(
        self, recordings: Sequence[Recording], report: Report | None = None
    ) -> list[Future[Trace]]:
        """A finished future for each recording: its trace, or why there is none."""
        return [place.trace for place in self.places(recordings, report)]

    def known(self, recording: Recording) -> Place | None:
        """The place of a trace that is open already."""
        key = _key(recording)
        with self._lock:
            place = self._places.get(key)
            if place is not None:
                self._places.move_to_end(key)
        return place if place is not None and place.trace.done() else None

    def places(self, recordings: Sequence[Recording], report: Report | None = None) -> list[Place]:
        """The place of each recording, when it was opened or could not be."""
        keys = [_key(recording) for recording in recordings]
        with self._lock:
            missing = {
                key: recording
                for key, recording in zip(keys, recordings, strict=True)
                if key not in self._places
            }
            own = report or Report()
            self._places.update((key, Place(report=own)) for key in missing)
            places = [self._places[key] for key in keys]
            for key in keys:
                self._places.move_to_end(key)
        if missing:
            self._open(missing, dict(zip(keys, places, strict=True)), own)
        for place in places:
            if report is not None and not place.trace.done():
                # Another request is reading it.
                report.follow(place.report)
            place.trace.exception()
        if report is not None:
            report.start("looking into it")
        with self._lock:
            self._let_go()
        return places

    def _open(self, missing: dict[Key, Recording], places: dict[Key, Place], own: Report) -> None:
        waiting = list(missing)
        first = missing[waiting[0]].path.name
        what = first if len(waiting) == 1 else counted(len(waiting), "traces")
        advance = own.start(f"reading {what}", f"putting {what} together")
        try:
            for opened in self._open_each(list(missing.values()), advance):
                place = places[waiting.pop(0)]
                if opened.trace is not None:
                    place.trace.set_result(opened.trace)
                else:
                    place.trace.set_exception(opened.error)
        except BaseException as error:
            # Nothing is known about the files, so the next request tries again.
            with self._lock:
                for key in waiting:
                    self._places.pop(key, None)
            for key in waiting:
                places[key].trace.set_exception(error)
            raise

    def _let_go(self) -> None:
        """Drop the traces used longest ago beyond the limit; the lock is held."""
        surplus = sum(place.events for place in self._places.values()) - self._most_events
        for key in list(self._places)[:-_FEWEST_TRACES]:
            if surplus <= 0:
                return
            surplus -= self._places[key].events
            if self._places[key].trace.done():
                del self._places[key]


def _key(recording: Recording) -> Key:
    """Which content a recording has, as far as the file system tells."""
    beside: list[Path] = []
    with suppress(OSError):
        beside = files_beside(recording.path)
    named = (recording.path, recording.worker, recording.span)
    return (*named, _state(recording.path), *((file.name, _state(file)) for file in beside))


def _state(path: Path) -> tuple[int, ...]:
    try:
        stat = path.stat()
    except OSError:
        return ()
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino

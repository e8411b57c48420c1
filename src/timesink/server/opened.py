"""Traces kept open between requests."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from timesink.readers.discover import Recording
from timesink.store.opening import files_beside

if TYPE_CHECKING:
    from timesink.model.trace import Trace
    from timesink.store.many import Opened

MOST_EVENTS = 8_000_000
"""About 2 GB of tables; the traces used last stay, up to so many events together."""
_FEWEST_TRACES = 2
"""A comparison needs two, whatever their size."""

Key: TypeAlias = tuple[object, ...]
OpenEach: TypeAlias = Callable[[Sequence[Recording]], Iterable["Opened"]]


class OpenTraces:
    """The traces used last.  Each file is read once, however many requests wait for it.

    A file that could not be read is remembered as such until it changes.
    """

    def __init__(self, open_each: OpenEach, most_events: int = MOST_EVENTS) -> None:
        self._open_each = open_each
        self._most_events = most_events
        self._lock = Lock()
        self._places: OrderedDict[Key, Future[Trace]] = OrderedDict()

    def get(self, recordings: Sequence[Recording]) -> list[Future[Trace]]:
        """A finished future for each recording: its trace, or why there is none."""
        keys = [_key(recording) for recording in recordings]
        with self._lock:
            missing = {
                key: recording
                for key, recording in zip(keys, recordings, strict=True)
                if key not in self._places
            }
            self._places.update((key, Future()) for key in missing)
            places = [self._places[key] for key in keys]
            for key in keys:
                self._places.move_to_end(key)
        if missing:
            self._open(missing, dict(zip(keys, places, strict=True)))
        for place in places:
            # Another request may be reading it.
            place.exception()
        with self._lock:
            self._let_go()
        return places

    def _open(self, missing: dict[Key, Recording], places: dict[Key, Future[Trace]]) -> None:
        waiting = list(missing)
        try:
            for opened in self._open_each(list(missing.values())):
                place = places[waiting.pop(0)]
                if opened.trace is not None:
                    place.set_result(opened.trace)
                else:
                    place.set_exception(opened.error)
        except BaseException as error:
            # Nothing is known about the files, so the next request tries again.
            with self._lock:
                for key in waiting:
                    self._places.pop(key, None)
            for key in waiting:
                places[key].set_exception(error)
            raise

    def _let_go(self) -> None:
        """Drop the traces used longest ago beyond the limit; the lock is held."""
        events = {key: _events(place) for key, place in self._places.items()}
        surplus = sum(events.values()) - self._most_events
        for key in list(self._places)[:-_FEWEST_TRACES]:
            if surplus <= 0:
                return
            surplus -= events[key]
            if self._places[key].done():
                del self._places[key]


def _events(place: Future[Trace]) -> int:
    if not place.done() or place.exception():
        return 0
    return place.result().metadata.events


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

"""Values kept between requests: traces that are open, sets of ranks that were read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

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

Value = TypeVar("Value")
Outcomes: TypeAlias = Iterable[tuple["Value | None", "BaseException | None", int]]
"""A value or why there is none, and how large it is."""
OpenEach: TypeAlias = Callable[[Sequence[Recording], Progress], Iterable["Opened"]]


@dataclass(eq=False)
class KeptValue(Generic[Value]):
    """A value that is there, or being made, and what was made of it."""

    future: Future[Value] = field(default_factory=Future)
    report: Report = field(default_factory=Report)
    """How far whoever makes it has come."""
    made: dict[str, Any] = field(default_factory=dict)
    """What is worth keeping as long as the value."""
    making: Lock = field(default_factory=Lock)
    size: int = 0


class Shelf(Generic[Value]):
    """The values used last.  Each is made once, however many requests wait for it.

    What could not be made is remembered as such, by the key that tells its content.
    """

    def __init__(self, most: int, fewest: int = 1) -> None:
        """Up to `most` of all sizes together are kept, and `fewest` values whatever their size."""
        self._most, self._fewest = most, fewest
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, KeptValue[Value]] = OrderedDict()

    def known(self, key: Hashable) -> KeptValue[Value] | None:
        """One that is there already."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
        return kept if kept is not None and kept.future.done() else None

    def get(
        self,
        keys: Sequence[Hashable],
        make: Callable[[list[int], Report], Outcomes[Value]],
        report: Report | None = None,
    ) -> list[KeptValue[Value]]:
        """The value of each key, made or failed.

        `make` is given the places of keys that nobody has asked for yet, and gives what came of
        each in turn; what it raises is remembered of none of them, so the next request tries again.
        """
        own = report or Report()
        with self._lock:
            missing = {key: place for place, key in enumerate(keys) if key not in self._kept}
            self._kept.update((key, KeptValue(report=own)) for key in missing)
            found = [self._kept[key] for key in keys]
            for key in keys:
                self._kept.move_to_end(key)
        if missing:
            self._make(missing, {key: found[place] for key, place in missing.items()}, make, own)
        for kept in found:
            if report is not None and not kept.future.done():
                # Another request is making it.
                report.follow(kept.report)
            kept.future.exception()
        with self._lock:
            self._let_go()
        return found

    def _make(
        self,
        missing: dict[Hashable, int],
        kept: dict[Hashable, KeptValue[Value]],
        make: Callable[[list[int], Report], Outcomes[Value]],
        own: Report,
    ) -> None:
        waiting = list(missing)
        try:
            for value, error, size in make(list(missing.values()), own):
                one = kept[waiting.pop(0)]
                one.size = size
                if value is not None:
                    one.future.set_result(value)
                else:
                    one.future.set_exception(error)
        except BaseException as error:
            with self._lock:
                for key in waiting:
                    self._kept.pop(key, None)
            for key in waiting:
                kept[key].future.set_exception(error)
            raise

    def _let_go(self) -> None:
        """Drop the values used longest ago beyond the limit; the lock is held."""
        surplus = sum(kept.size for kept in self._kept.values()) - self._most
        for key in list(self._kept)[: -self._fewest]:
            if surplus <= 0:
                return
            surplus -= self._kept[key].size
            if self._kept[key].future.done():
                del self._kept[key]


class OpenTraces:
    """Traces kept open; a file that could not be read is remembered as such until it changes."""

    def __init__(self, open_each: OpenEach, most_events: int = MOST_EVENTS) -> None:
        self._open_each = open_each
        self._shelf: Shelf[Trace] = Shelf(most_events, _FEWEST_TRACES)

    def known(self, recording: Recording) -> KeptValue[Trace] | None:
        """A trace that is open already."""
        return self._shelf.known(_key(recording))

    def get(
        self, recordings: Sequence[Recording], report: Report | None = None
    ) -> list[KeptValue[Trace]]:
        """Each recording with its trace, or why there is none."""

        def opened(places: list[int], own: Report) -> Outcomes[Trace]:
            chosen = [recordings[place] for place in places]
            what = chosen[0].path.name if len(chosen) == 1 else counted(len(chosen), "traces")
            advance = own.start(f"reading {what}", f"putting {what} together")
            for one in self._open_each(chosen, advance):
                yield one.trace, one.error, one.trace.metadata.events if one.trace else 0

        found = self._shelf.get([_key(one) for one in recordings], opened, report)
        if report is not None:
            report.start("looking into it")
        return found


def _key(recording: Recording) -> Hashable:
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

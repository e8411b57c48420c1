"""Summaries of the ranks of a run, kept between requests: their traces stay closed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from timesink.model.units import count, counted
from timesink.readers.recording import Recording
from timesink.server.progress import Report

if TYPE_CHECKING:
    from timesink.analyses.ranks.rank_set import RankSet
    from timesink.model.trace import Trace

MOST_RANKS = 4096
"""Of sets used before; the one used last is kept whatever its size."""


@dataclass(eq=False)
class _Place:
    """A set that was read, or is being read."""

    ranks: Future[RankSet] = field(default_factory=Future)
    report: Report = field(default_factory=Report)
    size: int = 0


class RankSets:
    """The sets used last.  Each is read once, however many requests wait for it."""

    def __init__(self, *, cache: bool = True, jobs: int | None = None) -> None:
        self._cache, self._jobs = cache, jobs
        self._lock = Lock()
        self._places: OrderedDict[Hashable, _Place] = OrderedDict()

    def get(
        self,
        key: Hashable,
        recordings: Sequence[Recording],
        *,
        steps: str | None = None,
        first: Callable[[], Trace] | None = None,
        report: Report | None = None,
    ) -> RankSet:
        """The set of a key; `first` opens the first recording, so that it is not read twice."""
        own = report or Report()
        with self._lock:
            known = self._places.get(key)
            place = self._places.setdefault(key, _Place(report=own, size=len(recordings)))
            self._places.move_to_end(key)
        if known is None:
            self._read(key, place, recordings, steps, first)
        elif not place.ranks.done():
            # Another request is reading it.
            own.follow(place.report)
        ranks = place.ranks.result()
        own.start("comparing the ranks")
        with self._lock:
            self._let_go()
        return ranks

    def _read(
        self,
        key: Hashable,
        place: _Place,
        recordings: Sequence[Recording],
        steps: str | None,
        first: Callable[[], Trace] | None,
    ) -> None:
        from timesink.engines.local import LocalEngine  # noqa: PLC0415 - loads what it needs
        from timesink.reports.ranks.reading import read_ranks  # noqa: PLC0415

        place.report.start(f"reading {counted(len(recordings), 'ranks')}")
        try:
            ranks = read_ranks(
                recordings,
                engine=LocalEngine(self._jobs),
                steps=steps,
                cache=self._cache,
                progress=_Told(place.report),
                first=first,
            )
        except BaseException as error:
            # Nothing is known about the files, so the next request tries again.
            with self._lock:
                self._places.pop(key, None)
            place.ranks.set_exception(error)
            raise
        place.ranks.set_result(ranks)

    def _let_go(self) -> None:
        """Drop sets used longest ago beyond the limit; the lock is held."""
        surplus = sum(place.size for place in self._places.values()) - MOST_RANKS
        for key in list(self._places)[:-1]:
            if surplus <= 0:
                return
            if self._places[key].ranks.done():
                surplus -= self._places.pop(key).size


@dataclass(frozen=True, slots=True)
class _Told:
    """Progress of a set in words."""

    report: Report

    def __call__(self, done: int, total: int) -> None:
        self.of_set(done, total, 0)

    def of_set(self, done: int, total: int, damaged: int) -> None:
        lost = f", {count(damaged)} damaged" if damaged else ""
        self.report.tell(f"reading ranks: {count(done)} of {count(total)}{lost}", done / total)

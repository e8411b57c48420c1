"""Summaries of the ranks of a run, kept between requests: their traces stay closed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from timesink.model.units import count, counted
from timesink.readers.recording import Recording
from timesink.server.opened import Outcomes, Shelf
from timesink.server.progress import Report

if TYPE_CHECKING:
    from timesink.analyses.ranks.rank_set import RankSet
    from timesink.model.trace import Trace

MOST_RANKS = 4096
"""Of sets used before; the one used last is kept whatever its size."""


class RankSets:
    """The sets used last.  Each is read once, however many requests wait for it."""

    def __init__(self, *, cache: bool = True, jobs: int | None = None) -> None:
        self._cache, self._jobs = cache, jobs
        self._shelf: Shelf[RankSet] = Shelf(MOST_RANKS)

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

        def read(_places: list[int], own: Report) -> Outcomes[RankSet]:
            from timesink.engines.local import LocalEngine  # noqa: PLC0415 - loads what it needs
            from timesink.reports.ranks.reading import read_ranks  # noqa: PLC0415

            own.start(f"reading {counted(len(recordings), 'ranks')}")
            ranks = read_ranks(
                recordings,
                engine=LocalEngine(self._jobs),
                steps=steps,
                cache=self._cache,
                progress=_RanksTold(own),
                first=first,
            )
            return [(ranks, None, len(recordings))]

        own = report or Report()
        ranks = self._shelf.get([key], read, own)[0].future.result()
        own.start("comparing the ranks")
        return ranks


@dataclass(frozen=True, slots=True)
class _RanksTold:
    """Progress of a set in words."""

    report: Report

    def __call__(self, done: int, total: int) -> None:
        self.of_set(done, total, 0)

    def of_set(self, done: int, total: int, damaged: int) -> None:
        lost = f", {count(damaged)} damaged" if damaged else ""
        self.report.tell(f"reading ranks: {count(done)} of {count(total)}{lost}", done / total)

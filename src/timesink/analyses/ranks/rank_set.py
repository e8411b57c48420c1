"""The ranks of one run as they were found: who is there, who is missing, who could not be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from timesink.analyses.communication.comparison import Comparison, compare_workers
from timesink.analyses.ranks.analysis import RanksAnalysis, analyse_ranks
from timesink.analyses.ranks.summary import RankSummary


@dataclass(frozen=True, slots=True)
class DamagedRank:
    """A recording of which there is no summary."""

    worker: str
    source: str
    reason: str


@dataclass(frozen=True, eq=False)
class RankSet:
    """Summaries of all ranks, and what they say together, found when it is asked for."""

    ranks: Mapping[int, RankSummary]
    """By number, in its order."""
    workers: Mapping[int, str]
    """What the recording of each rank is called."""
    damaged: tuple[DamagedRank, ...] = ()

    @cached_property
    def analysis(self) -> RanksAnalysis:
        """Collectives matched, clocks aligned, stragglers named."""
        return analyse_ranks(self.ranks)

    @cached_property
    def communication(self) -> Comparison:
        """Waiting and transfer, by the name of each worker."""
        return compare_workers(
            {self.workers[rank]: summary.worker for rank, summary in self.ranks.items()}
        )

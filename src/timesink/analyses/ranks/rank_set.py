"""The ranks of one run as they were found: who is there, who is missing, who could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from timesink.analyses.communication.comparison import Comparison, WorkerSummary, compare_workers
from timesink.analyses.ranks.analysis import RanksAnalysis, analyse_ranks
from timesink.analyses.ranks.likeness.clusters import RankGroup, cluster_ranks
from timesink.analyses.ranks.numbering import Named, numbered
from timesink.analyses.ranks.summary import RankSummary, summarise_rank
from timesink.analyses.ranks.thinning import thinned_alike
from timesink.model.ordering import natural
from timesink.model.trace import Trace
from timesink.model.units import listed

_NOT_COMPARED = ("host_start_ns", "host_end_ns", "start_ns", "end_ns", "latency_ns")
"""Columns of records that no other rank is compared by: a set is held in memory as a whole."""


@dataclass(frozen=True, slots=True)
class DamagedRank:
    """A recording of which there is no summary."""

    worker: str
    source: str
    reason: str
    rank: int | None = None
    """As far as the name of the file tells."""


@dataclass(frozen=True, eq=False)
class RankSet:
    """Summaries of all ranks, and what they say together, found when it is asked for."""

    ranks: Mapping[int, RankSummary]
    """By number, in its order."""
    workers: Mapping[int, str]
    """What the recording of each rank is called."""
    damaged: tuple[DamagedRank, ...] = ()
    notes: tuple[str, ...] = ()
    """How numbers were chosen where recordings do not tell them, and who is left out."""
    left_out: tuple[int, ...] = ()
    """Ranks that were read and have none of the steps that were asked for."""

    @property
    def world_size(self) -> int:
        """How many ranks the run has, as far as recordings tell."""
        told = (each.about.world_size or 0 for each in self.ranks.values())
        return max(*told, max(self.ranks, default=-1) + 1, len(self.ranks))

    @property
    def missing(self) -> tuple[int, ...]:
        """Ranks of the run of which there is no recording, not even a damaged one."""
        seen = {*self.ranks, *self.left_out, *(each.rank for each in self.damaged)}
        return tuple(rank for rank in range(self.world_size) if rank not in seen)

    @property
    def names(self) -> list[str]:
        """What the recordings are called, in the order of ranks."""
        return [self.workers[rank] for rank in self.ranks]

    @property
    def summaries(self) -> dict[str, WorkerSummary]:
        """What dividing communication needs, by the name of each worker."""
        return {self.workers[rank]: summary.worker for rank, summary in self.ranks.items()}

    @property
    def communicates(self) -> bool:
        """Whether any rank takes part in a collective."""
        return any(summary.worker.records.height for summary in self.ranks.values())

    @cached_property
    def analysis(self) -> RanksAnalysis:
        """Collectives matched, clocks aligned, stragglers named."""
        return analyse_ranks(self.ranks)

    @cached_property
    def communication(self) -> Comparison:
        """Waiting and transfer, by the name of each worker."""
        return compare_workers(self.summaries)

    @cached_property
    def groups(self) -> tuple[RankGroup, ...]:
        """Ranks that behave alike, the usual ones first, and what sets the odd ones apart."""
        return cluster_ranks(self.ranks, self.analysis)


def ranks_of(
    named: Sequence[tuple[Named, RankSummary]],
    damaged: tuple[DamagedRank, ...] = (),
    left_out: Sequence[Named] = (),
) -> RankSet:
    """A set of summaries, each under its number, all about the same steps.

    `left_out` are recordings that have none of these.
    """
    numbers = numbered([each for each, _ in named])
    order = sorted(range(len(named)), key=lambda place: numbers.ranks[place])
    ranked = {numbers.ranks[place]: named[place] for place in order}
    return RankSet(
        ranks=thinned_alike({rank: _as_rank(rank, each) for rank, (_, each) in ranked.items()}),
        workers={rank: name.worker for rank, (name, _) in ranked.items()},
        damaged=damaged,
        notes=(*numbers.notes, *_without_steps(left_out)),
        left_out=tuple(each.stated for each in left_out if each.stated is not None),
    )


def _without_steps(left_out: Sequence[Named]) -> Iterator[str]:
    if left_out:
        shown = listed([each.worker for each in left_out])
        yield f"without these steps and left out: {shown}"


def ranks_of_traces(traces: Mapping[str, Trace], damaged: tuple[DamagedRank, ...] = ()) -> RankSet:
    """The set of traces that are open already, by the names of their workers."""
    named = []
    for worker in sorted(traces, key=natural):
        summary = summarise_rank(traces[worker])
        named.append((Named(worker, summary.about.rank, None), summary))
    return ranks_of(named, damaged)


def _as_rank(rank: int, summary: RankSummary) -> RankSummary:
    """The summary under the number it goes by, without what only its own trace needs."""
    records = summary.worker.records.drop(_NOT_COMPARED)
    return replace(summary, worker=replace(summary.worker, rank=rank, records=records))

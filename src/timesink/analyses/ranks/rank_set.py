"""The ranks of one run as they were found: who is there, who is missing, who could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

import msgspec
import polars as pl
from msgspec import structs

from timesink.analyses.communication_workers import WorkerComparison, WorkerSummary, compare_workers
from timesink.analyses.ranks.analysis import RanksAnalysis, analyse_ranks
from timesink.analyses.ranks.fitness import (
    may_start_apart,
    ranges_without_late_starts,
    rank_reasons,
    unrelated_reason,
)
from timesink.analyses.ranks.rank_clusters import RankGroup, cluster_ranks
from timesink.analyses.ranks.summary import RankSummary, summarise_rank, thinned_alike
from timesink.analyses.thresholds import RankSetLimits
from timesink.model.fitness import Fitness
from timesink.model.health import HealthEntry, merge_entries
from timesink.model.trace import Trace
from timesink.model.units import brief_ns, count_noun, join_names, natural, ordinal, the_ranks


class NamedRecording(msgspec.Struct, frozen=True):
    """What a recording is called, and the rank that its trace and the name of its file state."""

    worker: str
    in_trace: int | None
    in_name: int | None

    @property
    def stated(self) -> int | None:
        """The rank it states, in whichever way."""
        return self.in_name if self.in_trace is None else self.in_trace


def rank_numbers(recordings: Sequence[NamedRecording]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """A rank for each recording, no two the same, and what had to be assumed.

    From its trace, else its file's name, else by its place.
    """
    # Where every trace states one and the same rank, as single processes do, none is meant.
    all_same = len(recordings) > 1 and len({recording.in_trace for recording in recordings}) == 1
    stated = [recording.in_name if all_same else recording.stated for recording in recordings]
    taken: set[int] = set()
    ranks: list[int | None] = []
    for rank in stated:
        ranks.append(None if rank in taken else rank)
        taken |= {rank} if rank is not None else set()
    free = (number for number in range(2 * len(recordings)) if number not in taken)
    numbers = tuple(next(free) if rank is None else rank for rank in ranks)
    if len(recordings) > 1 and all(rank is None for rank in stated):
        return numbers, ("no recording says which rank it is: they are numbered by their names",)
    notes = [
        f"{recording.worker} does not say which rank it is: it counts as rank {rank}"
        if stated_rank is None
        else f"{recording.worker} says that it is rank {stated_rank}, as another recording does: "
        f"it counts as rank {rank}"
        for recording, stated_rank, rank in zip(recordings, stated, numbers, strict=True)
        if stated_rank != rank and (stated_rank is not None or len(recordings) > 1)
    ]
    return numbers, tuple(notes)


_NOT_COMPARED = ("host_start_ns", "host_end_ns", "start_ns", "end_ns", "latency_ns", "dur_ns")
"""Columns of records that no other rank is compared by: a set is held in memory as a whole."""


class DamagedRank(msgspec.Struct, frozen=True):
    """A recording of which there is no summary."""

    worker: str
    source: str
    reason: str
    rank: int | None = None
    """As far as the name of the file tells."""


_LAYOUT = ("pp", "tp", "cp", "ep", "mp", "dp")
"""Kinds of process groups that make a layout, in the order in which people name them."""


class RankLayout(msgspec.Struct, frozen=True):
    """How many ranks a run has, and the sizes of its process groups."""

    world: int
    groups: tuple[tuple[str, int], ...]
    """Kinds and sizes, each once."""

    @property
    def words(self) -> str:
        """The same to read."""
        inner = ", ".join(f"{kind} {size}" for kind, size in self.groups)
        return f"{count_noun(self.world, 'ranks')}{f' ({inner})' if inner else ''}"


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
    runs: tuple[tuple[str, ...], ...] = ()
    """The workers of each run, where more than one entry says that these are no ranks of one."""

    @property
    def world_size(self) -> int:
        """How many ranks the run has, as far as recordings tell."""
        world_sizes = (summary.about.world_size or 0 for summary in self.ranks.values())
        return max(*world_sizes, max(self.ranks, default=-1) + 1, len(self.ranks))

    @property
    def missing(self) -> tuple[int, ...]:
        """Ranks of the run of which there is no recording, not even a damaged one."""
        seen = {*self.ranks, *self.left_out, *(recording.rank for recording in self.damaged)}
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

    @property
    def layout(self) -> RankLayout:
        """What the collectives of the run tell of its layout."""
        groups = self.analysis.groups.filter(pl.col("kind").is_in(_LAYOUT)).select("kind", "size")
        rows = sorted(groups.unique().rows(), key=lambda row: (_LAYOUT.index(row[0]), row[1]))
        return RankLayout(self.world_size, tuple(rows))

    @cached_property
    def communication(self) -> WorkerComparison:
        """Waiting and transfer, by the name of each worker."""
        workers = self.summaries
        if may_start_apart(self.ranks):
            late = self.analysis.late_starts
            clipped = ranges_without_late_starts(self.ranks, late)
            workers = {self.workers[rank]: summary.worker for rank, summary in clipped.items()}
        return compare_workers(workers)

    @cached_property
    def groups(self) -> tuple[RankGroup, ...]:
        """Ranks that behave alike, the usual ones first, and what sets the odd ones apart."""
        return cluster_ranks(self.ranks, self.analysis)


def ranks_of(
    named: Sequence[tuple[NamedRecording, RankSummary]],
    damaged: tuple[DamagedRank, ...] = (),
    left_out: Sequence[NamedRecording] = (),
) -> RankSet:
    """A set of summaries, each under its number, all about the same steps.

    `left_out` are recordings that have none of these.
    """
    numbers, notes = rank_numbers([recording for recording, _ in named])
    ranked = dict(sorted(zip(numbers, named, strict=True), key=itemgetter(0)))
    without = (
        "without these steps and left out: "
        f"{join_names([recording.worker for recording in left_out])}"
    )
    # Each under the number it goes by, without what only its own trace needs.
    summaries = {}
    for rank, (_, summary) in ranked.items():
        records = summary.worker.records.drop(_NOT_COMPARED)
        summaries[rank] = structs.replace(
            summary, worker=structs.replace(summary.worker, rank=rank, records=records)
        )
    return RankSet(
        ranks=thinned_alike(summaries),
        workers={rank: name.worker for rank, (name, _) in ranked.items()},
        damaged=damaged,
        notes=(*notes, *([without] if left_out else [])),
        left_out=tuple(recording.stated for recording in left_out if recording.stated is not None),
    )


def ranks_of_traces(traces: Mapping[str, Trace]) -> RankSet:
    """The set of traces that are open already, by the names of their workers."""
    summaries = {worker: summarise_rank(traces[worker]) for worker in sorted(traces, key=natural)}
    named = [
        (NamedRecording(worker, summary.about.rank, None), summary)
        for worker, summary in summaries.items()
    ]
    return ranks_of(named)


# What is to be said about a set as such: who is missing, what was assumed, how clocks differ.

_MAX_RANGES = 12
_ASSUMED = "rank_assumed"
"""Of one trace alone rank 0 is assumed; ranks of a set are distinguished by their names."""


def set_notes(ranks: RankSet) -> Iterator[str]:
    """Sentences about the set, those that weaken its numbers first."""
    if ranks.missing:
        verb = "is" if len(ranks.missing) == 1 else "are"
        yield f"{the_ranks(ranks.missing, _MAX_RANGES)} of {ranks.world_size} {verb} missing"
    if ranks.damaged:
        first = ranks.damaged[0]
        reason = first.reason.removeprefix(f"{first.source}: ")
        names = join_names([recording.worker for recording in ranks.damaged])
        whose = f"{first.worker}: {reason}" if len(ranks.damaged) > 1 else reason
        yield f"cannot be read: {names} ({whose}); the others stand"
    if silent := ranks.analysis.not_judged:
        who = f"{the_ranks(silent, _MAX_RANGES)} {'has' if len(silent) == 1 else 'have'}"
        yield f"{who} no device work, unlike most others, and cannot be judged"
    # What ranks with fewer steps than most lack is judged without them.
    steps = {rank: int(summary.steps["complete"].sum()) for rank, summary in ranks.ranks.items()}
    usual = sorted(steps.values())[len(steps) // 2] if steps else 0
    fewer = [rank for rank, count in steps.items() if count < usual]
    if len(fewer) == 1:
        yield f"rank {fewer[0]} has {steps[fewer[0]]} of {usual} steps"
    elif fewer:
        yield f"{the_ranks(fewer, _MAX_RANGES)} have fewer than the usual {usual} steps"
    yield from ranks.notes
    thinnings = [summary.thinning for summary in ranks.ranks.values()]
    every = max((thinning.every for thinning in thinnings), default=1)
    if every > 1:
        of = max(thinning.of_steps for thinning in thinnings)
        yield f"long recordings: every {ordinal(every)} of {of} steps is compared between ranks"
    if cut := sum(1 for thinning in thinnings if thinning.cut):
        yield f"{cut} ranks have more collectives in a step than are compared: the first ones count"
    yield from _clocks(ranks)


def set_fitness(ranks: RankSet, worker: str | None = None) -> Fitness:
    """What the recordings of a set cannot answer: each by itself, and together.

    Of a `worker` that is looked at in detail, what others cannot tell leaves the answers.
    """
    if len(ranks.runs) > 1:
        return Fitness((unrelated_reason(ranks.runs),))
    detailed = next((rank for rank, name in ranks.workers.items() if name == worker), None)
    return Fitness((*rank_reasons(ranks.ranks, detailed), *ranks.analysis.reasons))


def steps_in_detail(ranks: RankSet, worker: str | None, wanted: str | None) -> str | None:
    """The choice of steps in which a rank is looked at by itself; None for all of them.

    Without a step in which it waited for a profiler to start, where others are left.
    """
    rank = next((number for number, name in ranks.workers.items() if name == worker), None)
    if rank is None or not may_start_apart({rank: ranks.ranks[rank]}):
        return wanted
    late = set(ranks.analysis.late_starts.filter(pl.col("rank") == rank)["step"].to_list())
    steps = ranks.ranks[rank].steps.filter("complete")["step"].to_list()
    rest = [step for step in steps if step not in late]
    is_told = all(step.isdecimal() for step in steps)
    return ",".join(rest) if late.intersection(steps) and rest and is_told else wanted


def set_health(ranks: RankSet) -> list[tuple[HealthEntry, int]]:
    """What is odd about the recordings, each sort once, and on how many of them."""
    entries: list[tuple[HealthEntry, int | str]] = [
        *(
            (entry, rank)
            for rank, summary in ranks.ranks.items()
            for entry in summary.about.health
            if entry.code != _ASSUMED or len(ranks.ranks) == 1
        ),
        *(
            (HealthEntry("unreadable_file", 1, recording.reason), recording.source)
            for recording in ranks.damaged
        ),
    ]
    merged = merge_entries(entry for entry, _ in entries)
    places: dict[str, set[int | str]] = {}
    for entry, where in entries:
        places.setdefault(entry.code, set()).add(where)
    return [(entry, len(places[entry.code])) for entry in merged]


def _clocks(ranks: RankSet) -> Iterator[str]:
    """How far clocks are apart, among those that collectives tie to each other."""
    certain = ranks.analysis.clocks.filter(pl.col("uncertainty_ns").is_finite())
    clocks = certain.unique("clock")
    if clocks.height < 2:
        return
    apart = clocks.select(
        (pl.col("offset_ns").max() - pl.col("offset_ns").min()).over("tied_to").max()
    ).item()
    sure = float(clocks["uncertainty_ns"].max())  # type: ignore[arg-type]
    if apart < max(RankSetLimits.times_uncertainty * sure, RankSetLimits.min_apart_ns):
        return
    what = "hosts" if all(summary.about.host for summary in ranks.ranks.values()) else "ranks"
    yield (
        f"clocks of {clocks.height} {what} up to {brief_ns(apart)} apart, "
        f"known to ±{brief_ns(sure)}"
    )

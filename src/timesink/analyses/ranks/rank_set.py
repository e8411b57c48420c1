"""The ranks of one run as they were found: who is there, who is missing, who could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from timesink.analyses.communication.workers import WorkerComparison, WorkerSummary, compare_workers
from timesink.analyses.ranks import rank_groups as clusters
from timesink.analyses.ranks.analysis import RanksAnalysis, analyse_ranks
from timesink.analyses.ranks.own_time import OWN_PARTS, ranges_of
from timesink.analyses.ranks.rank_groups import RankGroup, cluster_ranks
from timesink.analyses.ranks.summary import RankSummary, summarise_rank, thinned_alike
from timesink.model.health import HealthEntry, merge_entries
from timesink.model.trace import Trace
from timesink.model.units import brief_ns, listed, natural, ordinal

# Which rank a recording is: as it says itself, as its file is called, or by its place.


@dataclass(frozen=True, slots=True)
class Named:
    """What a recording is called, and the rank that its trace and the name of its file state."""

    worker: str
    told: int | None
    in_name: int | None

    @property
    def stated(self) -> int | None:
        """The rank it states, in whichever way."""
        return self.in_name if self.told is None else self.told


@dataclass(frozen=True, slots=True)
class RankNumbers:
    """A number for each recording, no two the same, and what had to be assumed."""

    ranks: tuple[int, ...]
    notes: tuple[str, ...] = ()


def numbered(recordings: Sequence[Named]) -> RankNumbers:
    """The rank of each recording: from its trace, else its file's name, else by its place."""
    # Where every trace states one and the same rank, as single processes do, none is meant.
    alike = len(recordings) > 1 and len({each.told for each in recordings}) == 1
    stated = [each.in_name if alike else each.stated for each in recordings]
    taken: set[int] = set()
    ranks: list[int | None] = []
    for rank in stated:
        ranks.append(None if rank in taken else rank)
        taken |= {rank} if rank is not None else set()
    free = (number for number in range(2 * len(recordings)) if number not in taken)
    found = tuple(next(free) if rank is None else rank for rank in ranks)
    return RankNumbers(found, tuple(_notes(recordings, stated, found)))


def _notes(
    recordings: Sequence[Named], stated: Sequence[int | None], found: Sequence[int]
) -> Iterator[str]:
    if len(recordings) > 1 and all(rank is None for rank in stated):
        yield "no recording says which rank it is: they are numbered by their names"
        return
    for each, said, rank in zip(recordings, stated, found, strict=True):
        if said is None and len(recordings) > 1:
            yield f"{each.worker} does not say which rank it is: it counts as rank {rank}"
        elif said not in {None, rank}:
            yield (
                f"{each.worker} says that it is rank {said}, as another recording does: "
                f"it counts as rank {rank}"
            )


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
    def communication(self) -> WorkerComparison:
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
    without = f"without these steps and left out: {listed([each.worker for each in left_out])}"
    return RankSet(
        ranks=thinned_alike({rank: _as_rank(rank, each) for rank, (_, each) in ranked.items()}),
        workers={rank: name.worker for rank, (name, _) in ranked.items()},
        damaged=damaged,
        notes=(*numbers.notes, *([without] if left_out else [])),
        left_out=tuple(each.stated for each in left_out if each.stated is not None),
    )


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


# What is to be said about a set as such: who is missing, what was assumed, how clocks differ.

_TIMES_UNCERTAINTY = 10.0
"""How far clocks must be apart, against how well that is known: the farthest of many are some four
to six times as far apart by chance alone."""
_LEAST_APART_NS = 1_000
_ASSUMED = "rank_assumed"
"""Of one trace alone rank 0 is assumed; ranks of a set are told apart by their names."""


def set_notes(ranks: RankSet) -> Iterator[str]:
    """Sentences about the set, those that weaken its numbers first."""
    yield from _missing(ranks)
    yield from _damaged(ranks)
    yield from _not_judged(ranks)
    yield from _shorter(ranks)
    yield from ranks.notes
    yield from _thinned(ranks)
    yield from _clocks(ranks)


def set_health(ranks: RankSet) -> list[tuple[HealthEntry, int]]:
    """What is odd about the recordings, each sort once, and on how many of them."""
    entries: list[tuple[HealthEntry, int | str]] = [
        *(
            (entry, rank)
            for rank, each in ranks.ranks.items()
            for entry in each.about.health
            if entry.code != _ASSUMED or len(ranks.ranks) == 1
        ),
        *((HealthEntry("unreadable_file", 1, one.reason), one.source) for one in ranks.damaged),
    ]
    merged = merge_entries(entry for entry, _ in entries)
    found: dict[str, set[int | str]] = {}
    for entry, where in entries:
        found.setdefault(entry.code, set()).add(where)
    return [(entry, len(found[entry.code])) for entry in merged]


def _missing(ranks: RankSet) -> Iterator[str]:
    missing, world = ranks.missing, ranks.world_size
    if missing:
        word, verb = ("rank", "is") if len(missing) == 1 else ("ranks", "are")
        yield f"{word} {ranges_of(missing, most=12)} of {world} {verb} missing"


def _damaged(ranks: RankSet) -> Iterator[str]:
    if ranks.damaged:
        first = ranks.damaged[0]
        reason = first.reason.removeprefix(f"{first.source}: ")
        names = listed([each.worker for each in ranks.damaged])
        whose = f"{first.worker}: {reason}" if len(ranks.damaged) > 1 else reason
        yield f"cannot be read: {names} ({whose}); the others stand"


def _shorter(ranks: RankSet) -> Iterator[str]:
    """Ranks with fewer steps than most: what they lack is judged without them."""
    steps = {rank: int(each.steps["complete"].sum()) for rank, each in ranks.ranks.items()}
    usual = sorted(steps.values())[len(steps) // 2] if steps else 0
    fewer = [rank for rank, count in steps.items() if count < usual]
    if len(fewer) == 1:
        yield f"rank {fewer[0]} has {steps[fewer[0]]} of {usual} steps"
    elif fewer:
        yield f"ranks {ranges_of(fewer, most=12)} have fewer than the usual {usual} steps"


def _not_judged(ranks: RankSet) -> Iterator[str]:
    found = ranks.analysis.not_judged
    if found:
        word, verb = ("rank", "has") if len(found) == 1 else ("ranks", "have")
        yield (
            f"{word} {ranges_of(found, most=12)} {verb} no device work, unlike most others, "
            "and cannot be judged"
        )


def _thinned(ranks: RankSet) -> Iterator[str]:
    kept = [each.kept for each in ranks.ranks.values()]
    every = max((one.every for one in kept), default=1)
    if every > 1:
        of = max(one.of_steps for one in kept)
        yield f"long recordings: every {ordinal(every)} of {of} steps is compared between ranks"
    cut = sum(1 for one in kept if one.cut)
    if cut:
        yield f"{cut} ranks have more collectives in a step than are compared: the first ones count"


def _clocks(ranks: RankSet) -> Iterator[str]:
    """How far clocks are apart, among those that collectives tie to each other."""
    known = ranks.analysis.clocks.filter(pl.col("uncertainty_ns").is_finite())
    clocks = known.unique("clock")
    if clocks.height < 2:
        return
    apart = clocks.select(
        (pl.col("offset_ns").max() - pl.col("offset_ns").min()).over("tied_to").max()
    ).item()
    sure = float(clocks["uncertainty_ns"].max())  # type: ignore[arg-type]
    if apart < max(_TIMES_UNCERTAINTY * sure, _LEAST_APART_NS):
        return
    what = "hosts" if all(each.about.host for each in ranks.ranks.values()) else "ranks"
    yield (
        f"clocks of {clocks.height} {what} up to {brief_ns(apart)} apart, "
        f"known to ±{brief_ns(sure)}"
    )


# The tables about a set of ranks that users ask for by name.

STRAGGLER_SCHEMA = {
    "rank": pl.Int64(),
    "worker": pl.String(),
    "cause": pl.String(),
    "cost_ns": pl.Float64(),
    "share_pct": pl.Float64(),
    "steps": pl.Int64(),
    "step_names": pl.List(pl.String()),
    "evidence": pl.List(pl.String()),
}


def worker_steps(ranks: RankSet) -> pl.DataFrame:
    """Communication of every worker in every step: waiting and transfer."""
    return ranks.communication.by_step


def collective_statistics(ranks: RankSet) -> pl.DataFrame:
    """Calls, sizes, latency, transfer and bandwidth of every collective on every worker."""
    return ranks.communication.by_name


def mismatched_calls(ranks: RankSet) -> pl.DataFrame:
    """Collective calls that some workers made and others did not."""
    return ranks.communication.mismatches


def rank_rows(ranks: RankSet) -> pl.DataFrame:
    """One row per rank: what its time goes to, how long it waits and lets others wait."""
    found = _named(ranks.analysis.ranks, ranks)
    return found if _has_steps(ranks) else found.clear()


def straggler_rows(ranks: RankSet) -> pl.DataFrame:
    """Ranks that hold the others up, the costliest first."""
    rows = [
        {
            "rank": each.rank,
            "worker": ranks.workers[each.rank],
            "cause": each.cause,
            "cost_ns": each.cost_ns,
            "share_pct": 100 * each.share,
            "steps": len(each.steps),
            "step_names": list(each.steps),
            "evidence": list(each.proofs),
        }
        for each in ranks.analysis.stragglers
    ]
    return pl.DataFrame(rows, schema=STRAGGLER_SCHEMA)


def matched_collectives(ranks: RankSet) -> pl.DataFrame:
    """Collectives by group, kind and size: how long ranks wait in them, how fast they move data."""
    return ranks.analysis.matched


def process_groups(ranks: RankSet) -> pl.DataFrame:
    """Process groups, what they are for, and who is in them."""
    return ranks.analysis.groups


def clock_rows(ranks: RankSet) -> pl.DataFrame:
    """How far the clock of each rank is ahead of the others, and how sure that is."""
    hosts = {rank: each.about.host for rank, each in ranks.ranks.items()}
    host = pl.col("rank").replace_strict(hosts, return_dtype=pl.String).alias("host")
    found = _named(ranks.analysis.clocks.drop("middle_ns").with_columns(host), ranks)
    return found if ranks.communicates else found.clear()


def rank_steps(ranks: RankSet) -> pl.DataFrame:
    """Every step of every rank: what it is spent on, waits suffered and caused."""
    steps = pl.concat(
        [
            each.steps.select(
                pl.lit(rank, pl.Int64).alias("rank"),
                "step",
                "complete",
                (pl.col("end_ns") - pl.col("start_ns")).alias("step_ns"),
                "compute_ns",
                "communication_ns",
                "exposed_communication_ns",
                "overlap_ns",
                pl.sum_horizontal(f"own_{part}_ns" for part in OWN_PARTS).alias("own_ns"),
            )
            for rank, each in ranks.ranks.items()
        ]
    )
    found = steps
    for more in (ranks.analysis.waits, _excess(ranks)):
        found = found.join(more, on=["rank", "step"], how="left", maintain_order="left")
    return _named(found, ranks)


def rank_groups(ranks: RankSet) -> pl.DataFrame:
    """Ranks that behave alike, and what sets the odd ones apart."""
    found = clusters.rank_groups(ranks.ranks, ranks.analysis)
    return found if _has_steps(ranks) else found.clear()


def _has_steps(ranks: RankSet) -> bool:
    return any(each.steps.height for each in ranks.ranks.values())


def _excess(ranks: RankSet) -> pl.DataFrame:
    """What each rank took more than its peers in each step."""
    panel = ranks.analysis.panel
    return pl.DataFrame(
        {
            "rank": panel.ranks.repeat(len(panel.steps)),
            "step": [*panel.steps] * len(panel.ranks),
            "excess_ns": panel.excess.ravel(),
        },
        schema={"rank": pl.Int64, "step": pl.String, "excess_ns": pl.Float64},
    )


def _named(table: pl.DataFrame, ranks: RankSet) -> pl.DataFrame:
    """The table with the name of each rank's recording beside its number."""
    worker = pl.col("rank").replace_strict(dict(ranks.workers), return_dtype=pl.String)
    return table.select("rank", worker.alias("worker"), pl.exclude("rank"))

"""What a set of recordings cannot tell: clocks that nothing aligns, profilers that began apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
from msgspec import structs

from timesink.analyses.communication_calls import SYNCHRONISING
from timesink.analyses.ranks.summary import RankSummary
from timesink.model.fitness import COMMUNICATION, RANKS, Reason
from timesink.model.units import brief_ns, count_noun, the_ranks

LATE_START_SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("rank", "match", "wait_ns"), pl.Int64()),
    "step": pl.String(),
    "start_ns": pl.Int64(),
    "last_rank": pl.Int64(),
}
"""`rank` waited so long from `start_ns` on because the recording of `last_rank` had not begun."""


def late_starts(calls: pl.DataFrame, ranks: Mapping[int, RankSummary]) -> pl.DataFrame:
    """Waits for ranks whose recordings began later than those of others: `LATE_START_SCHEMA`.

    `calls` are matched collectives with waits.  Ranks that meet in every step are never a whole
    step apart: who delays others longer than one of its own steps, in the first collective it
    has, was not there because its profiler had not started.  What it took by itself before that
    collective is recorded, and is a wait for it.
    """
    if calls.is_empty():
        return pl.DataFrame(schema=LATE_START_SCHEMA)
    steps = {rank: _usual_step(summary) for rank, summary in ranks.items()}
    together = pl.col("collective").is_in(SYNCHRONISING).fill_null(value=False)
    is_first = pl.col("start_ns") == pl.col("start_ns").min().over("rank")
    # Of each collective the one that came last, where it is the first that this rank has.
    last = (
        calls.lazy()
        .with_columns(is_first=is_first)
        .filter(together, pl.col("members") > 1)
        .filter(pl.col("is_first").any().over("match"))
        .with_columns(is_last=pl.col("wait_ns") == pl.col("wait_ns").min().over("match"))
    )
    starters = (
        last.filter("is_last", "is_first")
        .unique("match", keep="first", maintain_order=True)
        .select("match", last_rank="rank", last_own_ns="own_ns")
        .with_columns(least=pl.col("last_rank").replace_strict(steps, return_dtype=pl.Int64))
    )
    recorded = (pl.col("last_own_ns") - pl.col("own_ns")).clip(lower_bound=0)
    return (
        last.join(starters, on="match", maintain_order="left")
        .with_columns(wait_ns=pl.col("wait_ns") - recorded)
        .filter(pl.col("wait_ns") > pl.col("least"), pl.col("least") > 0)
        .select(pl.col(name).cast(dtype) for name, dtype in LATE_START_SCHEMA.items())
        .sort("rank", "start_ns")
        .collect()
    )


def _usual_step(summary: RankSummary) -> int:
    """How long a step of a rank is, in ns; that of the whole recording where none is complete."""
    complete = summary.steps["complete"].to_numpy()
    length = (summary.steps["end_ns"] - summary.steps["start_ns"]).to_numpy()
    length = length[complete] if complete.any() else length
    return int(np.median(length)) if len(length) else 0


def without_late_starts(calls: pl.DataFrame, late: pl.DataFrame) -> pl.DataFrame:
    """The collectives without waits for a profiler to start: they begin when the last rank came."""
    if late.is_empty():
        return calls
    waits = late.select("rank", "match", late_ns="wait_ns")
    missed = pl.col("late_ns").fill_null(0)
    return (
        calls.join(waits, on=["rank", "match"], how="left", maintain_order="left")
        .with_columns(
            *(pl.col(name) - missed for name in ("wait_ns", "dur_ns")),
            start_ns=pl.col("start_ns") + missed,
            exposed_ns=(pl.col("exposed_ns") - missed).clip(lower_bound=0),
        )
        .drop("late_ns")
    )


def steps_without_late_starts(
    ranks: Mapping[int, RankSummary], late: pl.DataFrame
) -> dict[int, RankSummary]:
    """Ranks whose steps with such a wait are not complete: means and comparisons leave them out.

    A rank that would have no complete step keeps its own.
    """
    changed = dict(ranks)
    for (rank,), waits in late.group_by("rank"):
        summary = ranks[int(str(rank))]
        complete = summary.steps["complete"] & ~summary.steps["step"].is_in(
            waits["step"].drop_nulls().implode()
        )
        if complete.any():
            steps = summary.steps.with_columns(complete=complete)
            changed[int(str(rank))] = structs.replace(summary, steps=steps)
    return changed


def may_start_apart(ranks: Mapping[int, RankSummary]) -> bool:
    """Whether some rank is in its first collective for longer than a step: worth a look."""
    for summary in ranks.values():
        calls = summary.collectives
        if calls.height:
            first = int(calls["start_ns"].arg_min() or 0)
            if calls["end_ns"][first] - calls["start_ns"][first] > _usual_step(summary) > 0:
                return True
    return False


def ranges_without_late_starts(
    ranks: Mapping[int, RankSummary], late: pl.DataFrame
) -> dict[int, RankSummary]:
    """Ranks whose communication has no such wait: its ranges begin when the last rank came."""
    changed = dict(ranks)
    for rank, wait_ns, start_ns in late.select("rank", "wait_ns", "start_ns").iter_rows():
        worker = changed[rank].worker
        begin_ns = start_ns + wait_ns
        goes_on = (pl.col("start_ns") < begin_ns) & (pl.col("end_ns") > begin_ns)
        start = pl.when(goes_on).then(begin_ns).otherwise("start_ns")
        ranges = worker.ranges.with_columns(start_ns=start)
        changed[rank] = structs.replace(
            changed[rank], worker=structs.replace(worker, ranges=ranges)
        )
    return changed


def late_start_reason(late: pl.DataFrame) -> Reason | None:
    """Why the first collectives of a set are no communication; None where they are."""
    if late.is_empty():
        return None
    longest = int(late["wait_ns"].max())  # type: ignore[arg-type]
    last = late["last_rank"].unique().to_list()
    verb = "starts" if len(last) == 1 else "start"
    return Reason(
        "profilers_apart",
        f"{the_ranks(last)} {verb} recording up to {brief_ns(longest)} later than the others. "
        "Waits for that in the first collectives are no communication and left out.",
        "Start the profilers of all ranks in the same step, after a barrier.",
        (COMMUNICATION,),
        {"longest_wait_us": longest / 1000, "ranks": the_ranks(last)},
    )


def clock_reason(clocks: pl.DataFrame) -> Reason | None:
    """Why clocks of ranks stay as they were recorded; None where they are aligned."""
    apart = clocks.filter(pl.col("ends") > 0, pl.col("uncertainty_ns").is_nan())
    if apart.is_empty():
        return None
    many = apart["clock"].n_unique()
    return Reason(
        "clocks_not_aligned",
        f"The clocks of {count_noun(many, 'ranks')} cannot be aligned. Collectives that should end "
        "together drift apart faster than clocks do.",
        "Record all ranks of one run over the same steps; newer PyTorch numbers its collectives.",
        (RANKS,),
        {"clocks": float(many)},
    )


def rank_reasons(ranks: Mapping[int, RankSummary], detailed: int | None) -> Iterator[Reason]:
    """What recordings of single ranks cannot tell: each sort once, and of which ranks.

    Told are the numbers of the rank in detail, else of the first that it holds for.
    """
    reasons_by_code: dict[str, dict[int, Reason]] = {}
    order = sorted(ranks, key=lambda rank: rank != detailed)
    for rank in order:
        for reason in ranks[rank].about.unfit:
            reasons_by_code.setdefault(reason.code, {}).setdefault(rank, reason)
    for reasons in reasons_by_code.values():
        first, first_reason = next(iter(reasons.items()))
        who = sorted(reasons)
        subject = the_ranks(who)
        if len(who) > 1 and len({reason.sentence for reason in reasons.values()}) > 1:
            subject += f" (here rank {first})"
        is_of_others = detailed is not None and detailed not in reasons
        yield structs.replace(
            first_reason,
            sentence=f"{subject[0].upper()}{subject[1:]}: {first_reason.sentence}",
            ranks=tuple(who),
            is_of_others=is_of_others and len(who) < len(ranks),
        )


def unrelated_reason(runs: Sequence[Sequence[str]]) -> Reason:
    """Why recordings that lie together are not compared as ranks."""
    return Reason(
        "unrelated_recordings",
        f"The recordings are of {count_noun(len(runs), 'runs')}. Nothing in them shows that they "
        "are ranks of one run (world size, collectives, times).",
        "Record all ranks of a run into a folder of their own, or choose one recording.",
        (RANKS, COMMUNICATION),
        {"runs": float(len(runs))},
    )

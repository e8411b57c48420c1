"""A long recording cut down to some of its steps, the same ones on every rank.

The size of a summary must not grow with the events.  Of a recording with too many collectives every
second step is kept, or every fourth, and so on, by the number of the step: so ranks agree without
knowing each other, and who keeps more is cut down to what all have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from timesink.analyses.communication.comparison import WorkerSummary
from timesink.analyses.ranks.functions import FUNCTION_SCHEMA, function_times
from timesink.analyses.ranks.summary import RankSummary
from timesink.model.trace import Trace

MOST_COLLECTIVES = 8_192
MOST_STEPS = 2_048
MOST_FUNCTIONS = 2_000
OTHERS = "(others)"
"""What stands for the functions that are left out: those that take least."""


def within_limits(summary: RankSummary, trace: Trace) -> RankSummary:
    """The summary of a trace, of as many steps and functions as a set can afford."""
    every = _every(summary, MOST_COLLECTIVES)
    if every > 1:
        summary = of_every(summary, every)
        # What functions did is told per step, so it must be about the same steps.
        whole = summary.steps.filter("complete").select("start_ns", "end_ns").to_numpy()
        summary = replace(summary, functions=function_times(trace, whole.reshape(-1, 2)))
    return _few_functions(_first_collectives(summary))


def thinned_to(summary: RankSummary, most: int) -> RankSummary:
    """The summary with at most so many collectives, where that leaves a whole step."""
    every = _every(summary, most)
    return summary if every == summary.kept.every else of_every(summary, every)


def thinned_alike(ranks: Mapping[int, RankSummary]) -> dict[int, RankSummary]:
    """Summaries of one run, all of the same steps: those that every rank has kept."""
    every = max((each.kept.every for each in ranks.values()), default=1)
    return {
        rank: each if each.kept.every == every else of_every(each, every)
        for rank, each in ranks.items()
    }


def of_every(summary: RankSummary, every: int) -> RankSummary:
    """The summary of the steps whose number is divided by `every`.

    Functions are told per step; what they did in all of them is scaled to those that stay.
    """
    chosen = _number("step") % every == 0
    steps, worker = summary.steps, summary.worker
    known = worker.records.filter(chosen)
    ranges = worker.ranges.join(known, on="record", how="semi", maintain_order="left")
    kept_steps = steps.filter(chosen)
    before, after = (int(table["complete"].sum()) for table in (steps, kept_steps))
    part = after / max(before, 1)
    done = pl.col("calls", "dur_ns")
    return replace(
        summary,
        steps=kept_steps,
        functions=summary.functions.with_columns(
            (done * part).round().cast(pl.Int64), pl.col("work") * part
        ),
        collectives=summary.collectives.filter(chosen),
        worker=WorkerSummary(
            worker.rank, worker.steps.filter(_number("name") % every == 0), known, ranges
        ),
        kept=replace(summary.kept, every=every, of_steps=summary.kept.of_steps or steps.height),
    )


def _number(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.Int64, strict=False)


def _every(summary: RankSummary, most: int) -> int:
    """How far apart the steps are that can be kept; as they are where nothing has to go."""
    every = summary.kept.every
    if summary.worker.records.height <= most and summary.steps.height <= MOST_STEPS:
        return every
    steps, calls = (
        table.select(_number("step")).to_series().drop_nulls()
        for table in (summary.steps, summary.worker.records)
    )

    def many(numbers: pl.Series, apart: int) -> int:
        return int((numbers % apart == 0).sum())

    while many(calls, every) > most or many(steps, every) > MOST_STEPS:
        # The last step stays, however long it is.
        if not 0 < many(steps, 2 * every) < many(steps, every):
            break
        every *= 2
    return every


def _first_collectives(summary: RankSummary) -> RankSummary:
    """Where a single step has too many collectives, or none is marked: the first ones."""
    worker = summary.worker
    surplus = worker.records.height - MOST_COLLECTIVES
    if surplus <= 0:
        return summary
    records = worker.records.head(MOST_COLLECTIVES)
    ranges = worker.ranges.join(records, on="record", how="semi", maintain_order="left")
    return replace(
        summary,
        collectives=summary.collectives.join(
            records, on="record", how="semi", maintain_order="left"
        ),
        worker=replace(worker, records=records, ranges=ranges),
        kept=replace(summary.kept, cut=surplus),
    )


def _few_functions(summary: RankSummary) -> RankSummary:
    functions = summary.functions
    if functions.height <= MOST_FUNCTIONS:
        return summary
    ranked = functions.with_columns(
        function=pl.when(pl.col("dur_ns").rank("ordinal", descending=True) < MOST_FUNCTIONS - 8)
        .then("function")
        .otherwise(pl.lit(OTHERS))
    )
    merged = (
        ranked.group_by("place", "function")
        .agg(
            pl.col("calls", "dur_ns", "work").sum(),
            typical_ns=pl.col("dur_ns").sum() / pl.col("calls").sum(),
            only=pl.col("typical_ns").first(),
            many=pl.len(),
        )
        .with_columns(typical_ns=pl.when(pl.col("many") == 1).then("only").otherwise("typical_ns"))
        .sort("place", "function")
        .select(pl.col(name).cast(dtype) for name, dtype in FUNCTION_SCHEMA.items())
    )
    return replace(summary, functions=merged)

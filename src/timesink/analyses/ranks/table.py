"""What each rank spends its time on, and whose time it costs."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from timesink.analyses.ranks.matching import PAIRS
from timesink.analyses.ranks.summary import RankSummary

RANK_SCHEMA = {
    "rank": pl.Int64(),
    "host": pl.String(),
    "device": pl.String(),
    "steps": pl.Int64(),
    "step_ns": pl.Float64(),
    "compute_ns": pl.Float64(),
    "communication_ns": pl.Float64(),
    "exposed_communication_ns": pl.Float64(),
    "overlap_ns": pl.Float64(),
    "wait_suffered_ns": pl.Float64(),
    "wait_caused_ns": pl.Float64(),
    "pipeline_bubble_ns": pl.Float64(),
    "idle_ns": pl.Float64(),
}
"""Times are means per complete step.  `wait_caused_ns` is how long others waited for the rank's own
doing, `pipeline_bubble_ns` its waits for the stages before and after it."""


def rank_table(ranks: Mapping[int, RankSummary], calls: pl.DataFrame) -> pl.DataFrame:
    """Rows of `RANK_SCHEMA`, one per rank; `calls` are blamed collectives."""
    rows = [_row(rank, each) for rank, each in sorted(ranks.items())]
    table = pl.concat(rows)
    waits = calls.group_by("rank").agg(
        wait_suffered_ns=pl.col("wait_ns").sum(),
        wait_caused_ns=pl.col("held_up_ns").sum(),
        pipeline_bubble_ns=pl.col("wait_ns").filter(pl.col("collective").is_in(PAIRS)).sum(),
    )
    per_step = pl.max_horizontal("steps", 1)
    return (
        table.join(waits, on="rank", how="left", maintain_order="left")
        .with_columns(pl.col(waits.columns[1:]).fill_null(0) / per_step)
        .select(pl.col(name).cast(dtype) for name, dtype in RANK_SCHEMA.items())
    )


def _row(rank: int, summary: RankSummary) -> pl.DataFrame:
    steps = summary.steps.filter("complete")
    host_only = ["own_data_loader_ns", "own_runtime_ns", "own_cpu_exec_ns", "own_idle_ns"]
    return steps.select(
        rank=pl.lit(rank, pl.Int64),
        host=pl.lit(summary.about.host, pl.String),
        device=pl.lit(summary.about.device, pl.String),
        steps=pl.len(),
        step_ns=(pl.col("end_ns") - pl.col("start_ns")).mean(),
        compute_ns=pl.col("compute_ns").mean(),
        communication_ns=pl.col("communication_ns").mean(),
        exposed_communication_ns=pl.col("exposed_communication_ns").mean(),
        overlap_ns=pl.col("overlap_ns").mean(),
        idle_ns=pl.sum_horizontal(host_only).mean(),
    ).head(1)

"""What each rank spends its time on, and whose time it costs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from timesink.analyses.ranks.matching import PAIRS
from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.row_groups import covered, joint, numbered, stacked

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

WAIT_SCHEMA = {
    "rank": pl.Int64(),
    "step": pl.String(),
    "wait_suffered_ns": pl.Int64(),
    "wait_caused_ns": pl.Float64(),
    "pipeline_bubble_ns": pl.Int64(),
}
"""Moments in which several collectives wait count once."""


def rank_table(ranks: Mapping[int, RankSummary], by_step: pl.DataFrame) -> pl.DataFrame:
    """Rows of `RANK_SCHEMA`, one per rank; `by_step` has rows of `WAIT_SCHEMA`."""
    table = _about(ranks).join(_mean_step(ranks), on="rank", how="left", maintain_order="left")
    waits = by_step.drop("step").group_by("rank").sum()
    table = table.with_columns(pl.col("steps").fill_null(0))
    per_step = pl.max_horizontal("steps", 1)
    return (
        table.join(waits, on="rank", how="left", maintain_order="left")
        .with_columns(pl.col(waits.columns[1:]).fill_null(0) / per_step)
        .select(pl.col(name).cast(dtype) for name, dtype in RANK_SCHEMA.items())
    )


def step_waits(calls: pl.DataFrame) -> pl.DataFrame:
    """Rows of `WAIT_SCHEMA`: what each rank waited in each step, and let others wait."""
    is_pair = pl.col("collective").is_in(PAIRS).fill_null(value=False)
    # A pair that nobody waits for until other work is done is no bubble.
    stopped = pl.when(is_pair).then(pl.min_horizontal("wait_ns", "exposed_ns"))
    # What the wait for each call adds to those of its rank and step that began before.
    start, wait = calls["start_ns"].to_numpy(), calls["wait_ns"].to_numpy()
    key = joint(numbered(calls["rank"]), numbered(calls["step"]))
    order = np.lexsort((start, key))
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    added = np.empty(len(order), dtype=np.int64)
    added[order] = covered(start[order], (start + wait)[order], first)
    return (
        calls.lazy()
        .select("rank", "step", "held_up_ns", stopped=stopped, covered=pl.Series(added))
        .group_by("rank", "step")
        .agg(
            wait_suffered_ns=pl.col("covered").sum(),
            wait_caused_ns=pl.col("held_up_ns").sum(),
            pipeline_bubble_ns=pl.col("stopped").sum(),
        )
        .sort("rank", "step")
        .select(pl.col(name).cast(dtype) for name, dtype in WAIT_SCHEMA.items())
        .collect()
    )


def _about(ranks: Mapping[int, RankSummary]) -> pl.DataFrame:
    told = [(rank, each.about.host, each.about.device) for rank, each in sorted(ranks.items())]
    schema = {name: RANK_SCHEMA[name] for name in ("rank", "host", "device")}
    return pl.DataFrame(told, schema=schema, orient="row")


def _mean_step(ranks: Mapping[int, RankSummary]) -> pl.DataFrame:
    steps = stacked({rank: each.steps for rank, each in ranks.items()})
    host_only = ["own_data_loader_ns", "own_runtime_ns", "own_cpu_exec_ns", "own_idle_ns"]
    whole = pl.col("complete")
    return steps.group_by("rank").agg(
        steps=whole.sum(),
        step_ns=(pl.col("end_ns") - pl.col("start_ns")).filter(whole).mean(),
        compute_ns=pl.col("compute_ns").filter(whole).mean(),
        communication_ns=pl.col("communication_ns").filter(whole).mean(),
        exposed_communication_ns=pl.col("exposed_communication_ns").filter(whole).mean(),
        overlap_ns=pl.col("overlap_ns").filter(whole).mean(),
        idle_ns=pl.sum_horizontal(host_only).filter(whole).mean(),
    )

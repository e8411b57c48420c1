"""Count, period, length and spread of cycles, by process and type."""

from __future__ import annotations

import polars as pl

from timesink.analyses.cycles.cycles import Cycles
from timesink.model.schema import CYCLE_TYPES

SCHEMA = {
    "pid": pl.String(),
    "type": pl.Enum(CYCLE_TYPES),
    "cycles": pl.Int64(),
    "period_ns": pl.Int64(),
    "length_median_ns": pl.Int64(),
    "length_mean_ns": pl.Int64(),
    "length_iqr_ns": pl.Int64(),
    "length_cv": pl.Float64(),
    "shortest_ns": pl.Int64(),
    "longest_ns": pl.Int64(),
}
"""One row per process and type.  The period is the median time from a start to the next start of
that type; null for a single cycle.  `length_cv` is the standard deviation over the mean."""


def cycle_summary(cycles: Cycles) -> pl.DataFrame:
    """How many cycles there are, how long they are and how much that varies."""
    length = pl.col("end_ns") - pl.col("start_ns")
    rows = cycles.table.sort("pid", "start_ns").with_columns(
        length.alias("length"),
        pl.col("start_ns").diff().over("pid", "type").alias("apart"),
    )
    spread = pl.col("length").quantile(0.75, "linear") - pl.col("length").quantile(0.25, "linear")
    return (
        rows.group_by("pid", "type")
        .agg(
            pl.len().alias("cycles"),
            pl.col("apart").median().round().alias("period_ns"),
            pl.col("length").median().round().alias("length_median_ns"),
            pl.col("length").mean().round().alias("length_mean_ns"),
            spread.round().alias("length_iqr_ns"),
            (pl.col("length").std() / pl.col("length").mean()).alias("length_cv"),
            pl.col("length").min().alias("shortest_ns"),
            pl.col("length").max().alias("longest_ns"),
        )
        .sort("pid", "type")
        .select(list(SCHEMA))
        .cast(SCHEMA)  # type: ignore[arg-type]
    )

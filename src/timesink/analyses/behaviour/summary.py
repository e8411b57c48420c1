"""A behaviour table in brief: what functions cost on average, and what counters read."""

from __future__ import annotations

import polars as pl

from timesink.analyses.behaviour.rows import once_per_cycle, plain_texts

_FUNCTION = ("host", "pid", "function", "short_name", "function_class", "device")
_CYCLE = ("host", "pid", "cycle")


def function_summary(table: pl.DataFrame) -> pl.DataFrame:
    """One row per function and device, what takes most of all cycles first.

    The share is the mean over the cycles in which the function runs, as in a comparison; time and
    calls are per cycle of its process, where a cycle without the function counts as zero.
    """
    plain = plain_texts(table)
    numbers = plain.unique(list(_CYCLE)).group_by("host", "pid").agg(all_cycles=pl.len())
    once = once_per_cycle(plain, ["host", "pid"])
    ran = once.filter(pl.sum_horizontal("calls", "dur_ns") > 0)
    sums = ran.group_by(_FUNCTION).agg(
        pl.col("beta_pct").mean(),
        pl.col("dur_ns").sum(),
        calls=pl.when(pl.col("calls").count() > 0).then(pl.col("calls").sum()),
        cycles=pl.len().cast(pl.Int64),
    )
    return (
        sums.join(numbers, on=["host", "pid"], nulls_equal=True)
        .with_columns(of_all_pct=pl.col("beta_pct") * pl.col("cycles") / pl.col("all_cycles"))
        .sort("of_all_pct", *_FUNCTION, descending=[True] + [False] * len(_FUNCTION))
        .select(
            *_FUNCTION,
            "beta_pct",
            time_ns=pl.col("dur_ns") / pl.col("all_cycles"),
            calls=pl.col("calls") / pl.col("all_cycles"),
            cycles="cycles",
        )
    )


def metric_summary(table: pl.DataFrame) -> pl.DataFrame:
    """One row per function, device and metric: the counter's mean over cycles, weighted by time."""
    measured = _measured(table)
    return (
        measured.group_by(*_FUNCTION, "metric", "unit")
        .agg(mu=_weighted_mean())
        .sort(*_FUNCTION, "metric")
    )


def counter_summary(table: pl.DataFrame) -> pl.DataFrame:
    """One row per device and metric: how high it was while functions ran, cycle by cycle."""
    measured = _measured(table)
    key = ("device", "metric", "unit")
    by_cycle = measured.group_by(*key, *_CYCLE).agg(
        mu=_weighted_mean(), dur_ns=pl.col("dur_ns").sum()
    )
    readers = measured.group_by(key).agg(functions=pl.col("function").n_unique())
    return (
        by_cycle.group_by(key)
        .agg(
            mu=_weighted_mean(),
            lowest=pl.col("mu").min(),
            highest=pl.col("mu").max(),
            cycles=pl.len().cast(pl.Int64),
        )
        .join(readers, on=key, nulls_equal=True)
        .sort("device", "metric")
    )


def _measured(table: pl.DataFrame) -> pl.DataFrame:
    """Rows that know the value of a counter."""
    return plain_texts(table).filter(pl.col("metric").is_not_null(), pl.col("mu").is_finite())


def _weighted_mean() -> pl.Expr:
    mu, weight = pl.col("mu"), pl.col("dur_ns")
    weighted = pl.when(weight.sum() > 0).then((mu * weight).sum() / weight.sum())
    # The mean of equal values may differ from them in the last digit.
    return pl.when(mu.min() == mu.max()).then(mu.min()).otherwise(weighted.otherwise(mu.mean()))

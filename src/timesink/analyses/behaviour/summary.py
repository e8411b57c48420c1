"""A behaviour table in brief: what functions cost on average, and what counters read."""

from __future__ import annotations

import polars as pl

_FUNCTION = ("host", "pid", "function", "short_name", "function_class", "device")
_CYCLE = ("host", "pid", "cycle")


def function_summary(table: pl.DataFrame) -> pl.DataFrame:
    """One row per function and device: means over all cycles of its process, largest share first.

    A cycle in which a function does not run counts as zero.

    >>> from timesink.model.schema import BEHAVIOUR
    >>> function_summary(BEHAVIOUR.empty()).columns[-4:]
    ['beta_pct', 'time_ns', 'calls', 'cycles']
    """
    plain = _plain(table)
    lengths = (
        plain.unique(list(_CYCLE))
        .group_by("host", "pid")
        .agg(all_cycles=pl.len(), all_ns=pl.col("cycle_dur_ns").sum())
    )
    ran = plain.filter(pl.col("calls") + pl.col("dur_ns") > 0).unique([*_FUNCTION, "cycle"])
    sums = ran.group_by(_FUNCTION).agg(
        pl.col("dur_ns", "calls").sum(), cycles=pl.len().cast(pl.Int64)
    )
    return (
        sums.join(lengths, on=["host", "pid"], nulls_equal=True)
        .select(
            *_FUNCTION,
            beta_pct=100 * pl.col("dur_ns") / pl.col("all_ns"),
            time_ns=pl.col("dur_ns") / pl.col("all_cycles"),
            calls=pl.col("calls") / pl.col("all_cycles"),
            cycles="cycles",
        )
        .sort("beta_pct", *_FUNCTION, descending=[True] + [False] * len(_FUNCTION))
    )


def metric_summary(table: pl.DataFrame) -> pl.DataFrame:
    """One row per function, device and metric: the counter's mean over cycles, weighted by time."""
    measured = _plain(table).filter(pl.col("metric").is_not_null())
    return (
        measured.group_by(*_FUNCTION, "metric", "unit")
        .agg(mu=_weighted_mean())
        .sort(*_FUNCTION, "metric")
    )


def counter_summary(table: pl.DataFrame) -> pl.DataFrame:
    """One row per device and metric: how high it was while functions ran, cycle by cycle."""
    measured = _plain(table).filter(pl.col("metric").is_not_null())
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


def _weighted_mean() -> pl.Expr:
    mu, weight = pl.col("mu"), pl.col("dur_ns")
    weighted = pl.when(weight.sum() > 0).then((mu * weight).sum() / weight.sum())
    # The mean of equal values may differ from them in the last digit.
    return pl.when(mu.min() == mu.max()).then(mu.min()).otherwise(weighted.otherwise(mu.mean()))


def _plain(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col(pl.Categorical).cast(pl.String))

"""Behaviour tables in brief: what functions cost on average, and what counters read."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from timesink.analyses.columns import encode, memoize_per_table
from timesink.model.schema import BEHAVIOUR, HOST_DEVICE
from timesink.model.trace import Trace

NOTHING_RECORDED = "(nothing recorded)"
"""Function of a cycle in which nothing ran, so that every cycle has a row."""


class BehaviourCounts(msgspec.Struct, frozen=True):
    """Counts of one behaviour table."""

    rows: int
    cycles: int
    """Cycles of all processes together."""
    functions: int
    metrics: int
    processes: tuple[str, ...]
    """With the host before them where the table names it: `node1 944615`."""
    devices: tuple[str, ...]
    anchors: tuple[str, ...]
    """What marks the cycles."""
    cycle_ns: int
    """Length of a cycle: the median."""


def count_behaviour(trace: Trace) -> BehaviourCounts | None:
    """What the behaviour table of a trace holds; None where it has none."""
    table = trace.lazy("behaviour").collect()
    if table.is_empty():
        return None
    keys = ["host", "pid", "cycle_type", "cycle"]
    cycles = table.unique(keys)
    middle = cycles["cycle_dur_ns"].median()
    named = cycles.select(
        pl.concat_str(pl.col("host", "pid").cast(pl.String), separator=" ", ignore_nulls=True)
    )
    return BehaviourCounts(
        rows=table.height,
        cycles=cycles.height,
        functions=table["function"].n_unique(),
        metrics=table["metric"].drop_nulls().n_unique(),
        processes=tuple(text for text in distinct_texts(named.to_series()) if text),
        devices=distinct_texts(table["device"]),
        anchors=distinct_texts(table["anchor"]),
        cycle_ns=round(middle) if isinstance(middle, float) else 0,
    )


def distinct_texts(column: pl.Series) -> tuple[str, ...]:
    """Every value of a column once, in order."""
    return tuple(sorted(text for text in encode(column)[1] if text is not None))


_ROW_KEY = ("function", "function_class", "device")


@memoize_per_table
def plain_texts(table: pl.DataFrame) -> pl.DataFrame:
    """The table with ordinary texts, which may be joined, searched and mixed with others."""
    encoded = [name for name, dtype in table.schema.items() if isinstance(dtype, pl.Categorical)]
    if not encoded:
        return table
    return pl.DataFrame(
        [column.cast(pl.String) if column.name in encoded else column for column in table]
    )


@memoize_per_table
def once_per_cycle(table: pl.DataFrame, within: Sequence[str] = ()) -> pl.DataFrame:
    """One row per cycle, function, class and device: a function has one for each of its metrics.

    A name may be of two classes, as a call that waits in one place and works in another: these are
    two functions.  `within` are columns that tell cycles of the same number apart.
    """
    return table.unique([*within, "cycle", *_ROW_KEY], keep="first", maintain_order=True)


_FUNCTION = ("host", "pid", "function", "short_name", "function_class", "device")
_CYCLE = ("host", "pid", "cycle")


def function_summary(table: pl.DataFrame) -> pl.DataFrame:
    """One row per function and device, what takes most of all cycles first.

    The share is the mean over the cycles in which the function runs, as in a comparison; time and
    calls are per cycle of its process, where a cycle without the function counts as zero.
    """
    plain = plain_texts(table)
    numbers = plain.unique(list(_CYCLE)).group_by("host", "pid").agg(all_cycles=pl.len())
    once = once_per_cycle(plain, ("host", "pid"))
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
    measured = _measured_rows(table)
    return (
        measured.group_by(*_FUNCTION, "metric", "unit")
        .agg(mu=_weighted_mean())
        .sort(*_FUNCTION, "metric")
    )


def counter_summary(table: pl.DataFrame) -> pl.DataFrame:
    """One row per device and metric: how high it was while functions ran, cycle by cycle."""
    measured = _measured_rows(table)
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


def _measured_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Rows that know the value of a counter."""
    return plain_texts(table).filter(pl.col("metric").is_not_null(), pl.col("mu").is_finite())


def _weighted_mean() -> pl.Expr:
    mu, weight = pl.col("mu"), pl.col("dur_ns")
    weighted = pl.when(weight.sum() > 0).then((mu * weight).sum() / weight.sum())
    # The mean of equal values may differ from them in the last digit.
    return pl.when(mu.min() == mu.max()).then(mu.min()).otherwise(weighted.otherwise(mu.mean()))


def of_cycles_alone(cycles: pl.DataFrame) -> pl.DataFrame:
    """Behaviour of cycles, a row each, of which nothing but what these columns say is known."""
    defaults = {
        "function": NOTHING_RECORDED, "device": HOST_DEVICE,
        "dur_ns": 0, "calls": 0, "beta_pct": 0.0,
    }  # fmt: skip
    return cycles.select(
        (pl.col(name) if name in cycles.columns else pl.lit(defaults.get(name)).alias(name)).cast(
            kind
        )
        for name, kind in BEHAVIOUR.schema.items()
    )

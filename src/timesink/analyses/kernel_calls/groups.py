"""Launches grouped: by kernel name, family, operator or module, device by device."""

from __future__ import annotations

import polars as pl

from timesink.analyses.kernel_calls.calls import UTILISATIONS
from timesink.analyses.kernel_calls.classes import CLASSES
from timesink.analyses.kernel_calls.sampling import call_time, call_weight
from timesink.analyses.kernel_calls.usage import headroom

_SPREAD = ("min", "median", "max")
_DEVICE = ("host", "device")
_KEYS = (*_DEVICE, "group")
MIXED = "mixed"
_CLASSES = (*CLASSES, MIXED)
_MOST = 2 / 3
"""A class with more of the time of a group than this is the class of the group."""
GROUP_COLUMNS = (
    *(*_KEYS, "calls", "launches", "total_ns", "share_pct"),
    *("mean_ns", "min_ns", "median_ns", "max_ns", *UTILISATIONS),
    *(f"{column[:-4]}_{which}_pct" for column in UTILISATIONS for which in _SPREAD),
    *("occupancy_pct", "class", "headroom_ns", "headroom_share_pct", "variants"),
)


def call_groups(calls: pl.DataFrame, by: str) -> pl.DataFrame:
    """One row per device and value of the column `by`; devices in order, the longest first.

    `calls` are the launches seen, `launches` how many they stand for; `total_ns` is what all of
    these take.  All else is of the launches with a duration, null where a group has none.
    Utilisations and occupancy are means weighted by time over the launches that
    have them, `class` is the one with more than two thirds of the time, else `mixed`; `variants`
    counts distinct full names.  Shares are of the device's time and of its headroom.
    """
    group = pl.col(by)
    prepared = calls.select(
        *_DEVICE,
        group.alias("group"),
        *("name", "dur_ns"),
        *(_of_timed(column) for column in (*UTILISATIONS, "occupancy_pct")),
        _class_of(calls),
        call_weight().alias("weight"),
        call_time().alias("time"),
        (headroom() * call_weight()).alias("headroom"),
    )
    groups = prepared.group_by(_KEYS, maintain_order=True).agg(
        pl.len().cast(pl.Int64()).alias("calls"),
        pl.col("weight").sum().round().cast(pl.Int64()).alias("launches"),
        _sum("time").alias("total_ns"),
        *_measures(),
        pl.col("name").n_unique().cast(pl.Int64()).alias("variants"),
    )
    return (
        groups.join(_main_class(prepared), on=_KEYS, how="left", nulls_equal=True)
        .with_columns(
            pl.col("group").cast(pl.String()),
            share_pct=_percent_of_device("total_ns"),
            headroom_share_pct=_percent_of_device("headroom_ns"),
        )
        .sort(
            pl.col("host").cast(pl.String()),
            *("device", "total_ns", "group"),
            descending=[False, False, True, False],
            nulls_last=[False, False, True, False],
        )
        .select(GROUP_COLUMNS)
    )


def _of_timed(column: str) -> pl.Expr:
    """What is known of launches with a duration: without one they have no weight."""
    return pl.when(pl.col("dur_ns").is_not_null()).then(pl.col(column)).alias(column)


def _sum(column: str) -> pl.Expr:
    """Nanoseconds of those that have some; null where none has."""
    amount = pl.col(column)
    return pl.when(amount.is_not_null().any()).then(amount.sum().round().cast(pl.Int64()))


def _class_of(calls: pl.DataFrame) -> pl.Expr:
    if "class" in calls.columns:
        return pl.col("class")
    return pl.lit("unknown").cast(pl.Enum(CLASSES)).alias("class")


def _measures() -> list[pl.Expr]:
    dur = pl.col("dur_ns")
    # A mean over launches that stand for different numbers of others counts these.  Counted from
    # the shortest, so that the mean of equal lengths is that length.
    weight = pl.col("weight").filter(dur.is_not_null())
    mean = dur.min() + ((dur - dur.min()) * pl.col("weight")).sum() / weight.sum()
    return [
        pl.when(dur.is_not_null().any()).then(mean).alias("mean_ns"),
        *(_spread(dur, which).alias(f"{which}_ns") for which in _SPREAD),
        *(_weighted(column) for column in (*UTILISATIONS, "occupancy_pct")),
        *(
            _spread(pl.col(column), which).alias(f"{column[:-4]}_{which}_pct")
            for column in UTILISATIONS
            for which in _SPREAD
        ),
        _sum("headroom").alias("headroom_ns"),
    ]


def _spread(column: pl.Expr, which: str) -> pl.Expr:
    return {"min": column.min(), "median": column.median(), "max": column.max()}[which]


def _weighted(column: str) -> pl.Expr:
    time = pl.col("time").filter(pl.col(column).is_not_null()).sum()
    return pl.when(time > 0).then((pl.col(column) * pl.col("time")).sum() / time).alias(column)


def _percent_of_device(column: str) -> pl.Expr:
    whole = pl.col(column).sum().over(_DEVICE)
    return pl.when(whole > 0).then(100 * pl.col(column) / whole)


def _main_class(prepared: pl.DataFrame) -> pl.DataFrame:
    """The class in which each group spends most of its time; `mixed` where that is little."""
    named, time = pl.col("class").cast(pl.Enum(_CLASSES)), pl.col("time")
    largest = (pl.len() == 1) | (time.max() > _MOST * time.sum())
    return (
        prepared.filter(pl.col("time").is_not_null())
        .group_by(*_KEYS, "class")
        .agg(time.sum())
        .group_by(_KEYS)
        .agg(
            pl.when(largest)
            .then(named.sort_by("time").last())
            .otherwise(pl.lit(MIXED, pl.Enum(_CLASSES)))
            .alias("class")
        )
    )

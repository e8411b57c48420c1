"""Launches grouped: by kernel name, family, operator or module, device by device."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.kernels.calls import UTILISATIONS, call_time, call_weight
from timesink.analyses.kernels.usage import (
    CLASSES,
    THIRDS,
    Axis,
    Thresholds,
    axis_of,
    headroom,
    time_by_cell,
)
from timesink.model.intervals import Floats

_SPREAD = ("min", "median", "max")
_DEVICE = ("host", "device")
_KEYS = (*_DEVICE, "group")
MIXED = "mixed"
_CLASSES = (*CLASSES, MIXED)
_MIN_CLASS_SHARE = 2 / 3
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
    dur, weight, time = pl.col("dur_ns"), pl.col("weight"), pl.col("time")
    means = (*UTILISATIONS, "occupancy_pct")
    unknown = pl.lit("unknown").cast(pl.Enum(CLASSES)).alias("class")
    prepared = calls.select(
        *_DEVICE,
        pl.col(by).alias("group"),
        *("name", "dur_ns"),
        # Launches without a duration have no weight.
        *(pl.when(dur.is_not_null()).then(pl.col(column)).alias(column) for column in means),
        "class" if "class" in calls.columns else unknown,
        call_weight().alias("weight"),
        call_time().alias("time"),
        (headroom() * call_weight()).alias("headroom"),
    )
    # A mean over launches that stand for different numbers of others counts these.  Counted from
    # the shortest, so that the mean of equal lengths is that length.
    above = ((dur - dur.min()) * weight).sum() / weight.filter(dur.is_not_null()).sum()
    timed = [(column, time.filter(pl.col(column).is_not_null()).sum()) for column in means]
    groups = prepared.group_by(_KEYS, maintain_order=True).agg(
        pl.len().cast(pl.Int64()).alias("calls"),
        weight.sum().round().cast(pl.Int64()).alias("launches"),
        _sum("time").alias("total_ns"),
        pl.when(dur.is_not_null().any()).then(dur.min() + above).alias("mean_ns"),
        *(getattr(dur, which)().alias(f"{which}_ns") for which in _SPREAD),
        *(
            pl.when(total > 0).then((pl.col(column) * time).sum() / total).alias(column)
            for column, total in timed
        ),
        *(
            getattr(pl.col(column), which)().alias(f"{column[:-4]}_{which}_pct")
            for column in UTILISATIONS
            for which in _SPREAD
        ),
        _sum("headroom").alias("headroom_ns"),
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


def _sum(column: str) -> pl.Expr:
    """Nanoseconds of those that have some; null where none has."""
    amount = pl.col(column)
    return pl.when(amount.is_not_null().any()).then(amount.sum().round().cast(pl.Int64()))


def _percent_of_device(column: str) -> pl.Expr:
    total = pl.col(column).sum().over(_DEVICE)
    return pl.when(total > 0).then(100 * pl.col(column) / total)


def _main_class(prepared: pl.DataFrame) -> pl.DataFrame:
    """The class in which each group spends most of its time; `mixed` where that is little."""
    named, time = pl.col("class").cast(pl.Enum(_CLASSES)), pl.col("time")
    largest = (pl.len() == 1) | (time.max() > _MIN_CLASS_SHARE * time.sum())
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


CELLS = 30
"""Cells along each axis."""


class Density(msgspec.Struct, frozen=True, eq=False):
    """Fractions of the time in a grid of cells."""

    axis: Axis
    edges_pct: Floats
    """Borders of the cells, alike on both axes; those of the classes are among them."""
    shares: Floats
    """Fractions of all time: rows of use of the multiprocessors, columns of memory use."""
    missing: float
    """Fraction of all time without both metrics."""
    beyond: float
    """Fraction of all time above 100 % on an axis; it is counted in the last cell."""


def density(calls: pl.DataFrame, thresholds: Thresholds = THIRDS, cells: int = CELLS) -> Density:
    """How much of the time of one device's launches is spent in each cell."""
    # Cells of much the same size, none of them on both sides of a threshold.
    borders = sorted({0.0, 100 * thresholds.low, 100 * thresholds.high, 100.0})
    parts = [
        np.linspace(low, high, max(1, round(cells * (high - low) / 100)), endpoint=False)
        for low, high in pairwise(borders)
    ]
    edges = np.append(np.concatenate(parts), 100.0)
    inside, time, uses = time_by_cell(calls, edges[1:-1])
    total = time.sum() or 1.0
    unknown = np.isnan(uses).any(axis=1)
    over = ~unknown & (uses > edges[-1]).any(axis=1)
    return Density(
        axis=axis_of(calls),
        edges_pct=edges,
        shares=inside / total,
        missing=float(time[unknown].sum() / total),
        beyond=float(time[over].sum() / total),
    )


_MIN_METRIC_SHARE = 1e-6
"""Part of a stretch below which a metric counts as missing there: rounding leaves less."""


class Strip(msgspec.Struct, frozen=True, eq=False):
    """A run cut into stretches of the same kernel time."""

    total_ns: float
    means_pct: Mapping[str, Floats]
    """By metric (`tensor_pct`, ...), weighted by time; NaN where no launch of a stretch has it."""
    class_shares: Floats
    """Fractions of each stretch, one row per stretch, in the order of `CLASSES`."""

    @property
    def stretches(self) -> int:
        return len(self.class_shares)


def strip(calls: pl.DataFrame, stretches: int, metrics: tuple[str, ...] = UTILISATIONS) -> Strip:
    """The launches of one device in order, as means of equal stretches of their time.

    A launch counts in every stretch it reaches into, by its time there.  Without any time there
    are no stretches.
    """
    time = calls.select(call_time().fill_null(0.0)).to_series().to_numpy()
    ends = np.concatenate(([0.0], np.cumsum(time)))
    total = float(ends[-1])
    if not total:
        return Strip(0.0, {name: np.empty(0) for name in metrics}, np.empty((0, len(CLASSES))))
    edges, length = np.linspace(0, total, stretches + 1), total / stretches

    def within(amounts: Floats) -> Floats:
        """What each launch brings, spread evenly over its time and summed per stretch."""
        reached = np.concatenate(([0.0], np.cumsum(amounts)))
        return np.diff(np.interp(edges, ends, reached))

    means = {}
    for name in metrics:
        values = calls[name].cast(pl.Float64()).to_numpy()
        has_value = ~np.isnan(values)
        covered = within(np.where(has_value, time, 0.0))
        amount = within(np.where(has_value, values, 0.0) * time)
        enough = covered > _MIN_METRIC_SHARE * length
        means[name] = np.where(enough, amount / np.where(enough, covered, 1.0), np.nan)
    kinds = calls["class"].cast(pl.String())
    shares = [within(time * (kinds == name).to_numpy()) / length for name in CLASSES]
    return Strip(total, means, np.stack(shares, axis=1))

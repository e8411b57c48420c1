"""Which resource a launch leaves unused: thirds of SM and memory use, and four classes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from timesink.analyses.kernel_calls.sampling import call_time
from timesink.errors import UsageError

CLASSES = ("both_low", "low_sm", "low_dram", "neither_low", "unknown")
Axis: TypeAlias = Literal["sm", "tensor"]
Bins: TypeAlias = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Fractions of the peak: below `low` is low, from `high` on is high."""

    low: float = 1 / 3
    high: float = 2 / 3

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.high <= 1:
            raise UsageError(
                f"{self.low:g} is no fraction of the peak to call low",
                "give --low between 0 and 1, e.g. --low 0.33",
            )

    @classmethod
    def above(cls, low: float) -> Thresholds:
        """The threshold of low use, and half of what is above it as that of high use."""
        return cls(low, (1 + low) / 2)


THIRDS = Thresholds()


def axis_of(calls: pl.DataFrame) -> Axis:
    """What stands for the multiprocessors of a device: their own metric, else the tensor pipe's.

    Tables without a metric of the multiprocessors overstate how much is low: kernels that use
    ordinary pipes leave the tensor pipe idle.
    """
    return "sm" if calls["sm_pct"].is_not_null().any() else "tensor"


def with_class(calls: pl.DataFrame, thresholds: Thresholds = THIRDS) -> pl.DataFrame:
    """The calls with their `class`; `unknown` where a metric it needs is missing."""
    limit = 100 * thresholds.low
    compute, dram = pl.col("compute_pct"), pl.col("dram_pct")
    name = (
        pl.when(compute.is_null() | dram.is_null())
        .then(pl.lit("unknown"))
        .when((compute < limit) & (dram < limit))
        .then(pl.lit("both_low"))
        .when(compute < limit)
        .then(pl.lit("low_sm"))
        .when(dram < limit)
        .then(pl.lit("low_dram"))
        .otherwise(pl.lit("neither_low"))
    )
    return (
        calls.with_columns(_compute_pct().alias("compute_pct"))
        .with_columns(name.cast(pl.Enum(CLASSES)).alias("class"))
        .drop("compute_pct")
    )


def bin_shares(calls: pl.DataFrame, thresholds: Thresholds = THIRDS) -> Bins:
    """Fractions of a device's time by use: rows low, mid, high on its axis, columns of DRAM.

    Launches that lack a metric are in no cell, so the cells may add up to less than one.
    """
    time = calls.select(call_time().fill_null(0.0)).to_series().to_numpy()
    total = float(time.sum())
    limits = (100 * thresholds.low, 100 * thresholds.high)
    axes = [calls[f"{axis_of(calls)}_pct"], calls["dram_pct"]]
    known = (axes[0].is_not_null() & axes[1].is_not_null()).to_numpy()
    row, column = (
        np.searchsorted(limits, axis.fill_null(0.0).to_numpy(), side="right") for axis in axes
    )
    cells = np.bincount((3 * row + column)[known], time[known], minlength=9)
    shares = cells / total if total else cells
    return tuple(tuple(line) for line in shares.reshape(3, 3).tolist())


def _compute_pct() -> pl.Expr:
    """What the launch used on the axis of its device."""
    measured = pl.col("sm_pct").is_not_null().any().over("host", "device")
    return pl.when(measured).then("sm_pct").otherwise("tensor_pct")

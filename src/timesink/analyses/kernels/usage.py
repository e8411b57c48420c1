"""How well the kernels of each device used it, weighted by their time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.kernels.calls import (
    UTILISATIONS,
    Sampling,
    call_time,
    call_weight,
    sampled_functions,
)
from timesink.errors import UsageError
from timesink.model.arrays import exclusive_cumsum, ragged_ranges
from timesink.model.intervals import Floats, Ints
from timesink.model.trace import Trace

# Which resource a launch leaves unused: thirds of SM and memory use, and four classes of them.

CLASSES = ("both_low", "low_sm", "low_dram", "neither_low", "unknown")
Axis: TypeAlias = Literal["sm", "tensor"]
Bins: TypeAlias = tuple[tuple[float, ...], ...]


class Thresholds(msgspec.Struct, frozen=True):
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
    # What the launch used on the axis of its device.
    measured = pl.col("sm_pct").is_not_null().any().over("host", "device")
    compute = pl.when(measured).then("sm_pct").otherwise("tensor_pct")
    name = (
        pl.when(pl.any_horizontal(pl.col("compute_pct", "dram_pct").is_null()))
        .then(pl.lit("unknown"))
        .when(pl.all_horizontal(pl.col("compute_pct", "dram_pct") < limit))
        .then(pl.lit("both_low"))
        .when(pl.col("compute_pct") < limit)
        .then(pl.lit("low_sm"))
        .when(pl.col("dram_pct") < limit)
        .then(pl.lit("low_dram"))
        .otherwise(pl.lit("neither_low"))
    )
    return (
        calls.with_columns(compute.alias("compute_pct"))
        .with_columns(name.cast(pl.Enum(CLASSES)).alias("class"))
        .drop("compute_pct")
    )


def bin_shares(calls: pl.DataFrame, thresholds: Thresholds = THIRDS) -> Bins:
    """Fractions of a device's time by use: rows low, mid, high on its axis, columns of DRAM.

    Launches that lack a metric are in no cell, so the cells may add up to less than one.
    """
    cells, time, _ = time_by_cell(calls, [100 * thresholds.low, 100 * thresholds.high])
    total = float(time.sum())
    return tuple(tuple(line) for line in (cells / total if total else cells).tolist())


def time_by_cell(
    calls: pl.DataFrame, borders: Sequence[float] | Floats
) -> tuple[Floats, Floats, Floats]:
    """The time of the launches of a device, by use of its axis (rows) and of DRAM (columns).

    Cells lie between the borders, and beyond the first and the last of them.  Also the time of
    every launch, and the use of both, NaN where a metric is missing; such are in no cell.
    """
    names = (f"{axis_of(calls)}_pct", "dram_pct")
    uses = calls.select(pl.col(names).cast(pl.Float64())).to_numpy()
    time = calls.select(call_time().fill_null(0.0)).to_series().to_numpy()
    has_value = ~np.isnan(uses).any(axis=1)
    side = len(borders) + 1
    row, column = np.searchsorted(borders, uses[has_value], side="right").T
    cells = np.bincount(side * row + column, time[has_value], minlength=side * side)
    return cells.astype(np.float64).reshape(side, side), time, uses


Interval: TypeAlias = tuple[float, float]
_Amounts: TypeAlias = NDArray[np.floating]

_REDRAWN = 1000
_MAX_PARCELS = 8000
"""Launches that are drawn one by one; more are drawn in random parcels, which vary alike."""
_SEED = 1794
_TAILS = (0.025, 0.975)


def sample_intervals(calls: pl.DataFrame, sampling: Sampling) -> Mapping[str, Interval]:
    """95 % intervals for a device: `total_ns`, `tensor_pct`, ..., `both_low_share`, ...

    Launches are drawn anew, each as often as chance will have it: those of one kernel among
    themselves where every n-th of each kernel was measured, else all among all.  How many launches
    of a kernel ran after the last one seen is unknown: the intervals hold for none and for all.
    The calls need `class` and a duration.  Kernels that were never seen are in no interval.
    """
    generator = np.random.default_rng(_SEED)
    kernel = sampled_functions(calls)
    if sampling.per == "launch":
        kernel = np.zeros_like(kernel)
    seen = np.bincount(kernel, minlength=1)
    parcel, stratum = _parcels(kernel, seen, generator)
    # What is added up: time; time with a metric and that time's use; time by class.
    time = pl.col("dur_ns").cast(pl.Float64())
    summands = [time]
    for column in UTILISATIONS:
        covered = pl.when(pl.col(column).is_not_null()).then(time).otherwise(0.0)
        summands += [covered, (time * pl.col(column)).fill_null(0.0)]
    summands += [pl.when(pl.col("class") == name).then(time).otherwise(0.0) for name in CLASSES]
    sums = [
        np.bincount(parcel, column.to_numpy(), minlength=len(stratum))
        for column in calls.select(
            summand.alias(str(number)) for number, summand in enumerate(summands)
        )
    ]
    amounts = np.stack(sums, axis=1)
    often = _draw_parcels(stratum, generator)
    # Launches of each kernel as they may have been: all at their fewest or most, and mixed.
    fewest, most = sampling.fewest(seen), sampling.most(seen)
    ran = [fewest]
    if sampling.per == "kernel":
        ran += [most, fewest * (most / fewest) ** generator.random((_REDRAWN, len(seen)))]
    intervals: dict[str, Interval] = {}
    for launches in ran:
        weight = launches / np.maximum(seen, 1)
        for name, values in _statistics((often * weight[..., stratum]) @ amounts):
            low, high = (float(value) for value in np.quantile(values, _TAILS))
            before = intervals.get(name, (low, high))
            intervals[name] = (min(low, before[0]), max(high, before[1]))
    return intervals


def _statistics(sums: _Amounts) -> Iterator[tuple[str, _Amounts]]:
    """Each number and its value in every draw."""
    total = sums[:, 0]
    yield "total_ns", total
    for place, column in enumerate(UTILISATIONS):
        time, use = sums[:, 1 + 2 * place], sums[:, 2 + 2 * place]
        if time.any():
            yield column, use[time > 0] / time[time > 0]
    if total.any():
        for place, name in enumerate(CLASSES, 1 + 2 * len(UTILISATIONS)):
            yield f"{name}_share", sums[total > 0, place] / total[total > 0]


def _parcels(kernel: Ints, seen: Ints, generator: np.random.Generator) -> tuple[Ints, Ints]:
    """A parcel for each launch, and the kernel of each parcel.

    The sum of k parcels drawn from k varies as that of n launches drawn from n.
    """
    strata = max(int(np.count_nonzero(seen)), 1)
    parcels = np.minimum(seen, max(_MAX_PARCELS // strata, 2))
    first = exclusive_cumsum(parcels)
    shuffled = generator.permutation(len(kernel))
    by_kernel = shuffled[np.argsort(kernel[shuffled], kind="stable")]
    place = ragged_ranges(np.zeros_like(seen), seen)
    parcel = np.empty(len(kernel), dtype=np.int64)
    parcel[by_kernel] = (first[kernel[by_kernel]]) + place % parcels[kernel[by_kernel]]
    return parcel, np.repeat(np.arange(len(seen)), parcels)


def _draw_parcels(stratum: Ints, generator: np.random.Generator) -> _Amounts:
    """How often each parcel is drawn, draw by draw, each from the parcels of its kernel."""
    size = np.bincount(stratum)
    first = exclusive_cumsum(size)
    rows = len(stratum)
    chosen = generator.random((_REDRAWN, rows)) * size[stratum]
    chosen = chosen.astype(np.int64) + first[stratum] + rows * np.arange(_REDRAWN)[:, None]
    often = np.bincount(chosen.ravel(), minlength=_REDRAWN * rows)
    return often.reshape(_REDRAWN, rows).astype(np.float64)


class DeviceUse(msgspec.Struct, frozen=True):
    """One device of one machine; times of different devices are never added."""

    host: str | None
    device: int | None
    name: str
    """What the device is called; empty where the recording does not say."""
    compute_capability: str | None
    calls: int
    """Launches seen, with those without a duration."""
    launches: int
    """Launches they stand for; the same number unless the recording is a sample."""
    names: int
    """Distinct short names."""
    total_ns: int
    """Time of all launches; an estimate where the recording is a sample."""
    min_ns: int | None
    max_ns: int | None
    tensor_pct: float | None
    """Means weighted by time over the launches that have the metric; None where none has."""
    dram_pct: float | None
    sm_pct: float | None
    missing_ns: Mapping[str, int]
    """Time of the launches without a metric, by metric: `tensor`, `dram`, `sm`."""
    untimed: int
    """Launches without a duration: they are in no time, no share and no mean."""
    axis: Axis
    class_share: Mapping[str, float]
    """Fraction of the time per class."""
    bins: Bins
    """Fractions of the time: rows low, mid, high on the axis, columns low, mid, high in DRAM."""
    above: Mapping[str, float]
    """Fraction of the time with a use above the low threshold: `tensor`, `dram`, `both`."""
    headroom_ns: int | None
    """What would be saved if every launch ran at its nearest roof; None without any metric."""
    measured_ns: int
    """Time of the launches that have any utilisation."""
    intervals: Mapping[str, Interval] | None = None
    """95 % intervals of a sample: `total_ns`, `tensor_pct`, ..., `both_low_share`, ..."""

    @property
    def timed(self) -> int:
        """Launches with a duration."""
        return self.calls - self.untimed


def device_use(
    calls: pl.DataFrame,
    trace: Trace,
    thresholds: Thresholds = THIRDS,
    sampling: Sampling | None = None,
) -> tuple[DeviceUse, ...]:
    """The use of each device, machine by machine."""
    timed = with_class(calls, thresholds).with_columns(
        call_time().alias("time"), call_weight().alias("weight")
    )
    parts = timed.partition_by("host", "device", maintain_order=True)
    uses = (_use(part, trace, thresholds, sampling) for part in parts if part.height)
    return tuple(
        sorted(uses, key=lambda use: (use.host or "", use.device is None, use.device or 0))
    )


def of_device(rows: pl.DataFrame, use: DeviceUse) -> pl.DataFrame:
    """The launches, or groups of them, that belong to a device."""
    return rows.filter(
        pl.col("host").cast(pl.String()).eq_missing(pl.lit(use.host, pl.String())),
        pl.col("device").eq_missing(pl.lit(use.device, pl.Int32())),
    )


def headroom() -> pl.Expr:
    """Time of a launch beyond what it would take at its nearest roof; null without a metric."""
    nearest = pl.max_horizontal(UTILISATIONS)
    return (pl.col("dur_ns") * (1 - nearest / 100)).clip(lower_bound=0)


def _use(
    part: pl.DataFrame, trace: Trace, thresholds: Thresholds, sampling: Sampling | None
) -> DeviceUse:
    timed = part.filter(pl.col("dur_ns").is_not_null())
    limit = 100 * thresholds.low
    tensor, dram = pl.col("tensor_pct") > limit, pl.col("dram_pct") > limit
    measured = pl.any_horizontal(pl.col(UTILISATIONS).is_not_null())
    device = part["device"][0]
    device_info = next((info for info in trace.metadata.devices if info.id == device), None)
    stated = part["compute_capability"].drop_nulls().head(1).to_list()
    saved = timed.select((headroom() * pl.col("weight")).drop_nulls()).to_series()
    return DeviceUse(
        host=part["host"][0],
        device=device,
        name=device_info.name if device_info else "",
        compute_capability=next(
            iter(stated), device_info.compute_capability if device_info else None
        ),
        calls=part.height,
        launches=round(part["weight"].sum()),
        names=part["short_name"].n_unique(),
        total_ns=round(timed["time"].sum()),
        min_ns=timed.select(pl.col("dur_ns").min()).item(),
        max_ns=timed.select(pl.col("dur_ns").max()).item(),
        tensor_pct=_mean(timed, "tensor_pct"),
        dram_pct=_mean(timed, "dram_pct"),
        sm_pct=_mean(timed, "sm_pct"),
        missing_ns={
            column.removesuffix("_pct"): round(_time(timed, pl.col(column).is_null()))
            for column in UTILISATIONS
        },
        untimed=part.height - timed.height,
        axis=axis_of(part),
        class_share={name: _share(timed, pl.col("class") == name) for name in CLASSES},
        bins=bin_shares(timed, thresholds),
        above={
            "tensor": _share(timed, tensor),
            "dram": _share(timed, dram),
            "both": _share(timed, tensor & dram),
        },
        headroom_ns=round(saved.sum()) if len(saved) else None,
        measured_ns=round(_time(timed, measured)),
        intervals=None if sampling is None else sample_intervals(timed, sampling),
    )


def _time(timed: pl.DataFrame, chosen: pl.Expr) -> float:
    return float(timed.select(pl.col("time").filter(chosen).sum()).item())


def _share(timed: pl.DataFrame, chosen: pl.Expr) -> float:
    total = float(timed["time"].sum())
    return _time(timed, chosen) / total if total else 0.0


def _mean(timed: pl.DataFrame, column: str) -> float | None:
    time = _time(timed, pl.col(column).is_not_null())
    amount = timed.select((pl.col(column) * pl.col("time")).sum()).item()
    return float(amount) / time if time else None

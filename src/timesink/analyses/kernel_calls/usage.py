"""How well the kernels of each device used it, weighted by their time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from timesink.analyses.kernel_calls.calls import UTILISATIONS
from timesink.analyses.kernel_calls.classes import (
    CLASSES,
    THIRDS,
    Axis,
    Bins,
    Thresholds,
    axis_of,
    bin_shares,
    with_class,
)
from timesink.analyses.kernel_calls.intervals import Interval, sample_intervals
from timesink.analyses.kernel_calls.sampling import Sampling, call_time, call_weight
from timesink.model.trace import Trace


@dataclass(frozen=True, slots=True)
class DeviceUse:
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
    return tuple(sorted(uses, key=_place))


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


def _place(use: DeviceUse) -> tuple[str, bool, int]:
    return use.host or "", use.device is None, use.device or 0


def _use(
    part: pl.DataFrame, trace: Trace, thresholds: Thresholds, sampling: Sampling | None
) -> DeviceUse:
    timed = part.filter(pl.col("dur_ns").is_not_null())
    limit = 100 * thresholds.low
    tensor, dram = pl.col("tensor_pct") > limit, pl.col("dram_pct") > limit
    measured = pl.any_horizontal(pl.col(UTILISATIONS).is_not_null())
    device = part["device"][0]
    known = next((one for one in trace.metadata.devices if one.id == device), None)
    stated = part["compute_capability"].drop_nulls().head(1).to_list()
    saved = timed.select((headroom() * pl.col("weight")).drop_nulls()).to_series()
    return DeviceUse(
        host=part["host"][0],
        device=device,
        name=known.name if known else "",
        compute_capability=next(iter(stated), known.compute_capability if known else None),
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

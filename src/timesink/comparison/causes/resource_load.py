"""What of a load others make, and how bad that is: counters, and what the process itself did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from timesink.analyses.behaviour.anatomy import Anatomy
from timesink.comparison.causes.case_functions import family_of
from timesink.comparison.causes.counter_levels import CounterReading
from timesink.comparison.results import Pair
from timesink.comparison.steps.recorded_events import equally_often
from timesink.rules.counter_names import Hardware, capacity_of, hardware_of

_MIN_KERNEL_SHARE = 0.05
"""Kernels that are to speak for all take this part of the time of kernels at least."""
_NEARLY_NONE = 0.1
"""Part of the time of kernels that may stay as it is where "nearly all" take longer."""
_COPIES = ("gpu_memcpy_h2d", "gpu_memcpy_d2h")
_CLASS = pl.col("function_class").cast(pl.String)
_MIN_BUSY_SHARE = 0.002
"""Own work below this share of the cycle is too little to scale anything by."""
_ALL = 100.0
_ROUNDING = 5.0
"""Percent by which two counters of the same load may differ: they are not sampled at once."""
_OF_A_CORE = "% of a core"
_STEADY = 0.05
_GROUND = 0.2
"""Part of its capacity on top of which the level of a resource is looked at."""
_LINKS = ("pcie", "link", "memory_bandwidth", "network", "disk")


class DeviceWork(NamedTuple):
    """What the process did on one device, per step of each side."""

    base_ns: float
    new_ns: float
    calls_base: float
    calls_new: float


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """Everything a check may look at."""

    pair: Pair
    base: Anatomy
    new: Anatomy
    readings: Sequence[CounterReading]
    _same: dict[str, tuple[pl.DataFrame, float]] = field(default_factory=dict, init=False)
    _use_shares: dict[str, tuple[float, float] | None] = field(default_factory=dict, init=False)
    """What several counters of a device ask."""

    # -- counters ----------------------------------------------------------------------------------

    def reading(self, resource: str, device: str) -> CounterReading | None:
        """The counter of a resource on a device; the highest where there are several."""
        readings = [
            reading
            for reading in self.readings
            if reading.resource.resource == resource and reading.device == device
        ]
        return max(readings, key=lambda reading: (reading.new_mean, reading.metric), default=None)

    def hardware(self, device: str) -> Hardware | None:
        """What is known about a device."""
        name = self.new.hardware.get(device) or self.base.hardware.get(device)
        return hardware_of(name)

    @property
    def cores(self) -> int | None:
        return self.new.cores or self.base.cores

    # -- own work ----------------------------------------------------------------------------------

    def busy(self, device: str) -> tuple[float, float] | None:
        """Share of the cycle in which the process itself keeps a device busy, on both sides."""
        work = _sums(self.device_rows(device).filter(_CLASS.str.starts_with("gpu_")))
        base, new = (
            min(ns / cycle_ns, 1.0) if cycle_ns > 0 else 0.0
            for ns, cycle_ns in zip(work[:2], self.pair.cycle_times.means_ns, strict=True)
        )
        return (base, new) if base or new else None

    def kernel_ratio(self, device: str) -> float | None:
        """How many times as long own kernels take that are launched about equally often.

        None where there are none, or too few to speak for all.
        """
        same, total = self._same_kernels(device)
        base, new, *_ = _sums(same)
        return new / base if base > 0 and base >= _MIN_KERNEL_SHARE * total else None

    def interrupted(self, device: str) -> float:
        """How many times as long nearly all own kernels take beyond what the clock explains.

        More work makes some kernels longer and leaves those alone that only depend on the model;
        others on the device make all of them longer.
        """
        clock = self.reading("device_clock", device)
        same, total = self._same_kernels(device)
        same = same.with_columns(ratio=pl.col("new_ns") / pl.col("base_ns")).sort("ratio")
        weights = same["base_ns"].cum_sum()
        has_enough = len(same) > 0 and weights[-1] >= _MIN_KERNEL_SHARE * total
        if (
            clock is None
            or not has_enough
            or clock.new_mean <= 0
            or not self.pair.workload.comparable
        ):
            return 1.0
        least = float(same.filter(weights >= _NEARLY_NONE * weights[-1])["ratio"][0])
        return max(least * min(clock.new_mean / clock.base_mean, 1.0), 1.0)

    def own_share(self, device: str) -> tuple[float, float] | None:
        """Share of the cycle the process's own work on a device takes, at the pace of BASE.

        Kernels that others interrupt last longer: what they last beyond that is not their own.  A
        process that does less leaves a device idle, and does not make others of what is not.
        """
        if device not in self._use_shares:
            busy = self.busy(device)
            shares = None if busy is None else (busy[0], max(busy) / self.interrupted(device))
            self._use_shares[device] = shares
        return self._use_shares[device]

    def _same_kernels(self, device: str) -> tuple[pl.DataFrame, float]:
        """Kernels launched about equally often, launch by launch, and the time of all in BASE."""
        if device not in self._same:
            self._same[device] = self._kernels_of(device)
        return self._same[device]

    def _kernels_of(self, device: str) -> tuple[pl.DataFrame, float]:
        rows = self.device_rows(device)
        kernels = rows.filter(~_communicates(rows), _CLASS == "gpu_compute")
        launches = pl.col("calls_new") / pl.col("calls_base")
        often = kernels.select(pl.col("calls_base", "calls_new").cast(pl.Float64)).to_numpy()
        conditions = pl.col("base_ns") > 0, pl.col("calls_base") > 0, pl.col("calls_new") > 0
        same = kernels.filter(pl.Series(equally_often(often[:, 0], often[:, 1])), *conditions)
        # Cycles of a run differ a little in what they launch.
        return same.with_columns(pl.col("new_ns") / launches), _sums(kernels)[0]

    def device_rows(self, device: str) -> pl.DataFrame:
        """What ran on a device, kernels, copies and talk to other devices among it."""
        return self.pair.times.filter(pl.col("device").cast(pl.String) == device)

    def host_ratio(self, *classes: str) -> float | None:
        """How many times as long functions of these classes on the host take."""
        work = self.work_of_class(*classes)
        return work.new_ns / work.base_ns if work.base_ns > 0 else None

    def work_of_class(self, *classes: str) -> DeviceWork:
        """Functions of some classes, wherever they run."""
        return _sums(self.pair.times.filter(_CLASS.is_in(classes)))

    @property
    def cycle_ratio(self) -> float | None:
        """How many times as long cycles are; None where they do not hold the same work."""
        base, new = self.pair.cycle_times.means_ns
        return new / base if base > 0 and new > 0 and self.pair.workload.comparable else None

    def part_ns(self, *parts: str) -> tuple[float, float]:
        """Mean time per step of parts of the cycle, on both sides."""
        means = []
        for side in (self.base.parts, self.new.parts):
            chosen = side.filter(pl.col("part").cast(pl.String).is_in(parts))["dur_ns"]
            means.append(float(chosen.sum()) / max(side["cycle"].n_unique(), 1))
        return means[0], means[1]


def _sums(rows: pl.DataFrame) -> DeviceWork:
    sums = rows.select(pl.col(DeviceWork._fields).fill_null(0).fill_nan(0).sum()).row(0)
    return DeviceWork(*map(float, sums))


def _communicates(rows: pl.DataFrame) -> pl.Expr:
    names = [name for name in rows["function"].unique() if name]
    talking = [name for name in names if family_of(name) == "collective"]
    is_collective = pl.col("function").is_in(talking).fill_null(value=False)
    return (_CLASS == "gpu_comm") | (_CLASS == "gpu_memcpy_d2d") | is_collective


# -- the load of others ----------------------------------------------------------------------------


def of_others(reading: CounterReading, context: Context) -> CounterReading:
    """The reading without the load of the process itself, as far as that is known."""
    take_off = TAKEN_OFF.get(reading.resource.deduction)
    return reading if take_off is None else take_off(reading, context)


def _device_time(reading: CounterReading, context: Context) -> CounterReading:
    """Time in which a device is busy: without the process's own time on it.

    A device that runs many short kernels counts as busy for longer than they take, so the share
    may also grow in proportion to them; of both ways the one counts that leaves less to others.
    The process's own counter stands in where the trace has no device: some samplers write the use
    of the whole device there.
    """
    busy = context.own_share(reading.device)
    if busy is not None:
        subtracted = reading.less(_ALL * busy[0], _ALL * busy[1])
        return min(
            subtracted, _scale_reading(reading, context), key=lambda candidate: candidate.rise
        )
    process_use = context.reading("own_device_use", reading.device)
    return (
        reading
        if process_use is None
        else reading.less(process_use.base_mean, process_use.new_mean)
    )


def _scale_reading(reading: CounterReading, context: Context) -> CounterReading:
    """The process's own part changes with its time on the device."""
    busy = context.own_share(reading.device)
    if busy is None or busy[0] < _MIN_BUSY_SHARE:
        return reading
    ratio = busy[1] / busy[0]
    if ratio >= 1 or reading.unit != "%":
        return _at_equal_load(reading, ratio)
    # What of it was the process's own was so for as long as it worked, at most.
    process_part = min(reading.base_mean, _ALL * busy[0])
    return reading.less(0.0, process_part * (ratio - 1.0))


def _at_equal_load(reading: CounterReading, ratio: float) -> CounterReading:
    """What it would read without more load of the process, if all of BASE was its own.

    Less of it is not taken into account: much of BASE may be of others.
    """
    return reading.less(0.0, reading.base_mean * max(ratio - 1.0, 0.0))


def _cpu(reading: CounterReading, context: Context) -> CounterReading:
    """Use of all cores without the process's own.

    A program that seems to use more than all of them was counted against those it may use, of a
    machine that has more.
    """
    process_use = context.reading("own_cpu_use", reading.device)
    if process_use is None:
        return reading
    if process_use.unit != _OF_A_CORE:
        return reading.less(process_use.base_mean, process_use.new_mean)
    if context.cores and process_use.base_mean / context.cores <= reading.base_mean + _ROUNDING:
        return reading.less(
            process_use.base_mean / context.cores, process_use.new_mean / context.cores
        )
    return _at_equal_load(
        reading, process_use.new_mean / process_use.base_mean if process_use.base_mean > 0 else 1.0
    )


def _without_calls(reading: CounterReading, context: Context) -> CounterReading:
    """Traffic of PCIe without more copies of the process, and between devices without more talk.

    Own traffic grows with own calls per time; what was not there before is own while it runs.
    """
    rows = context.device_rows(reading.device)
    is_copy = reading.resource.deduction == "copies"
    work = _sums(rows.filter(_CLASS.is_in(_COPIES) if is_copy else _communicates(rows)))
    base_ns, new_ns = context.pair.cycle_times.means_ns
    if base_ns <= 0 or new_ns <= 0 or work.calls_new <= 0:
        return reading
    if work.calls_base > 0:
        rates = work.calls_base / base_ns, work.calls_new / new_ns
        return _at_equal_load(reading, rates[1] / rates[0])
    seen = max(reading.base_mean, reading.new_mean)
    capacity = capacity_of(reading.resource.scale, context.hardware(reading.device), seen)
    return reading.less(0.0, min(work.new_ns / new_ns, 1.0) * capacity)


TAKEN_OFF: Mapping[str, Callable[[CounterReading, Context], CounterReading]] = {
    "device_time": _device_time,
    "scaled": _scale_reading,
    "cpu": _cpu,
    "copies": _without_calls,
    "communication": _without_calls,
}
"""By the column `own` of ``resources.csv``."""


# -- how bad a change is ---------------------------------------------------------------------------


def severity(reading: CounterReading, context: Context) -> float:
    """Share of the capacity lost in the harmful direction; 0 where it changed for the better.

    `reading` is of the load of others, where that differs from what was counted.
    """
    scale = SCALES.get(reading.resource.scale)
    if scale is None:
        return 0.0
    lost = scale(reading, context)
    return min(max(lost, 0.0), 1.0) if lost == lost else 0.0  # noqa: PLR0124 (NaN)


def capacity(reading: CounterReading, context: Context) -> float | None:
    """What the resource could give, in the unit of the reading; None where it has no such."""
    kind = reading.resource.scale
    if kind == "fixed":
        return reading.resource.capacity
    if kind == "process_memory":
        process_memory = context.reading("own_memory", reading.device)
        return None if process_memory is None else process_memory.new_mean + reading.new_mean
    if kind not in _LINKS:
        return None
    limit = context.reading(f"{kind}_limit", reading.device)
    if limit is not None and limit.new_mean > 0:
        return limit.new_mean
    seen = max(reading.base_mean, reading.new_mean)
    # A load that stays where it is, as that of a full link does.
    level, strays = reading.new_mean, float(reading.new.std()) if len(reading.new) else 0.0
    steady = level if len(reading.new) > 1 and strays <= _STEADY * level else None
    return capacity_of(kind, context.hardware(reading.device), seen, steady)


def ground(reading: CounterReading, context: Context) -> float:
    """A level that is little for a resource, 0 where it has no capacity.

    Counters of hardly used resources scatter by many times what they read.
    """
    if reading.resource.scale == "percent":
        return _GROUND * _ALL
    return _GROUND * (capacity(reading, context) or 0.0)


def _ratio(reading: CounterReading, _: Context) -> float:
    base, new = reading.base_mean, reading.new_mean
    if base <= 0 or new < 0:
        return 0.0
    return 1.0 - new / base


def _flag(reading: CounterReading, _: Context) -> float:
    """Share of the time in which it is set; counted from 0 to 1 or in percent."""
    return reading.rise / (_ALL if reading.unit == "%" else 1.0)


def _of_capacity(reading: CounterReading, context: Context) -> float:
    most = capacity(reading, context)
    return reading.rise / most if most else 0.0


def _cycle_share(reading: CounterReading, context: Context) -> float:
    """What calls take beyond what the whole host slowed down by, as a share of the cycle."""
    host, (_, cycle_ns) = context.host_ratio("oncpu"), context.pair.cycle_times.means_ns
    if context.cycle_ratio is None or host is None or cycle_ns <= 0:
        return 0.0
    calls = context.work_of_class("disk_read_and_write").calls_new
    return calls * (reading.new_mean - reading.base_mean * max(host, 1.0)) / cycle_ns


SCALES: Mapping[str, Callable[[CounterReading, Context], float]] = {
    "ratio": _ratio,
    "percent": lambda reading, _: reading.rise / _ALL,
    "flag": _flag,
    "cycle_share": _cycle_share,
    **dict.fromkeys((*_LINKS, "fixed", "process_memory"), _of_capacity),
}
"""By the column `scale` of ``resources.csv``."""

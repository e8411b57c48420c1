"""How busy resources were on either side, and how bad that is.

Counters have a value per step of each side, and differ by more than noise or not.  What of a load
others make is told by counters, and by what the process itself did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl
from msgspec import structs

from timesink.analyses.behaviour.anatomy import Anatomy
from timesink.analyses.columns import among, encode
from timesink.analyses.statistics.mean_changes import mean_changes
from timesink.analyses.statistics.moments import QUIETLY, column_means
from timesink.analyses.statistics.significance import false_discovery
from timesink.analyses.statistics.student_t import single_value_p, two_sided_p
from timesink.comparison.causes.case import family_of
from timesink.comparison.results import WITHIN, Pair
from timesink.comparison.steps.recorded_events import equally_often
from timesink.comparison.thresholds import ResourcesLimits
from timesink.model.intervals import Floats, Ints
from timesink.model.schema import HOST_DEVICE
from timesink.model.units import amount, amounts, change, count_noun, quantity
from timesink.rules.counter_names import (
    Hardware,
    Resource,
    capacity_of,
    hardware_of,
    only_own,
    resource_of,
)

_NO_CYCLES = np.zeros(0, dtype=np.int64)


class CounterReading(msgspec.Struct, frozen=True, eq=False):
    """One counter of one device on both sides, in the base unit of what it measures."""

    metric: str
    device: str
    unit: str
    resource: Resource
    base: Floats
    """One value per step that has one, in the order of cycles."""
    new: Floats
    cycles: Ints = msgspec.field(default_factory=_NO_CYCLES.copy)
    """Which cycles of NEW the values are of."""

    @property
    def base_mean(self) -> float:
        return float(column_means(self.base))

    @property
    def new_mean(self) -> float:
        return float(column_means(self.new))

    @property
    def rise(self) -> float:
        return self.new_mean - self.base_mean

    @property
    def levels(self) -> dict[str, Any]:
        """What evidence and findings hold of it."""
        named = {"device": self.device, "metric": self.metric, "unit": self.unit or None}
        return {**named, "base": self.base_mean, "new": self.new_mean}

    @property
    def change(self) -> str:
        """From where to where it went, and by how much, in words."""
        base, new = self.base_mean, self.new_mean
        return f"{amounts(base, new, self.unit)} ({change(base, new)})"

    def less(self, own_base: float, own_new: float) -> CounterReading:
        """What is left of it without a share of each side; nothing is less than nothing."""
        base = np.maximum(self.base - own_base, 0.0)
        return structs.replace(self, base=base, new=np.maximum(self.new - own_new, 0.0))


def readings(pair: Pair, base: Anatomy, new: Anatomy) -> list[CounterReading]:
    """Counters that both sides have, in units that meet."""
    # The pair calls the devices of NEW as BASE does; counters have the names of the recording.
    used = own_devices(pair)
    ours, theirs = (
        set(side.levels["device"].drop_nulls().cast(pl.String)) - {HOST_DEVICE}
        for side in (base, new)
    )
    missing, free = sorted(used & ours - theirs), sorted(theirs - ours)
    if not missing and len(ours) == len(theirs) == 1:
        missing, free = sorted(ours), sorted(theirs)
    names = dict(zip(free, missing, strict=False))
    base_levels, new_levels = _level_frames(pair, base, new)
    if base_levels.is_empty() or new_levels.is_empty():
        return []
    before = _values(only_own(base_levels, pair.base.pid), {})
    after = _values(only_own(new_levels, pair.new.pid), names)
    counters = []
    for key in sorted(before.keys() & after.keys()):
        (unit, _, old), (other_unit, cycles, values) = before[key], after[key]
        if unit == other_unit:
            metric, device = key
            resource = resource_of(metric, unit or None)
            counters.append(CounterReading(metric, device, unit, resource, old, values, cycles))
    return counters


def _level_frames(pair: Pair, base: Anatomy, new: Anatomy) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Levels of cycles on both sides, those right before the profiler first where both have some.

    Parts of a run share these.
    """
    sides = base, new
    is_one = pair.kind == WITHIN or pair.cycle_times.one_run
    if is_one or any(side.plain_levels.is_empty() for side in sides):
        return base.levels, new.levels
    first, second = (pl.concat([side.plain_levels, side.levels]) for side in sides)
    return first, second


_Values = dict[tuple[str, str], tuple[str, Ints, Floats]]


def _values(levels: pl.DataFrame, names: Mapping[str, str]) -> _Values:
    if levels.is_empty():
        return {}
    finite = levels.filter(pl.col("value").is_finite()).sort("metric", "device", "cycle")
    groups = finite.group_by("metric", "device", "unit", maintain_order=True)
    rows = groups.agg("cycle", "value").iter_rows()
    by_counter: _Values = {}
    for metric, device, unit, cycles, values in rows:
        key = metric, names.get(device, device)
        factor, base_unit = quantity(1.0, unit)
        numbers = np.asarray(values, dtype=np.float64) * factor
        if key not in by_counter or len(by_counter[key][2]) < len(numbers):
            by_counter[key] = (base_unit, np.asarray(cycles, dtype=np.int64), numbers)
    return by_counter


def own_devices(pair: Pair) -> set[str]:
    """Devices on which the process does something."""
    columns = (pair.times[name].to_list() for name in ("function_class", "device"))
    return {
        device
        for kind, device in zip(*columns, strict=True)
        if (kind or "").startswith("gpu_") and device not in (None, HOST_DEVICE)
    }


# -- counters that no sampler writes ---------------------------------------------------------------


_BITS = {
    "power_throttle": ("gpu_power_cap", 0x4 | 0x80),
    "thermal_throttle": ("gpu_thermal", 0x20 | 0x40),
}
"""Reasons of NVIDIA's management library: power cap and power brake; heat, told by software and by
hardware.  0x8 (hardware slowdown) is set with either, 0x1 on every idle device."""
_MASK = "throttle_mask"


def derived_readings(pair: Pair, counters: list[CounterReading]) -> list[CounterReading]:
    """Waits for cores, reads and writes from traced calls; reasons to slow down from a mask."""
    sides = [_host_times(side.behaviour) for side in (pair.base, pair.new)]
    extra_readings = []
    for metric, unit in (("runq_wait_share", "%"), ("file_call_time", "ns")):
        base, new = (side.select("cycle", metric).drop_nulls() for side in sides)
        if base.height and new.height:
            before, after = base[metric].to_numpy(), new[metric].to_numpy()
            at, resource = new["cycle"].to_numpy(), resource_of(metric)
            extra_readings.append(
                CounterReading(metric, HOST_DEVICE, unit, resource, before, after, at)
            )
    for mask in counters:
        for reason, (cause, bits) in _BITS.items() if mask.resource.resource == _MASK else ():
            # The share of cycles in which the device gave a reason, in percent.
            resource = Resource(mask.metric, reason, cause, "exogenous", "up", "flag")
            before, after = (_with_bits(side, bits) for side in (mask.base, mask.new))
            name, at = f"{mask.metric}: {reason}", mask.cycles
            extra_readings.append(
                CounterReading(name, mask.device, "%", resource, before, after, at)
            )
    return extra_readings


_HOST_TIMES = frozenset({"runq", "oncpu", "disk_read_and_write"})
_HOST_SCHEMA = {
    "cycle": pl.Int64(),
    **dict.fromkeys(("runq_wait_share", "file_call_time"), pl.Float64()),
}


def _host_times(behaviour: pl.DataFrame) -> pl.DataFrame:
    """What the scheduler and the file system were seen to do per step; null where they were not.

    The share of the time in which threads could run that they waited for a core, in percent, and
    how long a read or a write takes.
    """
    if not _HOST_TIMES.intersection(encode(behaviour["function_class"])[1]):
        return pl.DataFrame(schema=_HOST_SCHEMA)
    kind = pl.col("function_class").cast(pl.String)
    classes = {"waits": "runq", "runs": "oncpu", "files": "disk_read_and_write"}
    times = {name: pl.col("dur_ns").filter(kind == of).sum() for name, of in classes.items()}
    calls = pl.col("calls").filter(kind == classes["files"]).sum()
    waits, runs = pl.col("waits"), pl.col("runs")
    return (
        behaviour.lazy()
        .filter(kind.is_in(list(classes.values())))
        .unique(["cycle", "function", "device"], keep="first")
        .group_by("cycle")
        .agg(**times, calls=calls)
        .sort("cycle")
        .select(
            "cycle",
            runq_wait_share=pl.when(waits > 0, runs > 0).then(100 * waits / (waits + runs)),
            file_call_time=pl.when(pl.col("calls") > 0).then(pl.col("files") / pl.col("calls")),
        )
        .collect(engine="in-memory")
    )


def _with_bits(masks: Floats, bits: int) -> Floats:
    """100 where one of the bits is set; a mean of several masks tells nothing."""
    rounded = np.rint(masks)
    is_valid = (masks >= 0) & (np.abs(masks - rounded) < 1e-6) & (rounded < 2**31)
    numbers = np.where(is_valid, rounded, 0).astype(np.int64)
    return np.where(numbers & bits, 100.0, 0.0)


# -- values that no counter can have ---------------------------------------------------------------


_RANGES = {
    "MHz": (0.0, 1e5),
    "W": (0.0, 1e5),
    "C": (-100.0, 250.0),
    "B/s": (0.0, 1e15),
    "B": (0.0, 1e18),
    "ns": (0.0, inf),
    "%": (0.0, inf),
    "% of a core": (0.0, inf),
}
"""What counters can read at all, whatever they count, by base unit."""
_ADDED_UP = ("run_queue",)
"""Shares of time that are added up over threads."""


def without_impossible(anatomy: Anatomy) -> Anatomy:
    """The anatomy without levels that cannot be."""
    tables = (anatomy.levels, anatomy.plain_levels)
    impossible = [_is_impossible(table) for table in tables]
    if not any(outside.any() for outside in impossible):
        return anatomy
    levels, plain = (table.filter(~of) for table, of in zip(tables, impossible, strict=True))
    return replace(anatomy, levels=levels, plain_levels=plain)


def impossible_levels(pair: Pair, base: Anatomy, new: Anatomy) -> Iterator[str]:
    """A sentence on each counter that has values which cannot be."""
    sides = (pair.base.label, base), (pair.new.label, new)
    for label, levels in (
        (label, pl.concat([side.plain_levels, side.levels])) for label, side in sides
    ):
        impossible = _is_impossible(levels)
        if not impossible.any():
            continue
        wrong = levels.filter(impossible)
        groups = wrong.group_by("metric", "device", "unit", maintain_order=True)
        rows = groups.agg(pl.len(), pl.col("value").first()).sort("device", "metric")
        for metric, device, unit, many, value in rows.iter_rows():
            read, cycles = amount(value, unit), count_noun(many, "cycles")
            yield f"{metric} of {device} cannot be {read}: left out in {cycles} of {label}."


def _is_impossible(levels: pl.DataFrame) -> pl.Series:
    """Which levels are outside of what their counter can read; those not known are not."""
    if levels.is_empty():
        return pl.Series(dtype=pl.Boolean)
    metrics, units = (encode(levels[name]) for name in ("metric", "unit"))
    kind, of_row = np.unique(metrics[0] * len(units[1]) + units[0], return_inverse=True)
    ranges = []
    for code in kind.tolist():
        metric, unit = metrics[1][code // len(units[1])], units[1][code % len(units[1])]
        # Least and most a counter can read, in its unit.
        factor, base_unit = quantity(1.0, unit)
        resource = resource_of(metric or "", base_unit or None)
        least, most = _RANGES.get(base_unit, (-inf, inf))
        if resource.scale == "percent" and resource.resource not in _ADDED_UP:
            least, most = 0.0, ResourcesLimits.max_share_pct
        ranges.append((least / factor, most / factor))
    least_of, most_of = np.array(ranges)[of_row].T
    value = levels["value"].to_numpy()
    # What is not known is neither below nor above.
    return pl.Series((value < least_of) | (value > most_of) | np.isinf(value))


# -- whether levels differ by more than noise ------------------------------------------------------


_SIDES = ("base", "new")
_HAVE_A_LEVEL = "ratio"
"""Scale of counters that stay where they are set, as clocks do, whatever the load."""


def chances(counters: Sequence[CounterReading]) -> Floats:
    """p-value of each counter: cycles share few samples, so levels count and not cycles.

    NaN where a side has no value, or none of them more than one.
    """
    p = np.full(len(counters), np.nan)
    places_by_size: dict[tuple[int, int], list[int]] = {}
    for place, counter in enumerate(counters):
        places_by_size.setdefault((len(counter.base), len(counter.new)), []).append(place)
    for places in places_by_size.values():
        sides = [np.column_stack([getattr(counters[n], side) for n in places]) for side in _SIDES]
        p[places] = _chances(*sides)
    return p


def harmful_chances(counters: Sequence[CounterReading], grounds: Sequence[float]) -> Floats:
    """p-value of each counter, as far as it moved in the direction that hurts.

    `grounds` are added to both sides: what is little beside them is no difference.
    """
    lifted = [
        structs.replace(counter, base=counter.base + ground, new=counter.new + ground)
        for counter, ground in zip(counters, grounds, strict=True)
    ]
    both = chances(lifted)
    signs = np.array([-1.0 if counter.resource.harm == "down" else 1.0 for counter in counters])
    hurts = signs * np.array([counter.rise for counter in counters]) > 0
    p = np.where(hurts, both / 2, 1 - both / 2)
    unsteady = np.array([_chance_of_unsteady(counter) for counter in counters])
    p = np.where([_is_newcomer(counter) for counter in counters], 0.0, p)
    return np.where(np.isnan(p), p, np.minimum(p, unsteady))


def _is_newcomer(counter: CounterReading) -> bool:
    """Whether others work on a device that nobody else used: that is counted, and no noise.

    Samplers see them in turns with the process itself, now all of the time and then nothing.
    """
    is_known = (
        counter.resource.resource == "others_device_use"
        and len(counter.base) >= ResourcesLimits.min_steady
    )
    return (
        is_known
        and not counter.base.any()
        and int((counter.new > 0).sum()) >= ResourcesLimits.min_values
    )


def _chance_of_unsteady(counter: CounterReading) -> float:
    """p-value of a level that never moved in BASE and comes and goes in NEW; 1 for any other.

    What it does in NEW is no measure of how far it strays by itself.
    """
    if counter.resource.scale != _HAVE_A_LEVEL or len(counter.base) < ResourcesLimits.min_steady:
        return 1.0
    level = float(np.median(counter.base))
    near = np.abs(counter.base - level) <= ResourcesLimits.steady * level
    # Whether it is left in the direction that hurts, by enough to matter, in many cycles.
    sign = -1.0 if counter.resource.harm == "down" else 1.0
    gone = int((sign * (counter.new - level) > counter.resource.floor * level).sum())
    left = gone >= max(ResourcesLimits.min_values, ResourcesLimits.often * len(counter.new))
    if level <= 0 or near.mean() < ResourcesLimits.min_share_of_steps or not left:
        return 1.0
    calm = counter.base[near]
    spread = float(np.hypot(calm.std(ddof=1), ResourcesLimits.floor * level))
    error = spread * np.sqrt(1 / len(calm) + 1 / len(counter.new))
    apart = np.array([(counter.new_mean - level) / error])
    return float(two_sided_p(apart, np.array([len(calm) - 1.0]))[0]) / 2


def adjust_p_values(p: Floats) -> Floats:
    """p-values for as many counters as were tested; 1 for those that could not be."""
    return np.asarray(np.nan_to_num(false_discovery(p), nan=1.0))


def chance(base: Floats, new: Floats) -> float:
    """How probable a difference as large would be without a reason."""
    return float(_chances(base[:, None], new[:, None])[0])


@QUIETLY
def _chances(base: Floats, new: Floats) -> Floats:
    """p-values of many counters that have as many values each; columns are counters."""
    fewer, more = sorted((len(base), len(new)))
    if fewer >= 2:
        # A counter that rises a thousandfold may do so in steps, which neighbouring cycles share.
        return mean_changes(base, new, floor=ResourcesLimits.floor, neighbours=False).p
    if fewer < 1 or more < ResourcesLimits.min_values:
        return np.full(base.shape[1], np.nan)
    # Single values against the spread of the others.
    single, several = sorted((base, new), key=len)
    return single_value_p(single[0], several, ResourcesLimits.floor)


# -- what a load is read by ------------------------------------------------------------------------

_COPIES = ("gpu_memcpy_h2d", "gpu_memcpy_d2h")
_CLASS = pl.col("function_class").cast(pl.String)
_ALL = 100.0
_OF_A_CORE = "% of a core"
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
        return new / base if base > 0 and base >= ResourcesLimits.min_kernel_share * total else None

    def interrupted(self, device: str) -> float:
        """How many times as long nearly all own kernels take beyond what the clock explains.

        More work makes some kernels longer and leaves those alone that only depend on the model;
        others on the device make all of them longer.
        """
        clock = self.reading("device_clock", device)
        same, total = self._same_kernels(device)
        same = same.with_columns(ratio=pl.col("new_ns") / pl.col("base_ns")).sort("ratio")
        weights = same["base_ns"].cum_sum()
        has_enough = len(same) > 0 and weights[-1] >= ResourcesLimits.min_kernel_share * total
        if (
            clock is None
            or not has_enough
            or clock.new_mean <= 0
            or not self.pair.workload.comparable
        ):
            return 1.0
        least = float(same.filter(weights >= ResourcesLimits.nearly_none * weights[-1])["ratio"][0])
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
        return self.pair.times.filter(among(self.pair.times["device"], {device}))

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
    if busy is None or busy[0] < ResourcesLimits.min_busy_share:
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
    if (
        context.cores
        and process_use.base_mean / context.cores <= reading.base_mean + ResourcesLimits.rounding
    ):
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
    steady = (
        level
        if len(reading.new) > 1 and strays <= ResourcesLimits.steady_capacity * level
        else None
    )
    return capacity_of(kind, context.hardware(reading.device), seen, steady)


def ground(reading: CounterReading, context: Context) -> float:
    """A level that is little for a resource, 0 where it has no capacity.

    Counters of hardly used resources scatter by many times what they read.
    """
    if reading.resource.scale == "percent":
        return ResourcesLimits.ground * _ALL
    return ResourcesLimits.ground * (capacity(reading, context) or 0.0)


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

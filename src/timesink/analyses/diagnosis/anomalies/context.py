"""What cross-checks look at beside a counter: other counters, and what the process itself did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from timesink.analyses.anatomy.anatomy import Anatomy
from timesink.analyses.comparison.equally_often import equally_often
from timesink.analyses.comparison.pair import Pair
from timesink.analyses.diagnosis.anomalies.hardware import Hardware, hardware_of
from timesink.analyses.diagnosis.anomalies.readings import Reading, of_resource, own_devices
from timesink.analyses.kernel_calls.families import load_families

_ENOUGH = 0.05
"""Kernels that are to speak for all take this part of the time of kernels at least."""
_NEARLY_NONE = 0.1
"""Part of the time of kernels that may stay as it is where "nearly all" take longer."""
_COPIES = ("gpu_memcpy_h2d", "gpu_memcpy_d2h")


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """What the process did on one device, per cycle of each side."""

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
    readings: Sequence[Reading]

    # -- counters ----------------------------------------------------------------------------------

    def reading(self, resource: str, device: str) -> Reading | None:
        """The counter of a resource on a device; the highest where there are several."""
        found = of_resource(self.readings, resource, device)
        return max(found, key=lambda one: (one.new_mean, one.metric), default=None)

    def hardware(self, device: str) -> Hardware | None:
        """What is known about a device."""
        name = self.new.hardware.get(device) or self.base.hardware.get(device)
        return hardware_of(name)

    @property
    def cores(self) -> int | None:
        return self.new.cores or self.base.cores

    # -- own work ----------------------------------------------------------------------------------

    @property
    def own_devices(self) -> set[str]:
        return own_devices(self.pair)

    @property
    def cycles_ns(self) -> tuple[float, float]:
        """Mean length of the cycles of both sides."""
        times = self.pair.cycle_times
        return times.base_mean_ns, times.new_mean_ns

    def busy(self, device: str) -> tuple[float, float] | None:
        """Share of the cycle in which the process itself keeps a device busy, on both sides."""
        work = self.work(device)
        shares = [
            _share(*both) for both in zip((work.base_ns, work.new_ns), self.cycles_ns, strict=True)
        ]
        if not any(shares):
            return None
        return shares[0], shares[1]

    def work(self, device: str, *classes: str) -> Work:
        """Work of some classes of functions on a device, or all of it."""
        rows = self.pair.times.filter(pl.col("device").cast(pl.String) == device)
        kind = pl.col("function_class").cast(pl.String)
        rows = rows.filter(kind.is_in(classes) if classes else kind.str.starts_with("gpu_"))
        return Work(*_sums(rows))

    def copies(self, device: str) -> Work:
        """Copies between host and device."""
        return self.work(device, *_COPIES)

    def communication(self, device: str) -> Work:
        """Kernels that talk to other devices, and copies between devices."""
        rows = self._device_rows(device)
        return Work(*_sums(rows.filter(_communicates(rows))))

    def kernel_ratio(self, device: str) -> float | None:
        """How many times as long own kernels take that are launched about equally often.

        None where there are none, or too few to speak for all.
        """
        same, total = self._same_kernels(device)
        base, new, *_ = _sums(same)
        return new / base if base > 0 and base >= _ENOUGH * total else None

    def interrupted(self, device: str) -> float:
        """How many times as long nearly all own kernels take beyond what the clock explains.

        More work makes some kernels longer and leaves those alone that only depend on the model;
        others on the device make all of them longer.
        """
        clock = self.reading("device_clock", device)
        same, total = self._same_kernels(device)
        same = same.with_columns(ratio=pl.col("new_ns") / pl.col("base_ns")).sort("ratio")
        weights = same["base_ns"].cum_sum()
        known = len(same) > 0 and weights[-1] >= _ENOUGH * total
        if clock is None or not known or clock.new_mean <= 0 or not self.pair.workload.comparable:
            return 1.0
        least = float(same.filter(weights >= _NEARLY_NONE * weights[-1])["ratio"][0])
        return max(least * min(clock.new_mean / clock.base_mean, 1.0), 1.0)

    def _same_kernels(self, device: str) -> tuple[pl.DataFrame, float]:
        """Kernels launched about equally often, launch by launch, and the time of all in BASE."""
        rows = self._device_rows(device)
        kernels = rows.filter(
            ~_communicates(rows), pl.col("function_class").cast(pl.String) == "gpu_compute"
        )
        launches = pl.col("calls_new") / pl.col("calls_base")
        often = kernels.select(pl.col("calls_base", "calls_new").cast(pl.Float64)).to_numpy()
        known = pl.col("base_ns") > 0, pl.col("calls_base") > 0, pl.col("calls_new") > 0
        same = kernels.filter(pl.Series(equally_often(often[:, 0], often[:, 1])), *known)
        # Cycles of a run differ a little in what they launch.
        return same.with_columns(pl.col("new_ns") / launches), _sums(kernels)[0]

    def _device_rows(self, device: str) -> pl.DataFrame:
        return self.pair.times.filter(pl.col("device").cast(pl.String) == device)

    def host_ratio(self, *classes: str) -> float | None:
        """How many times as long functions of these classes on the host take."""
        work = self.work_of_class(*classes)
        return work.new_ns / work.base_ns if work.base_ns > 0 else None

    def work_of_class(self, *classes: str) -> Work:
        """Functions of some classes, wherever they run."""
        kind = pl.col("function_class").cast(pl.String)
        return Work(*_sums(self.pair.times.filter(kind.is_in(classes))))

    @property
    def cycle_ratio(self) -> float | None:
        """How many times as long cycles are; None where they do not hold the same work."""
        base, new = self.cycles_ns
        return new / base if base > 0 and new > 0 and self.pair.workload.comparable else None

    def part_ns(self, *parts: str) -> tuple[float, float]:
        """Mean time per cycle of parts of the cycle, on both sides."""
        return _mean_part(self.base, parts), _mean_part(self.new, parts)


def _sums(rows: pl.DataFrame) -> tuple[float, float, float, float]:
    columns = ("base_ns", "new_ns", "calls_base", "calls_new")
    found = rows.select(pl.col(columns).fill_null(0).fill_nan(0).sum()).row(0)
    return float(found[0]), float(found[1]), float(found[2]), float(found[3])


def _share(part: float, whole: float) -> float:
    return min(part / whole, 1.0) if whole > 0 else 0.0


def _communicates(rows: pl.DataFrame) -> pl.Expr:
    kind = pl.col("function_class").cast(pl.String)
    rules = load_families()
    talking = [
        name for name in rows["function"].unique() if name and rules.of(name) == "collective"
    ]
    told = pl.col("function").is_in(talking)
    return (kind == "gpu_comm") | (kind == "gpu_memcpy_d2d") | told.fill_null(value=False)


def _mean_part(anatomy: Anatomy, parts: Sequence[str]) -> float:
    cycles = anatomy.parts["cycle"].n_unique()
    if not cycles:
        return 0.0
    chosen = anatomy.parts.filter(pl.col("part").cast(pl.String).is_in(parts))
    return float(chosen["dur_ns"].sum()) / cycles

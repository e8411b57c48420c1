"""How bad a change is: the share of a resource's capacity that was lost or taken, 0 to 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from timesink.analyses.diagnosis.anomalies.context import Context
from timesink.analyses.diagnosis.anomalies.hardware import capacity_of
from timesink.analyses.diagnosis.anomalies.readings import Reading

_ALL = 100.0
_STEADY = 0.05
_GROUND = 0.2
"""Part of its capacity on top of which the level of a resource is looked at."""


def severity(reading: Reading, context: Context) -> float:
    """Share of the capacity lost in the harmful direction; 0 where it changed for the better.

    `reading` is of the load of others, where that differs from what was counted.
    """
    scale = SCALES.get(reading.resource.scale)
    if scale is None:
        return 0.0
    lost = scale(reading, context)
    return min(max(lost, 0.0), 1.0) if lost == lost else 0.0  # noqa: PLR0124 (NaN)


def capacity(reading: Reading, context: Context) -> float | None:
    """What the resource could give, in the unit of the reading; None where it has no such."""
    kind = reading.resource.scale
    if kind == "fixed":
        return reading.resource.capacity
    if kind == "process_memory":
        own = context.reading("own_memory", reading.device)
        return None if own is None else own.new_mean + reading.new_mean
    if kind not in {"pcie", "link", "memory_bandwidth", "network", "disk"}:
        return None
    limit = context.reading(f"{kind}_limit", reading.device)
    if limit is not None and limit.new_mean > 0:
        return limit.new_mean
    seen = max(reading.base_mean, reading.new_mean)
    steady = reading.new_mean if _is_steady(reading) else None
    return capacity_of(kind, context.hardware(reading.device), seen, steady)


def ground(reading: Reading, context: Context) -> float:
    """A level that is little for a resource, 0 where it has no capacity.

    Counters of hardly used resources scatter by many times what they read.
    """
    if reading.resource.scale == "percent":
        return _GROUND * _ALL
    return _GROUND * (capacity(reading, context) or 0.0)


def _is_steady(reading: Reading) -> bool:
    """Whether a load stays where it is, as that of a full link does."""
    return len(reading.new) > 1 and float(reading.new.std()) <= _STEADY * reading.new_mean


def _ratio(reading: Reading, _: Context) -> float:
    base, new = reading.base_mean, reading.new_mean
    if base <= 0 or new < 0:
        return 0.0
    return 1.0 - new / base


def _percent(reading: Reading, _: Context) -> float:
    return reading.rise / _ALL


def _flag(reading: Reading, _: Context) -> float:
    """Share of the time in which it is set; counted from 0 to 1 or in percent."""
    return reading.rise / (_ALL if reading.unit == "%" else 1.0)


def _of_capacity(reading: Reading, context: Context) -> float:
    most = capacity(reading, context)
    return reading.rise / most if most else 0.0


def _cycle_share(reading: Reading, context: Context) -> float:
    """What calls take beyond what the whole host slowed down by, as a share of the cycle."""
    host, (_, cycle_ns) = context.host_ratio("oncpu"), context.cycles_ns
    if context.cycle_ratio is None or host is None or cycle_ns <= 0:
        return 0.0
    calls = context.work_of_class("disk_read_and_write").calls_new
    return calls * (reading.new_mean - reading.base_mean * max(host, 1.0)) / cycle_ns


SCALES: Mapping[str, Callable[[Reading, Context], float]] = {
    "ratio": _ratio,
    "percent": _percent,
    "flag": _flag,
    "cycle_share": _cycle_share,
    **dict.fromkeys(("pcie", "link", "memory_bandwidth", "network", "disk"), _of_capacity),
    **dict.fromkeys(("fixed", "process_memory"), _of_capacity),
}
"""By the column `scale` of ``resources.csv``."""

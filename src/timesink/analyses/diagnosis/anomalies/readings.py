"""Counters of both sides: every metric of every device once, with a value per cycle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from timesink.analyses.anatomy.anatomy import Anatomy
from timesink.analyses.comparison.pair import Pair
from timesink.analyses.diagnosis.anomalies.own_counters import only_own
from timesink.analyses.diagnosis.anomalies.resources import Resource, resource_of
from timesink.analyses.statistics.moments import Floats, Integers
from timesink.model.counter_units import quantity
from timesink.model.schema import HOST_DEVICE

_NONE = np.zeros(0)
_NO_CYCLES = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """One counter of one device on both sides, in the base unit of what it measures."""

    metric: str
    device: str
    unit: str
    resource: Resource
    base: Floats
    """One value per cycle that has one, in the order of cycles."""
    new: Floats
    cycles: Integers = field(default_factory=_NO_CYCLES.copy)
    """Which cycles of NEW the values are of."""

    @property
    def base_mean(self) -> float:
        return float(self.base.mean()) if len(self.base) else 0.0

    @property
    def new_mean(self) -> float:
        return float(self.new.mean()) if len(self.new) else 0.0

    @property
    def rise(self) -> float:
        return self.new_mean - self.base_mean

    def less(self, own_base: float, own_new: float) -> Reading:
        """What is left of it without a share of each side; nothing is less than nothing."""
        base = np.maximum(self.base - own_base, 0.0)
        return replace(self, base=base, new=np.maximum(self.new - own_new, 0.0))


def readings(pair: Pair, base: Anatomy, new: Anatomy) -> list[Reading]:
    """Counters that both sides have, in units that meet."""
    names = _same_devices(pair, base, new)
    before = _values(only_own(base.levels, pair.base.pid), {})
    after = _values(only_own(new.levels, pair.new.pid), names)
    found = []
    for key in sorted(before.keys() & after.keys()):
        (unit, _, old), (other_unit, cycles, values) = before[key], after[key]
        if unit == other_unit:
            metric, device = key
            resource = resource_of(metric, unit or None)
            found.append(Reading(metric, device, unit, resource, old, values, cycles))
    return found


def of_resource(found: Iterable[Reading], resource: str, device: str) -> list[Reading]:
    """Readings of one resource on one device."""
    return [one for one in found if one.resource.resource == resource and one.device == device]


_Values = dict[tuple[str, str], tuple[str, Integers, Floats]]


def _values(levels: pl.DataFrame, names: Mapping[str, str]) -> _Values:
    known = levels.filter(pl.col("value").is_finite()).sort("metric", "device", "cycle")
    groups = known.group_by("metric", "device", "unit", maintain_order=True)
    rows = groups.agg("cycle", "value").iter_rows()
    found: _Values = {}
    for metric, device, unit, cycles, values in rows:
        key = metric, names.get(device, device)
        factor, base_unit = quantity(1.0, unit)
        numbers = np.asarray(values, dtype=np.float64) * factor
        longer = key not in found or len(found[key][2]) < len(numbers)
        if longer:
            found[key] = (base_unit, np.asarray(cycles, dtype=np.int64), numbers)
    return found


def _same_devices(pair: Pair, base: Anatomy, new: Anatomy) -> dict[str, str]:
    """How devices of NEW are called in BASE, where the pair brought them together.

    The pair calls the devices of NEW as BASE does; counters still have the names of the recording.
    """
    used = own_devices(pair)
    ours, theirs = (set(_devices(side.levels)) for side in (base, new))
    missing = sorted(used & ours - theirs)
    free = sorted(theirs - ours)
    if not missing and len(ours) == len(theirs) == 1:
        return dict(zip(sorted(theirs), sorted(ours), strict=True))
    return dict(zip(free, missing, strict=False))


def _devices(levels: pl.DataFrame) -> list[str]:
    names = levels["device"].drop_nulls().unique().cast(pl.String).to_list()
    return [name for name in names if name != HOST_DEVICE]


def own_devices(pair: Pair) -> set[str]:
    """Devices on which the process does something."""
    runs = pl.col("function_class").cast(pl.String).str.starts_with("gpu_")
    names = pair.times.filter(runs.fill_null(value=False))["device"].drop_nulls()
    return {name for name in names.unique().cast(pl.String) if name != HOST_DEVICE}

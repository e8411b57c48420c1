"""Values that no counter can have: wrong units, and numbers that stand for "unknown"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf

import polars as pl

from timesink.analyses.anatomy.anatomy import Anatomy
from timesink.analyses.comparison.pair import Pair
from timesink.analyses.diagnosis.anomalies.resources import resource_of
from timesink.model.amounts import amount
from timesink.model.counter_units import quantity
from timesink.model.units import counted

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
_WHOLE = 110.0
"""Samplers round and their clocks jitter: a share of something whole may read a little more."""
_ADDED_UP = ("run_queue",)
"""Shares of time that are added up over threads."""


def without_impossible(anatomy: Anatomy) -> Anatomy:
    """The anatomy without levels that cannot be."""
    return replace(anatomy, levels=anatomy.levels.filter(~_is_impossible(anatomy.levels)))


def impossible_levels(pair: Pair, base: Anatomy, new: Anatomy) -> tuple[str, ...]:
    """A sentence on each counter that has values which cannot be."""
    sides = ((pair.base.label, base), (pair.new.label, new))
    return tuple(said for label, side in sides for said in _told(label, side.levels))


def _told(label: str, levels: pl.DataFrame) -> Iterator[str]:
    wrong = levels.filter(_is_impossible(levels))
    groups = wrong.group_by("metric", "device", "unit", maintain_order=True)
    rows = groups.agg(pl.len(), pl.col("value").first()).sort("device", "metric")
    for metric, device, unit, many, value in rows.iter_rows():
        read, cycles = amount(value, unit), counted(many, "cycles")
        yield f"{metric} of {device} cannot be {read}: left out in {cycles} of {label}."


def _is_impossible(levels: pl.DataFrame) -> pl.Series:
    """Which levels are outside of what their counter can read; those not known are not."""
    kinds = levels.select("metric", "unit").unique(maintain_order=True)
    ranges = [(metric, unit, *_range(metric, unit)) for metric, unit in kinds.iter_rows()]
    schema = {"metric": pl.String, "unit": pl.String, "least": pl.Float64, "most": pl.Float64}
    known = levels.join(
        pl.DataFrame(ranges, schema=schema, orient="row"),
        ["metric", "unit"], "left", nulls_equal=True, maintain_order="left",
    )  # fmt: skip
    value = pl.col("value")
    outside = (value < pl.col("least")) | (value > pl.col("most")) | value.is_infinite()
    return known.select((outside & value.is_not_nan()).fill_null(value=False)).to_series()


def _range(metric: str, unit: str | None) -> tuple[float, float]:
    """Least and most a counter can read, in its unit."""
    factor, base_unit = quantity(1.0, unit)
    resource = resource_of(metric, base_unit or None)
    least, most = _RANGES.get(base_unit, (-inf, inf))
    if resource.scale == "percent" and resource.resource not in _ADDED_UP:
        least, most = 0.0, _WHOLE
    return least / factor, most / factor

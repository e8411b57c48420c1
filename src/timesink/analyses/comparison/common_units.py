"""Counters of two roles in the same unit, where one recording writes another one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from timesink.analyses.comparison.role import Role
from timesink.model.counter_units import quantity


@dataclass(frozen=True, slots=True)
class _Unlike:
    """A metric whose units differ."""

    metric: str
    base: str
    new: str

    @property
    def factor(self) -> float | None:
        """What a value of NEW has to be multiplied with; None where they do not measure the same.

        Whether a share is written as a fraction or in percent is told by its largest value, which
        is no proof: such values stay as they are, and the larger ones tell the unit of all.
        """
        (one, base), (other, new) = quantity(1.0, self.base), quantity(1.0, self.new)
        if base != new:
            return None
        return 1.0 if base == "%" else other / one

    @property
    def unit(self) -> str | None:
        """The unit both have afterwards."""
        if self.factor is None:
            return None
        return "%" if "%" in (self.base, self.new) else self.base


def with_common_units(base: Role, new: Role) -> tuple[Role, Role, tuple[str, ...]]:
    """Both roles with their counters in the units of the base, and what could not be done."""
    unlike = _unlike(base.behaviour, new.behaviour)
    if not unlike:
        return base, new, ()
    units = {each.metric: each.unit for each in unlike}
    factors = {each.metric: each.factor for each in unlike if each.factor not in (None, 1.0)}
    base = replace(base, behaviour=_in_units(base.behaviour, units))
    new = replace(new, behaviour=_in_units(_scaled(new.behaviour, factors), units))
    return base, new, tuple(_sentence(each) for each in unlike if each.factor is None)


def unlike_metrics(base: pl.DataFrame, new: pl.DataFrame) -> frozenset[str]:
    """Counters that do not measure the same on both sides, or of which only one says what."""
    return frozenset(each.metric for each in _unlike(base, new) if each.factor is None)


def _unlike(base: pl.DataFrame, new: pl.DataFrame) -> list[_Unlike]:
    units = [_units(side) for side in (base, new)]
    return [
        _Unlike(metric, units[0][metric], units[1][metric])
        for metric in sorted(units[0].keys() & units[1].keys())
        if units[0][metric] != units[1][metric]
    ]


def _units(side: pl.DataFrame) -> dict[str, str]:
    """The unit of every metric that has the same everywhere, which may be none."""
    read = side.lazy().filter(pl.col("metric").is_not_null(), pl.col("mu").is_finite())
    known = read.select("metric", pl.col("unit").fill_null("")).unique()
    return dict(known.cast(pl.String).unique("metric", keep="none").collect().rows())


def _scaled(side: pl.DataFrame, factors: dict[str, float]) -> pl.DataFrame:
    factor = (
        pl.col("metric")
        .cast(pl.String)
        .replace_strict(factors, default=1.0, return_dtype=pl.Float64)
    )
    return side.with_columns(pl.col("mu", "sigma") * factor)


def _in_units(side: pl.DataFrame, units: dict[str, str | None]) -> pl.DataFrame:
    metric = pl.col("metric").cast(pl.String)
    common = metric.replace_strict(units, default=None, return_dtype=pl.String)
    renamed = (
        pl.when(metric.is_in(list(units))).then(common).otherwise(pl.col("unit").cast(pl.String))
    )
    return side.with_columns(unit=renamed.cast(side.schema["unit"]))


def _sentence(unlike: _Unlike) -> str:
    base, new = (
        f"in {quantity(1.0, unit)[1]}" if unit else "of unknown unit"
        for unit in (unlike.base, unlike.new)
    )
    return f"{unlike.metric} is {base} on one side and {new} on the other: not comparable."

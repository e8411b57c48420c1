"""Time per cycle of every function of two roles, whether or not it has a metric."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.behaviour.rows import once_per_cycle
from timesink.analyses.comparison.pair import TIMES
from timesink.analyses.comparison.sides import Sides, side_by_side
from timesink.analyses.statistics.moments import QUIETLY, Moments, moments_with_zeros
from timesink.analyses.statistics.ranks import rank_p
from timesink.analyses.statistics.welch import welch_p
from timesink.model.arrays import Floats, Ints

_KEY = ["function", "device"]
_AMOUNTS = ["dur_ns", "calls", "beta_pct"]


def time_rows(base: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """One row per function and device, largest change of time first, then by name.

    Means are over all cycles of a side, with zero for cycles in which the function did not run.
    Tests and changes that are not defined are null.
    """
    compared = time_changes(base, new, _KEY)
    described = _descriptions(base, new)
    table = compared.join(described, on=_KEY, how="left", nulls_equal=True)
    order = [pl.col("delta_ns").abs(), *_KEY]
    return (
        table.select(TIMES.keys())
        .cast(pl.Schema(TIMES))
        .sort(order, descending=[True, False, False])
    )


@QUIETLY
def time_changes(base: pl.DataFrame, new: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Time, calls and share per cycle of whatever the columns of the key name, on both sides.

    The key may be any columns, such as a family that was added to a behaviour table.
    """
    sides = side_by_side(_per_cycle(base, key), _per_cycle(new, key), key)
    cycles = [np.full(len(sides.keys), side["cycle"].n_unique()) for side in (base, new)]
    amounts = {name: _moments_of(sides, sides.floats(name), cycles) for name in _AMOUNTS}
    before, after = amounts["dur_ns"]
    columns: dict[str, Any] = {
        "runs_on": sides.runs_on(),
        "base_ns": before.mean,
        "new_ns": after.mean,
        "delta_ns": after.mean - before.mean,
        "change_pct": _change_pct(before.mean, after.mean),
        "calls_base": amounts["calls"][0].mean,
        "calls_new": amounts["calls"][1].mean,
        "beta_base_pct": amounts["beta_pct"][0].mean,
        "beta_new_pct": amounts["beta_pct"][1].mean,
        "welch_p": _tested(welch_p(before, after), cycles),
        "rank_p": _rank_p(sides, cycles),
    }
    return sides.table(columns).with_columns(
        pl.col("change_pct", "welch_p", "rank_p").fill_nan(None)
    )


def _per_cycle(side: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Time of each key in each cycle; a function with several metrics has it in several rows."""
    return (
        once_per_cycle(side)
        .group_by("cycle", *key, maintain_order=True)
        .agg(pl.col(_AMOUNTS).sum())
    )


def _moments_of(sides: Sides, values: Floats, cycles: list[Ints]) -> tuple[Moments, Moments]:
    base, new = (
        moments_with_zeros(sides.key[part], values[part], count)
        for part, count in zip(sides.parts, cycles, strict=True)
    )
    return base, new


def _change_pct(base: Floats, new: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(base > 0, 100 * (new - base) / base, np.nan)


def _tested(p: Floats, cycles: list[Ints]) -> Floats:
    return np.where(np.minimum(*cycles) > 1, p, np.nan)


def _rank_p(sides: Sides, cycles: list[Ints]) -> Floats:
    """Over all cycles: one row more per key and side stands for the cycles it did not run in."""
    groups = len(sides.keys)
    absent = [
        count - np.bincount(sides.key[part], minlength=groups)
        for part, count in zip(sides.parts, cycles, strict=True)
    ]
    every = np.arange(groups)
    values = np.concatenate([sides.floats("dur_ns"), np.zeros(2 * groups)])
    weights = np.concatenate([np.ones(len(sides.key), dtype=np.int64), *absent])
    number = np.concatenate([sides.key, every, every])
    is_new = np.concatenate([sides.is_new, np.zeros(groups, bool), np.ones(groups, bool)])
    some = weights > 0
    return rank_p(number[some], is_new[some], values[some], groups, weights[some])


def _descriptions(base: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """What is the same in every cycle: class, name as people say it, and whether it has metrics."""
    columns = [*_KEY, "function_class", "short_name", "metric"]
    both = pl.concat([base.select(columns), new.select(columns)])
    described = both.group_by(_KEY).agg(
        pl.col("function_class", "short_name").drop_nulls().first(),
        measured=pl.col("metric").is_not_null().any(),
    )
    return described.cast(dict.fromkeys([*_KEY, "function_class", "short_name"], pl.String))

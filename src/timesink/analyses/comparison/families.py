"""Functions whose exact names do not meet, brought together by normalised name or by family."""

from __future__ import annotations

import polars as pl

from timesink.analyses.behaviour.rows import once_per_cycle, plain_texts
from timesink.analyses.comparison.meeting import is_related, meeting
from timesink.analyses.comparison.pair import FAMILIES
from timesink.analyses.comparison.times import time_changes

_COLUMNS = ["cycle", "function", "device", "function_class", "dur_ns", "calls", "beta_pct"]
_KEY = ["family", "name", "device"]


def family_rows(base: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Time per cycle by normalised name or family, where exact names do not meet.

    Kernels of other devices and versions of libraries have other names for the same work: they meet
    by normalised name, else by what they do.  A row holds every function of its name, and of its
    family all that are in no row of their own, so that it is the whole of both sides.  What has no
    counterpart at all is there too, with names on one side only.  Largest change first.
    """
    base, new = (plain_texts(side.select(_COLUMNS)) for side in (base, new))
    keys = _keys(meeting(base, new))
    if keys.is_empty():
        return pl.DataFrame(schema=FAMILIES)
    sides = [_with_keys(side, keys) for side in (base, new)]
    # Cycles in which none of them ran count too, so the rest of the rows stays in until here.
    changes = time_changes(sides[0], sides[1], _KEY).filter(pl.col("family").is_not_null())
    for side, column in zip(sides, ("names_base", "names_new"), strict=True):
        changes = changes.join(_names(side, column), _KEY, "left", nulls_equal=True)
    named = pl.col("names_base", "names_new").fill_null(pl.lit([], dtype=pl.List(pl.String)))
    order = [pl.col("delta_ns").abs(), *_KEY]
    table = changes.with_columns(named).select(
        pl.col(name).cast(kind) for name, kind in FAMILIES.items()
    )
    return table.sort(order, descending=[True, False, False, False])


def _keys(met: pl.DataFrame) -> pl.DataFrame:
    """Family and normalised name of each function that is in a row."""
    left = pl.col("level").is_in(["family", "alone"])
    # What took over from a function may have run before as well, under the same name.
    rest = (pl.col("level") == "exact") & is_related() & left.any().over("device", "family")
    name = pl.when(pl.col("level") == "normalised").then(pl.col("normalised"))
    rows = met.with_columns(name.alias("name")).filter((pl.col("level") != "exact") | rest)
    return rows.select("function", *_KEY)


def _with_keys(side: pl.DataFrame, keys: pl.DataFrame) -> pl.DataFrame:
    return side.join(keys, ["function", "device"], "left", nulls_equal=True, maintain_order="left")


def _names(side: pl.DataFrame, column: str) -> pl.DataFrame:
    """The functions behind each row, those that took longest first."""
    once = once_per_cycle(side.filter(pl.col("family").is_not_null()))
    summed = once.group_by(*_KEY, "function").agg(pl.col("dur_ns").sum())
    ordered = summed.sort("dur_ns", "function", descending=[True, False])
    return ordered.group_by(_KEY, maintain_order=True).agg(pl.col("function").alias(column))

"""Kernels that take longer although they are launched equally often."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from timesink.analyses import names
from timesink.analyses.behaviour.rows import once_per_cycle, plain_texts
from timesink.analyses.comparison.equally_often import equally_often
from timesink.analyses.comparison.pair import Pair
from timesink.analyses.kernel_calls.families import load_families
from timesink.model.schema import HOST_DEVICE

_KEY = ["function", "device"]


def same_launches(pair: Pair, exposed: Mapping[str, float]) -> dict[str, float]:
    """Of each family of kernels: the change in those that are launched equally often, in ns.

    That is what a launch takes more now than before, as often as both sides have it: cycles of
    which only a part was recorded have fewer.  `exposed` is the time of each family on both sides
    that counts for it in the cycle: kernels that run at the same time as others count for their
    share.
    """
    kernels = _kernels(pair)
    if kernels.is_empty():
        return {}
    longer = pl.col("new_ns") / pl.col("calls_new") - pl.col("base_ns") / pl.col("calls_base")
    often = pl.min_horizontal("calls_base", "calls_new")
    sums = kernels.group_by("family").agg(
        (pl.col("base_ns") + pl.col("new_ns")).sum().alias("total"),
        (longer * often).filter("equal").sum().alias("same"),
    )
    return {
        family: same * min(1.0, exposed.get(family, 0.0) / total) if total > 0 else 0.0
        for family, total, same in sums.select("family", "total", "same").iter_rows()
    }


def _kernels(pair: Pair) -> pl.DataFrame:
    """Rows of `Pair.times` that compute, with their family and whether launches are equal."""
    computing = pl.col("function_class") == "gpu_compute"
    rows = pair.times.filter(computing, pl.col("device") != HOST_DEVICE)
    talks = [name for name in rows["function"].unique() if names.is_collective_kernel(name)]
    rows = rows.filter(~pl.col("function").is_in(talks))
    if rows.is_empty():
        return rows
    rules = load_families()
    family = {name: rules.of(name) for name in rows["function"].unique()}
    rows = rows.with_columns(
        family=pl.col("function").replace_strict(family, return_dtype=pl.String)
    )
    for role, column in ((pair.base, "usual_base"), (pair.new, "usual_new")):
        rows = rows.join(_usual_calls(role.behaviour, column), _KEY, "left")
    return rows.with_columns(_is_equal(rows))


def _usual_calls(behaviour: pl.DataFrame, column: str) -> pl.DataFrame:
    """How often kernels run in a cycle that has them: the median."""
    columns = ["cycle", *_KEY, "function_class", "calls"]
    computing = behaviour.select(columns).filter(
        pl.col("function_class").cast(pl.String) == "gpu_compute"
    )
    once = plain_texts(once_per_cycle(computing))
    each = once.group_by("cycle", *_KEY).agg(pl.col("calls").sum())
    return each.group_by(_KEY).agg(pl.col("calls").median().alias(column))


def _is_equal(rows: pl.DataFrame) -> pl.Series:
    """Which both sides launch, as often on average or in a usual cycle."""
    calls = rows.select(pl.col("^(?:calls|usual)_(?:base|new)$").cast(pl.Float64))
    known = {name: calls[name].fill_null(np.nan).to_numpy() for name in calls.columns}
    both = (known["calls_base"] > 0) & (known["calls_new"] > 0)
    alike = [
        equally_often(known[f"{sort}_base"], known[f"{sort}_new"]) for sort in ("calls", "usual")
    ]
    return pl.Series("equal", both & (alike[0] | alike[1]))

"""Which collectives of a run move their data slower or faster than they did."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.communication.kinds import ONE_SIDED
from timesink.analyses.ranks.rank_set import RankSet
from timesink.analyses.statistics.discovery import ALPHA, false_discovery
from timesink.analyses.statistics.drifting import mean_changes
from timesink.model.arrays import Floats

COLLECTIVE_CHANGE_SCHEMA = {
    "group_kind": pl.String(),
    "collective": pl.String(),
    "dtype": pl.String(),
    "size_bytes": pl.Int64(),
    "group_size": pl.Int64(),
    "calls_base": pl.Float64(),
    "calls_new": pl.Float64(),
    "transfer_base_ns": pl.Float64(),
    "transfer_new_ns": pl.Float64(),
    "wait_base_ns": pl.Float64(),
    "wait_new_ns": pl.Float64(),
    "bus_base_bytes_per_s": pl.Float64(),
    "bus_new_bytes_per_s": pl.Float64(),
    "change_ns": pl.Float64(),
    "p_value": pl.Float64(),
    "changed": pl.Boolean(),
}
"""Times are means of a call.  `calls` are those of the whole run in a step, `change_ns` is what the
transfers of a step take longer; `p_value` is corrected for the number of rows and null where it
could not be tested."""

_KIND = ["group_kind", "collective", "dtype", "size_bytes", "group_size"]
_TESTED = _KIND[1:]
_LEAST_CHANGE = 0.05
_LEAST_OF_STEP = 0.002


def collective_changes(base: RankSet, new: RankSet) -> pl.DataFrame:
    """Rows of `COLLECTIVE_CHANGE_SCHEMA`, those that changed first, then by what they add."""
    sides = [_side(each, name) for each, name in ((base, "base"), (new, "new"))]
    both = sides[0].join(sides[1], on=_KIND, how="full", coalesce=True, nulls_equal=True)
    if both.is_empty():
        return pl.DataFrame(schema=COLLECTIVE_CHANGE_SCHEMA)
    more = pl.col("transfer_new_ns") - pl.col("transfer_base_ns")
    usual = pl.min_horizontal("calls_base", "calls_new")
    step_ns = max(base.analysis.panel.step_ns, 1.0)
    counts = (
        (pl.col("p_value") < ALPHA)
        & (more.abs() > _LEAST_CHANGE * pl.col("transfer_base_ns"))
        & (pl.col("change_ns").abs() > _LEAST_OF_STEP * step_ns * pl.col("groups"))
    )
    return (
        both.join(_tested(base, new), on=_TESTED, how="left", nulls_equal=True)
        .with_columns(change_ns=more * usual)
        .with_columns(changed=counts.fill_null(value=False))
        .sort("changed", pl.col("change_ns").abs(), *_KIND, descending=[True, True] + [False] * 5,
              nulls_last=True)
        .select(pl.col(name).cast(dtype) for name, dtype in COLLECTIVE_CHANGE_SCHEMA.items())
    )  # fmt: skip


def _side(ranks: RankSet, side: str) -> pl.DataFrame:
    found = ranks.analysis
    steps = max(found.collectives["step"].n_unique(), 1)
    table = found.matched.select(
        *_KIND,
        (pl.col("calls") / steps).alias(f"calls_{side}"),
        pl.col("transfer_mean_ns").alias(f"transfer_{side}_ns"),
        pl.col("wait_mean_ns").alias(f"wait_{side}_ns"),
        pl.col("bus_bytes_per_s").alias(f"bus_{side}_bytes_per_s"),
        "groups",
    )
    return table if side == "base" else table.drop("groups")


# -- tests -----------------------------------------------------------------------------------------


def _tested(base: RankSet, new: RankSet) -> pl.DataFrame:
    """How likely noise moves transfers as far, for kinds that both runs have, step by step."""
    before, now = _series(base), _series(new)
    common = [name for name in before.columns[1:] if name in now.columns]
    if not common:
        columns = (*_TESTED, "p_value")
        return pl.DataFrame(schema={name: COLLECTIVE_CHANGE_SCHEMA[name] for name in columns})
    values = [_filled(each.select(common).to_numpy()) for each in (before, now)]
    p = false_discovery(mean_changes(*values).p)
    known = _kinds(base).filter(pl.col("kind").is_in(common))
    told = pl.DataFrame({"kind": common, "p_value": p}).with_columns(
        pl.col("p_value").fill_nan(None)
    )
    return known.join(told, on="kind").drop("kind")


def _series(ranks: RankSet) -> pl.DataFrame:
    """One row per step, one column per kind of collective: how long moving takes."""
    calls = _named(ranks)
    return (
        calls.group_by("step", "kind")
        .agg(pl.col("transfer_ns").mean(), pl.col("start_ns").min())
        .with_columns(pl.col("start_ns").min().over("step"))
        .sort("start_ns", "kind")
        .pivot("kind", index="step", values="transfer_ns", maintain_order=True)
    )


def _kinds(ranks: RankSet) -> pl.DataFrame:
    return _named(ranks).select("kind", *_TESTED).unique("kind")


def _named(ranks: RankSet) -> pl.DataFrame:
    paired = pl.col("collective").cast(pl.String).replace(dict.fromkeys(ONE_SIDED, "send_recv"))
    size = pl.max_horizontal(pl.col("size_bytes", "out_bytes")).max().over("match")
    return (
        ranks.analysis.collectives.filter(pl.col("step").is_not_null())
        .select("step", "start_ns", "transfer_ns", "group_size", "match",
                pl.col("dtype").cast(pl.String), collective=paired, size_bytes=size)
        .with_columns(kind=pl.concat_str(pl.col(_TESTED).cast(pl.String), separator=" ",
                                         ignore_nulls=True))
    )  # fmt: skip


def _filled(values: Floats) -> Floats:
    """A step without such a call counts as its others do."""
    known = np.isfinite(values.astype(np.float64))
    sums = np.where(known, values, 0.0).sum(axis=0)
    means = sums / np.maximum(known.sum(axis=0), 1)
    return np.asarray(np.where(known, values, means[None, :]).astype(np.float64))

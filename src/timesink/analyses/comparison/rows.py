"""The published comparison: share and load of every function, metric and device."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np
import polars as pl

from timesink.analyses.comparison.pair import ROWS
from timesink.analyses.comparison.sides import Sides, side_by_side
from timesink.analyses.kernels.families import OTHER, load_families
from timesink.analyses.statistics.means import QUIETLY, Moments, moments, welch_p
from timesink.analyses.statistics.ranks import rank_p
from timesink.model.arrays import Flags, Floats, Ints
from timesink.model.schema import HOST_DEVICE

_KEY = ["function", "metric", "device"]
_KNOWN = ("cycles_base", "cycles_new", "unit", "runs_on")
_LEAST_SPREAD = 1e-9
"""A base that varies less than this gives no z-score."""


@QUIETLY
def comparison_rows(base: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """One row per function, metric and device, highest score first, then by key.

    Means and spreads are over the cycles that have the key.  z-scores are in spreads of the base.
    The score is |change of the share| x (|z of the share| + |z of ln(1 + load)|).
    """
    sides = side_by_side(_measured(base), _measured(new), _KEY)
    beta, mu = sides.floats("beta_pct"), sides.floats("mu")
    # In how many cycles of a side each key is; usually each has one row per cycle.
    pairs = [sides.rows[part].select("key", "cycle").unique()["key"] for part in sides.parts]
    cycles = [np.bincount(each.to_numpy(), minlength=len(sides.keys)) for each in pairs]
    shares, loads = (_moments_of(sides, values) for values in (beta, mu))
    z_share, z_load = _z(*shares), _z(*loads)
    z_log_load = _z(*_moments_of(sides, np.log1p(mu), mu > -1))
    delta = shares[1].mean - shares[0].mean
    known = sides.rows.select("key", "unit").drop_nulls().unique("key", keep="first")
    every = sides.keys.with_row_index("key")
    columns = {
        "score": np.abs(delta) * (np.abs(z_share) + np.abs(z_log_load)),
        **_means("beta", "_pct", shares),
        "beta_z": z_share,
        "beta_welch_p": _welch_p(shares, cycles),
        "beta_rank_p": _rank_p(sides, beta),
        **_means("mu", "", loads),
        "mu_z": z_load,
        "log_mu_z": z_log_load,
        "mu_welch_p": _welch_p(loads, cycles),
        "mu_rank_p": _rank_p(sides, mu),
        "cycles_base": cycles[0],
        "cycles_new": cycles[1],
        "unit": every.join(known, on="key", how="left", maintain_order="left")["unit"],
        "runs_on": sides.runs_on(),
    }
    return (
        sides.table(columns)
        .select(ROWS.keys())
        .cast(pl.Schema(ROWS))
        .sort("score", *_KEY, descending=[True, False, False, False])
    )


def known_rows(
    rows: pl.DataFrame, base: pl.DataFrame, new: pl.DataFrame, unlike: AbstractSet[str]
) -> pl.DataFrame | None:
    """The rows with counters over the cycles that know them; None where that changes nothing.

    Published means count a counter without a value as zero.  A row whose counter one side does not
    know at all, or which is `unlike`, is not of both sides.
    """
    known = pl.col("mu").is_finite().fill_null(value=False)
    unknown = pl.col("metric").is_not_null() & ~known
    if not unlike and not any(side.select(unknown.any()).item() for side in (base, new)):
        return None
    of_known = comparison_rows(base.filter(known), new.filter(known))
    columns = [name for name in ROWS if "mu_" in name or name in _KNOWN]
    seen = of_known.select(*_KEY, *columns)
    joined = rows.drop(columns).join(seen, on=_KEY, how="left", maintain_order="left")
    like = ~pl.col("metric").is_in(sorted(unlike))
    return joined.select(ROWS.keys()).with_columns(pl.when(like).then(pl.col("runs_on")))


def _measured(side: pl.DataFrame) -> pl.DataFrame:
    columns = ("cycle", *_KEY, "beta_pct", "mu", "unit")
    measured = side.filter(pl.col("metric").is_not_null()).select(columns)
    return measured.with_columns(
        pl.col("function").fill_null(""), pl.col("device").fill_null("N/A")
    )


def _moments_of(
    sides: Sides, values: Floats, known: Flags | None = None
) -> tuple[Moments, Moments]:
    base, new = (
        moments(sides.key[part][which], values[part][which], len(sides.keys))
        for part in sides.parts
        for which in [slice(None) if known is None else known[part]]
    )
    return base, new


def _means(name: str, ending: str, both: tuple[Moments, Moments]) -> dict[str, Floats]:
    return {
        f"{name}_base{ending}": both[0].mean,
        f"{name}_new{ending}": both[1].mean,
        f"{name}_delta{ending}": both[1].mean - both[0].mean,
    }


def _welch_p(both: tuple[Moments, Moments], cycles: list[Ints]) -> Floats:
    return welch_p(replace(both[0], count=cycles[0]), replace(both[1], count=cycles[1]))


def _z(base: Moments, new: Moments) -> Floats:
    """Change in spreads of the base; 0 where the base is constant."""
    varied = base.spread > _LEAST_SPREAD
    return np.where(varied, (new.mean - base.mean) / np.where(varied, base.spread, 1.0), 0.0)


def _rank_p(sides: Sides, values: Floats) -> Floats:
    p = rank_p(sides.key, sides.is_new, values, len(sides.keys))
    return np.where(np.isnan(p), 1.0, p)


LEVELS = ("exact", "normalised", "family", "alone")


def meeting(base: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Every function and device of both runs with the finest level at which both have it.

    Columns: function, device, normalised, family, in_base, in_new, level.  Both inputs need
    function, device and function_class.  Where all names meet, nobody asks for others: normalised
    name and family are null.
    """
    sides_names = [
        side.group_by("function", "device").agg(
            pl.col("function_class").drop_nulls().first(), pl.lit(value=True).alias(column)
        )
        for side, column in ((base, "in_base"), (new, "in_new"))
    ]
    names = sides_names[0].join(
        sides_names[1], ["function", "device"], "full", coalesce=True, nulls_equal=True
    )
    classes = pl.coalesce("function_class", "function_class_right").alias("function_class")
    sides = pl.col("in_base", "in_new").fill_null(value=False)
    every = names.select("function", "device", classes, sides).sort("device", "function")
    if every.select(pl.all_horizontal("in_base", "in_new").all()).item():
        return every.drop("function_class").with_columns(
            pl.lit(None, pl.String).alias("normalised"),
            pl.lit(None, pl.String).alias("family"),
            pl.lit("exact").cast(pl.Enum(LEVELS)).alias("level"),
        )
    met = pl.col("in_base") & pl.col("in_new")
    name = ["device", "family", "normalised"]
    # Where one variant of a function is missing on a side, another one took over its calls.
    named = (~met).any().over(name) & _on_both_sides(pl.lit(value=True), name)
    left = ~(met | named)
    related = left & _on_both_sides(left, ["device", "family"])
    level = (
        pl.when(named).then(pl.lit("normalised")).when(met).then(pl.lit("exact"))
        .when(related).then(pl.lit("family")).otherwise(pl.lit("alone"))
    )  # fmt: skip
    # Where all names meet, nobody waits for the rules of these.
    from timesink.analyses.kernels.families import normalised_name  # noqa: PLC0415

    families = load_families()
    # On the host, the class stands for the family.
    family = [
        function_class or HOST_DEVICE if device == HOST_DEVICE else families.of(function)
        for function, device, function_class in every.select(
            "function", "device", "function_class"
        ).iter_rows()
    ]
    normalised = [normalised_name(function) for function in every["function"]]
    return (
        every.drop("function_class")
        .with_columns(
            pl.Series("normalised", normalised, pl.String), pl.Series("family", family, pl.String)
        )
        .with_columns(level.cast(pl.Enum(LEVELS)).alias("level"))
    )


def is_related() -> pl.Expr:
    """Whether functions of one family do the same sort of work.

    That two functions run on the host, or do what no rule knows, does not make them related.
    """
    return (pl.col("device") != HOST_DEVICE) & (pl.col("family") != OTHER)


def _on_both_sides(those: pl.Expr, keys: list[str]) -> pl.Expr:
    """Whether, of those functions, both runs have one with the same keys."""
    return ((those & pl.col("in_base")).any() & (those & pl.col("in_new")).any()).over(keys)

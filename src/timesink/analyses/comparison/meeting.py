"""Which functions of two runs are the same: by name, by normalised name, or by family only."""

from __future__ import annotations

import polars as pl

from timesink.analyses.kernel_calls.families import OTHER, load_families
from timesink.model.schema import HOST_DEVICE

LEVELS = ("exact", "normalised", "family", "alone")


def meeting(base: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Every function and device of both runs with the finest level at which both have it.

    Columns: function, device, normalised, family, in_base, in_new, level.  Both inputs need
    function, device and function_class.  Where all names meet, nobody asks for others: normalised
    name and family are null.
    """
    names = _names(base, "in_base").join(
        _names(new, "in_new"), ["function", "device"], "full", coalesce=True, nulls_equal=True
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
    return _described(every).with_columns(level.cast(pl.Enum(LEVELS)).alias("level"))


def _names(table: pl.DataFrame, side: str) -> pl.DataFrame:
    first = table.group_by("function", "device").agg(pl.col("function_class").drop_nulls().first())
    return first.with_columns(pl.lit(value=True).alias(side))


def _described(names: pl.DataFrame) -> pl.DataFrame:
    """The names with their normalised form and family; on the host, the class stands for it."""
    # Where all names meet, nobody waits for the rules of these.
    from timesink.analyses.kernel_names.normalised import normalised_name  # noqa: PLC0415

    families = load_families()
    family = [
        function_class or HOST_DEVICE if device == HOST_DEVICE else families.of(function)
        for function, device, function_class in names.select(
            "function", "device", "function_class"
        ).iter_rows()
    ]
    normalised = [normalised_name(function) for function in names["function"]]
    return names.drop("function_class").with_columns(
        pl.Series("normalised", normalised, pl.String), pl.Series("family", family, pl.String)
    )


def is_related() -> pl.Expr:
    """Whether functions of one family do the same sort of work.

    That two functions run on the host, or do what no rule knows, does not make them related.
    """
    return (pl.col("device") != HOST_DEVICE) & (pl.col("family") != OTHER)


def _on_both_sides(those: pl.Expr, keys: list[str]) -> pl.Expr:
    """Whether, of those functions, both runs have one with the same keys."""
    return ((those & pl.col("in_base")).any() & (those & pl.col("in_new")).any()).over(keys)

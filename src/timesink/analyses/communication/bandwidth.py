"""How many bytes a collective is about, and how many of them the busiest link carries."""

from __future__ import annotations

import polars as pl


def volume() -> pl.Expr:
    """The bytes a collective is about: of those that gather, what all ranks give together."""
    gathered = pl.coalesce("out_bytes", pl.col("size_bytes") * pl.col("group_size"))
    gathers = pl.col("collective").is_in(["all_gather", "gather"])
    return pl.when(gathers).then(gathered).otherwise("size_bytes")


def bus_share() -> pl.Expr:
    """What the busiest link carries for each byte, at best; null where the group is not known."""
    kind, ranks = pl.col("collective"), pl.col("group_size")
    to_others = (ranks - 1) / ranks
    return (
        pl.when(kind == "all_reduce")
        .then(2 * to_others)
        .when(kind.is_in(["all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"]))
        .then(to_others)
        .when(kind.is_in(["broadcast", "reduce", "send", "recv", "send_recv"]))
        .then(1.0)
    )


def sum_if_known(column: str) -> pl.Expr:
    """The sum of a column, null where any of it is not known."""
    return pl.when(pl.col(column).is_not_null().all()).then(pl.col(column).sum())


def per_second(volumes: str, times_ns: str) -> pl.Expr:
    """Bytes over the time they took; null where either is not known."""
    seconds = pl.col(times_ns).sum() / 1e9
    return pl.when(seconds > 0).then(sum_if_known(volumes) / seconds)

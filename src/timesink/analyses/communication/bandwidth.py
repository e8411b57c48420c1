"""How many bytes a collective is about, and how many of them the busiest link carries."""

from __future__ import annotations

import polars as pl


def volume() -> pl.Expr:
    """The bytes a collective is about: of those that gather, what all ranks give together.

    >>> call = {"collective": "all_gather", "size_bytes": 8, "out_bytes": None, "group_size": 4}
    >>> pl.DataFrame([call]).select(volume()).item()
    32
    """
    gathered = pl.coalesce("out_bytes", pl.col("size_bytes") * pl.col("group_size"))
    gathers = pl.col("collective").is_in(["all_gather", "gather"])
    return pl.when(gathers).then(gathered).otherwise("size_bytes")


def bus_share() -> pl.Expr:
    """What the busiest link carries for each byte, at best; null where the group is not known.

    >>> pl.DataFrame([{"collective": "all_reduce", "group_size": 4}]).select(bus_share()).item()
    1.5
    """
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
    """Bytes over the time they took; null where either is not known.

    >>> calls = pl.DataFrame({"volume": [8, 8], "moving_ns": [1_000, 3_000]})
    >>> calls.select(per_second("volume", "moving_ns")).item()
    4000000.0
    """
    seconds = pl.col(times_ns).sum() / 1e9
    return pl.when(seconds > 0).then(sum_if_known(volumes) / seconds)

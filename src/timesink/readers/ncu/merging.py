"""From pieces to launches: rows that lie apart are joined, launches of the same number told apart.

Rows repeat for two reasons.  A file may hold a row twice: it counts once.  Or a second run was
appended to the file and its numbers start anew: its launches differ from the first ones in some
value, and are launches of their own.
"""

from __future__ import annotations

import polars as pl

from timesink.model.health import HealthEntry
from timesink.readers.ncu.launches import KEY

_SAME_VALUE = ("section", "metric", "unit")
"""What a launch has one value for."""


Merged = tuple[pl.DataFrame, pl.DataFrame, list[HealthEntry]]
"""Launches in the order of their first rows, values with `index` (their launch), and health."""


def merge_pieces(launches: pl.DataFrame, values: pl.DataFrame, *, repeats: bool) -> Merged:
    """One row per launch.

    `launches` has the columns of `KEY` and `piece`; `values` has `piece`, `section`, `metric`,
    `unit` and `value`.  Pieces are numbered from 0, without gaps.  `repeats` says whether a metric
    may come twice in a piece.
    """
    if repeats:
        launches, values = _split_pieces(launches, values)
        # Sections share metrics; what they agree on is said once.
        values = values.unique(
            ["piece", "metric", "unit", "value"], keep="first", maintain_order=True
        )
    if not _has_repeated_keys(launches):
        return launches.rename({"piece": "index"}), values.rename({"piece": "index"}), []
    own = pl.col("launch_id").is_null()
    first = pl.when(own).then("piece").otherwise(pl.col("piece").min().over(KEY))
    return _merged(launches.with_columns(first=first), values)


def _has_repeated_keys(launches: pl.DataFrame) -> bool:
    # The text page does not number its launches, and never prints one in two pieces.
    numbered = launches.select(KEY).filter(pl.col("launch_id").is_not_null())
    # Hashes may be equal by chance, which costs a closer look and nothing else.
    return numbered.hash_rows().n_unique() < numbered.height


def _split_pieces(
    launches: pl.DataFrame, values: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Pieces in which no value repeats: the second time a value is given, a second piece begins."""
    rows = values.with_columns(time=pl.int_range(pl.len()).over("piece", *_SAME_VALUE))
    if not (rows["time"] > 0).any():
        return launches, values
    times = (
        pl.concat(
            [rows.select("piece", "time"), launches.select("piece", time=pl.lit(0, pl.Int64))]
        )
        .unique()
        .sort("piece", "time")
        .with_row_index("new")
    )
    parted = times.join(launches, on="piece", how="left", maintain_order="left")
    renumbered = rows.join(times, on=["piece", "time"], how="left", maintain_order="left")
    return (
        parted.drop("piece", "time").rename({"new": "piece"}),
        renumbered.drop("piece", "time")
        .rename({"new": "piece"})
        .sort("piece", maintain_order=True),
    )


def _merged(firsts: pl.DataFrame, values: pl.DataFrame) -> Merged:
    """One row per launch, where some launches have several pieces."""
    shared = firsts.filter(pl.col("first").is_duplicated()).select("piece", "first")
    rows = values.join(shared, on="piece", how="inner", maintain_order="left").with_columns(
        before=pl.col("value").shift(1).over("first", *_SAME_VALUE)
    )
    sorted_out = _sort_out(shared, rows)
    repeated = (
        rows.join(sorted_out.filter(~pl.col("differs")), on="piece", how="semi")
        .filter(pl.col("before").is_not_null())
        .select("piece", *_SAME_VALUE)
    )
    pieces = firsts.join(sorted_out, on="piece", how="left", maintain_order="left").with_columns(
        pl.col("launch").fill_null(pl.col("piece"))
    )
    launches = pieces.filter(pl.col("launch") == pl.col("piece")).with_row_index("index")
    numbers = pieces.select("piece", "launch").join(
        launches.select("index", launch="piece"), on="launch", how="left"
    )
    joined = (
        values.join(repeated, on=["piece", *_SAME_VALUE], how="anti", nulls_equal=True)
        .join(numbers.select("piece", "index"), on="piece", how="left", maintain_order="left")
        .sort("index", maintain_order=True)
    )
    again = sorted_out.filter(pl.col("differs"))
    health = [
        HealthEntry("repeated_rows", repeated.height, _named(repeated, firsts)),
        HealthEntry("restarted_ids", again.height, _named(again, firsts)),
    ]
    return launches, joined, health


def _sort_out(shared: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The launch of every piece: a piece that contradicts what came before is another launch.

    `shared` are pieces that have their key in common with others, `rows` their values, with the
    value that came before.  A launch goes by the number of its first piece.
    """
    contradicts = pl.col("before").is_not_null() & (pl.col("before") != pl.col("value"))
    differing = rows.group_by("piece").agg(differs=contradicts.any())
    return (
        shared.join(differing, on="piece", how="left", maintain_order="left")
        .with_columns(pl.col("differs").fill_null(value=False))
        .with_columns(time=pl.col("differs").cum_sum().over("first"))
        .with_columns(launch=pl.col("piece").min().over("first", "time"))
        .select("piece", "launch", "differs")
    )


def _named(pieces: pl.DataFrame, launches: pl.DataFrame) -> str:
    """The first of some pieces, in words."""
    if pieces.is_empty():
        return ""
    named = launches.filter(pl.col("piece") == pieces["piece"][0])
    return f"id {named['launch_id'][0]}: {named['name'][0]}"

"""The anatomy that goes with the cycles of a role, whatever became of these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from timesink.analyses.anatomy.anatomy import (
    CALL_TIMES,
    CYCLE_SPANS,
    LAUNCHES,
    LEVELS,
    PART_TIMES,
    PLACE_TIMES,
    Anatomy,
    only_cycles,
)
from timesink.analyses.comparison.role import Role


def anatomy_of_role(role: Role) -> Anatomy:
    """What the cycles of a role are made of: from its timeline, else from its behaviour table.

    Where cycles were left out or put together, so they are here.
    """
    if role.anatomy is None:
        # Timelines are compared without waiting for what only tables need.
        from timesink.analyses.anatomy.tables import anatomy_of  # noqa: PLC0415

        return anatomy_of(role.behaviour, role.beside)
    known = role.behaviour.filter(pl.col("cycle_dur_ns") > 0)
    spans = (
        known.group_by("cycle")
        .agg(
            pl.col("cycle_ts_ns").min().alias("ts_ns"), pl.col("cycle_dur_ns").max().alias("dur_ns")
        )
        .select(*CYCLE_SPANS)
        .sort("cycle")
    )
    if spans.join(role.anatomy.cycles, ["cycle", "ts_ns", "dur_ns"], "anti").is_empty():
        return only_cycles(role.anatomy, spans["cycle"])
    return _put_together(role.anatomy, spans)


def _put_together(anatomy: Anatomy, spans: pl.DataFrame) -> Anatomy:
    """Cycles as parts of longer ones that hold them; what lies between is idle."""
    from timesink.analyses.behaviour.windows import OUTSIDE, Windows  # noqa: PLC0415 - as above

    start = spans["ts_ns"].to_numpy()
    groups = Windows(np.arange(len(start)), start, start + spans["dur_ns"].to_numpy())
    place = groups.holding(anatomy.cycles["ts_ns"].to_numpy()) if len(start) else np.zeros(0, int)
    held = anatomy.cycles.select("cycle", weight="dur_ns").with_columns(
        pl.Series("place", place if len(start) else np.full(anatomy.cycles.height, OUTSIDE))
    )
    numbers = spans["cycle"].to_frame("group").with_row_index("place").cast({"place": pl.Int64})
    to_group = held.join(numbers, "place").drop("place")
    parts = _regrouped(anatomy.parts, to_group)
    return replace(
        anatomy,
        parts=_with_idle(parts.group_by("cycle", "part", "family").agg(_sum()), spans),
        places=_counted_again(_regrouped(anatomy.places, to_group)),
        levels=_mean_levels(_regrouped(anatomy.levels, to_group)),
        cycles=spans,
        launches=_summed_launches(_regrouped(anatomy.launches, to_group)),
        find_calls=lambda: _summed_calls(_regrouped(anatomy.calls, to_group)),
    )


def _regrouped(table: pl.DataFrame, to_group: pl.DataFrame) -> pl.DataFrame:
    joined = table.join(to_group, "cycle", maintain_order="left")
    return joined.drop("cycle").rename({"group": "cycle"})


def _sum() -> pl.Expr:
    return pl.col("dur_ns").sum()


def _with_idle(parts: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    inside = parts.group_by("cycle").agg(_sum().alias("inside"))
    between = spans.join(inside, "cycle", "left").select(
        "cycle",
        pl.lit("idle").cast(PART_TIMES["part"]).alias("part"),
        pl.lit(None, pl.String).alias("family"),
        pl.col("dur_ns") - pl.col("inside").fill_null(0.0),
    )
    both = pl.concat([parts.select(*PART_TIMES), between.cast(pl.Schema(PART_TIMES))])
    summed = both.group_by("cycle", "part", "family").agg(_sum())
    return summed.filter(pl.col("dur_ns") > 0).select(*PART_TIMES).sort("cycle", "part", "family")


def _counted_again(places: pl.DataFrame) -> pl.DataFrame:
    turn = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("cycle", "inside", "after", "before")
    ordered = places.sort("cycle", "ts_ns").with_columns(occurrence=turn)
    return ordered.select(*PLACE_TIMES)


def _summed_launches(launches: pl.DataFrame) -> pl.DataFrame:
    summed = launches.group_by("cycle", "function").agg(pl.col("calls", "blocks", "bytes").sum())
    return summed.select(*LAUNCHES).sort("cycle", "function")


def _summed_calls(calls: pl.DataFrame) -> pl.DataFrame:
    key = ("kind", "name", "cycle")
    summed = calls.group_by(key).agg(pl.col("calls", "device_ns", "host_ns").sum())
    return summed.select(*CALL_TIMES).sort(key)


def _mean_levels(levels: pl.DataFrame) -> pl.DataFrame:
    mean = (pl.col("value") * pl.col("weight")).sum() / pl.col("weight").sum()
    grouped = levels.group_by("cycle", "metric", "device", "unit").agg(mean.alias("value"))
    return grouped.select(*LEVELS).sort("cycle", "metric", "device")

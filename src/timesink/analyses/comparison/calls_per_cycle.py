"""How much two runs do per cycle, function by function, counted in calls."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from timesink.analyses.behaviour.rows import once_per_cycle
from timesink.analyses.comparison.meeting import is_related, meeting
from timesink.model.schema import HOST_DEVICE

_OPERATORS = ("cpu_operator", "cpu_launch", "cpu_copy", "cpu_annotation", "cpu_python")
_SORTS = {
    "device": pl.col("device") != HOST_DEVICE,
    "operators": pl.col("function_class").is_in(_OPERATORS),
    "other": pl.lit(value=True),
}
KEY = ["level", "device", "key"]
OFTEN = 0.6
"""Share of the cycles from which on a function counts as part of each."""


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """The work per cycle of both sides, in calls that do not depend on the speed of the machine."""

    sort: str
    """What was counted: `device` work, `operators` of the host, or `other` host functions."""
    table: pl.DataFrame
    """Per name that both sides have, at whatever level: calls_base, calls_new, share_base and
    share_new (of the time), ratio (calls_base / calls_new), doubt (by which factor the ratio may be
    off because the function is in few cycles only; a logarithm), level."""
    alone_base: float
    """Share of the time of BASE in functions of which NEW has not even the family."""
    alone_new: float


def work_per_cycle(base: pl.DataFrame, new: pl.DataFrame) -> Work | None:
    """The work both behaviour tables have in common, per cycle; None if there is nothing to count.

    Device work if both have some, else host operators, else whatever the host did; how often the
    system interrupts a process or a call is repeated says little about its work.
    """
    for sort, counted in _SORTS.items():
        sides = [calls_by_cycle(table, counted) for table in (base, new)]
        if all(side.height for side in sides):
            rates = (
                calls_per_cycle(side, table["cycle"].unique())
                for side, table in zip(sides, (base, new), strict=True)
            )
            return _common(sort, *rates)
    return None


def calls_by_cycle(table: pl.DataFrame, counted: pl.Expr | None = None) -> pl.DataFrame:
    """Calls and time of each function in each cycle: one row, however many metrics it has.

    All accelerators of a process count as one.
    """
    rows = table if counted is None else table.filter(counted)
    device = (
        pl.when(pl.col("device") == HOST_DEVICE)
        .then(pl.lit(HOST_DEVICE))
        .otherwise(pl.lit("device"))
    )
    return (
        once_per_cycle(rows)
        .filter(pl.col("calls") > 0)
        .group_by("cycle", "function", device.alias("device"))
        .agg(pl.col("calls", "dur_ns").sum(), pl.col("function_class").first())
    )


def recorded_cycles(calls: pl.DataFrame, cycles: pl.Series) -> int:
    """How many cycles can have had the work: those from the first to the last that have some.

    Cycles without any in between are left out as not recorded, unless they are the most: then work
    is simply not in every cycle.
    """
    having = calls["cycle"].unique()
    span = cycles.is_between(having.min(), having.max()).sum()
    return int(having.len() if 2 * having.len() >= span else span)


def calls_per_cycle(calls: pl.DataFrame, cycles: pl.Series) -> pl.DataFrame:
    """Calls and time per cycle of each function; the median, where most cycles have it.

    A cycle that was recorded in part therefore changes nothing.
    """
    many = recorded_cycles(calls, cycles)
    typical = pl.col("calls").median()
    often = pl.len() >= OFTEN * many
    return calls.group_by("function", "device").agg(
        pl.col("function_class").first(),
        pl.when(often).then(typical).otherwise(pl.col("calls").sum() / many).alias("calls"),
        (pl.col("dur_ns").sum() / many).alias("ns"),
        # Between so many occurrences lies one period less, or one more where the run ends.
        pl.when(often).then(0.0).otherwise((1 / pl.len()).log1p()).alias("doubt"),
    )


def _common(sort: str, base: pl.DataFrame, new: pl.DataFrame) -> Work:
    keys = _keys(meeting(base, new))
    sides = [_by_key(side, keys) for side in (base, new)]
    alone = [float(side.filter(pl.col("level") == "alone")["share"].sum()) for side in sides]
    met = [side.filter(pl.col("level") != "alone") for side in sides]
    both = met[0].join(met[1], KEY, suffix="_new")
    table = both.rename({"calls": "calls_base", "share": "share_base"}).with_columns(
        (pl.col("calls_base") / pl.col("calls_new")).alias("ratio"),
        pl.max_horizontal("doubt", "doubt_new").alias("doubt"),
    )
    return Work(sort, table.sort(KEY), alone_base=alone[0], alone_new=alone[1])


def _keys(met: pl.DataFrame) -> pl.DataFrame:
    """What each function is counted under."""
    lost = (pl.col("level") == "family") & ~is_related()
    level = pl.when(lost).then(pl.lit("alone", met["level"].dtype)).otherwise(pl.col("level"))
    key = (
        pl.when(pl.col("level") == "exact").then(pl.col("function"))
        .when(pl.col("level") == "normalised").then(pl.col("normalised"))
        .otherwise(pl.col("family"))
    )  # fmt: skip
    return met.select("function", "device", level.alias("level"), key.alias("key"))


def _by_key(side: pl.DataFrame, keys: pl.DataFrame) -> pl.DataFrame:
    known = side.join(keys, ["function", "device"])
    total = pl.col("ns").sum()
    share = pl.when(total > 0).then(pl.col("ns") / total).otherwise(1 / pl.len())
    summed = known.with_columns(share.alias("share")).group_by(KEY)
    return summed.agg(pl.col("calls", "share").sum(), pl.col("doubt").min())

"""What a single slow cycle spends its time on that typical ones never do."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from timesink.analyses.comparison.role import Role
from timesink.analyses.diagnosis.outliers import Split

_LEAST_SHARE = 0.5
"""A function is named that holds this part of what the cycle takes longer ..."""
_LEAST_TIMES = 2.0
"""... and takes this many times as long as in any typical cycle."""


@dataclass(frozen=True, slots=True)
class Excess:
    """A function that takes longer in one cycle than in any typical one."""

    cycle: int
    longer_ns: float
    """How much longer the cycle takes than typical ones."""
    function: str
    device: str
    time_ns: float
    typical_most_ns: float
    """The most it takes in a typical cycle."""


def excesses(role: Role, split: Split) -> list[Excess]:
    """Slow cycles that one function explains, in their order; each is looked at for itself.

    >>> rows = {"cycle": [1, 2, 3, 4], "function": "f", "device": "Host"}
    >>> times = {"cycle_dur_ns": [10, 10, 10, 50], "dur_ns": [5, 5, 5, 45]}
    >>> role = Role("run", "run.csv", "7", pl.DataFrame({**rows, **times}))
    >>> calm = Split((1, 2, 3), (4,), (), (), (), 10.0)
    >>> [(one.cycle, one.function, one.time_ns) for one in excesses(role, calm)]
    [(4, 'f', 45.0)]
    """
    key = ["cycle", "function", "device"]
    spent = (
        _without_mark(role)
        .select(*key, "dur_ns", "cycle_dur_ns")
        .with_columns(
            pl.col("function", "device").cast(pl.String), pl.col("dur_ns").cast(pl.Float64)
        )
    )
    spent = spent.group_by(key).agg(pl.col("dur_ns").max(), pl.col("cycle_dur_ns").max())
    is_typical = pl.col("cycle").is_in(split.typical)
    usual = spent.filter(is_typical).group_by("function", "device").agg(most=pl.col("dur_ns").max())
    slow = (
        spent.filter(pl.col("cycle").is_in(split.slow))
        .join(usual, ["function", "device"], "left")
        .with_columns(
            pl.col("most").fill_null(0.0), longer=pl.col("cycle_dur_ns") - split.typical_ns
        )
    )
    beyond = pl.col("dur_ns") - pl.col("most")
    slow = slow.filter(
        beyond >= _LEAST_SHARE * pl.col("longer"), pl.col("dur_ns") >= _LEAST_TIMES * pl.col("most")
    )
    slow = slow.sort("cycle", beyond, "function", descending=[False, True, False])
    first = slow.unique("cycle", keep="first", maintain_order=True)
    columns = ("cycle", "longer", "function", "device", "dur_ns", "most")
    return [Excess(*row) for row in first.select(columns).iter_rows()]


def _without_mark(role: Role) -> pl.DataFrame:
    """What runs in cycles: that the mark of a slow cycle is long explains nothing."""
    rows = role.behaviour
    if "anchor" not in rows.columns:
        return rows
    return rows.filter(
        pl.col("function").cast(pl.String).ne_missing(pl.col("anchor").cast(pl.String))
    )

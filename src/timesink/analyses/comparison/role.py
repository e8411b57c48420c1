"""One process of one run, as a side of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from timesink.analyses.anatomy.anatomy import Anatomy


@dataclass(frozen=True, eq=False)
class Role:
    """What one process of one run did, cycle by cycle."""

    label: str
    """What the side is called in tables: `normal`, `base`, `abnormal_pid_842126`, ..."""
    source: str
    """File the behaviour was read or computed from."""
    pid: str
    behaviour: pl.DataFrame
    """Rows of `model.schema.BEHAVIOUR`, of this process alone; every cycle has a row."""
    host: str | None = None
    rank: int | None = None
    method: str | None = None
    """How its cycles were found (`cycles.METHODS`); None for a behaviour table."""
    confidence: float | None = None
    notes: tuple[str, ...] = ()
    anatomy: Anatomy | None = None
    """What its cycles are made of, where a timeline tells; None for a behaviour table."""
    beside: pl.DataFrame | None = None
    """Counters that were sampled beside a behaviour table, rows of `model.schema.COUNTERS`."""

    @property
    def cycles(self) -> int:
        """How many cycles it has."""
        return self.behaviour["cycle"].n_unique()

    @cached_property
    def anchor(self) -> str | None:
        """What marks most of its cycles; None where nothing says so."""
        marks = self.behaviour.select("cycle", "anchor")
        each = marks.unique("cycle", keep="first", maintain_order=True)
        anchors = each["anchor"].drop_nulls().cast(pl.String)
        if anchors.is_empty():
            return None
        counts = anchors.value_counts().sort("count", "anchor", descending=[True, False])
        return str(counts["anchor"][0])

    @property
    def mean_cycle_ns(self) -> float:
        """Mean length of its cycles; 0 where no length is known."""
        mean = cycle_lengths(self.behaviour).mean()
        return mean if isinstance(mean, float) else 0.0


def cycle_lengths(behaviour: pl.DataFrame) -> pl.Series:
    """Length of every cycle whose length is known, in ns, in the order of the cycles."""
    known = behaviour.lazy().select("cycle", "cycle_dur_ns").filter(pl.col("cycle_dur_ns") > 0)
    lengths = known.group_by("cycle").agg(pl.col("cycle_dur_ns").max()).sort("cycle").collect()
    return lengths["cycle_dur_ns"]

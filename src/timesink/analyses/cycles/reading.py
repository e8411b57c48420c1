"""One way to read a run as cycles, before it is judged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.cycles.cycles import SCHEMA, Candidate
from timesink.model.arrays import Ints

SPANS = {name: dtype for name, dtype in SCHEMA.items() if name != "cycle"}
"""Columns of cycles that are not yet numbered."""

MIN_REPEATS = 3
"""What happens less often than this was not seen to repeat."""


_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Reading:
    """Cycles as one method finds them."""

    method: str
    anchor: str
    spans: pl.DataFrame
    """One row per cycle, columns of `SPANS`."""
    trust: float
    """0 to 1: how well the method knows what it found, before the cycles are looked at."""
    reason: str
    notes: tuple[str, ...] = ()
    on_device: bool = False
    """Whether the times are those of the device's work, not of the calls that launched it."""
    inside: tuple[Candidate, ...] = ()
    """Shorter units that repeat inside of these cycles."""

    @property
    def count(self) -> int:
        return self.spans.height


def spans_of(
    pids: Sequence[str],
    names: Sequence[str],
    start: Ints,
    end: Ints,
    types: Sequence[str],
) -> pl.DataFrame:
    """Cycles in the order of their starts, process by process."""
    frame = pl.DataFrame(
        {"type": types, "pid": pids, "name": names, "start_ns": start, "end_ns": end},
        schema=SPANS,
    )
    return frame.sort("pid", "start_ns", "end_ns")


def numbered(spans: pl.DataFrame) -> pl.DataFrame:
    """Cycles counted from 1 in each process, as `cycles.SCHEMA` has them."""
    ordered = spans.sort("pid", "start_ns", "end_ns")
    count = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("pid")
    return ordered.with_columns(count.alias("cycle")).select(list(SCHEMA))


def period_ns(spans: pl.DataFrame) -> int:
    """Typical time from the start of a cycle to the start of the next; its length if alone."""
    ordered = spans.sort("pid", "start_ns")
    apart = ordered.select(pl.col("start_ns").diff().over("pid")).to_series().drop_nulls()
    lengths = apart if len(apart) else ordered["end_ns"] - ordered["start_ns"]
    return round(float(np.median(lengths.to_numpy()))) if len(lengths) else 0


def family_name(name: str) -> str:
    """The name with every number replaced, so that numbered marks are one."""
    return _NUMBER.sub("#", name)

"""Traces in the shape tests compare: plain rows and counts."""

from __future__ import annotations

import polars as pl

from timesink.model.schema import TABLES
from timesink.model.trace import Trace

ABOUT_THE_RUN = {
    "rank_assumed",
    "no_device_activity",
    "no_host_activity",
    "unlinked_kernels",
    "counters_only",
}
"""What small traces are told anyway; it says nothing about damage."""


def rows(frame: pl.DataFrame, *columns: str) -> list[tuple[object, ...]]:
    """The columns of every row, in the order of the source."""
    return frame.sort("index").select(columns).rows()


def damage(trace: Trace) -> dict[str, int]:
    """How often each health code was met, without what small traces are told anyway."""
    return {entry.code: entry.count for entry in trace.health if entry.code not in ABOUT_THE_RUN}


def sizes(trace: Trace) -> dict[str, int]:
    """Rows of every table."""
    counted = pl.collect_all([trace.lazy(name).select(pl.len()) for name in TABLES])
    return {name: row_count.item() for name, row_count in zip(TABLES, counted, strict=True)}


def as_text(trace: Trace) -> dict[str, str]:
    """Every table as text, rows in order: two traces with equal tables have equal texts."""
    frames = {name: trace.lazy(name).collect() for name in TABLES}
    return {name: _sort_rows(frame).write_csv() for name, frame in frames.items()}


def _sort_rows(frame: pl.DataFrame) -> pl.DataFrame:
    textual = frame.cast({pl.Categorical: pl.String, pl.Enum: pl.String})
    return textual.sort(pl.all(), nulls_last=True)

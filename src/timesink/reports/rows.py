"""Tables as rows of plain values, times in microseconds."""

from __future__ import annotations

from typing import Any

import polars as pl

_MOMENTS = ("ts_ns", "start_ns", "end_ns", "begin_ns", "first_ns", "last_ns", "at_ns")
"""Endings of columns that are points in time: these stay whole nanoseconds of the clock."""


def to_rows(frame: pl.DataFrame, top: int | None = None) -> list[dict[str, Any]]:
    """Rows with the unit of each number in its key.

    >>> to_rows(pl.DataFrame({"name": ["gemm"], "total_ns": [1500], "start_ns": [7]}))
    [{'name': 'gemm', 'total_us': 1.5, 'start_ns': 7}]
    """
    shown = frame if top is None else frame.head(top)
    return in_microseconds(shown).to_dicts()


def in_microseconds(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with lengths of time in microseconds, named so; text as text."""
    return frame.select(_converted(name, dtype) for name, dtype in frame.schema.items())


def _converted(name: str, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return pl.col(name).cast(pl.String)
    if name.endswith("_ns") and not name.endswith(_MOMENTS):
        return (pl.col(name) / 1000).alias(f"{name.removesuffix('_ns')}_us")
    return pl.col(name)

"""Tables as rows of plain values, times in microseconds."""

from __future__ import annotations

from typing import Any

import polars as pl

from timesink.output.numbers import is_length, is_ratio

_DIGITS = 6
"""Decimals of numbers that were divided: beyond them is only noise."""


def to_rows(frame: pl.DataFrame, top: int | None = None) -> list[dict[str, Any]]:
    """Rows with the unit of each number in its key."""
    shown = frame if top is None else frame.head(top)
    return in_microseconds(shown).to_dicts()


def in_microseconds(frame: pl.DataFrame) -> pl.DataFrame:
    """The table as users get it: lengths of time in microseconds, named so; text as text.

    A device that the recording does not name is null.
    """
    return frame.select(_converted(name, dtype) for name, dtype in frame.schema.items())


def lists_as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with lists of names and numbers written out, for formats without lists."""
    lists = pl.col(pl.List(pl.String), pl.List(pl.Int64))
    return frame.with_columns(lists.cast(pl.List(pl.String)).list.join(" "))


def user_name(name: str) -> str:
    """The name under which users get a column."""
    return f"{name.removesuffix('_ns')}_us" if is_length(name) else name


def microseconds(ns: float | None) -> float | None:
    """A length of time in microseconds, without the noise of dividing."""
    return None if ns is None else round(ns / 1000, _DIGITS)


def percent(ratio: float | None) -> float | None:
    """A ratio in percent, without the noise of multiplying."""
    return None if ratio is None else round(100 * ratio, _DIGITS)


def _converted(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return column.cast(pl.String)
    if is_length(name):
        # Whole nanoseconds have three decimals, and the nearest float prints them.
        decimals = 3 if dtype.is_integer() else _DIGITS
        return (column / 1000).round(decimals).alias(user_name(name))
    if dtype.is_float() and not is_ratio(name):
        return column.round(_DIGITS)
    if name == "device" and dtype.is_integer():
        return pl.when(column >= 0).then(column).alias(name)
    return column

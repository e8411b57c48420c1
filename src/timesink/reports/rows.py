"""Tables as rows of plain values, times in microseconds."""

from __future__ import annotations

from typing import Any

import polars as pl

from timesink.output.numbers import is_length, is_ratio

_DIGITS = 6
"""Decimals of numbers that were divided: beyond them is only noise."""


def to_rows(frame: pl.DataFrame, top: int | None = None) -> list[dict[str, Any]]:
    """Rows with the unit of each number in its key.

    >>> to_rows(pl.DataFrame({"name": ["gemm"], "total_ns": [1500], "start_ns": [7]}))
    [{'name': 'gemm', 'total_us': 1.5, 'start_ns': 7}]
    """
    shown = frame if top is None else frame.head(top)
    return in_microseconds(shown).to_dicts()


def in_microseconds(frame: pl.DataFrame) -> pl.DataFrame:
    """The table as users get it: lengths of time in microseconds, named so; text as text.

    A device that the recording does not name is null.

    >>> in_microseconds(pl.DataFrame({"device": [-1], "gap_ns": [66_263_127]})).rows()
    [(None, 66263.127)]
    """
    return frame.select(_converted(name, dtype) for name, dtype in frame.schema.items())


def lists_as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with lists of names and numbers written out, for formats without lists.

    >>> lists_as_text(pl.DataFrame({"missing": [["rank1", "rank2"]], "ranks": [[0, 4]]})).row(0)
    ('rank1 rank2', '0 4')
    """
    lists = pl.col(pl.List(pl.String), pl.List(pl.Int64))
    return frame.with_columns(lists.cast(pl.List(pl.String)).list.join(" "))


def user_name(name: str) -> str:
    """The name under which users get a column.

    >>> user_name("total_ns"), user_name("start_ns"), user_name("calls")
    ('total_us', 'start_ns', 'calls')
    """
    return f"{name.removesuffix('_ns')}_us" if is_length(name) else name


def microseconds(ns: float | None) -> float | None:
    """A length of time in microseconds, without the noise of dividing.

    >>> microseconds(66_263_127), microseconds(None)
    (66263.127, None)
    """
    return None if ns is None else round(ns / 1000, _DIGITS)


def percent(ratio: float | None) -> float | None:
    """A ratio in percent, without the noise of multiplying.

    >>> percent(0.07), percent(None)
    (7.0, None)
    """
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

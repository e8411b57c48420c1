"""Columns of a frame as columns of a block: numbers with their kind, text as codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import polars as pl

from timesink.render.document.blocks import Kind, Numbers, Words
from timesink.render.table import NO_NAME
from timesink.reports.rows import is_length, is_moment, is_ratio

_KINDS: tuple[tuple[Callable[[str], bool], Kind], ...] = (
    (is_moment, "moment_ns"),
    (is_length, "time_ns"),
    (lambda name: name.endswith("bytes_per_s"), "bytes_per_s"),
    (lambda name: name.endswith("bytes"), "bytes"),
    (lambda name: name.endswith("_pct"), "percent"),
    (is_ratio, "share"),
)
_YES_NO = {True: "yes", False: "no", None: None}
_DECIMALS = {"time_ns": 1, "bytes": 0, "bytes_per_s": 0, "share": 6, "percent": 4}
"""Digits beyond what anybody sees would only make pages large."""
_DIGITS = 9
"""Of numbers without a unit: a chance of one in a billion is not none."""


def kind_of(name: str, dtype: pl.DataType) -> Kind:
    """How the values of a column are to be read; its name carries the unit.

    >>> [kind_of(name, pl.Int64()) for name in ("total_ns", "start_ns", "size_bytes", "calls")]
    ['time_ns', 'moment_ns', 'bytes', 'count']
    """
    if not dtype.is_numeric() or name == "device":
        return "text"
    plain: Kind = "count" if dtype.is_integer() else "number"
    return next((kind for fits, kind in _KINDS if fits(name)), plain)


def numbers(column: pl.Series, kind: Kind, *, start_ns: int = 0) -> Numbers:
    """The values of a column; points in time are counted from the start of the recording.

    >>> numbers(pl.Series("start_ns", [12, None]), "moment_ns", start_ns=10)
    Numbers(values=(2, None))
    """
    if kind == "moment_ns":
        column = column - start_ns
    if column.dtype.is_float():
        # What is infinite or no number has no place in JSON.
        finite = column.is_finite()
        values = zip(_rounded(column, kind), finite, strict=True)
        return Numbers(tuple(value if known else None for value, known in values))
    return Numbers(tuple(column.to_list()))


def _rounded(column: pl.Series, kind: Kind) -> pl.Series:
    decimals = _DECIMALS.get(kind)
    return column.round_sig_figs(_DIGITS) if decimals is None else column.round(decimals)


def words(texts: Iterable[str | None]) -> Words:
    """Text as codes into what occurs, in the order in which it occurs first.

    >>> words(["relu", "gemm", None, "relu"])
    Words(codes=(0, 1, -1, 0), texts=('relu', 'gemm'))
    """
    known: dict[str, int] = {}
    codes = tuple(-1 if text is None else known.setdefault(text, len(known)) for text in texts)
    return Words(codes, tuple(known))


def texts_of(column: pl.Series) -> list[str | None]:
    """The values of a column that is no number, as people read them.

    >>> texts_of(pl.Series("tensor_cores", [True, None])), texts_of(pl.Series("device", [0, -1]))
    (['yes', None], ['0', 'unknown'])
    """
    if column.dtype == pl.Boolean:
        return [_YES_NO[value] for value in column]
    if column.dtype.is_nested():
        return [None if value is None else ", ".join(map(str, value)) for value in column]
    if column.dtype.is_numeric():
        return [None if value is None else _device(int(value)) for value in column]
    return [_named(value) for value in column.cast(pl.String)]


def joined(columns: Sequence[pl.Series]) -> list[str | None]:
    """What several columns say in one cell, e.g. the dimensions of a grid.

    >>> joined([pl.Series("grid_x", [64]), pl.Series("grid_y", [1])])
    ['64 x 1']
    """
    rows = zip(*columns, strict=True)
    return [None if None in row else " x ".join(map(str, row)) for row in rows]


def _device(number: int) -> str:
    return str(number) if number >= 0 else "unknown"


def _named(value: str | None) -> str | None:
    return value if value is None or value.strip() else NO_NAME

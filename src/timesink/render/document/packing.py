"""Tables from columns of values, as blocks hold them; numbers that JSON cannot say are none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
from msgspec.structs import replace

from timesink.render.document.blocks import CellLink, Column, Kind, Numbers, Sort, Table, Words
from timesink.render.document.columns import numbers, words


def known(value: float | None) -> float | None:
    """A number that JSON can say; None for any other.

    >>> known(2), known(float("-inf"))
    (2, None)
    """
    return value if value is not None and math.isfinite(value) else None


def column(
    key: str,
    title: str,
    kind: Kind,
    values: Iterable[Any],
    *,
    help: str = "",  # noqa: A002 - as the block calls it
    main: bool = True,
    bar: bool = False,
    link: CellLink = "",
) -> Column:
    """A column of values; those of kind `text` are text.

    >>> column("calls", "calls", "count", [3, None]).data
    Numbers(values=(3, None))
    """
    if kind == "text":
        return Column(key, title, kind, words(values), help, main, bar, link)
    series = values if isinstance(values, pl.Series) else pl.Series(list(values), strict=False)
    if series.dtype == pl.Null:
        series = series.cast(pl.Int64)
    return Column(key, title, kind, numbers(series, kind), help, main, bar, link)


def table(
    id: str,  # noqa: A002 - as the block calls it
    title: str,
    columns: Iterable[Column],
    *,
    total_rows: int | None = None,
    note: str = "",
    sort: Sort | None = None,
    meanings: Mapping[str, str] | None = None,
) -> Table:
    """A table of its columns without those of which nothing is known, unless it has no rows.

    `meanings` say by key what a column without words of its own means.

    >>> known, unknown = (column(key, key, "count", values) for key, values in
    ...                   (("calls", [3]), ("bytes", [None])))
    >>> [one.key for one in table("t", "Calls", [known, unknown]).columns]
    ['calls']
    """
    every = tuple(_explained(one, meanings or {}) for one in columns)
    rows = _height(every[0].data) if every else 0
    told = tuple(one for one in every if _tells(one.data)) if rows else every
    return Table(id, title, told, rows, rows if total_rows is None else total_rows, note, sort)


def _explained(one: Column, meanings: Mapping[str, str]) -> Column:
    return one if one.help else replace(one, help=meanings.get(one.key, ""))


def _height(data: Numbers | Words) -> int:
    return len(data.codes if isinstance(data, Words) else data.values)


def _tells(data: Numbers | Words) -> bool:
    if isinstance(data, Words):
        return bool(data.texts)
    return any(value is not None for value in data.values)

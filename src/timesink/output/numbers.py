"""Numbers of a document in words, by their kind: the browser has the same words for them.

A column says its unit in its name, so that the kind of its values follows from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from msgspec.structs import replace

from timesink.model import units
from timesink.output.blocks import CauseCard, Column, Kind, Numbers, Table, Tree, TreeSide, Words
from timesink.output.names import NO_NAME

NONE = "-"
"""What stands for a number there is none of."""
WORDS: Mapping[str, Callable[..., str]] = {
    "time_ns": units.duration_ns,
    "moment_ns": units.moment_ns,
    "bytes": units.size_bytes,
    "bytes_per_s": lambda value: f"{units.size_bytes(value)}/s",
    "count": lambda value: units.count(round(value)),
    "number": units.number,
    "share": lambda value: f"{100 * value:.1f} %",
    "percent": lambda value: f"{value:.1f} %",
    "p_value": units.chance,
}
"""What words each kind of number."""

_MOMENTS = ("ts_ns", "start_ns", "end_ns")
"""Endings of columns that are points in time: these stay whole nanoseconds of the clock."""
_RATIOS = ("_ratio", "utilisation", "any_activity", "within_steps", "sm_efficiency")


def number_text(value: float | None, kind: Kind) -> str:
    """A number as people read it, with its unit."""
    is_number = value is not None and math.isfinite(value)
    return WORDS[kind](value) if is_number else NONE


def change_text(value: float | None, kind: Kind) -> str:
    """The same for a change: a plus is told, and no sign where it rounds to nothing."""
    if value is None:
        return NONE
    full_share = {"share": 1, "percent": 100}.get(kind)
    if full_share and units.signed_pct(100 * value / full_share).endswith(" x"):
        return units.signed_pct(100 * value / full_share)
    text = number_text(abs(value), kind)
    return f"{'-' if value < 0 else '+'}{text}" if any(c in "123456789" for c in text) else text


def cost_of(card: CauseCard) -> str:
    """What a cause explains, between which bounds, and how much of the change that is."""
    explains = "" if not card.explained else change_of(card.explained, card.kind)
    bounds = f" ({card.interval})" if card.interval else ""
    # A cause that others work against may explain more than all of the change.
    tells = card.share is not None and card.share < 1.0005
    share = f"{number_text(card.share, 'share')} {card.share_word}" if tells else ""
    return ", ".join(filter(None, (f"{explains}{bounds}", share)))


def change_of(value: float, kind: Kind) -> str:
    """A change as sentences say it, with its sign."""
    return units.signed_ns(value) if kind == "time_ns" else change_text(value, kind)


def is_moment(name: str) -> bool:
    """Whether a column holds points in time."""
    return name.endswith(_MOMENTS)


def is_length(name: str) -> bool:
    """Whether a column holds lengths of time."""
    return name.endswith("_ns") and not is_moment(name)


def is_ratio(name: str) -> bool:
    """Whether a column holds parts of a whole, 0 to 1."""
    return name.endswith(_RATIOS)


_KINDS: tuple[tuple[Callable[[str], bool], Kind], ...] = (
    (is_moment, "moment_ns"),
    (is_length, "time_ns"),
    (lambda name: name.endswith("bytes_per_s"), "bytes_per_s"),
    (lambda name: name.endswith("bytes"), "bytes"),
    (lambda name: name.endswith("_pct"), "percent"),
    (is_ratio, "share"),
)


def kind_of(name: str, dtype: pl.DataType) -> Kind:
    """How the values of a column are to be read; its name carries the unit."""
    if not dtype.is_numeric() or name == "device":
        return "text"
    plain: Kind = "count" if dtype.is_integer() else "number"
    return next((kind for fits, kind in _KINDS if fits(name)), plain)


# Columns and tables of a document: from frames, or from values.

_YES_NO = {True: "yes", False: "no", None: None}
_DECIMALS = {"time_ns": 1, "bytes": 0, "bytes_per_s": 0, "share": 6, "percent": 4}
"""Digits beyond what anybody sees would only make pages large."""
_DIGITS = 9
"""Of numbers without a unit: a chance of one in a billion is not none."""


def numbers(column: pl.Series, kind: Kind, *, start_ns: int = 0) -> Numbers:
    """The values of a column; points in time are counted from the start of the recording."""
    if kind == "moment_ns":
        column = column - start_ns
    if column.dtype.is_float():
        # What is infinite or no number has no place in JSON.
        decimals = _DECIMALS.get(kind)
        rounded = column.round_sig_figs(_DIGITS) if decimals is None else column.round(decimals)
        values = zip(rounded.to_list(), column.to_list(), strict=True)
        return Numbers(
            tuple(
                value if raw is not None and math.isfinite(raw) else None for value, raw in values
            )
        )
    return Numbers(tuple(column.to_list()))


def words(texts: Iterable[str | None]) -> Words:
    """Text as codes into what occurs, in the order in which it occurs first."""
    code_of: dict[str, int] = {}
    codes = tuple(-1 if text is None else code_of.setdefault(text, len(code_of)) for text in texts)
    return Words(codes, tuple(code_of))


def words_at(data: Words, rows: Iterable[int]) -> Words:
    """The texts of some rows."""
    return words(None if data.codes[row] < 0 else data.texts[data.codes[row]] for row in rows)


def first_nodes(tree: Tree, most: int) -> Tree:
    """The first nodes that are seen at once; what is folded is not there to be unfolded."""
    rows = tree.seen[:most]

    def at(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(values[row] for row in rows) if values else ()

    def side(tree_side: TreeSide) -> TreeSide:
        details = tuple(replace(detail, values=at(detail.values)) for detail in tree_side.details)
        return replace(tree_side, details=details, moments_ns=at(tree_side.moments_ns))

    return replace(
        tree,
        depth=at(tree.depth),
        names=words_at(tree.names, rows),
        states=words_at(tree.states, rows),
        folded=at(tree.folded),
        base=side(tree.base),
        new=side(tree.new),
    )


def texts_of(column: pl.Series) -> list[str | None]:
    """The values of a column that is no number, as people read them."""
    if column.dtype == pl.Boolean:
        return [_YES_NO[value] for value in column]
    if column.dtype.is_nested():
        return [None if value is None else ", ".join(map(str, value)) for value in column]
    if column.dtype.is_numeric():
        # A number below zero stands for a device that the recording does not name.
        return [
            value if value is None else str(int(value)) if value >= 0 else "unknown"
            for value in column
        ]
    texts = column.cast(pl.String)
    return [text if text is None or text.strip() else NO_NAME for text in texts]


def join_cells(columns: Sequence[pl.Series]) -> list[str | None]:
    """What several columns say in one cell, e.g. the dimensions of a grid."""
    rows = zip(*columns, strict=True)
    return [None if None in row else " x ".join(map(str, row)) for row in rows]


def finite_or_none(value: float | None) -> float | None:
    """A number that JSON can say; None for any other."""
    return value if value is not None and math.isfinite(value) else None


def column(key: str, title: str, kind: Kind, values: Iterable[Any], **looks: Any) -> Column:
    """A column of values; those of kind `text` are text, and `looks` are fields of the block."""
    data: Numbers | Words
    if kind == "text":
        data = words(values)
    else:
        series = values if isinstance(values, pl.Series) else pl.Series(list(values), strict=False)
        data = numbers(series.cast(pl.Int64) if series.dtype == pl.Null else series, kind)
    return Column(key, title, kind, data, **looks)


def table(
    id: str,  # noqa: A002 - as the block calls it
    title: str,
    columns: Iterable[Column],
    *,
    total_rows: int | None = None,
    meanings: Mapping[str, str] | None = None,
    **more: Any,
) -> Table:
    """A table of its columns without those of which nothing is known, unless it has no rows.

    `meanings` say by key what a column without words of its own means; `more` are fields of the
    block.
    """
    help_texts = meanings or {}
    every = tuple(
        column if column.help else replace(column, help=help_texts.get(column.key, ""))
        for column in columns
    )
    first = every[0].data if every else Numbers(())
    rows = len(first.codes if isinstance(first, Words) else first.values)
    visible_columns = tuple(column for column in every if _tells(column.data)) if rows else every
    every_row = rows if total_rows is None else total_rows
    return Table(id, title, visible_columns, rows, every_row, **more)


def cells(column: Column) -> list[str]:
    """The values of a column as people read them."""
    data = column.data
    if isinstance(data, Numbers):
        format_value = change_text if column.signed else number_text
        return [format_value(value, column.kind) for value in data.values]
    return [NONE if code < 0 else data.texts[code] for code in data.codes]


def _tells(data: Numbers | Words) -> bool:
    if isinstance(data, Words):
        return bool(data.texts)
    return any(value is not None for value in data.values)

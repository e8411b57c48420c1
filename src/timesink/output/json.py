"""Documents and tables as JSON: text from recordings in it is visible and breaks nothing."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import polars as pl

from timesink.errors import QueryError
from timesink.output.blocks import Document
from timesink.output.names import printable

OF_TEXT = frozenset({"spare", "cut", "right", "rest", "medium", "interval", "is_example"})
"""Fields of blocks that say how text is laid out; pages do that themselves."""


_FORMULA = r"(?s)^\s*[=+\-@]."
_UNSAFE = rf"{_FORMULA}|[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"


def to_json(block: msgspec.Struct) -> bytes:
    r"""A document as pages get it, or a part of one, as JSON in one line.

    Characters that cannot be seen or encoded are written out, as on a terminal.
    """
    fields = msgspec.to_builtins(block)
    if isinstance(block, Document):
        fields.pop("notes")
    return msgspec.json.encode(_visible(fields))


def in_script(json: bytes) -> str:
    """JSON that may stand in a script element: nothing in it ends the element or opens a tag."""
    escaped = (
        json.replace(b"&", b"\\u0026").replace(b"<", b"\\u003c").replace(b">", b"\\u003e").decode()
    )
    return escaped.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def indent_json(content: bytes) -> str:
    """JSON for people to read."""
    return msgspec.json.format(content, indent=2).decode()


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        # Drawings are our own and have lines.
        return {
            key: member if key == "svg" else _visible(member)
            for key, member in value.items()
            if key not in OF_TEXT
        }
    if isinstance(value, list | tuple):
        return [
            _visible(item) if isinstance(item, str | dict | list | tuple) else item
            for item in value
            if not (isinstance(item, dict) and item.get("medium") == "text")
        ]
    return value


def frame_csv(frame: pl.DataFrame) -> str:
    """The table as CSV with a header; lists have no place in it."""
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    if nested:
        raise QueryError.not_for_csv(nested[0])
    return frame.with_columns(in_csv(frame)).write_csv().rstrip("\n")


def in_csv(frame: pl.DataFrame) -> list[pl.Series]:
    """Columns of text whose cells would be formulas to a spreadsheet, or steer a terminal."""
    columns = []
    for column in frame.iter_columns():
        if not isinstance(column.dtype, pl.String | pl.Categorical | pl.Enum):
            continue
        text = column.cast(pl.String)
        if text.str.contains(_UNSAFE).any():
            columns.append(text.map_elements(cell_csv, pl.String, skip_nulls=True))
    return columns


def cell_csv(text: str) -> str:
    """One such cell: text that is neither, as it is where it never was."""
    if not re.search(_UNSAFE, text):
        return text
    mark = "'" if re.match(_FORMULA, text) else ""
    return mark + "\n".join(printable(line) for line in text.split("\n"))

"""Any table as text for the terminal, JSON or CSV."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from io import StringIO

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from timesink.render import units

_WIDE = 160


def to_json(frame: pl.DataFrame) -> str:
    return frame.write_json()


def to_csv(frame: pl.DataFrame) -> str:
    return frame.write_csv().rstrip("\n")


def to_text(frame: pl.DataFrame) -> str:
    """The table as plain text.

    >>> print(to_text(pl.DataFrame({"name": ["gemm"], "calls": [1200]})))
     name  calls
     gemm  1 200
    """
    out = StringIO()
    Console(file=out, width=_WIDE).print(rich_table(frame))
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip("\n").splitlines())


def print_text(frame: pl.DataFrame) -> None:
    width = max(shutil.get_terminal_size((100, 24)).columns, 60)
    Console(width=width).print(rich_table(frame))


def rich_table(frame: pl.DataFrame) -> Table:
    """The table with numbers to the right and long text cut to fit."""
    table = Table(box=None, header_style="bold", pad_edge=True)
    rows = [[cell(value) for value in row] for row in frame.iter_rows()]
    for place, (name, dtype) in enumerate(frame.schema.items()):
        right = dtype.is_numeric()
        # Numbers are never cut; text gives way.
        width = max([len(name), *(len(row[place]) for row in rows)])
        table.add_column(
            escape(name),
            justify="right" if right else "left",
            no_wrap=True,
            overflow="ellipsis",
            min_width=width if right else min(width, 12),
        )
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def cell(value: object) -> str:
    """One value for people."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return units.count(value)
    if isinstance(value, float):
        return f"{value:.3f}"
    return str(value)


RENDERERS: dict[str, Callable[[pl.DataFrame], str]] = {
    "text": to_text,
    "json": to_json,
    "csv": to_csv,
}

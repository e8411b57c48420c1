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
_NARROWEST = 12


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
    Console(file=out, width=_WIDE).print(rich_table(frame, _WIDE))
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip("\n").splitlines())


def print_text(frame: pl.DataFrame) -> None:
    width = max(shutil.get_terminal_size((100, 24)).columns, 60)
    Console(width=width).print(rich_table(frame, width))


def rich_table(frame: pl.DataFrame, width: int) -> Table:
    """The table with numbers to the right, whole, and long text cut so that all fits."""
    rows = [[cell(value) for value in row] for row in frame.iter_rows()]
    needed = [
        max([len(name), *(len(row[place]) for row in rows)])
        for place, name in enumerate(frame.columns)
    ]
    numeric = [dtype.is_numeric() for dtype in frame.dtypes]
    numbers = sum(size + 2 for size, right in zip(needed, numeric, strict=True) if right)
    texts = numeric.count(False)
    room = max(_NARROWEST, (width - numbers) // texts - 2) if texts else 0
    table = Table(box=None, header_style="bold", pad_edge=True)
    for name, size, right in zip(frame.columns, needed, numeric, strict=True):
        table.add_column(
            escape(name),
            justify="right" if right else "left",
            no_wrap=True,
            overflow="ellipsis",
            width=size if right else min(size, room),
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

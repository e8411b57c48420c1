"""Any table as text for the terminal, JSON or CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

import polars as pl
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table

from timesink.errors import QueryError
from timesink.model import units
from timesink.render.escaping import in_cell
from timesink.render.terminal import printable, show, terminal_width, text, to_plain

NO_NAME = "(no name)"
"""In the place of a name that is empty."""
_FILE_WIDTH = 160
NARROWEST = 12
"""Names are not cut shorter than this."""
GAP = 2
"""Blanks between columns."""


def to_json(frame: pl.DataFrame) -> str:
    """Rows as objects.

    >>> print(to_json(pl.DataFrame({"name": ["gemm"], "calls": [1200]})))
    [{"name":"gemm","calls":1200}]
    """
    return frame.write_json()


def to_csv(frame: pl.DataFrame) -> str:
    """The table as CSV with a header; lists have no place in it.

    >>> print(to_csv(pl.DataFrame({"name": ["gemm"], "calls": [1200]})))
    name,calls
    gemm,1200
    """
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    if nested:
        raise QueryError.not_for_csv(nested[0])
    return frame.write_csv().rstrip("\n")


def to_markdown(frame: pl.DataFrame) -> str:
    r"""The table for a comment or a document.

    >>> print(to_markdown(pl.DataFrame({"name": ["a|b"], "calls": [1200]})))
    | name | calls |
    | --- | ---: |
    | a\|b | 1 200 |
    """
    rows = [[cell(value) for value in row] for row in frame.iter_rows()]
    return markdown_table(frame.columns, rows, [dtype.is_numeric() for dtype in frame.dtypes])


def markdown_table(
    titles: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool]
) -> str:
    """Cells that are text already, as a Markdown table."""
    rule = ["---:" if right else "---" for right in numeric]
    head, *rows = ([in_cell(value) for value in row] for row in [titles, *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows])


def to_text(frame: pl.DataFrame) -> str:
    """The table as plain text.

    >>> print(to_text(pl.DataFrame({"name": ["gemm"], "calls": [1200]})))
    name  calls
    gemm  1 200
    """
    return to_plain(rich_table(frame, _FILE_WIDTH), _FILE_WIDTH)


def print_text(frame: pl.DataFrame) -> None:
    """Show the table on the terminal."""
    width = terminal_width()
    show(rich_table(frame, width), width)


def rich_table(frame: pl.DataFrame, width: int) -> RenderableType:
    """Numbers to the right and whole, long text cut so that all fits.

    A table too wide for that is shown row by row, one column per line.
    """
    rows = [[cell(value) for value in row] for row in frame.iter_rows()]
    return text_table(frame.columns, rows, [dtype.is_numeric() for dtype in frame.dtypes], width)


def text_table(
    titles: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool], width: int
) -> RenderableType:
    """Cells that are text already, in columns that fit the width; `numeric` ones to the right."""
    names = [printable(title) for title in titles]
    rows = [[printable(value) for value in row] for row in cells]
    sizes = [natural_width(name, [row[place] for row in rows]) for place, name in enumerate(names)]
    sizes = _fit(sizes, numeric, width)
    if sum(sizes) + GAP * (len(sizes) - 1) > width:
        return Group(*(_record(names, row) for row in rows))
    return _grid(names, rows, sizes, numeric)


def natural_width(title: str, cells: Sequence[str]) -> int:
    """How wide a column is when nothing of it is cut.

    >>> natural_width("name", ["gemm", "relu_"])
    5
    """
    return max([cell_len(printable(title)), *(cell_len(printable(value)) for value in cells)])


def _fit(sizes: Sequence[int], numeric: Sequence[bool], width: int) -> list[int]:
    """Widths with the longest texts cut, none below the narrowest, until all fit."""
    texts = sorted(size for size, right in zip(sizes, numeric, strict=True) if not right)
    room = width - GAP * (len(sizes) - 1) - (sum(sizes) - sum(texts))
    longest = max(sizes, default=0)
    for place, size in enumerate(texts):
        if size * (len(texts) - place) > room:
            longest = max(NARROWEST, room // (len(texts) - place))
            break
        room -= size
    return [
        size if right else min(size, longest) for size, right in zip(sizes, numeric, strict=True)
    ]


def _grid(
    names: Sequence[str], rows: Sequence[Sequence[str]], sizes: Sequence[int], right: Sequence[bool]
) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, GAP, 0, 0))
    for name, size, to_right in zip(names, sizes, right, strict=True):
        table.add_column(
            text(name),
            justify="right" if to_right else "left",
            no_wrap=True,
            overflow="ellipsis",
            width=size,
        )
    for row in rows:
        table.add_row(*map(text, row))
    return table


def _record(names: Sequence[str], row: Sequence[str]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, GAP, 0, 0))
    table.add_column(style="dim", min_width=max(map(cell_len, names)))
    table.add_column(overflow="fold")
    for name, value in zip(names, row, strict=True):
        table.add_row(text(name), text(value))
    table.add_row()
    return table


def cell(value: object) -> str:
    """One value for people.

    >>> cell(1200), cell(None), cell(True)
    ('1 200', '-', 'yes')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return units.count(value)
    if isinstance(value, (float, Decimal)):
        return units.number(float(value))
    return str(value)


RENDERERS: dict[str, Callable[[pl.DataFrame], str]] = {
    "text": to_text,
    "json": to_json,
    "csv": to_csv,
    "md": to_markdown,
}

"""Tables for people, as cells of text."""

from __future__ import annotations

from dataclasses import dataclass

from timesink.model import units
from timesink.output.tables import GAP, NARROWEST, natural_width

_TEXT_COLUMNS = (
    "operator",
    "kernel",
    "module",
    "device",
    "step",
    "part",
    "collective",
    "group",
)


@dataclass(frozen=True, slots=True)
class Cells:
    """A table for people: titles, cells as text, and which columns are numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def numeric(self) -> list[bool]:
        return [column not in _TEXT_COLUMNS for column in self.columns]


def fitting(cells: Cells, width: int) -> Cells:
    """The table without columns on its right for which there is no room, names being cut first.

    >>> made = fitting(Cells("", ("kernel", "calls", "total"), (("gemm", "3", "1.50 ms"),)), 24)
    >>> made.columns
    ('kernel', 'calls', 'total')
    >>> fitting(made, 15).columns
    ('kernel', 'calls')
    """
    columns = zip(cells.columns, zip(*cells.rows, strict=True), cells.numeric, strict=True)
    wide = [(natural_width(title, values), right) for title, values, right in columns]
    needed = [size if right else min(size, NARROWEST) for size, right in wide]
    many = len(needed)
    while many > 2 and sum(needed[:many]) + GAP * (many - 1) > width:
        many -= 1
    return Cells(cells.title, cells.columns[:many], tuple(row[:many] for row in cells.rows))


def top_title(what: str, height: int, top: int) -> str:
    """The title of a table, and how much of it is shown.

    >>> top_title("kernels", 1200, 10), top_title("kernels", 3, 10)
    ('Kernels (the first 10 of 1 200)', 'Kernels (3)')
    """
    shown = f"the first {top} of {units.count(height)}" if height > top else units.count(height)
    return f"{what.capitalize()} ({shown})"

"""A heat map in letters: darker shades for longer waits."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from timesink.analyses.ranks.panel import Panel
from timesink.model.units import brief_ns
from timesink.render.ranks.heat import Heat, heat_of

SHADES = "·░▒▓█"
"""From nothing to the longest wait."""
_COLOURS = ("dim", "yellow", "yellow", "red", "bold red")
_NOT_RECORDED = " "
_MOST_ROWS = 16
_MOST_COLUMNS = 60
_WIDEST_CELL = 4


@dataclass(frozen=True, slots=True)
class ShadedRow:
    """A rank, or several, and its cells: shade and colour of each step."""

    name: str
    marked: bool
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Shaded:
    """The map, line by line."""

    rows: tuple[ShadedRow, ...]
    columns: str
    """Which steps they are."""
    legend: str
    note: str


def shaded(panel: Panel, odd: Collection[int], width: int) -> Shaded:
    """Wait caused by rank and step in at most 16 lines, as wide as there is room.

    >>> held = np.array([[0.0, 4e6], [16e6, 0.0]])
    >>> panel = Panel(np.arange(2), ("7", "8"), held, held, held, {}, held, np.zeros(2))
    >>> made = shaded(panel, {1}, width=80)
    >>> [(row.name, "".join(cell for cell, _ in row.cells)) for row in made.rows]
    [('0', '····▒▒▒▒'), ('1', '████····')]
    >>> made.legend
    '· 0  ░ 1.00 ms  ▒ 4.00 ms  ▓ 9.00 ms  █ 16.0 ms'
    """
    heat = heat_of(panel, odd, rows=_MOST_ROWS, columns=max(min(_MOST_COLUMNS, width - 30), 1))
    most = max((value or 0.0 for row in heat.rows for value in row.values), default=0.0)
    wide = max(1, min(_WIDEST_CELL, (width - 30) // max(len(heat.columns), 1)))
    rows = tuple(
        ShadedRow(
            row.name,
            len(row.ranks) == 1 and row.ranks[0] in odd,
            tuple(_cell(value, most, wide) for value in row.values),
        )
        for row in heat.rows
    )
    return Shaded(rows, _steps(heat), "  ".join(_legend(most)), heat.note)


def _cell(value: float | None, most: float, wide: int) -> tuple[str, str]:
    if value is None:
        return _NOT_RECORDED * wide, ""
    # Roots, as in the picture of a page: one long wait hides no other.
    level = round(np.sqrt(value / most) * (len(SHADES) - 1)) if most else 0
    return SHADES[level] * wide, _COLOURS[level]


def _steps(heat: Heat) -> str:
    first, last = heat.columns[0], heat.columns[-1]
    if len(heat.columns) == 1:
        return f"step {first}"
    return f"steps {first.partition(' to ')[0]} to {last.rpartition(' to ')[2]}, left to right"


def _legend(most: float) -> Iterator[str]:
    for level, shade in enumerate(SHADES):
        part = (level / (len(SHADES) - 1)) ** 2
        yield f"{shade} {brief_ns(part * most) if level else 0}"

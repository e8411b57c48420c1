"""Which ranks and steps a heat map shows, where there are more than anybody can look at."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.ranks.panel import Panel
from timesink.model.units import count, counted

MOST_ROWS = 200
"""More ranks are not shown one by one."""
MOST_COLUMNS = 120
_MERGED_ROWS = 64
"""Where ranks stand together, so many rows are enough."""


@dataclass(frozen=True, slots=True)
class Row:
    """One rank, or several of which the largest value counts."""

    ranks: tuple[int, ...]
    values: tuple[float | None, ...]

    @property
    def name(self) -> str:
        """Its number, or the first and the last of its ranks."""
        first, last = self.ranks[0], self.ranks[-1]
        return str(first) if first == last else f"{first}-{last}"


@dataclass(frozen=True, slots=True)
class Heat:
    """Wait caused, by rank and step."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str
    """What rows and columns stand for where that is not one rank and one step."""


def heat_of(
    panel: Panel, odd: Collection[int], *, rows: int = MOST_ROWS, columns: int = MOST_COLUMNS
) -> Heat:
    """How long each rank let others wait in each step, in at most so many rows and columns.

    Where there are more ranks, those that are `odd` come first, then those that cost most; of the
    others neighbours stand together, with the largest value of them.

    >>> import numpy as np
    >>> held = np.arange(12.0).reshape(6, 2)
    >>> panel = Panel(np.arange(6), ("1", "2"), held, held, held, {}, held, np.zeros(6))
    >>> heat = heat_of(panel, {2}, rows=4)
    >>> [(row.name, row.values) for row in heat.rows]
    [('2', (4.0, 5.0)), ('5', (10.0, 11.0)), ('0-3', (6.0, 7.0)), ('4', (8.0, 9.0))]
    """
    starts = _group_starts(len(panel.steps), columns)
    held = np.where(np.isnan(panel.length), np.nan, panel.held)
    values = _largest(held, starts, axis=1)
    places = list(_places(panel, odd, rows))
    made = tuple(
        Row(tuple(panel.ranks[place].tolist()), _known(_over_rows(values, place)))
        for place in places
    )
    names = tuple(_between(panel.steps, starts))
    return Heat(names, made, " ".join(_notes(panel, made, len(names))))


def _places(panel: Panel, odd: Collection[int], rows: int) -> Iterator[NDArray[np.int64]]:
    """Places of the ranks of each row."""
    ranks = panel.ranks.tolist()
    if len(ranks) <= rows:
        yield from (np.array([place]) for place in range(len(ranks)))
        return
    rows = min(rows, _MERGED_ROWS)
    cost = panel.held.sum(axis=1)
    marked = [place for place, rank in enumerate(ranks) if rank in odd]
    marked.sort(key=lambda place: -cost[place])
    marked = marked[: rows // 2]
    free = [place for place in np.argsort(-cost, kind="stable").tolist() if place not in marked]
    alone = [*marked, *free[: rows // 4]]
    yield from (np.array([place]) for place in alone)
    rest = np.setdiff1d(np.arange(len(ranks)), alone)
    size = _round_size(len(rest), rows - len(alone))
    for _, group in _by_block(rest, panel.ranks[rest] // size):
        yield group


def _by_block(
    places: NDArray[np.int64], blocks: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Places whose ranks are in the same block of numbers, e.g. on one node."""
    for block in np.unique(blocks).tolist():
        yield block, places[blocks == block]


def _round_size(ranks: int, rows: int) -> int:
    """How many ranks stand together: a power of two, so that nodes are not cut.

    >>> _round_size(488, 176), _round_size(100_000, 176)
    (4, 1024)
    """
    size = 2
    while ranks / size + 1 > rows:
        size *= 2
    return size


def _group_starts(steps: int, most: int) -> NDArray[np.int64]:
    return np.arange(0, steps, max(1, -(-steps // most)))


def _between(names: Sequence[str], starts: NDArray[np.int64]) -> Iterator[str]:
    ends = [*starts[1:].tolist(), len(names)]
    for start, end in zip(starts.tolist(), ends, strict=True):
        yield names[start] if end - start == 1 else f"{names[start]} to {names[end - 1]}"


def _largest(
    values: NDArray[np.float64], starts: NDArray[np.int64], axis: int
) -> NDArray[np.float64]:
    """The largest of each group; unknown where all of it is."""
    if not values.size:
        return values
    made: NDArray[np.float64] = np.fmax.reduceat(values, starts, axis=axis)
    return made


def _over_rows(values: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    made: NDArray[np.float64] = np.fmax.reduce(values[places], axis=0)
    return made


def _known(values: NDArray[np.float64]) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(value) else round(float(value), 1) for value in values)


def _notes(panel: Panel, rows: Sequence[Row], columns: int) -> Iterator[str]:
    alone = next((at for at, row in enumerate(rows) if len(row.ranks) > 1), None)
    if alone is not None:
        yield (
            f"{counted(alone, 'ranks')} of {count(len(panel.ranks))} on their own, the costliest "
            "first; the others by neighbours, each row with the largest value of those not above."
        )
    if columns < len(panel.steps):
        size = -(-len(panel.steps) // columns)
        yield (
            f"A column is {size} neighbouring steps of {count(len(panel.steps))}, with the largest "
            "value of them."
        )

"""On which row of its track a slice is drawn: below what it lies in, never over another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.nesting import depth_when_nested, stretches_of
from timesink.analyses.texts import Codes
from timesink.model.arrays import Ints


def stack_rows(track: Codes, start: Ints, end: Ints) -> Ints:
    """Rows of slices in pre-order: by track, start and longest first.

    A slice stands below the one that holds it.  One that outlasts the slice it starts in goes to
    the next row that is free.
    """
    rows = np.zeros(len(track), dtype=np.int64)
    for part in stretches_of(track):
        begin, finish = start[part], end[part]
        mine = depth_when_nested(begin, finish)
        # Slices that start before the one before them on their row has ended.
        order = np.argsort(mine.astype(np.int32), kind="stable")
        over = (mine[order[1:]] == mine[order[:-1]]) & (begin[order[1:]] < finish[order[:-1]])
        clashing: NDArray[np.intp] = order[1:][over]
        if len(clashing):
            _stack_again(mine, begin, finish, clashing)
        rows[part] = mine
    return rows


def _stack_again(rows: Ints, start: Ints, end: Ints, clashing: NDArray[np.intp]) -> None:
    """Find rows one by one where slices cross; stretches apart from each other keep theirs."""
    alone = np.ones(len(start), dtype=np.bool_)
    alone[1:] = start[1:] >= np.maximum.accumulate(end)[:-1]
    borders = np.append(np.flatnonzero(alone), len(start))
    for number in np.unique(np.searchsorted(borders, clashing, side="right") - 1):
        part = slice(int(borders[number]), int(borders[number + 1]))
        rows[part] = _walk(start[part].tolist(), end[part].tolist())


def _walk(starts: list[int], ends: list[int]) -> list[int]:
    free_from: list[int] = []
    placed: list[int] = []
    holders: list[int] = []
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        while holders and ends[holders[-1]] <= start:
            holders.pop()
        row = next((placed[one] + 1 for one in reversed(holders) if ends[one] >= end), 0)
        while row < len(free_from) and free_from[row] > start:
            row += 1
        free_from.extend([start] * (row + 1 - len(free_from)))
        free_from[row] = end
        placed.append(row)
        holders.append(place)
    return placed

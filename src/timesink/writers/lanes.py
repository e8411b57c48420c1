"""Extra lanes for device activities that cross, because viewers drop all but one of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl


def number_lanes(slices: pl.DataFrame) -> pl.Series:
    """Number of the extra lane each slice needs, 0 for the lane it was recorded on.

    Slices on one lane must be apart or one inside the other.  A slice that would cross an earlier
    one goes to the first extra lane where it crosses none.
    """
    ordered = (
        slices.select("pid", "tid", "ts_ns", end_ns=pl.col("ts_ns") + pl.col("dur_ns"))
        .with_row_index("row")
        .sort("ts_ns", "end_ns", descending=[False, True])
    )
    numbers = np.zeros(slices.height, np.int64)
    for _, lane in ordered.group_by("pid", "tid"):
        placed = _place(lane.select("ts_ns", "end_ns").iter_rows())
        numbers[lane["row"].to_numpy()] = placed
    return pl.Series("lane", numbers)


def _place(spans: Iterable[tuple[int, int]]) -> list[int]:
    """Lane of each span; spans come by start, the longer first."""
    lanes: list[list[int]] = [[]]
    placed = []
    for start, end in spans:
        fitting = (number for number, ends in enumerate(lanes) if _fits(ends, start, end))
        number = next(fitting, len(lanes))
        if number == len(lanes):
            lanes.append([])
        lanes[number].append(end)
        placed.append(number)
    return placed


def _fits(ends: list[int], start: int, end: int) -> bool:
    """Whether a span fits a lane; `ends` are those of its spans still open, the innermost last."""
    while ends and ends[-1] <= start:
        ends.pop()
    return not ends or end <= ends[-1]

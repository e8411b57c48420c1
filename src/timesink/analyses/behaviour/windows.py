"""Cycles as windows of time: which one holds a moment, and how calls are cut by them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.cycles.cycles import Cycles
from timesink.model import intervals
from timesink.model.arrays import Flags, Ints

OUTSIDE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """The cycles of one process, in time order."""

    row: Ints
    """Row in the table of cycles."""
    start: Ints
    end: Ints

    def holding(self, moment: Ints) -> Ints:
        """Row of the cycle that holds each moment, `OUTSIDE` where none does."""
        return np.append(self.row, OUTSIDE)[intervals.holding(moment, self.start, self.end)]

    def take(self, chosen: Flags) -> Windows:
        """Some of the cycles."""
        return Windows(self.row[chosen], self.start[chosen], self.end[chosen])

    def cut(self, start: Ints, end: Ints) -> Pieces:
        """Calls cut at the borders of cycles; what lies outside of all is left out."""
        # A call without length lies in one cycle all the same.
        first = np.searchsorted(np.maximum.accumulate(self.end), start, side="right")
        beyond = np.searchsorted(self.start, np.maximum(end, start + 1), side="left")
        count = np.maximum(beyond - first, 0)
        before = np.cumsum(count) - count
        call = np.repeat(np.arange(len(start)), count)
        number = np.arange(len(call)) - before[call]
        place = first[call] + number
        return Pieces(
            call=call,
            number=number,
            row=self.row[place],
            start=np.maximum(start[call], self.start[place]),
            end=np.minimum(end[call], self.end[place]),
            first_piece=before,
            first_window=first,
            window=place,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Parts of calls that lie in one cycle each, call by call in time order."""

    call: Ints
    number: Ints
    """Which piece of its call it is, from 0."""
    row: Ints
    """Row in the table of cycles."""
    start: Ints
    end: Ints
    first_piece: Ints
    """For each call: its first piece."""
    first_window: Ints
    """For each call: the window of its first piece."""
    window: Ints
    """For each piece: its window."""

    def same_window(self, call: Ints) -> Ints:
        """For each piece, the piece of another call (not less than its own) in the same window."""
        return self.first_piece[call] + self.window - self.first_window[call]


def windows_by_process(cycles: Cycles) -> dict[str, Windows]:
    """The windows of each process that has cycles."""
    numbered = cycles.table.with_row_index("row").sort("start_ns", maintain_order=True)
    return {
        pid or "": Windows(
            row=part["row"].cast(pl.Int64).to_numpy(),
            start=part["start_ns"].to_numpy(),
            end=part["end_ns"].to_numpy(),
        )
        for (pid,), part in numbered.group_by("pid", maintain_order=True)
    }

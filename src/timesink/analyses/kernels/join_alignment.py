"""Launches that found no place by a common subsequence, and the windows they are looked for in."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.model.alignment import common_subsequence
from timesink.model.arrays import prefix_sums
from timesink.model.intervals import Ints


class Launches(msgspec.Struct, frozen=True, eq=False):
    """Launches in order; equal numbers mean the same in both recordings that are compared."""

    kind: Ints
    """Equal in all that both recordings tell."""
    function: Ints
    """Equal in name."""
    family: Ints
    """Equal in what they are for; -1 where that is not known."""

    def __len__(self) -> int:
        return len(self.kind)

    def __getitem__(self, rows: slice | NDArray[np.integer]) -> Launches:
        return Launches(self.kind[rows], self.function[rows], self.family[rows])


# Launches between two that found their places: replaced kernels, or the same in another order.

_LONGEST = 16
"""Launches between two sure ones; more are another piece of program, not replaced kernels."""
_REACH = 32
"""So far from where it is expected a launch is looked for that was made in another order."""


def fill_by_order(place: Ints, launches: Launches, window: Launches) -> Ints:
    """Places of launches whose kind stands nearby, free, but not in the same order.

    Streams that run side by side are filled in one order here and in another there.
    """
    filled = place.copy()
    anchors = np.flatnonzero(place >= 0)
    for row in np.flatnonzero(place < 0).tolist():
        behind = int(np.searchsorted(anchors, row))
        sure = anchors[max(0, behind - 1) : behind + 1]
        nearest = int(sure[np.abs(sure - row).argmin()]) if len(sure) else row + _REACH
        if abs(row - nearest) >= _REACH:
            continue
        expected = int(place[nearest]) + row - nearest
        low = max(0, expected - _REACH)
        near = low + np.flatnonzero(window.kind[low : expected + _REACH] == launches.kind[row])
        around = filled[max(0, row - 2 * _REACH) : row + 2 * _REACH]
        free = near[~np.isin(near, around)]
        if len(free):
            filled[row] = free[np.abs(free - expected).argmin()]
    return filled


def fill_by_name(place: Ints, launches: Launches, window: Launches, stride: float) -> Ints:
    """Places of launches in short gaps, as long on both sides: by name, then by family.

    A kernel that another run replaced stands between two that it did not.  Names alone are found
    everywhere, so they count nowhere else.
    """
    by_name = _fill_gaps(place, launches.function, window.function, slack=2 * stride)
    return _fill_gaps(by_name, launches.family, window.family, slack=stride)


def _fill_gaps(place: Ints, left: Ints, right: Ints, slack: float) -> Ints:
    filled = place.copy()
    anchors = np.flatnonzero(place >= 0)
    rows, places = np.diff(anchors) - 1, np.diff(place[anchors]) - 1
    # Between two launches with places: some without, some places, and not too many of either.
    fits = (rows > 0) & (rows <= _LONGEST) & (places > 0) & (places <= slack * rows)
    for gap in np.flatnonzero(fits).tolist():
        first, start = int(anchors[gap]) + 1, int(place[anchors[gap]]) + 1
        wanted, there = left[first : first + rows[gap]], right[start : start + places[gap]]
        some = np.flatnonzero(wanted >= 0)
        ours, theirs = common_subsequence(wanted[some], there)
        filled[first + some[ours]] = start + theirs
    return filled


_WORD = 12
"""So many launches in a row are looked for again when no steps are marked."""
_MAX_PERIODS = 16
_REPEATS = 0.9
"""Share of the launches that must be the same one period later, of an average function."""
_AS_GOOD = 0.01
_MIN_REPEATED_SHARE = 0.9
"""Share of the launches of the first period that must be the same one period later."""


class TimelineWindow(msgspec.Struct, frozen=True, eq=False):
    """Rows of the timeline, in launch order."""

    rows: Ints
    step: str | None = None
    """Which step it is; None where the recording marks none."""


def windows_of(function: Ints, rows: Ints, steps: pl.Series | None) -> list[TimelineWindow]:
    """The steps among some rows; without any, stretches that repeat, or all rows together.

    `function` has a number per row of the timeline that says what it launches.
    """
    if steps is not None and steps[rows].null_count() < len(rows):
        places = (
            pl.DataFrame({"step": steps[rows].cast(pl.String), "row": rows})
            .drop_nulls("step")
            .group_by("step", maintain_order=True)
            .agg("row")
        )
        return [
            TimelineWindow(step_rows.to_numpy(), step)
            for step, step_rows in zip(*places, strict=True)
        ]
    period = find_period(function[rows])
    if not period:
        return [TimelineWindow(rows)]
    # Where a stretch begins that the next one repeats.
    launched = function[rows]
    same = prefix_sums(launched[period:] == launched[:-period])
    repeats = same[period:] - same[:-period] >= _MIN_REPEATED_SHARE * period
    first = int(np.argmax(repeats)) if len(repeats) else 0
    return [
        TimelineWindow(rows[at : at + period])
        for at in range(first, len(rows) - period + 1, period)
    ]


def find_period(function: Ints) -> int:
    """After how many launches a sequence repeats; 0 where it does not.

    Layers of a network repeat as well, but only a step repeats with all that is in it.
    """
    if len(function) < 2 * _WORD:
        return 0
    # A number for the launches that begin at each place; equal where they are equal.
    numbers = np.random.default_rng(0).integers(1, 1 << 62, _WORD, dtype=np.uint64)
    count = len(function) - _WORD + 1
    words = np.zeros(count, dtype=np.uint64)
    for place, number in enumerate(numbers):
        words += (function[place : place + count].astype(np.uint64) + np.uint64(1)) * number
    order = np.argsort(words, kind="stable")
    again = np.flatnonzero(words[order[1:]] == words[order[:-1]])
    distances, often = np.unique(order[again + 1] - order[again], return_counts=True)
    likely = np.sort(distances[np.argsort(-often, kind="stable")[:_MAX_PERIODS]])
    # Launches that are the same one period later, as a mean over the functions.
    codes = np.unique(function, return_inverse=True)[1]
    shares = np.zeros(len(likely))
    for place, period in enumerate(likely.tolist()):
        here, again = codes[:-period], function[period:] == function[:-period]
        many = np.bincount(here)
        shares[place] = (np.bincount(here, again)[many > 0] / many[many > 0]).mean()
    if not len(shares) or shares.max() < _REPEATS:
        return 0
    return int(likely[np.flatnonzero(shares >= shares.max() - _AS_GOOD)[0]])

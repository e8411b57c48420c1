"""What two long sequences of numbers have in common, in order: as much of it as can be.

A row of the usual table is one whole number here, a bit per element of the right side, so that a
row costs a few operations on numbers of any size.  Halving the left side where the right side fits
best keeps memory small (Hirschberg).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TypeAlias

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.model.arrays import prefix_sums
from timesink.model.intervals import Ints

_Pairs: TypeAlias = list[tuple[Ints, Ints]]

_ROWS_KEPT_BITS = 1 << 28
"""Tables up to this size are kept whole, to be walked back at once: 32 MiB."""


def common_subsequence(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Places of a longest common subsequence, in the left and in the right sequence."""
    if len(left) > len(right):
        places, left_places = common_subsequence(right, left)
        return left_places, places
    nothing = np.zeros(0, dtype=np.int64)
    pairs: _Pairs = [(nothing, nothing)]
    _align(left, right, (0, 0), pairs)
    return np.concatenate([ours for ours, _ in pairs]), np.concatenate([its for _, its in pairs])


def _align(left: Ints, right: Ints, offset: tuple[int, int], pairs: _Pairs) -> None:
    """Add the pairs of two parts, which start at `offset`, in order."""
    head = common_head(left, right)
    tail = common_head(left[head:][::-1], right[head:][::-1])
    run = np.arange(head)
    pairs.append((run + offset[0], run + offset[1]))
    inner, other = left[head : len(left) - tail], right[head : len(right) - tail]
    first, its_first = offset[0] + head, offset[1] + head
    small = len(inner) == 1 or len(inner) * len(other) <= _ROWS_KEPT_BITS
    if len(inner) and len(other) and small:
        ours, theirs = _walked_back(inner, other)
        pairs.append((ours + first, theirs + its_first))
    elif len(inner) and len(other):
        half = len(inner) // 2
        before = common_lengths(inner[:half], other)
        after = common_lengths(inner[half:][::-1], other[::-1])[::-1]
        cut = int(np.argmax(before + after))
        _align(inner[:half], other[:cut], (first, its_first), pairs)
        _align(inner[half:], other[cut:], (first + half, its_first + cut), pairs)
    run = np.arange(tail)
    pairs.append((run + first + len(inner), run + its_first + len(other)))


def common_head(left: Ints, right: Ints) -> int:
    """How many first elements are equal."""
    shorter = min(len(left), len(right))
    differs = np.flatnonzero(left[:shorter] != right[:shorter])
    return int(differs[0]) if len(differs) else shorter


def common_lengths(left: Ints, right: Ints) -> Ints:
    """Length of a longest common subsequence of `left` and each beginning of `right`."""
    (row,) = deque(_table_rows(left, right), maxlen=1) or (-1,)
    packed = (row & ((1 << len(right)) - 1)).to_bytes((len(right) + 7) // 8, "little")
    bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=len(right), bitorder="little")
    lengths = np.zeros(len(right) + 1, dtype=np.int64)
    np.cumsum(bits == 0, out=lengths[1:])
    return lengths


def _walked_back(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """The same, with every row kept, and from the last one back to the first."""
    rows = list(_table_rows(left, right))
    width, mask = (len(right) + 7) // 8, (1 << len(right)) - 1
    ours: list[int] = []
    theirs: list[int] = []
    above = (rows[-1] & mask).to_bytes(width, "little")
    column = len(right) - 1
    for place in range(len(left) - 1, -1, -1):
        current = above
        above = (rows[place - 1] & mask if place else mask).to_bytes(width, "little")
        # A bit that is set: the length is the same without this element of the right side.
        column = _last_clear(current, column)
        if column < 0:
            break
        if above[column >> 3] >> (column & 7) & 1:
            ours.append(place)
            theirs.append(column)
            column -= 1
    return np.array(ours[::-1], dtype=np.int64), np.array(theirs[::-1], dtype=np.int64)


def _last_clear(bits: bytes, column: int) -> int:
    """The last column up to this one whose bit is clear; -1 without any."""
    while column >= 0 and bits[column >> 3] >> (column & 7) & 1:
        skips_a_byte = column & 7 == 7 and bits[column >> 3] == 255
        column -= 8 if skips_a_byte else 1
    return column


def _table_rows(left: Ints, right: Ints) -> Iterator[int]:
    """A row for each element of the left side, with a bit for every place of the right side.

    Bits above these may be set.  Elements that the right side does not have change no row.
    """
    symbols, codes = np.unique(left, return_inverse=True)
    order = np.argsort(right, kind="stable")
    first, beyond = (np.searchsorted(right[order], symbols, side) for side in ("left", "right"))
    places = []
    for low, high in zip(first, beyond, strict=True):
        bits = np.zeros(len(right) if low < high else 0, dtype=np.uint8)
        bits[order[low:high]] = 1
        packed = np.packbits(bits, bitorder="little").tobytes()
        places.append(int.from_bytes(packed, "little"))
    row = (1 << len(right)) - 1
    for code in codes.tolist():
        met = row & places[code]
        # A carry may run out at the top; nothing below depends on it.
        row = (row + met) | (row ^ met)
        yield row


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

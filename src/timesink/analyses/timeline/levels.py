"""Slices merged at growing resolutions: a picture needs only what is wider than a pixel.

Time is cut into cells as long as the resolution.  A slice at least that long stays as it is; the
shorter ones that start in one cell become one, which knows how many they are, how long they take
together and which name takes most.  Resolutions are powers of two, so a cell is made of whole cells
of any finer level, and merging in several steps gives the same as merging at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from timesink.model.arrays import Ints

FINEST_NS = 4096
"""Below this the slices themselves are few enough."""
STEP = 4
_WORTH_A_LEVEL = 0.6
"""Of the pieces of the next finer level at most this share."""
_CELLS_AT_COARSEST = 128
MERGED = -1
_Columns = TypeVar("_Columns", bound=Sized)


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Slices by lane and start, each alone or merged; those of a lane do not overlap."""

    first: Ints
    """Where each lane begins, and where the last one ends."""
    start: Ints
    dur: Ints
    label: NDArray[np.uint32]
    """Of merged slices the one that takes most time."""
    id: NDArray[np.int32]
    """Which slice; `MERGED` for several."""
    count: NDArray[np.uint32]
    busy: Ints
    """The time its slices take."""

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The pieces of a whole recording at one resolution; 0 is everything as it was recorded."""

    resolution: int
    pieces: Pieces


def single(
    first: Ints,
    start: Ints,
    dur: Ints,
    label: NDArray[np.uint32],
    id: NDArray[np.int32],  # noqa: A002 - as the field
) -> Pieces:
    """Slices as they were recorded: one each, busy all the time.  Takes no memory of its own."""
    return Pieces(first, start, dur, label, id, np.broadcast_to(np.uint32(1), len(start)), dur)


def coarser_levels(pieces: Pieces, length_ns: int) -> Iterator[Level]:
    """Ever coarser levels, each made from the one before, down to a few cells for the whole.

    Levels that hardly save anything are left out: the next finer one is as good.
    """
    for resolution, merged in ever_coarser(pieces, merge, length_ns):
        yield Level(resolution, merged)


def ever_coarser(
    finest: _Columns, merged: Callable[[_Columns, int], _Columns], length_ns: int
) -> Iterator[tuple[int, _Columns]]:
    """Resolutions with what is left at each, made from the one before; those worth it only."""
    part, finer = finest, len(finest)
    for resolution in resolutions(length_ns):
        part = merged(part, resolution)
        if len(part) <= _WORTH_A_LEVEL * finer:
            yield resolution, part
            finer = len(part)


def resolutions(length_ns: int) -> Iterator[int]:
    """Resolutions worth having for a recording, the finest first."""
    resolution = FINEST_NS
    while resolution * _CELLS_AT_COARSEST < length_ns * STEP:
        yield resolution
        resolution *= STEP


def merge(pieces: Pieces, resolution: int) -> Pieces:
    """Merge what is shorter than the resolution, a power of two; pieces were merged below it."""
    # Where a new piece begins: in another cell or lane, and around what is long enough.
    cell = pieces.start >> (resolution.bit_length() - 1)
    long = pieces.dur >= resolution
    begins = np.ones(len(pieces), dtype=np.bool_)
    np.not_equal(cell[1:], cell[:-1], out=begins[1:])
    begins |= long
    begins[1:] |= long[:-1]
    inside = pieces.first[pieces.first < len(pieces)]
    begins[inside] = True
    heads = np.flatnonzero(begins)
    if len(heads) == len(pieces):
        return pieces
    tails = np.append(heads[1:], len(pieces)) - 1
    several = tails > heads
    start = pieces.start[heads]
    label = pieces.label[heads]
    label[several] = _longest_labels(pieces, heads[several], tails[several])
    return Pieces(
        first=np.append(np.cumsum(begins) - begins, len(heads))[pieces.first],
        start=start,
        dur=pieces.start[tails] + pieces.dur[tails] - start,
        label=label,
        id=np.where(several, np.int32(MERGED), pieces.id[heads]),
        count=np.add.reduceat(pieces.count, heads, dtype=np.uint32),
        busy=np.add.reduceat(pieces.busy, heads),
    )


def _longest_labels(
    pieces: Pieces, heads: NDArray[np.intp], tails: NDArray[np.intp]
) -> NDArray[np.uint32]:
    """For each stretch of pieces the label that takes most time, the first of equals."""
    sizes = tails - heads + 1
    stretch = np.repeat(np.arange(len(heads)), sizes)
    place = np.arange(len(stretch)) + np.repeat(heads - (np.cumsum(sizes) - sizes), sizes)
    label, busy = pieces.label[place].astype(np.int64), pieces.busy[place]
    # One number for stretch and label; stretches are in order already, so sorting is quick.
    key = stretch * (int(label.max(initial=0)) + 1) + label
    order = np.argsort(key, kind="stable")
    runs = np.flatnonzero(np.diff(key[order], prepend=-1))
    time = np.add.reduceat(busy[order], runs)
    owner = stretch[order[runs]]
    first_of_owner = np.flatnonzero(np.diff(owner, prepend=-1))
    longest = np.flatnonzero(time == np.maximum.reduceat(time, first_of_owner)[owner])
    chosen = longest[np.diff(owner[longest], prepend=-1) > 0]
    return np.asarray(pieces.label[place[order[runs[chosen]]]])

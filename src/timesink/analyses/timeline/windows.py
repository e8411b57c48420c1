"""What is visible of some lanes between two times, at a width in pixels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from timesink.analyses.timeline.levels import Level, Pieces, merge
from timesink.model.arrays import Ints

MOST_PIECES = 60_000
_FEWEST_PER_LANE = 2
"""However coarse, what is before the start of the recording stays apart from what is after it."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The pieces in a window, those of `lanes[0]` first, and below what length they were merged."""

    pieces: Pieces
    resolution: int


def visible(
    levels: Sequence[Level],
    lanes: Ints,
    from_ns: int,
    to_ns: int,
    *,
    pixels: int,
    most: int = MOST_PIECES,
) -> Window:
    """Pieces that overlap a window, merged below about a pixel; coarser where they are too many."""
    resolution = pixel_length(from_ns, to_ns, pixels)
    level = max(
        (one for one in levels if one.resolution <= resolution), key=lambda one: one.resolution
    )
    shown = merge(_between(level.pieces, lanes, from_ns, to_ns), resolution)
    while len(shown) > max(most, _FEWEST_PER_LANE * len(lanes)):
        resolution *= 2
        shown = merge(shown, resolution)
    return Window(shown, resolution)


def pixel_length(from_ns: int, to_ns: int, pixels: int) -> int:
    """The power of two nearest to the length of a pixel, at least a nanosecond."""
    length = (to_ns - from_ns) / max(pixels, 1)
    return 1 << max(round(math.log2(length)), 0) if length > 0 else 1


def stretches(pieces: Pieces, lanes: Ints, from_ns: int, to_ns: int) -> list[tuple[int, int]]:
    """Where the pieces of each lane that overlap a window begin and end."""
    found = []
    for lane in lanes.tolist():
        first, last = int(pieces.first[lane]), int(pieces.first[lane + 1])
        starts = pieces.start[first:last]
        low, high = np.searchsorted(starts, (from_ns, to_ns), side="left").tolist()
        # Of those before the window only the latest can reach into it.
        if low > 0 and starts[low - 1] + pieces.dur[first + low - 1] > from_ns:
            low -= 1
        found.append((first + low, first + max(low, high)))
    return found


def _between(pieces: Pieces, lanes: Ints, from_ns: int, to_ns: int) -> Pieces:
    parts = stretches(pieces, lanes, from_ns, to_ns)
    place = joined_ranges(parts)
    sizes = [high - low for low, high in parts]
    return Pieces(
        first=np.append(0, np.cumsum(sizes, dtype=np.int64)),
        start=pieces.start[place],
        dur=pieces.dur[place],
        label=pieces.label[place],
        id=pieces.id[place],
        count=pieces.count[place],
        busy=pieces.busy[place],
    )


def joined_ranges(parts: Sequence[tuple[int, int]]) -> Ints:
    """All whole numbers of some ranges, one range after the other."""
    ranges = [np.arange(low, high) for low, high in parts if high > low]
    return np.concatenate(ranges) if ranges else np.zeros(0, dtype=np.int64)

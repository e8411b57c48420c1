"""What two long sequences of numbers have in common, in order: as much of it as can be.

A row of the usual table is one whole number here, a bit per element of the right side, so that a
row costs a few operations on numbers of any size.  Halving the left side where the right side fits
best keeps memory small (Hirschberg).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

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

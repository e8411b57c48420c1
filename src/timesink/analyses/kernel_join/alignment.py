"""What two long sequences of numbers have in common, in order: as much of it as can be.

A row of the usual table is one whole number here, a bit per element of the right side, so that a
row costs a few operations on numbers of any size.  Halving the left side where the right side fits
best keeps memory small (Hirschberg).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from timesink.model.arrays import Ints

_Pairs: TypeAlias = list[tuple[Ints, Ints]]

_ROWS_KEPT_BITS = 1 << 28
"""Tables up to this size are kept whole, to be walked back at once: 32 MiB."""


def common_subsequence(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Places of a longest common subsequence, in the left and in the right sequence."""
    if len(left) > len(right):
        places, others = common_subsequence(right, left)
        return others, places
    pairs: _Pairs = []
    _align(left, right, (0, 0), pairs)
    if not pairs:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    return np.concatenate([ours for ours, _ in pairs]), np.concatenate([its for _, its in pairs])


def _align(left: Ints, right: Ints, offset: tuple[int, int], pairs: _Pairs) -> None:
    """Add the pairs of two parts, which start at `offset`, in order."""
    head = common_head(left, right)
    tail = common_head(left[head:][::-1], right[head:][::-1])
    _add_run(pairs, offset, (0, 0), head)
    inner = left[head : len(left) - tail], right[head : len(right) - tail]
    start = offset[0] + head, offset[1] + head
    if len(inner[0]) and len(inner[1]):
        _align_unlike(*inner, start, pairs)
    _add_run(pairs, offset, (len(left) - tail, len(right) - tail), tail)


def _align_unlike(left: Ints, right: Ints, offset: tuple[int, int], pairs: _Pairs) -> None:
    if len(left) == 1 or len(left) * len(right) <= _ROWS_KEPT_BITS:
        ours, theirs = _walked_back(left, right)
        pairs.append((ours + offset[0], theirs + offset[1]))
        return
    half = len(left) // 2
    before = common_lengths(left[:half], right)
    after = common_lengths(left[half:][::-1], right[::-1])[::-1]
    cut = int(np.argmax(before + after))
    _align(left[:half], right[:cut], offset, pairs)
    _align(left[half:], right[cut:], (offset[0] + half, offset[1] + cut), pairs)


def common_head(left: Ints, right: Ints) -> int:
    """How many first elements are equal."""
    shorter = min(len(left), len(right))
    differs = np.flatnonzero(left[:shorter] != right[:shorter])
    return int(differs[0]) if len(differs) else shorter


def _add_run(pairs: _Pairs, offset: tuple[int, int], start: tuple[int, int], length: int) -> None:
    if length:
        run = np.arange(length)
        pairs.append((run + offset[0] + start[0], run + offset[1] + start[1]))


# -- rows of the table as whole numbers ------------------------------------------------------------


def common_lengths(left: Ints, right: Ints) -> Ints:
    """Length of a longest common subsequence of `left` and each beginning of `right`."""
    row = (1 << len(right)) - 1
    for places in _places_of(left, right):
        met = row & places
        # A carry may run out at the top; nothing below depends on it.
        row = (row + met) | (row ^ met)
    lengths = np.zeros(len(right) + 1, dtype=np.int64)
    np.cumsum(_bits(row, len(right)) == 0, out=lengths[1:])
    return lengths


def _walked_back(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """The same, with every row kept, and from the last one back to the first."""
    row = (1 << len(right)) - 1
    width = (len(right) + 7) // 8
    rows: list[int] = []
    for places in _places_of(left, right):
        met = row & places
        row = (row + met) | (row ^ met)
        rows.append(row)
    ours: list[int] = []
    theirs: list[int] = []
    mask = (1 << len(right)) - 1
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


def _places_of(left: Ints, right: Ints) -> Sequence[int]:
    """For each element of the left side: a number with a bit for every place it has on the right.

    Elements that the right side does not have change no row; they stay as zeros.
    """
    symbols, codes = np.unique(left, return_inverse=True)
    order = np.argsort(right, kind="stable")
    first = np.searchsorted(right[order], symbols)
    beyond = np.searchsorted(right[order], symbols, side="right")
    masks = [_mask(order[low:high], len(right)) for low, high in zip(first, beyond, strict=True)]
    return [masks[code] for code in codes.tolist()]


def _mask(places: NDArray[np.intp], length: int) -> int:
    if not len(places):
        return 0
    bits = np.zeros(length, dtype=np.uint8)
    bits[places] = 1
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def _bits(number: int, length: int) -> NDArray[np.uint8]:
    """The lowest bits, the first one first."""
    number &= (1 << length) - 1
    packed = np.frombuffer(number.to_bytes((length + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=length, bitorder="little")

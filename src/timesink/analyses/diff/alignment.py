"""Two sequences aligned so that as much as possible stays in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from timesink.model.arrays import Ints

Pairs: TypeAlias = list[tuple[int, int]]


def align(left: Sequence[str], right: Sequence[str]) -> Pairs:
    """Places of a longest common subsequence in both, in order; the earlier of equal choices.

    What is left out has to be deleted or inserted, so this is the shortest edit as well.
    """
    code: dict[str, int] = {}
    a, b = (
        np.array([code.setdefault(key, len(code)) for key in side], dtype=np.int64)
        for side in (left, right)
    )
    # Runs of one program mostly begin and end alike, and the rest is quadratic.
    head = _common(a, b)
    tail = _common(a[head:][::-1], b[head:][::-1])
    pairs = [(place, place) for place in range(head)]
    _divide(a[head : len(a) - tail], b[head : len(b) - tail], (head, head), pairs)
    return pairs + [(len(a) - place, len(b) - place) for place in range(tail, 0, -1)]


def _common(a: Ints, b: Ints) -> int:
    """How many first elements are equal."""
    shorter = min(len(a), len(b))
    differs = np.flatnonzero(a[:shorter] != b[:shorter])
    return int(differs[0]) if len(differs) else shorter


def _divide(a: Ints, b: Ints, offset: tuple[int, int], pairs: Pairs) -> None:
    """Halve the left side, cut the right side where it fits best: needs one row of memory."""
    if not len(a) or not len(b):
        return
    if len(a) == 1:
        equal = np.flatnonzero(b == a[0])
        if len(equal):
            pairs.append((offset[0], offset[1] + int(equal[0])))
        return
    half = len(a) // 2
    before = _lengths(a[:half], b)
    after = _lengths(a[half:][::-1], b[::-1])[::-1]
    cut = int(np.argmax(before + after))
    _divide(a[:half], b[:cut], offset, pairs)
    _divide(a[half:], b[cut:], (offset[0] + half, offset[1] + cut), pairs)


def _lengths(a: Ints, b: Ints) -> Ints:
    """Length of the longest common subsequence of `a` and each beginning of `b`."""
    row = np.zeros(len(b) + 1, dtype=np.int64)
    for element in a:
        matched = np.where(b == element, row[:-1] + 1, 0)
        row[1:] = np.maximum.accumulate(np.maximum(row[1:], matched))
    return row

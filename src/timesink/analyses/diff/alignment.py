"""Two sequences aligned so that as much as possible stays in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from timesink.analyses.kernel_join.alignment import common_head, common_lengths
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
    head = common_head(a, b)
    tail = common_head(a[head:][::-1], b[head:][::-1])
    pairs = [(place, place) for place in range(head)]
    _divide(a[head : len(a) - tail], b[head : len(b) - tail], (head, head), pairs)
    return pairs + [(len(a) - place, len(b) - place) for place in range(tail, 0, -1)]


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
    before = common_lengths(a[:half], b)
    after = common_lengths(a[half:][::-1], b[::-1])[::-1]
    cut = int(np.argmax(before + after))
    _divide(a[:half], b[:cut], offset, pairs)
    _divide(a[half:], b[cut:], (offset[0] + half, offset[1] + cut), pairs)

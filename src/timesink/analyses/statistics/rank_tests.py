"""The test of Mann and Whitney, of many groups at once."""

from __future__ import annotations

from functools import lru_cache
from math import erfc

import numpy as np

from timesink.model.arrays import exclusive_cumsum, run_starts
from timesink.model.intervals import Flags, Floats, Ints

_SMALL = 8
"""Up to this many measurements on one side every order is counted."""


def rank_p(
    group: Ints, is_new: Flags, values: Floats, groups: int, weights: Ints | None = None
) -> Floats:
    """Two-sided p-value of the Mann-Whitney test per group; NaN with fewer than two on a side.

    Exact for few measurements without ties, else normal with corrections for ties and continuity.
    A measurement with a weight stands for that many equal ones.
    """
    if weights is None:
        weights = np.ones(len(values), dtype=np.int64)
    counts = [
        np.bincount(group[side], weights[side], minlength=groups).astype(np.int64)
        for side in (~is_new, is_new)
    ]
    wins, ties = _wins_and_ties(group, is_new, values, groups, weights)
    pairs = counts[0] * counts[1]
    larger = np.maximum(wins, pairs - wins)
    tested = np.minimum(*counts) > 1
    exact = tested & (np.minimum(*counts) <= _SMALL) & (ties == 0)
    p = np.full(groups, np.nan)
    p[exact] = _exact_p(larger[exact], counts[0][exact], counts[1][exact])
    rest = tested & ~exact
    p[rest] = _normal_p(larger[rest], counts[0][rest], counts[1][rest], ties[rest])
    return p


def rank_test(left: Floats, right: Floats) -> float | None:
    """Two-sided p-value of the Mann-Whitney test; None with fewer than two on a side."""
    p = float(rank_p(*_one_group(left, right), 1)[0])
    return None if np.isnan(p) else p


def _one_group(left: Floats, right: Floats) -> tuple[Ints, Flags, Floats]:
    both = np.concatenate([left, right])
    return np.zeros(len(both), dtype=np.int64), np.arange(len(both)) >= len(left), both


def _wins_and_ties(
    group: Ints, is_new: Flags, values: Floats, groups: int, weights: Ints
) -> tuple[Floats, Floats]:
    """How many pairs the new side wins, a tie counting half; and the tie term of the variance."""
    if not len(values):
        return np.zeros(groups), np.zeros(groups)
    order = np.lexsort((values, group))
    group, values, weights = group[order], values[order], weights[order]
    base_weights = np.where(is_new[order], 0, weights)
    starts = run_starts(group, values)
    of = group[starts]
    base = np.add.reduceat(base_weights, starts)
    every = np.add.reduceat(weights, starts)
    before = exclusive_cumsum(base)
    before -= before[np.searchsorted(of, of)]
    wins = np.bincount(of, (every - base) * (before + base / 2), minlength=groups)
    sizes = every.astype(np.float64)
    ties = np.bincount(of, sizes**3 - sizes, minlength=groups)
    return wins.astype(np.float64), ties.astype(np.float64)


def _exact_p(larger: Floats, left: Ints, right: Ints) -> Floats:
    p = np.empty(len(larger))
    smaller = left * right - np.rint(larger).astype(np.int64)
    few, many = np.minimum(left, right), np.maximum(left, right)
    shapes, of = np.unique(few + (_SMALL + 1) * many, return_inverse=True)
    for number, shape in enumerate(shapes.tolist()):
        same_shape = of == number
        tails = lower_tails(shape % (_SMALL + 1), shape // (_SMALL + 1))
        p[same_shape] = tails[smaller[same_shape]]
    return np.minimum(1.0, 2 * p)


def _normal_p(larger: Floats, left: Ints, right: Ints, ties: Floats) -> Floats:
    pairs, total = left * right, left + right
    variance = pairs / 12 * (total + 1 - ties / (total * (total - 1)))
    varied = variance > 0
    deviation = (larger - pairs / 2 - 0.5) / np.sqrt(2 * np.where(varied, variance, 1.0))
    p = np.array([erfc(value) for value in deviation.tolist()])
    return np.where(varied, np.minimum(1.0, p), 1.0)


@lru_cache(maxsize=64)
def lower_tails(few: int, many: int) -> Floats:
    """How probable it is that one side wins at most each number of pairs, up to half of them.

    Products and quotients of (1 - x^k) count the orders.  The few that are far out come first and
    from sums alone, so they are exact however small they are.
    """
    chances = np.zeros(few * many // 2 + 1)
    chances[0] = 1
    for number in range(1, few + 1):
        step = many + number
        chances[step:] -= chances[: max(0, len(chances) - step)].copy()
        for first in range(number):
            chances[first::number] = np.cumsum(chances[first::number])
        chances *= number / step
    return np.cumsum(chances)

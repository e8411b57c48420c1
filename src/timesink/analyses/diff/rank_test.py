"""Whether one set of measurements tends to be larger than another, judged by ranks alone."""

from __future__ import annotations

from functools import cache
from math import comb, erfc, sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Measurements: TypeAlias = NDArray[np.float64]

_SMALL = 8
"""Up to this many measurements on one side every order is counted."""


def effect_size(left: Measurements, right: Measurements) -> float:
    """How often the right one is larger less how often it is smaller, over all pairs: -1 to 1.

    >>> effect_size(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0]))
    0.5
    """
    return float(np.sign(right[:, None] - left[None, :]).mean())


def rank_test(left: Measurements, right: Measurements) -> float | None:
    """Two-sided p-value of the Mann-Whitney test; None with fewer than two on a side.

    Exact for few measurements without ties, else normal with corrections for ties and continuity.

    >>> rank_test(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))
    0.1
    """
    many = len(left), len(right)
    if min(many) < 2:
        return None
    wins = (effect_size(left, right) + 1) / 2 * many[0] * many[1]
    larger = max(wins, many[0] * many[1] - wins)
    _, ties = np.unique(np.concatenate([left, right]), return_counts=True)
    if min(many) <= _SMALL and ties.max() == 1:
        ways = _ways(min(many), max(many))
        return min(1.0, 2 * sum(ways[round(larger) :]) / comb(sum(many), many[0]))
    return _normal(larger, many, int((ties**3 - ties).sum()))


def _normal(larger: float, many: tuple[int, int], tied: int) -> float:
    pairs, total = many[0] * many[1], sum(many)
    variance = pairs / 12 * (total + 1 - tied / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    return min(1.0, erfc((larger - pairs / 2 - 0.5) / sqrt(2 * variance)))


@cache
def _ways(few: int, many: int) -> list[int]:
    """In how many orders of all measurements one side wins each number of pairs."""
    ways = [1] + [0] * (few * many)
    for number in range(1, few + 1):
        step = many + number
        for place in range(len(ways) - 1, step - 1, -1):
            ways[place] -= ways[place - step]
        for place in range(number, len(ways)):
            ways[place] += ways[place - number]
    return ways

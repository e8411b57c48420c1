"""Whether one set of measurements tends to be larger than another, judged by ranks alone."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb, erfc

import numpy as np

from timesink.model.arrays import Flags, Floats, Ints

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
    starts = np.flatnonzero(
        np.append(True, (group[1:] != group[:-1]) | (values[1:] != values[:-1]))
    )
    of = group[starts]
    base = np.add.reduceat(base_weights, starts)
    every = np.add.reduceat(weights, starts)
    before = np.cumsum(base) - base
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
        alike = of == number
        tails = _lower_tails(shape % (_SMALL + 1), shape // (_SMALL + 1))
        p[alike] = tails[smaller[alike]]
    return np.minimum(1.0, 2 * p)


def _normal_p(larger: Floats, left: Ints, right: Ints, ties: Floats) -> Floats:
    pairs, total = left * right, left + right
    variance = pairs / 12 * (total + 1 - ties / (total * (total - 1)))
    varied = variance > 0
    deviation = (larger - pairs / 2 - 0.5) / np.sqrt(2 * np.where(varied, variance, 1.0))
    p = np.array([erfc(each) for each in deviation.tolist()])
    return np.where(varied, np.minimum(1.0, p), 1.0)


@lru_cache(maxsize=64)
def _lower_tails(few: int, many: int) -> Floats:
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


# Whether the middle of two sets of measurements differs, judged by exchanging them.

FEWEST = 4
"""Measurements a side needs before any exchange can be rare enough."""
_TRIM = 0.2
"""Part of the measurements left out at either end: one of five may be anything."""
_EXACT = 3000
"""Up to this many ways to choose a side all of them are looked at."""
_DRAWS = 1999
_FEWEST_DRAWS = 499
_MOST_NUMBERS = 200_000
"""Numbers drawn; long runs get by with fewer draws."""
_MOST = 500
"""Measurements of a side; of more, neighbours are taken together, which makes the test stricter
where they are alike, or, where the other side has too few for that, equally many are left out
between each two."""
_SEED = 20_011
"""The same measurements give the same answer."""


def permutation_p(left: Floats, right: Floats) -> float | None:
    """Two-sided p-value of the change of the trimmed mean; None with fewer than four on a side."""
    if min(len(left), len(right)) < FEWEST:
        return None
    left, right = _stretches(left, right)
    both = np.concatenate([left, right])
    few = min(len(left), len(right))
    # Which side is exchanged does not matter, so it is the smaller one.
    found = abs(trimmed_mean(left) - trimmed_mean(right))
    orders, is_exact = _choices(len(both), few)
    drawn = both[orders]
    changes = np.abs(_trimmed_means(drawn[:, :few]) - _trimmed_means(drawn[:, few:]))
    # Sums in another order may differ in their last digits.
    as_far = int((changes >= found * (1 - 1e-12) - 1e-12 * np.abs(both).max()).sum())
    return as_far / len(changes) if is_exact else (as_far + 1) / (len(changes) + 1)


def trimmed_mean(values: Floats) -> float:
    """Mean of the middle three fifths."""
    return float(_trimmed_means(values[None, :])[0])


def _stretches(*sides: Floats) -> list[Floats]:
    """Means of equally many neighbours on both sides; what is left over at the end goes.

    Means of more of them on the longer side would scatter less than those on the other.
    """
    few, many = sorted(map(len, sides))
    size = max(1, min(-(-many // _MOST), few // (2 * FEWEST)))
    means = [side[: len(side) // size * size].reshape(-1, size).mean(axis=1) for side in sides]
    # Where a side is still too long, measurements spread evenly over it.
    return [
        side if len(side) <= _MOST
        else side[np.linspace(0, len(side) - 1, _MOST).round().astype(np.int64)]
        for side in means
    ]  # fmt: skip


def _trimmed_means(rows: Floats) -> Floats:
    cut = int(_TRIM * rows.shape[1])
    middle = np.sort(rows, axis=1)[:, cut : rows.shape[1] - cut]
    return np.asarray(middle.mean(axis=1))


def _choices(number: int, few: int) -> tuple[Ints, bool]:
    """Places for both sides: orders of all places of which the first `few` are one side."""
    if comb(number, few) <= _EXACT:
        sides = np.array(list(combinations(range(number), few)))
        taken = np.zeros((len(sides), number), dtype=bool)
        np.put_along_axis(taken, sides, values=True, axis=1)
        return np.argsort(~taken, axis=1, kind="stable"), True
    draws = max(_FEWEST_DRAWS, min(_DRAWS, _MOST_NUMBERS // number))
    random = np.random.default_rng(_SEED).random((draws, number))
    return np.argsort(random, axis=1), False


ALPHA = 0.05
"""Chance of calling a difference one that is none."""


def false_discovery(p: Floats) -> Floats:
    """p-values after Benjamini and Hochberg: at most that share of those below is noise.

    What could not be tested (NaN) stays so, and does not count as a test.
    """
    adjusted = np.full(len(p), np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    scaled = p[order] * len(order) / np.arange(1, len(order) + 1)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted

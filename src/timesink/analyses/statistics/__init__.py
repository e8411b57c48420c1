"""Means, spreads and ranks of many groups of measurements at once, and tests of both."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb, erfc, gamma, pi, sqrt
from statistics import NormalDist
from typing import Any

import msgspec
import numpy as np

from timesink.model.intervals import Flags, Floats, Ints

QUIETLY = np.errstate(over="ignore", divide="ignore", invalid="ignore")
"""For functions whose callers may hold anything: what has no value is NaN or infinite there."""

MAD_TO_SIGMA = 1.4826
"""Standard deviation of normal noise in median absolute deviations."""


def scaled_mad(values: Floats, middle: float) -> float:
    """How far values usually are from a middle, as the standard deviation of normal noise."""
    return MAD_TO_SIGMA * float(np.median(np.abs(values - middle)))


def column_means(values: Floats) -> Floats:
    """Mean per column, zero where there is no row."""
    return np.asarray(values.mean(axis=0) if len(values) else np.zeros(values.shape[1:]))


class Moments(msgspec.Struct, frozen=True, eq=False):
    """Number, mean and standard deviation (n - 1) per group; zeros where nothing was measured."""

    count: Ints
    mean: Floats
    spread: Floats


def moments(group: Ints, values: Floats, groups: int) -> Moments:
    """Moments of the values per group.

    The spread is of differences from the first value of the group, so equal values give that value
    and a spread of exactly 0.
    """
    return moments_with_zeros(group, values, np.bincount(group, minlength=groups))


def moments_with_zeros(group: Ints, values: Floats, count: Ints) -> Moments:
    """Moments of `count` measurements per group, of which those not given are zero."""
    groups, divisor = len(count), np.maximum(count, 1)
    present = np.bincount(group, minlength=groups)
    firsts = np.zeros(groups)
    firsts[group[::-1]] = values[::-1]
    # Measurements that are not given are equal to the shift, or zero both.
    shift = np.where(present == count, firsts, 0.0)
    shifted = values - shift[group]
    offset = np.bincount(group, shifted, minlength=groups) / divisor
    squares = np.bincount(group, (shifted - offset[group]) ** 2, minlength=groups)
    spread = np.sqrt((squares + (count - present) * offset**2) / np.maximum(count - 1, 1))
    total = sums(group, values, groups)
    # Values near the largest number there is have a mean, though no sum.
    mean = np.where(np.isfinite(total), total / divisor, shift + offset)
    mean = np.where(spread == 0, shift, mean)
    return Moments(count, mean, np.where(count > 1, spread, 0.0))


def sums(group: Ints, values: Floats, groups: int) -> Floats:
    """Sums per group in the order given, each carrying along what rounding took away (Kahan).

    Half a unit of the last printed decimal is common among means of few cycles, and the published
    tables round what this sum gives.
    """
    count = np.bincount(group, minlength=groups)
    # The largest groups first: those that still have a next value are then always in front.
    ranked = np.argsort(-count, kind="stable")
    starts = (np.cumsum(count) - count)[ranked]
    ordered = values[np.argsort(group, kind="stable")]
    total, lost = np.zeros(groups), np.zeros(groups)
    longest = int(count.max(initial=0))
    behind = np.bincount(count, minlength=longest + 1).cumsum()
    for place in range(longest):
        active = groups - int(behind[place])
        value = ordered[starts[:active] + place] - lost[:active]
        larger = total[:active] + value
        lost[:active] = (larger - total[:active]) - value
        total[:active] = larger
    result = np.empty(groups)
    result[ranked] = total
    return result


# Student's t distribution, for many values at once.
#
# SciPy has it too, but loading SciPy takes longer than a whole comparison.

_LARGE = 40.0
"""From here on the ratio of gamma functions comes from its series."""
_MAX_TERMS = 10_000
_PRECISION = 1e-15
_TINY = 1e-300
_MAX_SCALAR_VALUES = 32
"""So many numbers are worked out one by one sooner than as an array."""
_CLOSE = 1e-4
"""A step this small leaves an error of about its cube."""


def two_sided_p(t: Floats, freedom: Floats) -> Floats:
    """How probable a value at least as far from 0 as `t` is, with these degrees of freedom."""
    p = np.full(len(t), np.nan)
    p[np.isinf(t)] = 0.0
    finite = np.isfinite(t)
    p[finite] = _finite_p(np.abs(t[finite]), freedom[finite])
    return p


def student_t_quantile(p: float, freedom: Floats) -> Floats:
    """The distance from 0 that is exceeded with probability `p`, for each degree of freedom."""
    limit = _first_guess(p, freedom)
    for _ in range(_MAX_TERMS):
        step = (two_sided_p(limit, freedom) - p) / (2 * _density(limit, freedom))
        # The density falls meanwhile; where it does so too fast to tell, Newton's step is taken.
        falling = (freedom + 1) * limit / (freedom + limit * limit)
        step *= 1 + np.clip(step * falling / 2, -0.5, 0.5)
        limit = np.maximum(limit + step, limit / 8)
        if np.all(np.abs(step) <= _CLOSE * limit):
            break
    return limit


def _first_guess(p: float, freedom: Floats) -> Floats:
    """The limit of the normal distribution, and the first terms by which this one is larger."""
    normal = NormalDist().inv_cdf(1 - p / 2)
    square = normal * normal
    terms = (
        (square + 1) / 4,
        ((5 * square + 16) * square + 3) / 96,
        (((3 * square + 19) * square + 17) * square - 15) / 384,
    )
    return np.asarray(
        normal * (1 + sum(term / freedom**place for place, term in enumerate(terms, 1)))
    )


def _density(t: Floats, freedom: Floats) -> Floats:
    falling = np.exp(-(freedom + 1) / 2 * np.log1p(t * t / freedom))
    return np.asarray(_gamma_ratio(freedom / 2) / np.sqrt(pi * freedom) * falling)


def _finite_p(t: Floats, freedom: Floats) -> Floats:
    """The incomplete beta function I(x; freedom/2, 1/2), from whichever end converges."""
    half = freedom / 2
    with np.errstate(over="ignore"):
        square = t * t / freedom
    outer = 1 / (1 + square)
    inner = np.where(np.isinf(square), 1.0, square / (1 + square))
    # x^a (1-x)^b / B(a, b), which both ends share.
    front = _gamma_ratio(half) / sqrt(pi) * np.exp(-half * np.log1p(square)) * np.sqrt(inner)
    far = outer < (half + 1) / (half + 2.5)
    fraction = _fraction(
        np.where(far, half, 0.5), np.where(far, 0.5, half), np.where(far, outer, inner)
    )
    return np.where(far, front / half * fraction, 1 - 2 * front * fraction)


def _gamma_ratio(a: Floats) -> Floats:
    """Gamma(a + 1/2) / Gamma(a)."""
    large = np.maximum(a, _LARGE)
    series = 1 - 1 / (8 * large) + 1 / (128 * large**2) + 5 / (1024 * large**3)
    series += -21 / (32768 * large**4) - 399 / (262144 * large**5) + 869 / (4194304 * large**6)
    ratio = np.sqrt(large) * series
    small = a < _LARGE
    ratio[small] = [gamma(x + 0.5) / gamma(x) for x in a[small].tolist()]
    return ratio


def _fraction(a: Floats, b: Floats, x: Floats) -> Floats:
    """Continued fraction of the incomplete beta function, evaluated from the front (Lentz)."""
    if len(x) <= _MAX_SCALAR_VALUES:
        triples = zip(a.tolist(), b.tolist(), x.tolist(), strict=True)
        return np.array([_lentz_fraction(*triple) for triple in triples], dtype=np.float64)
    return np.asarray(_lentz_fraction(a, b, x))


def _lentz_fraction(a: Any, b: Any, x: Any) -> Any:
    """The same for numbers and for arrays of them."""
    c = 1.0
    value = d = 1 / _nonzero(1 - (a + b) * x / (a + 1))
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _nonzero(1 + term * d)
            c = _nonzero(1 + term / c)
            change = c * d
            value = value * change
        far = abs(change - 1) >= _PRECISION
        if not (far if isinstance(far, bool) else far.any()):
            break
    return value


def _nonzero(values: Any) -> Any:
    if isinstance(values, float):
        return _TINY if abs(values) < _TINY else values
    return np.where(np.abs(values) < _TINY, _TINY, values)


def welch_p(base: Moments, new: Moments) -> Floats:
    """Two-sided p-value per group.

    1 with fewer than two measurements on a side; without any spread NaN for equal means and 0 for
    unequal ones.
    """
    error, freedom = _error(base, new)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (new.mean - base.mean) / error
    tested = (base.count > 1) & (new.count > 1)
    return np.where(tested, two_sided_p(t, freedom), 1.0)


def welch_interval(base: Moments, new: Moments) -> tuple[float, float] | None:
    """95 % interval of the change of the mean of one group; None with fewer than two on a side."""
    if min(base.count[0], new.count[0]) < 2:
        return None
    error, freedom = _error(base, new)
    change = float(new.mean[0] - base.mean[0])
    reach = float(error[0] * student_t_quantile(1 - 0.95, freedom)[0])
    return change - reach, change + reach


def _error(base: Moments, new: Moments) -> tuple[Floats, Floats]:
    """Standard error of the difference of the means, and its degrees of freedom."""
    parts = [side.spread**2 / np.maximum(side.count, 1) for side in (base, new)]
    # Scaled by the larger one, or squares of very small or large spreads would not be numbers.
    largest = np.maximum(*parts)
    scale = np.where(largest > 0, largest, 1.0)
    shares = [part / scale for part in parts]
    below = sum(
        share**2 / np.maximum(side.count - 1, 1)
        for share, side in zip(shares, (base, new), strict=True)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.where(largest > 0, (shares[0] + shares[1]) ** 2 / below, 1.0)
    return np.sqrt(parts[0] + parts[1]), freedom


# -- ranks -----------------------------------------------------------------------------------------


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


# Whether the middle of two sets of measurements differs, judged by exchanging them.

MIN = 4
"""Measurements a side needs before any exchange can be rare enough."""
_TRIM = 0.2
"""Part of the measurements left out at either end: one of five may be anything."""
_EXACT = 3000
"""Up to this many ways to choose a side all of them are looked at."""
_DRAWS = 1999
_MIN_DRAWS = 499
_MAX_NUMBERS = 200_000
"""Numbers drawn; long runs get by with fewer draws."""
_MAX_MEASUREMENTS = 500
"""Measurements of a side; of more, neighbours are taken together, which makes the test stricter
where they are alike, or, where the other side has too few for that, equally many are left out
between each two."""
_SEED = 20_011
"""The same measurements give the same answer."""


def permutation_p(left: Floats, right: Floats) -> float | None:
    """Two-sided p-value of the change of the trimmed mean; None with fewer than four on a side."""
    if min(len(left), len(right)) < MIN:
        return None
    left, right = _stretches(left, right)
    both = np.concatenate([left, right])
    few = min(len(left), len(right))
    # Which side is exchanged does not matter, so it is the smaller one.
    observed = abs(trimmed_mean(left) - trimmed_mean(right))
    orders, is_exact = _choices(len(both), few)
    drawn = both[orders]
    changes = np.abs(_trimmed_means(drawn[:, :few]) - _trimmed_means(drawn[:, few:]))
    # Sums in another order may differ in their last digits.
    as_far = int((changes >= observed * (1 - 1e-12) - 1e-12 * np.abs(both).max()).sum())
    return as_far / len(changes) if is_exact else (as_far + 1) / (len(changes) + 1)


def trimmed_mean(values: Floats) -> float:
    """Mean of the middle three fifths."""
    return float(_trimmed_means(values[None, :])[0])


def _stretches(*sides: Floats) -> list[Floats]:
    """Means of equally many neighbours on both sides; what is left over at the end goes.

    Means of more of them on the longer side would scatter less than those on the other.
    """
    few, many = sorted(map(len, sides))
    size = max(1, min(-(-many // _MAX_MEASUREMENTS), few // (2 * MIN)))
    means = [side[: len(side) // size * size].reshape(-1, size).mean(axis=1) for side in sides]
    # Where a side is still too long, measurements spread evenly over it.
    return [
        side if len(side) <= _MAX_MEASUREMENTS
        else side[np.linspace(0, len(side) - 1, _MAX_MEASUREMENTS).round().astype(np.int64)]
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
    draws = max(_MIN_DRAWS, min(_DRAWS, _MAX_NUMBERS // number))
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

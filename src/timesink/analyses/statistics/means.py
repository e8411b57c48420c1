"""Means and spreads of many groups of measurements at once."""

from __future__ import annotations

from dataclasses import dataclass
from math import gamma, pi, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from timesink.model.arrays import Floats, Ints

QUIETLY = np.errstate(over="ignore", divide="ignore", invalid="ignore")
"""For functions whose callers may hold anything: what has no value is NaN or infinite there."""

NORMAL = 1.4826
"""Standard deviation of normal noise in median absolute deviations."""


def column_means(values: Floats) -> Floats:
    """Mean per column, zero where there is no row."""
    return np.asarray(values.mean(axis=0) if len(values) else np.zeros(values.shape[1:]))


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
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
    given = np.bincount(group, minlength=groups)
    firsts = np.zeros(groups)
    firsts[group[::-1]] = values[::-1]
    # Measurements that are not given are equal to the shift, or zero both.
    shift = np.where(given == count, firsts, 0.0)
    shifted = values - shift[group]
    offset = np.bincount(group, shifted, minlength=groups) / divisor
    squares = np.bincount(group, (shifted - offset[group]) ** 2, minlength=groups)
    spread = np.sqrt((squares + (count - given) * offset**2) / np.maximum(count - 1, 1))
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
_MOST_TERMS = 10_000
_PRECISION = 1e-15
_TINY = 1e-300
_FEW = 32
"""So many numbers are worked out one by one sooner than as an array."""
_CLOSE = 1e-4
"""A step this small leaves an error of about its cube."""


def two_sided_p(t: Floats, freedom: Floats) -> Floats:
    """How probable a value at least as far from 0 as `t` is, with these degrees of freedom."""
    p = np.full(len(t), np.nan)
    p[np.isinf(t)] = 0.0
    known = np.isfinite(t)
    p[known] = _finite_p(np.abs(t[known]), freedom[known])
    return p


def two_sided_limits(p: float, freedom: Floats) -> Floats:
    """The distance from 0 that is exceeded with probability `p`, for each degree of freedom."""
    limit = _first_guess(p, freedom)
    for _ in range(_MOST_TERMS):
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
    whole = np.maximum(a, _LARGE)
    series = 1 - 1 / (8 * whole) + 1 / (128 * whole**2) + 5 / (1024 * whole**3)
    series += -21 / (32768 * whole**4) - 399 / (262144 * whole**5) + 869 / (4194304 * whole**6)
    ratio = np.sqrt(whole) * series
    small = a < _LARGE
    ratio[small] = [gamma(x + 0.5) / gamma(x) for x in a[small].tolist()]
    return ratio


def _fraction(a: Floats, b: Floats, x: Floats) -> Floats:
    """Continued fraction of the incomplete beta function, evaluated from the front (Lentz)."""
    if len(x) <= _FEW:
        each = zip(a.tolist(), b.tolist(), x.tolist(), strict=True)
        return np.array([_evaluated(*one) for one in each], dtype=np.float64)
    return np.asarray(_evaluated(a, b, x))


def _evaluated(a: Any, b: Any, x: Any) -> Any:
    """The same for numbers and for arrays of them."""
    c = 1.0
    value = d = 1 / _nonzero(1 - (a + b) * x / (a + 1))
    for m in range(1, _MOST_TERMS):
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
    reach = float(error[0] * two_sided_limits(1 - 0.95, freedom)[0])
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

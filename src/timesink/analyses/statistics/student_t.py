"""Student's t distribution for many values at once, and Welch's test of two means."""

from __future__ import annotations

from functools import lru_cache
from math import erfc, gamma, pi, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from timesink.analyses.statistics.moments import Moments
from timesink.model.intervals import Floats

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


@lru_cache(maxsize=4096)
def t_limit(p: float, freedom: float) -> float:
    """`student_t_quantile` of one degree of freedom.

    >>> round(t_limit(0.05, 10.0), 2)
    2.23
    """
    return float(student_t_quantile(p, np.array([freedom]))[0])


Z95 = 1.96
"""Standard deviations that 95 % of normal noise stays within."""


def normal_p(deviations: float) -> float:
    """Two-sided chance of normal noise so many standard deviations out.

    >>> round(normal_p(1.96), 3)
    0.05
    """
    return erfc(deviations / sqrt(2))


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
        return np.array([_fraction_of_numbers(*triple) for triple in triples], dtype=np.float64)
    return np.asarray(_lentz_fraction(a, b, x))


def _lentz_fraction(a: Any, b: Any, x: Any) -> Any:
    """The same for arrays."""
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
        if not (abs(change - 1) >= _PRECISION).any():
            break
    return value


def _fraction_of_numbers(a: float, b: float, x: float) -> float:
    """The same for numbers, without what arrays need."""
    c = 1.0
    first = 1 - (a + b) * x / (a + 1)
    value = d = 1 / (first if abs(first) >= _TINY else _TINY)
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        for term in (even, odd):
            below, above = 1 + term * d, 1 + term / c
            d = 1 / (_TINY if abs(below) < _TINY else below)
            c = _TINY if abs(above) < _TINY else above
            change = c * d
            value = value * change
        if not abs(change - 1) >= _PRECISION:
            break
    return value


def _nonzero(values: Any) -> Any:
    return np.where(np.abs(values) < _TINY, _TINY, values)


def single_value_p(single: Floats, several: Floats, floor: float = 0.0) -> Floats:
    """Two-sided p-value of a single measurement against several others, per column.

    `floor` is the part of their mean by which measurements scatter at least.

    >>> single_value_p(np.array([14.0]), np.array([[9.0], [10.0], [10.0], [11.0]])).round(3)
    array([0.022])
    """
    level = several.mean(axis=0)
    error = np.hypot(several.std(axis=0, ddof=1), floor * level) * np.sqrt(1 + 1 / len(several))
    apart = single - level
    freedom = np.full(len(level), len(several) - 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = apart / error
    return np.where(apart == 0, 1.0, two_sided_p(t, freedom))


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

"""Student's t distribution, for many values at once.

SciPy has it too, but loading SciPy takes longer than a whole comparison.
"""

from __future__ import annotations

from math import gamma, pi, sqrt
from statistics import NormalDist

import numpy as np

from timesink.model.arrays import Floats

_LARGE = 40.0
"""From here on the ratio of gamma functions comes from its series."""
_MOST_TERMS = 10_000
_PRECISION = 1e-15
_TINY = 1e-300
_CLOSE = 1e-4
"""A step this small leaves an error of about its cube."""


def two_sided_p(t: Floats, freedom: Floats) -> Floats:
    """How probable a value at least as far from 0 as `t` is, with these degrees of freedom."""
    p = np.full(len(t), np.nan)
    p[np.isinf(t)] = 0.0
    known = np.isfinite(t)
    p[known] = _finite_p(np.abs(t[known]), freedom[known])
    return p


def two_sided_limit(p: float, freedom: float) -> float:
    """The distance from 0 that is exceeded with probability `p`."""
    return float(two_sided_limits(p, np.array([freedom]))[0])


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
    c = np.ones_like(x)
    d = 1 / _nonzero(1 - (a + b) * x / (a + 1))
    value = d.copy()
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _nonzero(1 + term * d)
            c = _nonzero(1 + term / c)
            change = c * d
            value *= change
        if np.abs(change - 1).max(initial=0) < _PRECISION:
            break
    return value


def _nonzero(values: Floats) -> Floats:
    return np.where(np.abs(values) < _TINY, _TINY, values)

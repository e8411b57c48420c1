"""Means and spreads of many groups of measurements at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from timesink.model import arrays
from timesink.model.arrays import Ints

Floats: TypeAlias = arrays.Floats
Integers: TypeAlias = arrays.Ints

QUIETLY = np.errstate(over="ignore", divide="ignore", invalid="ignore")
"""For functions whose callers may hold anything: what has no value is NaN or infinite there."""

NORMAL = 1.4826
"""Standard deviation of normal noise in median absolute deviations."""


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
    count = np.bincount(group, minlength=groups)
    return _moments(group, values, count, _firsts(group, values, groups))


def moments_with_zeros(group: Ints, values: Floats, count: Ints) -> Moments:
    """Moments of `count` measurements per group, of which those not given are zero."""
    given = np.bincount(group, minlength=len(count))
    shift = np.where(given == count, _firsts(group, values, len(count)), 0.0)
    return _moments(group, values, count, shift)


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


def _firsts(group: Ints, values: Floats, groups: int) -> Floats:
    firsts = np.zeros(groups)
    firsts[group[::-1]] = values[::-1]
    return firsts


def _moments(group: Ints, values: Floats, count: Ints, shift: Floats) -> Moments:
    """Moments about a shift; measurements that are not given are equal to it, or zero both."""
    groups = len(count)
    divisor = np.maximum(count, 1)
    shifted = values - shift[group]
    offset = np.bincount(group, shifted, minlength=groups) / divisor
    squares = np.bincount(group, (shifted - offset[group]) ** 2, minlength=groups)
    not_given = count - np.bincount(group, minlength=groups)
    spread = np.sqrt((squares + not_given * offset**2) / np.maximum(count - 1, 1))
    total = sums(group, values, groups)
    # Values near the largest number there is have a mean, though no sum.
    mean = np.where(np.isfinite(total), total / divisor, shift + offset)
    mean = np.where(spread == 0, shift, mean)
    return Moments(count, mean, np.where(count > 1, spread, 0.0))

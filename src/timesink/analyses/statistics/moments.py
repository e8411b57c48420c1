"""Number, mean and standard deviation of many groups of measurements at once."""

from __future__ import annotations

import msgspec
import numpy as np

from timesink.model.arrays import exclusive_cumsum
from timesink.model.intervals import Floats, Ints

QUIETLY = np.errstate(over="ignore", divide="ignore", invalid="ignore")
"""For functions whose callers may hold anything: what has no value is NaN or infinite there."""


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
    starts = exclusive_cumsum(count)[ranked]
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

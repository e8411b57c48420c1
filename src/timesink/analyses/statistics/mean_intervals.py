"""Between which bounds the change of a mean is, for measurements that follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from timesink.analyses.statistics.apart import ENOUGH, apart
from timesink.analyses.statistics.discovery import ALPHA
from timesink.analyses.statistics.mean_errors import likeness, variance_of_mean
from timesink.analyses.statistics.moments import QUIETLY
from timesink.analyses.statistics.student import two_sided_limits, two_sided_p
from timesink.model.arrays import Floats

_FAR = 3.0
"""Positive means of which one is this many times the other are judged by their ratio as well: runs
without a change are hardly ever so far from each other, whatever they are like."""
_MOST_FREEDOM = 1e4
"""From here on Student's distribution is the normal one."""


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """95 % intervals of changes of means, and the chance of changes this large by noise."""

    low: Floats
    high: Floats
    p: Floats


@QUIETLY
def intervals(sides: Sequence[Floats], floor: float, *, neighbours: bool = True) -> Intervals:
    """Intervals of the change of the mean of every column, of two rows or more on both sides.

    `floor` and `neighbours` are those of `drifting.mean_changes`.
    """
    alike = likeness(sides) if neighbours else np.zeros(sides[0].shape[1:])
    found = [variance_of_mean(side, alike) for side in sides]
    means = [side.mean(axis=0) for side in sides]
    error, freedom = _error(found, [floor * mean for mean in means])
    change, reach = means[1] - means[0], error * two_sided_limits(ALPHA, freedom)
    plain = Intervals(change - reach, change + reach, two_sided_p(change / error, freedom))
    is_far = np.min([side.min(axis=0) for side in sides], axis=0) > 0
    is_far &= np.maximum(*means) > _FAR * np.minimum(*means)
    if min(map(len, sides)) >= ENOUGH and is_far.any():
        # Intervals with what the others tell better, in some of the columns.
        other = _of_ratio(found, means, floor)
        better = is_far & (other.p < plain.p)
        plain = Intervals(
            np.where(better & np.isfinite(other.low), other.low, plain.low),
            np.where(better & np.isfinite(other.high), other.high, plain.high),
            np.where(better, other.p, plain.p),
        )
    # Intervals within what measurements show where the sides are apart beyond the floor.
    most = np.full(plain.low.shape, _MOST_FREEDOM)
    least = np.hypot(*[floor * mean for mean in means]) * two_sided_limits(ALPHA, most)
    are_apart, near, far = apart(sides[0], sides[1], least)
    return Intervals(
        np.where(are_apart, np.maximum(plain.low, np.minimum(near, far)), plain.low),
        np.where(are_apart, np.minimum(plain.high, np.maximum(near, far)), plain.high),
        plain.p,
    )


def _of_ratio(
    found: Sequence[tuple[Floats, Floats]], means: Sequence[Floats], floor: float
) -> Intervals:
    """Intervals that end where the ratio of the means does; they are open on the far side.

    Noise grows with what is measured, so no difference is ever large against that of the larger
    side, however many times the other it is.  The logarithm of a mean has its relative error.
    """
    relative = [
        (variance / mean**2, freedom)
        for (variance, freedom), mean in zip(found, means, strict=True)
    ]
    error, freedom = _error(relative, [np.full_like(mean, floor) for mean in means])
    small, large = np.minimum(*means), np.maximum(*means)
    nearest = large * np.exp(-error * two_sided_limits(ALPHA, freedom)) - small
    rises = means[1] > means[0]
    return Intervals(
        np.where(rises, nearest, -np.inf),
        np.where(rises, np.inf, -nearest),
        two_sided_p(np.log(large / small) / error, freedom),
    )


def _error(
    found: Sequence[tuple[Floats, Floats]], floors: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """Standard error of the difference of means, and its degrees of freedom.

    From the variance of each mean, with its own degrees.  Welch and Satterthwaite; the floor is
    known, so it has as many as there can be.
    """
    known = sum((floor**2 for floor in floors), np.zeros(floors[0].shape))
    # Scaled by the larger one, or squares of very small or large variances would not be numbers.
    largest = np.maximum(np.maximum(found[0][0], found[1][0]), known)
    scale = np.where(largest > 0, largest, 1.0)
    total = (found[0][0] + found[1][0] + known) / scale
    below = sum((variance / scale) ** 2 / freedom for variance, freedom in found)
    freedom = np.where(below > 0, total**2 / np.where(below > 0, below, 1.0), _MOST_FREEDOM)
    return np.sqrt(total * scale), np.minimum(freedom, _MOST_FREEDOM)

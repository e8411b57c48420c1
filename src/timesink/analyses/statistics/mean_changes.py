"""Whether means of measurements that follow each other differ, and by how much.

Few cycles that resemble their neighbours do not show how far their level wanders, and are called
different too often.  Of 2000 pairs of made-up runs without a change that scatter by 10 %, so many
percent have p < 0.05, by cycles of each run and the correlation of neighbours:

    correlation     4      6     12     30    100
        0         1.4    1.9    2.0    1.2    0.5
        0.3       4.5    4.3    4.0    2.6    1.1
        0.6      10.9   10.2    6.2    3.8    2.4
        0.9      30.0   24.9   16.9   10.9    5.6
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from timesink.analyses.statistics.autocorrelation import pooled_autocorrelation, variance_of_mean
from timesink.analyses.statistics.moments import QUIETLY, column_means
from timesink.analyses.statistics.robust import without_outliers
from timesink.analyses.statistics.student_t import student_t_quantile, two_sided_p
from timesink.analyses.thresholds import MeanChangesLimits, SignificanceLimits
from timesink.model.intervals import Floats

# Whether two sets of measurements lie so far apart that no wandering of their levels explains it.
#
# What a few measurements that resemble their neighbours tell about the error of their mean is so
# little that any change may seem to be noise, an eightfold one with half the cycles at one level
# and half at another.  The measurements themselves bound how far levels wander: where even the
# nearest two of both sides are farther apart than both sides span together, that is a change, or
# than a quarter of that where one mean is 1.6 times the other.
#
# Of 4000 pairs of made-up runs without one this many percent are apart, by measurements of each run
# and the correlation of neighbours; most of them have p < 0.05 anyway:
#
# correlation     8     12     30
# 0.6       0.0    0.0    0.0
# 0.9       0.8    0.1    0.0
# 0.97     11.7    4.2    0.1


@QUIETLY
def apart(base: Floats, new: Floats, least: Floats) -> tuple[np.ndarray, Floats, Floats]:
    """Per column: whether sides are apart, and the change between the nearest and farthest two.

    Noise grows with what is measured, so positive columns are judged by ratios.  The nearest two
    must differ by `least` as well.
    """
    lows, highs = ([end(side, axis=0) for side in (base, new)] for end in (np.min, np.max))
    rises = np.asarray(lows[1] > highs[0])
    near = np.where(rises, lows[1] - highs[0], highs[1] - lows[0])
    far = np.where(rises, highs[1] - lows[0], lows[1] - highs[0])
    is_ratio = np.minimum(*lows) > 0
    ends = [np.where(is_ratio, np.log(bound), bound) for bound in (*lows, *highs)]
    gap = np.maximum(ends[1] - ends[2], ends[0] - ends[3])
    spans = (ends[2] - ends[0]) + (ends[3] - ends[1])
    means = [side.mean(axis=0) for side in (base, new)]
    is_far = is_ratio & (np.maximum(*means) > MeanChangesLimits.far * np.minimum(*means))
    spans = np.where(is_far, MeanChangesLimits.of_span, 1.0) * spans
    enough = min(len(base), len(new)) >= MeanChangesLimits.enough
    return enough & (gap > spans) & (np.abs(near) > least), near, far


_MAX_FREEDOM = 1e4
"""From here on Student's distribution is the normal one."""


@QUIETLY
def intervals(
    sides: Sequence[Floats], floor: float, *, neighbours: bool = True
) -> tuple[Floats, Floats, Floats]:
    """95 % intervals of the change of the mean of every column, of two rows or more on both sides.

    Low and high ends, and the chance of changes this large by noise.  `floor` and `neighbours` are
    those of `mean_changes`.
    """
    autocorrelation = pooled_autocorrelation(sides) if neighbours else np.zeros(sides[0].shape[1:])
    variances = [variance_of_mean(side, autocorrelation) for side in sides]
    means = [side.mean(axis=0) for side in sides]
    error, freedom = _error(variances, [floor * mean for mean in means])
    change, reach = (
        means[1] - means[0],
        error * student_t_quantile(SignificanceLimits.alpha, freedom),
    )
    low, high, p = change - reach, change + reach, two_sided_p(change / error, freedom)
    is_far = np.min([side.min(axis=0) for side in sides], axis=0) > 0
    is_far &= np.maximum(*means) > MeanChangesLimits.far * np.minimum(*means)
    if min(map(len, sides)) >= MeanChangesLimits.enough and is_far.any():
        # What the ratio tells better, in some of the columns.
        near, far, p_of_ratio = _of_ratio(variances, means, floor)
        better, rises = is_far & (p_of_ratio < p), means[1] > means[0]
        better &= np.isfinite(near) & np.isfinite(far)
        low = np.where(better, np.maximum(low, np.where(rises, near, -far)), low)
        high = np.where(better, np.minimum(high, np.where(rises, far, -near)), high)
        p = np.where(better, p_of_ratio, p)
    most = np.full(low.shape, _MAX_FREEDOM)
    least = np.hypot(*[floor * mean for mean in means]) * student_t_quantile(
        SignificanceLimits.alpha, most
    )
    if min(map(len, sides)) >= MeanChangesLimits.enough:
        # Levels wander within what was measured, and runs differ by the floor; where sides do not
        # overlap, that alone is no proof of a change.
        ends = [(side.min(axis=0), side.max(axis=0)) for side in sides]
        low = np.maximum(low, np.minimum(ends[1][0] - ends[0][1], 0.0) - least)
        high = np.minimum(high, np.maximum(ends[1][1] - ends[0][0], 0.0) + least)
    # Intervals within what measurements show where the sides are apart beyond the floor.
    are_apart, near, far = apart(sides[0], sides[1], least)
    return (
        np.where(are_apart, np.maximum(low, np.minimum(near, far)), low),
        np.where(are_apart, np.minimum(high, np.maximum(near, far)), high),
        p,
    )


def _of_ratio(
    variances: Sequence[tuple[Floats, Floats]], means: Sequence[Floats], floor: float
) -> tuple[Floats, Floats, Floats]:
    """The least and most change by the ratio of the means, and the chance of such by noise.

    Noise grows with what is measured, so no difference is ever large against that of the larger
    side, however many times the other it is.  The logarithm of a mean has its relative error, which
    is of one kind on both sides: both tell how well it is known.
    """
    relative = [
        (variance / mean**2, freedom)
        for (variance, freedom), mean in zip(variances, means, strict=True)
    ]
    error, freedom = _error(relative, [np.full_like(mean, floor) for mean in means])
    freedom = np.maximum(freedom, variances[0][1] + variances[1][1])
    small, large = np.minimum(*means), np.maximum(*means)
    reach = error * student_t_quantile(SignificanceLimits.alpha, freedom)
    chance = two_sided_p(np.log(large / small) / error, freedom)
    return large * np.exp(-reach) - small, large * np.exp(reach) - small, chance


def _error(
    variances: Sequence[tuple[Floats, Floats]], floors: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """Standard error of the difference of means, and its degrees of freedom.

    From the variance of each mean, with its own degrees.  Welch and Satterthwaite; the floor is
    known, so it has as many as there can be.
    """
    floor_variance = sum((floor**2 for floor in floors), np.zeros(floors[0].shape))
    # Scaled by the larger one, or squares of very small or large variances would not be numbers.
    largest = np.maximum(np.maximum(variances[0][0], variances[1][0]), floor_variance)
    scale = np.where(largest > 0, largest, 1.0)
    total = (variances[0][0] + variances[1][0] + floor_variance) / scale
    below = sum((variance / scale) ** 2 / freedom for variance, freedom in variances)
    freedom = np.where(below > 0, total**2 / np.where(below > 0, below, 1.0), _MAX_FREEDOM)
    return np.sqrt(total * scale), np.minimum(freedom, _MAX_FREEDOM)


class MeanChanges(msgspec.Struct, frozen=True, eq=False):
    """How means changed, for one or many columns of measurements.

    `p` is below ALPHA exactly where the interval excludes 0; then `delta` and `calm_delta` have one
    sign, that of the interval.
    """

    delta: Floats
    """Change of the plain mean."""
    calm_delta: Floats
    """The same without isolated outliers, which is what is tested."""
    low: Floats
    """95 % interval of the change; it always holds `delta`.  NaN with fewer than two rows."""
    high: Floats
    p: Floats
    """Two-sided; 1 where outliers turn the change round.  NaN with fewer than two rows on a
    side."""


@QUIETLY
def mean_changes(
    base: Floats, new: Floats, *, floor: float = MeanChangesLimits.floor, neighbours: bool = True
) -> MeanChanges:
    """Changes of the mean of every column; rows are measurements in the order they were made.

    Isolated outliers do not count for the interval and p, levels that wander do, unless sides are
    `apart`.  `neighbours` says whether it counts how alike these are, or only the slow part of the
    scatter.
    """
    delta = column_means(new) - column_means(base)
    if min(len(base), len(new)) < 2:
        unknown = np.full(delta.shape, np.nan)
        return MeanChanges(delta, delta, unknown, unknown, unknown)
    sides = without_outliers(base, new)
    calm = column_means(sides[1]) - column_means(sides[0])
    low, high, chance = intervals(sides, floor, neighbours=neighbours)
    low, high = np.minimum(low, delta), np.maximum(high, delta)
    # What outliers turn round is no change, nor is one whose interval holds 0 by its last digit.
    agree = (np.sign(calm) == np.sign(delta)) & (calm != 0)
    is_change = ((low > 0) | (high < 0)) & agree
    p = np.where(agree, chance, 1.0)
    return MeanChanges(
        delta,
        calm,
        np.where(is_change, low, np.minimum(low, 0.0)),
        np.where(is_change, high, np.maximum(high, 0.0)),
        np.where(
            is_change,
            np.minimum(p, np.nextafter(SignificanceLimits.alpha, 0)),
            np.maximum(p, SignificanceLimits.alpha),
        ),
    )

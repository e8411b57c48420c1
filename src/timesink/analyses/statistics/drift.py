"""Whether means of measurements that follow each other differ, and the levels they go through.

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
from itertools import pairwise
from math import sqrt

import msgspec
import numpy as np

from timesink.analyses.statistics import (
    ALPHA,
    MAD_TO_SIGMA,
    QUIETLY,
    column_means,
    scaled_mad,
    student_t_quantile,
    two_sided_p,
)
from timesink.model.intervals import Flags, Floats

# Levels that measurements stay at for a while, and how they begin.

_MIN_NOISE = 0.005
"""Part of the median that is noise, however alike neighbours are."""
_CRITICAL = 4.0
"""Standard errors between two levels; the largest of all places to cut is far out by chance."""
_SHORTEST = 2
"""Measurements of a level: one alone is an outlier."""
_WARM = 1.2
"""Measurements of a warm-up are this many times as large as later ones ..."""
_OFTEN = 0.9
"""... of which nine in ten are smaller than this one ..."""
_FAR_OUT = 5.0
"""... and this many spreads away from what is usual later."""
_MAX_WARM = 0.2
"""What lasts longer than this part of a run is a level of its own."""


class Segment(msgspec.Struct, frozen=True):
    """Measurements beside each other that are at one level: from `start` up to `end`."""

    start: int
    end: int
    level: float
    """Their mean."""

    @property
    def length(self) -> int:
        """How many they are."""
        return self.end - self.start


def segments(values: Floats) -> list[Segment]:
    """The levels measurements go through, in order; one where they stay at it.

    Cut in two where the levels on both sides are farthest apart, in units of the noise between
    neighbours, and again, as long as they are apart.
    """
    noise = 0.0
    if len(values) > 1:
        # From steps between neighbours: few of them change level.
        steps = MAD_TO_SIGMA * float(np.median(np.abs(np.diff(values)))) / sqrt(2)
        noise = max(steps, _MIN_NOISE * abs(float(np.median(values))))
    cuts, open_stretches = [], [(0, len(values))]
    while open_stretches:
        start, end = open_stretches.pop()
        cut = _best_cut(values[start:end], noise)
        if cut:
            cuts.append(start + cut)
            open_stretches += [(start, start + cut), (start + cut, end)]
    ends = [0, *sorted(cuts), len(values)]
    return [
        Segment(start, end, float(values[start:end].mean()))
        for start, end in pairwise(ends)
        if end > start
    ]


def _best_cut(values: Floats, noise: float) -> int:
    """Where levels are farthest apart; 0 where they are not apart."""
    number = len(values)
    if number < 2 * _SHORTEST or not noise:
        return 0
    before = np.arange(_SHORTEST, number - _SHORTEST + 1)
    after = number - before
    sums = np.cumsum(values)
    gap = np.abs(sums[before - 1] / before - (sums[-1] - sums[before - 1]) / after)
    apart = gap / np.sqrt(1 / before + 1 / after)
    best = int(np.argmax(apart))
    return int(before[best]) if apart[best] > _CRITICAL * noise else 0


def regime_p(values: Floats, is_new: Flags) -> float | None:
    """Chance that levels of one run, each counted once, are as far apart on two parts of it.

    `values` are in the order they were measured, whichever part they belong to.  Where a level
    begins is no choice of the parts: two levels, one in each half, are two measurements and tell
    nothing.  None where all values are at one level.
    """
    pieces = segments(values)
    if len(pieces) < 2:
        return None
    levels = np.array([piece.level for piece in pieces])
    weights = np.array([piece.length for piece in pieces]) / len(values)
    # Which part of either side is at each level.
    counts = [
        np.array([side[piece.start : piece.end].sum() for piece in pieces], dtype=np.float64)
        for side in (is_new, ~is_new)
    ]
    parts = [count / max(1.0, float(count.sum())) for count in counts]
    change = abs(float((levels * (parts[0] - parts[1])).sum()))
    spread = float((weights * (levels - (weights * levels).sum()) ** 2).sum())
    variance = spread / (1 - float((weights**2).sum()))
    error = np.sqrt(variance * sum(float((part**2).sum()) for part in parts))
    freedom = np.array([len(pieces) - 1.0])
    return float(two_sided_p(np.array([change / error]), freedom)[0]) if error else 1.0


def warm_up(values: Floats) -> int:
    """How many of the first measurements are a warm-up, each larger than what is usual later."""
    most = int(_MAX_WARM * len(values))
    if not most:
        return 0
    later = values[most:]
    usual = float(np.median(later))
    spread = scaled_mad(later, usual)
    # What happens again and again later on is no warm-up either.
    often = float(np.quantile(later, _OFTEN))
    is_usual = values <= max(_WARM * often, usual + _FAR_OUT * spread)
    first = int(np.argmax(is_usual))
    return first if first <= most else 0


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

ENOUGH = 8
"""Measurements a side needs: fewer do not show how far they wander."""
_FAR = 1.6
"""Positive means of which one is this many times the other are judged by their ratio as well: runs
without a change are hardly ever so far from each other, whatever they are like ..."""
_OF_SPAN = 0.25
"""... so that a gap of this part of what both sides span is enough."""


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
    is_far = is_ratio & (np.maximum(*means) > _FAR * np.minimum(*means))
    spans = np.where(is_far, _OF_SPAN, 1.0) * spans
    enough = min(len(base), len(new)) >= ENOUGH
    return enough & (gap > spans) & (np.abs(near) > least), near, far


# How far the mean of measurements that follow each other can be trusted.
#
# Neighbouring cycles resemble each other, and levels wander: thirty of them are not thirty
# independent measurements.  Two estimates, of which the larger counts, as each is too small where
# the other is not:
#
# * how alike neighbours are, and what scatter the mean has if each measurement resembles the one
#   before so (a first-order autoregression);
# * the slow part of the scatter, its projections on the first few cosines (Mueller; Lazarus, Lewis
#   and Stock): a level that wanders shows there, however long it lasts.
#
# Few measurements cannot tell how alike neighbours are: twelve seem less alike than they are, and
# four tell nothing.  So likeness is estimated from both sides together, corrected for the bias of
# short sequences, and begins with what is common.

_MIN_COSINES = 3
"""More see less of what is slow; fewer have so wide an interval that 30 % more is no change.  Long
runs can afford more: 0.4 n^(2/3), the published choice for correlations of about 0.7."""
_COMMON = 0.8
"""How alike neighbouring cycles are taken to be before any is seen ..."""
_COMMON_WEIGHT = 6.0
"""... which is believed as if this many cycles had told so.

Both were chosen among 324 ways to estimate, for the fewest false alarms on made-up noise among
those that still find a fifth more in six cycles and the known faults in recordings.  Weighing all
likenesses by how well they fit raises about half as many false alarms in few cycles, and misses
two of those faults, in runs that go through levels."""
_MAX_AUTOCORRELATION = 0.95
"""What is more alike is a trend, of which the mean cannot be known at all."""
_MIN_LEFT = 0.05
"""Part of the scatter that is left around the mean of the sequence at least."""


def cosines(measurements: int) -> int:
    """How many cosines the slow part of the scatter is judged by."""
    usual = round(0.4 * float(np.cbrt(measurements)) ** 2)
    return max(1, min(measurements - 1, max(_MIN_COSINES, usual)))


def pooled_autocorrelation(sides: Sequence[Floats]) -> Floats:
    """How much a measurement resembles the one before, 0 to 1, per column of all sides together."""
    numbers = [len(side) for side in sides]
    # The bias of the lag-one correlation (Marriott and Pope), to the first order.
    correlations = [
        number * correlation + (1 + 4 * correlation)
        for number, correlation in zip(numbers, map(_lag_one, sides), strict=True)
    ]
    total = sum(correlations) + _COMMON_WEIGHT * _COMMON
    return np.asarray(np.clip(total / (sum(numbers) + _COMMON_WEIGHT), 0.0, _MAX_AUTOCORRELATION))


def lag1_autocorrelation(sides: Sequence[Floats]) -> float:
    """Correlation of neighbours in sequences together, without the bias of short ones; may be < 0.

    >>> round(lag1_autocorrelation([np.repeat([1.0, 2.0, 1.5, 0.5], 5)]), 2)
    0.97
    """
    numbers = [len(side) for side in sides]
    sums = [
        number * rho + (1 + 4 * rho)
        for number, rho in zip(numbers, (float(_lag_one(side)) for side in sides), strict=True)
    ]
    return sum(sums) / sum(numbers) if numbers else 0.0


def steps_per_independent_step(steps: int, autocorrelation: Floats) -> Floats:
    """How many of so many steps tell as much about their mean as one that is independent.

    `autocorrelation` is how much a step resembles the one before (`pooled_autocorrelation`).

    >>> steps_per_independent_step(8, np.array([0.0, 0.5])).round(2)
    array([1.  , 2.5])
    """
    lost = autocorrelation * (1 - autocorrelation**steps) / (steps * (1 - autocorrelation) ** 2)
    return np.asarray(1 + 2 * (autocorrelation / (1 - autocorrelation) - lost))


def variance_of_mean(values: Floats, autocorrelation: Floats) -> tuple[Floats, Floats]:
    """Variance of the mean of every column, of two rows or more, and its degrees of freedom.

    `autocorrelation` is how much a measurement resembles the one before (`pooled_autocorrelation`).
    """
    number = len(values)
    centred = values - values.mean(axis=0)
    stand_for_one = steps_per_independent_step(number, autocorrelation)
    left = np.maximum(number - stand_for_one, _MIN_LEFT * number)
    of_neighbours = (centred**2).sum(axis=0) / number * stand_for_one / left
    slow = _slow_part(centred) / number
    freedom = np.maximum(1.0, number / stand_for_one - 1)
    known_by = np.where(slow > of_neighbours, np.minimum(freedom, cosines(number)), freedom)
    return np.maximum(of_neighbours, slow), known_by


def _slow_part(centred: Floats) -> Floats:
    """Mean square of the projections on the first cosines.

    They are half the Fourier transform of the sequence and its mirror image: a matrix of waves for
    a hundred thousand measurements would not fit into memory.
    """
    number = len(centred)
    first = np.arange(1, cosines(number) + 1)
    both = np.fft.rfft(np.concatenate([centred, centred[::-1]]), axis=0)[first]
    turned = both * np.exp(-0.5j * np.pi * first / number)[:, None]
    return np.asarray(((turned.real / 2) ** 2).mean(axis=0) * 2 / number)


def _lag_one(values: Floats) -> Floats:
    """Correlation of neighbours; 0 where nothing scatters."""
    centred = values - values.mean(axis=0)
    squares = (centred**2).sum(axis=0)
    together = (centred[1:] * centred[:-1]).sum(axis=0)
    return np.asarray(np.where(squares > 0, together / np.where(squares > 0, squares, 1.0), 0.0))


# Between which bounds the change of a mean is, for measurements that follow each other.

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
    change, reach = means[1] - means[0], error * student_t_quantile(ALPHA, freedom)
    low, high, p = change - reach, change + reach, two_sided_p(change / error, freedom)
    is_far = np.min([side.min(axis=0) for side in sides], axis=0) > 0
    is_far &= np.maximum(*means) > _FAR * np.minimum(*means)
    if min(map(len, sides)) >= ENOUGH and is_far.any():
        # What the ratio tells better, in some of the columns.
        near, far, p_of_ratio = _of_ratio(variances, means, floor)
        better, rises = is_far & (p_of_ratio < p), means[1] > means[0]
        better &= np.isfinite(near) & np.isfinite(far)
        low = np.where(better, np.maximum(low, np.where(rises, near, -far)), low)
        high = np.where(better, np.minimum(high, np.where(rises, far, -near)), high)
        p = np.where(better, p_of_ratio, p)
    most = np.full(low.shape, _MAX_FREEDOM)
    least = np.hypot(*[floor * mean for mean in means]) * student_t_quantile(ALPHA, most)
    if min(map(len, sides)) >= ENOUGH:
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
    reach = error * student_t_quantile(ALPHA, freedom)
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


_FLOOR = 0.01
"""Part of its mean by which a run differs from the next anyway, as three recordings of the same
training do.  No more cycles help against that: the smallest change that is ever found is 2.8 %."""
_WINDOW = 5
"""Measurements whose median says what is usual around one of them."""
_SPREADS = 3.0
"""An outlier is this many spreads from there, "spread" as of a normal distribution ..."""
_MIN_STEP = 0.05
"""... and by this part of it at least."""
_RARE = 0.1
"""What happens more often than this is no outlier but what the measurements are like."""


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
    base: Floats, new: Floats, *, floor: float = _FLOOR, neighbours: bool = True
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
        np.where(is_change, np.minimum(p, np.nextafter(ALPHA, 0)), np.maximum(p, ALPHA)),
    )


def without_outliers(*sides: Floats) -> tuple[Floats, ...]:
    """Columns with isolated outliers moved to the edge of what is usual around them.

    A level that lasts is none.  Nor is what happens in more than a tenth of the rows of a side:
    then that column is left as it is on every side.
    """
    clipped = [_clip_outliers(side) for side in sides]
    often = [
        (new != old).sum(axis=0) > max(1, int(_RARE * len(old)))
        for old, new in zip(sides, clipped, strict=True)
    ]
    is_frequent = np.any(often, axis=0)
    return tuple(np.where(is_frequent, old, new) for old, new in zip(sides, clipped, strict=True))


def _clip_outliers(values: Floats) -> Floats:
    if len(values) < _WINDOW:
        return values
    # Places of each measurement and those around it; at the ends, of the first and the last.
    number = len(values)
    first = np.clip(np.arange(number) - _WINDOW // 2, 0, number - _WINDOW)
    around = np.median(values[first[:, None] + np.arange(_WINDOW)], axis=1)
    spread = MAD_TO_SIGMA * np.median(np.abs(values - around), axis=0)
    reach = np.maximum(_SPREADS * spread, _MIN_STEP * np.abs(around))
    return np.clip(values, around - reach, around + reach)

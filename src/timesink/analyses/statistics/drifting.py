"""Whether means of measurements that follow each other differ.

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

from dataclasses import dataclass

import numpy as np

from timesink.analyses.statistics.discovery import ALPHA
from timesink.analyses.statistics.mean_intervals import intervals
from timesink.analyses.statistics.moments import NORMAL, QUIETLY
from timesink.model.arrays import Floats

_FLOOR = 0.01
"""Part of its mean by which a run differs from the next anyway, as three recordings of the same
training do.  No more cycles help against that: the smallest change that is ever found is 2.8 %."""
_WINDOW = 5
"""Measurements whose median says what is usual around one of them."""
_SPREADS = 3.0
"""An outlier is this many spreads from there, "spread" as of a normal distribution ..."""
_LEAST_STEP = 0.05
"""... and by this part of it at least."""
_RARE = 0.1
"""What happens more often than this is no outlier but what the measurements are like."""


@dataclass(frozen=True, slots=True, eq=False)
class MeanChanges:
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
    delta = _means(new) - _means(base)
    if min(len(base), len(new)) < 2:
        unknown = np.full(delta.shape, np.nan)
        return MeanChanges(delta, delta, unknown, unknown, unknown)
    sides = without_outliers(base, new)
    calm = _means(sides[1]) - _means(sides[0])
    found = intervals(sides, floor, neighbours=neighbours)
    low, high = np.minimum(found.low, delta), np.maximum(found.high, delta)
    # What outliers turn round is no change, nor is one whose interval holds 0 by its last digit.
    agree = (np.sign(calm) == np.sign(delta)) & (calm != 0)
    is_change = ((low > 0) | (high < 0)) & agree
    p = np.where(agree, found.p, 1.0)
    return MeanChanges(
        delta,
        calm,
        np.where(is_change, low, np.minimum(low, 0.0)),
        np.where(is_change, high, np.maximum(high, 0.0)),
        np.where(is_change, np.minimum(p, np.nextafter(ALPHA, 0)), np.maximum(p, ALPHA)),
    )


# -- outliers --------------------------------------------------------------------------------------


def without_outliers(*sides: Floats) -> tuple[Floats, ...]:
    """Columns with isolated outliers moved to the edge of what is usual around them.

    A level that lasts is none.  Nor is what happens in more than a tenth of the rows of a side:
    then that column is left as it is on every side.
    """
    clipped = [_clipped(side) for side in sides]
    often = [
        (new != old).sum(axis=0) > max(1, int(_RARE * len(old)))
        for old, new in zip(sides, clipped, strict=True)
    ]
    kept = np.any(often, axis=0)
    return tuple(np.where(kept, old, new) for old, new in zip(sides, clipped, strict=True))


def _clipped(values: Floats) -> Floats:
    if len(values) < _WINDOW:
        return values
    # Places of each measurement and those around it; at the ends, of the first and the last.
    number = len(values)
    first = np.clip(np.arange(number) - _WINDOW // 2, 0, number - _WINDOW)
    around = np.median(values[first[:, None] + np.arange(_WINDOW)], axis=1)
    spread = NORMAL * np.median(np.abs(values - around), axis=0)
    reach = np.maximum(_SPREADS * spread, _LEAST_STEP * np.abs(around))
    return np.clip(values, around - reach, around + reach)


def _means(values: Floats) -> Floats:
    return np.asarray(values.mean(axis=0) if len(values) else np.zeros(values.shape[1:]))

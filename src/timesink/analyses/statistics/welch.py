"""Whether two means differ, judged by Welch's test from number, mean and spread alone."""

from __future__ import annotations

import numpy as np

from timesink.analyses.statistics.moments import Moments
from timesink.analyses.statistics.student import two_sided_limit, two_sided_p
from timesink.model.arrays import Floats


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


def welch_interval(
    base: Moments, new: Moments, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Interval of the change of the mean of the only group; None with fewer than two on a side."""
    if min(base.count[0], new.count[0]) < 2:
        return None
    error, freedom = _error(base, new)
    change = float(new.mean[0] - base.mean[0])
    reach = float(error[0]) * two_sided_limit(1 - confidence, float(freedom[0]))
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

"""Exact bounds for few steps: what their order tells, whatever their noise is like.

A schedule of torch.profiler records three to six steps.  So few show neither how far their level
wanders nor the shape of their noise, and bounds from means are as wide as anything.  Their order
needs none of that: where both runs are the same, and steps can be exchanged, each way to deal them
out to both runs is as probable as any other.  Of n and m steps there are C(n + m, n) ways, two of
which put all steps of one run above all of the other, so that happens by chance with
p = 2 / C(n + m, n):

    steps a side    2      3      4      5      6       7       8
    p, at best      0.33   0.1    0.029  0.0079 0.0022  0.00058 0.00016

Below 0.05 is what a 95 % interval decides: four a side are the fewest, or three beside five.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import count
from math import comb, exp, sqrt
from statistics import NormalDist

import msgspec
import numpy as np

from timesink.analyses.statistics.autocorrelation import (
    pooled_autocorrelation,
    steps_per_independent_step,
)
from timesink.analyses.statistics.rank_tests import lower_tails
from timesink.analyses.thresholds import ExactLimits, MeanChangesLimits, SignificanceLimits
from timesink.model.intervals import Floats


class SeparatedSteps(msgspec.Struct, frozen=True):
    """All steps of one run are longer than all of the other."""

    p_value: float
    """Chance of that by exchange alone, two-sided."""
    low: float
    high: float
    """95 % interval of the ratio of a new step to a base step, widened by `RUN_FLOOR`."""


def least_p(base: int, new: int) -> float:
    """The smallest two-sided p-value that so many steps a side can have.

    >>> [round(least_p(steps, steps), 4) for steps in (2, 3, 4, 6)]
    [0.3333, 0.1, 0.0286, 0.0022]
    """
    if min(base, new) >= ExactLimits.many_steps:
        return 0.0
    return min(1.0, 2 / comb(base + new, base))


def fewest_steps(alpha: float = SignificanceLimits.alpha) -> int:
    """Steps a side from which on `least_p` is below `alpha`.

    >>> fewest_steps(0.05), fewest_steps(0.01), fewest_steps(0.001)
    (4, 5, 7)
    """
    return next(steps for steps in count(1) if least_p(steps, steps) < alpha)


def ratio_limits(
    base: Floats, new: Floats, alpha: float = SignificanceLimits.alpha
) -> tuple[float, float] | None:
    """Limits of the ratio of a new step to a base step that Mann-Whitney's test does not reject.

    They are order statistics of all ratios between a step of either side (Hodges and Lehmann), and
    hold with a probability of 1 - `alpha` or more for noise of any shape, of steps that can be
    exchanged.  None where so few steps have no limits at all.

    >>> ratio_limits(np.array([10.0, 10, 10, 10]), np.array([11.0, 12, 12, 15]))
    (1.1, 1.5)
    >>> ratio_limits(np.array([10.0, 10, 10]), np.array([11.0, 12, 12])) is None
    True
    """
    rank = _critical_wins(len(base), len(new), alpha)
    return None if rank is None else _limits_at(base, new, rank)


def separated_steps(base: Floats, new: Floats) -> SeparatedSteps | None:
    """Whether all steps of one run are longer than all of the other, beyond noise.

    From `ENOUGH` steps a side on, steps count for as many as are independent of their neighbours,
    four at least; fewer do not show how much they resemble them.  None where steps overlap, are too
    few, or both runs may differ by no more than any two runs do.

    >>> base = np.array([75.5, 77.0, 76.2, 78.9, 80.1, 81.1])
    >>> new = np.array([100.0, 122.0, 166.0, 82.0, 107.0, 166.0])
    >>> change = separated_steps(base, new)
    >>> round(change.p_value, 4), round(change.low, 2), round(change.high, 2)
    (0.0022, 1.06, 2.22)
    >>> separated_steps(base[:3], new[:3]) is None
    True
    """
    base, new = (_spread_evenly(side) for side in (base, new))
    counts = len(base), len(new)
    if min(counts) < ExactLimits.min_a_side or min(base.min(), new.min()) <= 0:
        return None
    is_longer = bool(new.min() > base.max())
    if not is_longer and not base.min() > new.max():
        return None
    independent = _independent(base, new)
    wins = _critical_wins(*independent, SignificanceLimits.alpha)
    if wins is None:
        return None
    rank = wins * counts[0] * counts[1] // (independent[0] * independent[1])
    low, high = _limits_at(base, new, rank)
    low, high = low * exp(-ExactLimits.run_floor), high * exp(ExactLimits.run_floor)
    return SeparatedSteps(least_p(*independent), low, high) if low > 1 or high < 1 else None


def _independent(base: Floats, new: Floats) -> tuple[int, int]:
    counts = len(base), len(new)
    if min(counts) < MeanChangesLimits.enough:
        return counts
    sides = [np.log(side)[:, None] for side in (base, new)]
    autocorrelation = pooled_autocorrelation(sides)
    weights = [float(steps_per_independent_step(number, autocorrelation)[0]) for number in counts]
    # More steps never decide less than the fewest that do.
    fewest = fewest_steps()
    base_count, new_count = (
        max(fewest, int(number / weight)) for number, weight in zip(counts, weights, strict=True)
    )
    return base_count, new_count


def _spread_evenly(side: Floats) -> Floats:
    if len(side) <= ExactLimits.max_steps:
        return side
    return side[np.linspace(0, len(side) - 1, ExactLimits.max_steps).round().astype(np.int64)]


def _limits_at(base: Floats, new: Floats, rank: int) -> tuple[float, float]:
    ratios = np.sort((new[:, None] / base).ravel())
    return float(ratios[rank]), float(ratios[-1 - rank])


@lru_cache(maxsize=64)
def _critical_wins(base: int, new: int, alpha: float) -> int | None:
    """Most wins of the side with fewer at which Mann-Whitney's test rejects; None where none do."""
    if min(base, new) < 1 or least_p(base, new) >= alpha:
        return None
    if min(base, new) <= ExactLimits.max_counted:
        tails = lower_tails(min(base, new), max(base, new))
        return int(np.searchsorted(2 * tails, alpha)) - 1
    pairs = base * new
    error = sqrt(pairs * (base + new + 1) / 12)
    return int(pairs / 2 - 0.5 - NormalDist().inv_cdf(1 - alpha / 2) * error)

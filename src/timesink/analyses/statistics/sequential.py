"""Tests that are looked at again as measurements come: repeated intervals, and running sums.

A test that is asked after every pair of runs may err at any look, so each look has a part of the
chance.  A shift that is too small for single measurements adds up (Page's cumulative sum).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from timesink.analyses.statistics.robust import trimmed_estimate
from timesink.analyses.statistics.student_t import t_limit
from timesink.analyses.thresholds import SequentialLimits
from timesink.model.arrays import latest_true, prefix_sums
from timesink.model.intervals import Flags, Floats, Ints

_MAX_PAIRS = 100_000


class ChangeEstimate(NamedTuple):
    """A change as the difference of logarithms."""

    change: float
    reach: float
    """Half of its interval."""
    error: float
    """Its standard error."""


def paired_change(changes: Floats, order: Floats, chance: float) -> ChangeEstimate:
    """The change between the two measurements of each pair.

    `order` is 1 where the first of a pair was measured first, else -1.  Which one it was tells much
    of the change where the machine drifts.  `chance` is that of an error at this look.

    >>> estimate = paired_change(np.array([0.1, 0.11, 0.09, 0.1, 0.1]), np.ones(5), 0.01)
    >>> round(estimate.change, 3), round(estimate.reach, 3)
    (0.1, 0.015)
    """
    middle, error, freedom = trimmed_estimate(changes, SequentialLimits.trim)
    if len(changes) >= SequentialLimits.min_to_explain:
        estimate = _without_drift(changes, order)
        if estimate is not None:
            middle, error, freedom = estimate
    return ChangeEstimate(middle, error * t_limit(chance, freedom), error)


def _without_drift(changes: Floats, order: Floats) -> tuple[float, float, float] | None:
    """Changes without what the order of a pair explains of them; None where that is little."""
    centred = order - order.mean()
    squares = float(centred @ centred)
    if not squares:
        return None
    rest = changes - float(centred @ changes) / squares * order
    if rest.var() > (1 - SequentialLimits.explains) * changes.var():
        return None
    middle, error, freedom = trimmed_estimate(rest, SequentialLimits.trim)
    # What the order explains is an estimate as well.
    wider = sqrt(1 + len(changes) * float(order.mean()) ** 2 / squares)
    return middle, error * wider, max(freedom - 1, 1.0)


def unpaired_change(base: Floats, new: Floats, chance: float) -> ChangeEstimate | None:
    """The change between sides that were not measured in turn: all of one against all of the other.

    A single measurement is taken to scatter as those of the other side do (Welch otherwise).  None
    with fewer than two on the larger side.
    """
    few, many = sorted(map(len, (base, new)))
    if many < 2 or not few:
        return None
    levels = (base, new)
    estimates = [trimmed_estimate(level, SequentialLimits.trim) for level in levels]
    if few == 1:
        spread = trimmed_estimate(max(levels, key=len), SequentialLimits.trim)[1] * sqrt(many)
        estimates = [estimate if len(level) > 1 else (estimate[0], spread, inf)
                     for estimate, level in zip(estimates, levels, strict=True)]  # fmt: skip
    (base_level, base_error, base_free), (new_level, new_error, new_free) = estimates
    parts = base_error**2, new_error**2
    error = sqrt(sum(parts))
    freedom = min(base_free, new_free)
    if error and few > 1:
        freedom = error**4 / (parts[0] ** 2 / base_free + parts[1] ** 2 / new_free)
    return ChangeEstimate(new_level - base_level, error * t_limit(chance, freedom), error)


def pairs_until(
    scatter: float, reach: float, chance_at: Callable[[int], float], fewest: int, spare: float = 0.0
) -> int:
    """Pairs until an interval reaches no farther, with so many standard errors to spare.

    `chance_at` is the chance of an error at the look after so many pairs.

    >>> pairs_until(1.0, 0.5, lambda pairs: 0.05, 5), pairs_until(1.0, 0.5, lambda pairs: 0.01, 5)
    (19, 32)
    """

    def reaches(number: int) -> bool:
        freedom = number - 2 * int(SequentialLimits.trim * number) - 1
        error, limit = scatter / sqrt(number), t_limit(chance_at(number), freedom)
        # The error is an estimate as well: of few pairs it is often too large.
        return error * (limit + spare * sqrt(1 + limit**2 / (2 * freedom))) <= reach

    few, many = fewest - 1, fewest
    while not reaches(many):
        few, many = many, 2 * many
        if many > _MAX_PAIRS:
            return _MAX_PAIRS
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if reaches(middle) else (middle, many)
    return many


# -- running sums ----------------------------------------------------------------------------------


def running_sums(steps: Floats, total: float, most: float) -> Floats:
    """Sums of what exceeds, never below zero, and bounded so that they end soon after a shift.

    >>> running_sums(np.array([1.0, 2.0, -4.0, 1.0]), 0.0, 2.5).tolist()
    [1.0, 2.5, 0.0, 1.0]
    """
    walked = np.cumsum(np.concatenate([[total], steps]))
    sums: Floats = (walked - np.minimum(np.minimum.accumulate(walked), 0.0))[1:]
    if sums.max(initial=0.0) <= most:
        return sums
    # Nothing is known beforehand of where the upper bound holds; it seldom does.
    bounded: list[float] = []
    add = bounded.append
    for step in steps.tolist():
        total += step
        if total < 0:
            total = 0.0
        elif total > most:
            total = most
        add(total)
    return np.array(bounded)


def sum_onsets(sums: Floats) -> Ints:
    """Where each sum began to rise: the place after the last one before it that is zero.

    >>> sum_onsets(np.array([1.0, 0.0, 1.0, 2.0, 3.0])).tolist()
    [0, 0, 2, 2, 2]
    """
    return latest_true(np.append(True, sums[:-1] <= 0)[: len(sums)])


def sum_peaks(sums: Floats) -> Floats:
    """The highest of each stretch above zero.

    >>> sum_peaks(np.array([1.0, 3.0, 2.0, 0.0, 1.0])).tolist()
    [3.0, 1.0]
    """
    first = np.flatnonzero((sums > 0) & np.append(True, sums[:-1] <= 0)[: len(sums)])
    return np.maximum.reduceat(sums, first) if len(first) else np.zeros(0)


def several(beyond: Flags, least: int, last: int) -> Flags:
    """Where so many at least of the last few were beyond; the first few only lead in.

    >>> several(np.array([0, 0, 0, 1, 1, 0, 1, 0], dtype=bool), 3, 5).tolist()
    [False, False, True, True]
    """
    counts = prefix_sums(beyond)
    return np.asarray(counts[last:] - counts[:-last] >= least)

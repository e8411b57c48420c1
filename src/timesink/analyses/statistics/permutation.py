"""Whether the middle of two sets of measurements differs, judged by exchanging them."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from timesink.analyses.statistics.robust import trimmed_means
from timesink.analyses.thresholds import PermutationLimits
from timesink.model.intervals import Floats, Ints

_MAX_NUMBERS = 200_000
"""Numbers drawn; long runs get by with fewer draws."""


_SEED = 20_011
"""The same measurements give the same answer."""


def permutation_p(left: Floats, right: Floats) -> float | None:
    """Two-sided p-value of the change of the trimmed mean; None with fewer than four on a side."""
    if min(len(left), len(right)) < PermutationLimits.min:
        return None
    left, right = _stretches(left, right)
    both = np.concatenate([left, right])
    few = min(len(left), len(right))
    # Which side is exchanged does not matter, so it is the smaller one.
    observed = abs(trimmed_mean(left) - trimmed_mean(right))
    orders, is_exact = _choices(len(both), few)
    drawn = both[orders]
    changes = np.abs(
        trimmed_means(drawn[:, :few], PermutationLimits.trim)
        - trimmed_means(drawn[:, few:], PermutationLimits.trim)
    )
    # Sums in another order may differ in their last digits.
    as_far = int((changes >= observed * (1 - 1e-12) - 1e-12 * np.abs(both).max()).sum())
    return as_far / len(changes) if is_exact else (as_far + 1) / (len(changes) + 1)


def trimmed_mean(values: Floats) -> float:
    """Mean of the middle three fifths."""
    return float(trimmed_means(values[None, :], PermutationLimits.trim)[0])


def _stretches(*sides: Floats) -> list[Floats]:
    """Means of equally many neighbours on both sides; what is left over at the end goes.

    Means of more of them on the longer side would scatter less than those on the other.
    """
    few, many = sorted(map(len, sides))
    size = max(
        1, min(-(-many // PermutationLimits.max_measurements), few // (2 * PermutationLimits.min))
    )
    means = [side[: len(side) // size * size].reshape(-1, size).mean(axis=1) for side in sides]
    # Where a side is still too long, measurements spread evenly over it.
    most = PermutationLimits.max_measurements
    return [
        side
        if len(side) <= most
        else side[np.linspace(0, len(side) - 1, most).round().astype(np.int64)]
        for side in means
    ]


def _choices(number: int, few: int) -> tuple[Ints, bool]:
    """Places for both sides: orders of all places of which the first `few` are one side."""
    if comb(number, few) <= PermutationLimits.exact:
        sides = np.array(list(combinations(range(number), few)))
        taken = np.zeros((len(sides), number), dtype=bool)
        np.put_along_axis(taken, sides, values=True, axis=1)
        return np.argsort(~taken, axis=1, kind="stable"), True
    draws = max(PermutationLimits.min_draws, min(PermutationLimits.draws, _MAX_NUMBERS // number))
    random = np.random.default_rng(_SEED).random((draws, number))
    return np.argsort(random, axis=1), False

"""Exact bounds for few steps, beside all ways to deal them out."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

from timesink.analyses.statistics.exact import fewest_steps, least_p, ratio_limits, separated_steps

BASE = np.array([75.5, 77.0, 76.2, 78.9, 80.1, 81.1])
LATE = np.array([100.0, 122.0, 166.0, 82.0, 107.0, 166.0])


@pytest.mark.parametrize(("alpha", "steps"), [(0.05, 4), (0.01, 5), (0.005, 6), (0.001, 7)])
def test_so_few_steps_a_side_decide_at_a_level(alpha: float, steps: int):
    assert fewest_steps(alpha) == steps
    assert least_p(steps, steps) < alpha <= least_p(steps - 1, steps - 1)


@pytest.mark.parametrize(("base", "new"), [(4, 4), (5, 5), (3, 5), (6, 4)])
def test_limits_hold_the_true_ratio_in_95_of_100_orders(base: int, new: int):
    """Whatever lengths there are: of equal runs, the limits miss a ratio of one that seldom."""
    lengths = np.exp(np.random.default_rng(5).standard_cauchy(base + new) / 10)
    missed = 0
    for places in combinations(range(base + new), base):
        is_base = np.isin(np.arange(base + new), places)
        limits = ratio_limits(lengths[is_base], lengths[~is_base])
        assert limits is not None
        missed += not limits[0] <= 1 <= limits[1]
    assert 0 < missed / comb(base + new, base) < 0.05


def test_separated_steps_are_told_in_either_direction():
    slower, faster = separated_steps(BASE, LATE), separated_steps(LATE, BASE)
    assert slower is not None
    assert faster is not None
    assert slower.p_value == faster.p_value == pytest.approx(2 / comb(12, 6))
    assert (faster.low, faster.high) == pytest.approx((1 / slower.high, 1 / slower.low))
    assert 1.05 < slower.low < LATE.mean() / BASE.mean() < slower.high


@pytest.mark.parametrize(
    ("base", "new"),
    [
        (BASE[:3], LATE[:3]),
        (BASE, np.append(LATE, 80.0)),
        (BASE, 1.01 * BASE.max() + 1e-3 * np.arange(6)),
        (BASE[:2], np.tile(LATE, 9)),
        (np.zeros(6), LATE),
    ],
    ids=["too few", "overlapping", "as any two runs", "two beside many", "no lengths"],
)
def test_other_steps_are_not(base: np.ndarray, new: np.ndarray):
    assert separated_steps(base, new) is None


@pytest.mark.parametrize("steps", [4, 7, 8, 12, 40, 2000])
def test_more_steps_never_decide_less(steps: int):
    level = np.linspace(0.8, 1.2, steps) * (1 + 0.1 * np.sin(np.arange(steps)))
    assert separated_steps(level, 2.2 * level) is not None

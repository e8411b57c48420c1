"""Changes that are plain although the level of the measurements wanders."""

from __future__ import annotations

import numpy as np
import pytest

from timesink.analyses.statistics.mean_changes import apart, mean_changes

RISING = np.linspace(1.0, 1.6, 12)[:, None]


def two_levels(number: int, seed: int) -> np.ndarray:
    """Measurements at one level, then at another that is a third higher, with some noise."""
    noise = 1 + 0.05 * np.random.default_rng(seed).normal(size=number)
    return (noise * np.where(np.arange(number) < number // 2, 100.0, 140.0))[:, None]


@pytest.mark.parametrize("factor", [5.0, 8.0, 20.0])
def test_a_change_far_beyond_the_levels_is_one_though_half_a_run_is_at_each(factor: float):
    base, new = two_levels(30, 1), factor * two_levels(30, 2)
    for changes, sign in ((mean_changes(base, new), 1), (mean_changes(new, base), -1)):
        assert changes.p[0] < 0.05
        near, far = sorted((sign * changes.low[0], sign * changes.high[0]))
        assert 0 < near < sign * changes.delta[0] < far < 2 * factor * 140


def test_levels_that_meet_are_no_plain_change():
    assert mean_changes(two_levels(30, 1), 1.4 * two_levels(30, 2)).p[0] > 0.05


def are_apart(rising: np.ndarray, *factors: float) -> list[bool]:
    return [bool(apart(rising, factor * rising, np.zeros(1))[0][0]) for factor in factors]


def test_the_nearest_two_must_be_farther_apart_than_both_sides_span():
    assert are_apart(np.linspace(1.0, 1.1, 12)[:, None], 1.2, 1.3, 1.35) == [False, False, True]


def test_a_quarter_of_that_is_enough_where_one_mean_is_far_from_the_other():
    assert are_apart(RISING, 1.7, 2, 2.1, 9) == [False, False, True, True]


def test_nearly_twice_as_long_in_19_and_9_cycles_is_no_noise():
    """Cycles of a crowded host become longer and longer: the interval was -617 to +781 %."""
    base = np.tile([1.0, 1.05, 1.1, 1.05, 0.98], 4)[:19, None]
    new = np.array([[1.4], [1.5], [1.5], [1.6], [1.9], [2.1], [2.2], [2.3], [2.3]])
    changes = mean_changes(base, new)
    assert changes.p[0] < 0.05
    assert 0.2 < changes.low[0] < changes.high[0] < 1.5


def test_no_interval_reaches_far_beyond_what_was_measured():
    new = np.array([[0.9], [0.9], [1.0], [1.2], [1.5], [2.0], [2.4], [2.6], [2.6]])
    changes = mean_changes(RISING, new)
    assert changes.p[0] >= 0.05
    assert -0.8 < changes.low[0] < 0 < changes.high[0] < 1.7


def test_few_measurements_do_not_show_how_far_they_wander():
    assert not apart(RISING[:7], 100 * RISING[:7], np.zeros(1))[0][0]


def test_what_is_below_the_least_change_is_none():
    base = np.full((20, 1), 100.0)
    assert mean_changes(base, 1.02 * base).p[0] > 0.05


def test_from_nothing_to_something_differences_tell():
    is_apart, near, far = apart(0 * RISING, RISING, np.zeros(1))
    assert (bool(is_apart[0]), near.tolist(), far.tolist()) == (True, [1.0], [1.6])


def test_noise_without_a_change_is_as_rare_as_before():
    random = np.random.default_rng(5)
    sides = [np.zeros((30, 400)) for _ in range(2)]
    for side in sides:
        value = random.normal(size=400)
        for row in side:
            value = 0.9 * value + np.sqrt(1 - 0.9**2) * random.normal(size=400)
            row[:] = np.exp(0.3 * value)
    assert not apart(*sides, np.zeros(400))[0].any()
    assert (mean_changes(*sides).p < 0.05).mean() < 0.15

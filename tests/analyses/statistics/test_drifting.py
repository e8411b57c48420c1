"""Means of measurements that follow each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.statistics.mean_changes import mean_changes
from timesink.analyses.statistics.robust import without_outliers
from timesink.analyses.thresholds import SignificanceLimits


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)[:, None]


def noise(number: int, seed: int, correlation: float = 0.0, scatter: float = 0.05) -> np.ndarray:
    """Measurements around 100 of which each resembles the one before."""
    fresh = np.random.default_rng(seed).normal(size=number + 50)
    values = fresh.copy()
    for place in range(1, len(values)):
        values[place] = correlation * values[place - 1]
        values[place] += np.sqrt(1 - correlation**2) * fresh[place]
    return 100 * (1 + scatter * values[50:, None])


def share_found(number: int, shift: float, **more: float) -> float:
    """In how many of sixty comparisons, each a column, a change is found."""
    base = np.hstack([noise(number, seed, **more) for seed in range(60)])
    new = np.hstack([noise(number, 2**31 - 1 - seed, **more) for seed in range(60)])
    return float(np.mean(mean_changes(base, shift * new).p < 0.05))


class TestChanges:
    def test_columns_are_told_one_by_one(self):
        base = np.hstack([noise(30, 1), noise(30, 2)])
        new = np.hstack([noise(30, 3), 1.3 * noise(30, 4)])
        changes = mean_changes(base, new)
        single_changes = [mean_changes(base[:, [place]], new[:, [place]]) for place in (0, 1)]
        for name in ("delta", "low", "high", "p"):
            assert getattr(changes, name).tolist() == [
                pytest.approx(getattr(column_changes, name)[0]) for column_changes in single_changes
            ]
        assert changes.p[0] > 0.05 > changes.p[1]

    @pytest.mark.parametrize("rows", [0, 1])
    def test_one_row_has_no_test(self, rows: int):
        changes = mean_changes(column(*[5.0] * rows), column(7, 8, 9))
        assert changes.delta[0] == 8 - 5 * rows
        assert np.isnan([changes.low[0], changes.high[0], changes.p[0]]).all()

    def test_nothing_on_either_side_is_no_change(self):
        changes = mean_changes(column(0, 0, 0), column(0, 0, 0))
        assert (changes.delta[0], changes.low[0], changes.high[0], changes.p[0]) == (0, 0, 0, 1)

    def test_from_nothing_to_something(self):
        assert mean_changes(column(0, 0, 0, 0), column(5, 5.1, 4.9, 5)).p[0] < 0.001

    @given(
        st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=30),
        st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=30),
    )
    def test_the_interval_holds_the_change_and_sides_can_be_swapped(self, base, new):
        changes = mean_changes(column(*base), column(*new))
        back = mean_changes(column(*new), column(*base))
        assert changes.low[0] <= changes.delta[0] <= changes.high[0]
        assert 0 <= changes.p[0] <= 1
        assert back.p[0] == pytest.approx(changes.p[0])
        assert back.low[0] == pytest.approx(-changes.high[0])

    @given(
        st.lists(st.floats(0, 1e12) | st.sampled_from([1.0, 2.0]), min_size=2, max_size=30),
        st.lists(st.floats(0, 1e12) | st.sampled_from([1.0, 2.0]), min_size=2, max_size=30),
        st.sampled_from([0.0, 0.01]),
    )
    def test_p_the_interval_and_the_change_tell_the_same(self, base, new, floor):
        changes = mean_changes(column(*base), column(*new), floor=floor)
        low, high, delta = float(changes.low[0]), float(changes.high[0]), float(changes.delta[0])
        assert (changes.p[0] < SignificanceLimits.alpha) == (low > 0 or high < 0)
        if changes.p[0] < SignificanceLimits.alpha:
            assert np.sign(low) == np.sign(high) == np.sign(delta) == np.sign(changes.calm_delta[0])

    def test_a_floor_is_known_and_not_estimated(self):
        """Whatever the runs are like, three percent are found if there are enough cycles."""
        base, new = noise(10_000, 1, scatter=0.001), noise(10_000, 2, scatter=0.001)
        assert mean_changes(base, 1.03 * new).p[0] < 0.05
        assert mean_changes(base, 1.02 * new).p[0] > 0.05

    @pytest.mark.parametrize("number", [4, 10, 30])
    def test_noise_is_rarely_a_change(self, number: int):
        assert share_found(number, 1.0) <= 0.05

    def test_noise_that_wanders_is_rarely_a_change_in_long_runs(self):
        assert share_found(100, 1.0, correlation=0.6) <= 0.07

    @pytest.mark.parametrize(("number", "share"), [(6, 0.35), (12, 0.25), (30, 0.15)])
    def test_few_that_wander_far_are_less_often_one_than_not(self, number: int, share: float):
        assert share_found(number, 1.0, correlation=0.9, scatter=0.1) <= share

    @pytest.mark.parametrize(("number", "shift"), [(6, 1.2), (30, 1.1), (100, 1.05)])
    def test_a_change_is_found(self, number: int, shift: float):
        assert share_found(number, shift) >= 0.8

    def test_a_delay_in_every_fourth_measurement_is_found(self):
        base, new = noise(25, 1), noise(25, 2)
        new[::4] *= 2.6
        assert mean_changes(base, new).p[0] < 0.05

    def test_four_levels_in_a_row_are_not_known_as_well(self):
        base, new = noise(25, 1), noise(25, 2)
        new[:7] *= 2.6
        assert mean_changes(base, new).p[0] > 0.05


class TestOutliers:
    def test_alone_they_go_and_levels_stay(self):
        values = column(*[10] * 8, 90, *[10] * 8, *[40] * 8)
        (calm,) = without_outliers(values)
        assert calm[8, 0] == pytest.approx(10.5)
        assert np.delete(calm, 8).tolist() == np.delete(values, 8).tolist()

    def test_what_is_frequent_stays_on_both_sides(self):
        often = column(*[10, 10, 10, 10, 30] * 6)
        once = column(*[10] * 20, 30, *[10] * 9)
        calm_values = without_outliers(often, once)
        assert calm_values[0].tolist() == often.tolist()
        assert calm_values[1].tolist() == once.tolist()

    def test_where_they_turn_the_change_round_there_is_none(self):
        base, new = column(*[100.0] * 30), column(*[110.0] * 30)
        base[[4, 14, 24]] = 400
        changes = mean_changes(base, new)
        assert changes.delta[0] < 0 < changes.calm_delta[0]
        assert changes.low[0] <= changes.delta[0] < 0 < changes.high[0]
        assert changes.p[0] == 1

    def test_they_do_not_hide_a_change(self):
        base, new = noise(30, 1), 1.2 * noise(30, 2)
        new[[7, 19]] *= 8
        changes = mean_changes(base, new)
        assert changes.p[0] < 0.05
        assert changes.low[0] <= changes.delta[0] <= changes.high[0]

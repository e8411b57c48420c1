"""Levels that measurements stay at, and warm-up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from timesink.analyses.statistics.change_points import regime_p, segments, warm_up


def level(mean: float, number: int, seed: int = 1) -> list[float]:
    return (mean * (1 + 0.02 * np.random.default_rng(seed).normal(size=number))).tolist()


class TestSegments:
    def test_steady_measurements_are_one(self):
        assert len(segments(np.array(level(10, 60)))) == 1

    def test_levels_are_found_where_they_begin(self):
        values = np.array([*level(10, 12), *level(15, 7, 2), *level(9, 9, 3)])
        level_segments = segments(values)
        assert [(segment.start, segment.end) for segment in level_segments] == [
            (0, 12),
            (12, 19),
            (19, 28),
        ]
        assert [round(segment.level) for segment in level_segments] == [10, 15, 9]

    @pytest.mark.parametrize("values", [[], [5.0], [5.0, 9.0], [0.0] * 9])
    def test_few_or_no_numbers_are_at_one_level_at_most(self, values: list[float]):
        assert len(segments(np.array(values))) == min(1, len(values))

    @given(st.lists(st.floats(0, 1e12), max_size=60))
    @example([9.0, 2.2250738585072014e-308, 0.0, 0.0])
    def test_every_measurement_is_at_one_level(self, values):
        level_segments = segments(np.array(values))
        places = [
            place for segment in level_segments for place in range(segment.start, segment.end)
        ]
        assert places == list(range(len(values)))


class TestParts:
    def test_one_level_tells_nothing(self):
        assert regime_p(np.array(level(10, 20)), np.arange(20) >= 10) is None

    def test_two_levels_are_two_measurements(self):
        values = np.array([*level(10, 10), *level(20, 10, 2)])
        assert regime_p(values, np.arange(20) >= 10) == pytest.approx(0.5)

    def test_a_level_that_comes_back_with_its_side_is_a_change(self):
        turns = [level(10 + 5 * (turn % 2), 8, turn) for turn in range(10)]
        is_new = np.arange(80) // 8 % 2 == 1
        p_value = regime_p(np.concatenate(turns), is_new)
        assert p_value is not None
        assert p_value < 0.05

    def test_parts_that_hold_the_same_levels_are_the_same(self):
        values = np.array([*level(10, 10), *level(20, 10, 2)])
        assert regime_p(values, np.arange(20) % 2 == 1) == pytest.approx(1)


class TestWarmUp:
    @pytest.mark.parametrize(
        ("first", "number"), [([], 0), ([30], 1), ([90, 20], 2), ([10.5, 30], 0), ([11], 0)]
    )
    def test_what_is_longer_than_all_that_follows(self, first: list[float], number: int):
        assert warm_up(np.array([*first, *level(10, 20)])) == number

    def test_the_first_part_of_a_run_that_becomes_faster_is_none(self):
        assert warm_up(np.array([*level(20, 10), *level(10, 20, 2)])) == 0

    def test_what_comes_again_is_none(self):
        values = np.array(level(10, 24))
        values[::4] = 30
        values[0] = 33
        assert warm_up(values) == 0

    @pytest.mark.parametrize("values", [[], [9.0], [9.0, 1.0]])
    def test_few_have_none(self, values: list[float]):
        assert warm_up(np.array(values)) == 0

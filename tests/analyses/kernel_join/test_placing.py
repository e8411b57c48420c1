"""The best way of launches through a window."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.kernels import join_search as placing
from timesink.analyses.kernels.join_search import place_launches

LAYER = [1, 2, 3, 2, 4, 5, 2, 6, 7, 3, 3, 8, 1, 9, 4, 2]
STEP = np.array([20, 21, *LAYER * 12, 22, 1, 23])
"""A step of twelve equal layers."""
PLACES = np.arange(len(STEP))


def place_of(chosen: np.ndarray, stride: float = 1.0) -> list[int]:
    chosen = chosen % len(STEP)
    return place_launches(STEP[chosen], STEP, stride).place.tolist()


class TestEveryLaunchRecorded:
    def test_a_whole_step(self):
        assert place_of(PLACES) == PLACES.tolist()

    def test_steps_one_after_the_other(self):
        assert place_of(np.arange(3 * len(STEP))) == PLACES.tolist() * 3

    def test_from_the_middle_of_one_to_the_middle_of_the_next(self):
        chosen = np.arange(50, 240)
        assert place_of(chosen) == (chosen % len(STEP)).tolist()

    @pytest.mark.parametrize("phase", range(10))
    def test_every_tenth_is_missing(self, phase: int):
        chosen = np.delete(PLACES, slice(phase, None, 10))
        layer = np.array(place_of(chosen)) // len(LAYER)
        assert (layer == chosen // len(LAYER)).mean() > 0.99

    def test_what_is_not_in_the_window_has_no_place(self):
        launches = STEP.copy()
        launches[20::10] = 99
        expected = np.where(launches == 99, -1, PLACES)
        assert place_launches(launches, STEP).place.tolist() == expected.tolist()

    def test_an_extra_launch_has_no_place(self):
        launches = np.insert(STEP, 40, [99, 99, 99])
        expected = np.insert(PLACES, 40, [-1, -1, -1])
        assert place_launches(launches, STEP).place.tolist() == expected.tolist()

    def test_of_equal_ways_the_first(self):
        assert place_launches(np.array(LAYER), STEP).place.tolist() == list(
            range(2, 2 + len(LAYER))
        )

    def test_a_long_run_beats_a_start_nearby(self):
        launches = STEP[10 : len(STEP)]
        assert place_launches(launches, STEP).place.tolist() == PLACES[10:].tolist()


class TestEveryNthLaunchRecorded:
    @pytest.mark.parametrize("stride", [3, 5, 7, 10])
    @pytest.mark.parametrize("phase", [0, 2])
    def test_of_one_step(self, stride: int, phase: int):
        chosen = PLACES[phase::stride]
        assert place_of(chosen, stride) == chosen.tolist()

    def test_of_many_steps(self):
        chosen = np.arange(0, 9 * len(STEP), 10)
        assert place_of(chosen, 10) == (chosen % len(STEP)).tolist()

    def test_with_some_lost(self):
        chosen = np.delete(np.arange(0, 9 * len(STEP), 10), slice(4, None, 12))
        layer = np.array(place_of(chosen, 10)) // len(LAYER)
        assert (layer == chosen % len(STEP) // len(LAYER)).mean() > 0.95


@given(
    st.lists(st.integers(0, 5), max_size=30),
    st.lists(st.integers(0, 5), max_size=30),
    st.sampled_from([1.0, 4.0]),
)
def test_a_place_is_of_the_same_kind_and_used_in_the_order_of_rows(
    launches: list[int], window: list[int], stride: float
):
    ours, theirs = np.array(launches, dtype=np.int64), np.array(window, dtype=np.int64)
    path = place_launches(ours, theirs, stride)
    assert len(path.place) == len(launches)
    assert path.exact.tolist() == (path.place >= 0).tolist()
    assert ours[path.exact].tolist() == theirs[path.place[path.exact]].tolist()
    assert path.exact.any() == bool(set(launches) & set(window))


def test_few_ways_followed_lead_there_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(placing, "_MAX_CELLS", 0)
    monkeypatch.setattr(placing, "_FEWER_ENDS", 4)
    chosen = PLACES[PLACES % 10 != 3]
    assert np.abs(np.array(place_of(chosen)) - chosen).max() <= 1

"""Places of launches of which every n-th of each kernel was recorded."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.kernels import join_search as counting
from timesink.analyses.kernels.join_alignment import Launches
from timesink.analyses.kernels.join_search import place_by_count

LAYER = [1, 2, 1, 3, 4, 1, 5, 2, 6, 1, 7, 3, 1, 8, 2, 1]
FUNCTION = np.array([20, 21, *LAYER * 16, 22, 1, 23])
"""A step of sixteen equal layers."""
KIND = FUNCTION * 100 + np.arange(len(FUNCTION)) % len(LAYER) * (FUNCTION == 1)
STEP = Launches(KIND, FUNCTION, np.full(len(KIND), -1))


def recorded_launches(places: np.ndarray, every: int, before: int = 0) -> np.ndarray:
    """Which of these launches are recorded, when each function had some launches before."""
    seen: Counter[int] = Counter()
    recorded_places = []
    for place in places.tolist():
        function = int(FUNCTION[place])
        if (seen[function] + before) % every == 0:
            recorded_places.append(place)
        seen[function] += 1
    return np.array(recorded_places)


@pytest.mark.parametrize(("every", "before"), [(3, 2), (10, 0)])
def test_of_many_steps(every: int, before: int):
    chosen = recorded_launches(np.tile(np.arange(len(KIND)), 8), every, before)
    placement = place_by_count(STEP[chosen], STEP, every)
    assert placement.exact.all()
    assert (placement.place == chosen).mean() > 0.98


def test_of_one_step():
    chosen = recorded_launches(np.arange(len(KIND)), 5)
    assert place_by_count(STEP[chosen], STEP, 5).place.tolist() == chosen.tolist()


def test_of_a_long_recording_the_middle_says_where_to_begin(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(counting, "_TRIED_ON", 64)
    chosen = recorded_launches(np.tile(np.arange(len(KIND)), 30), 10)
    placement = place_by_count(STEP[chosen], STEP, 10)
    assert (placement.place == chosen).mean() > 0.95


def test_what_came_before_the_steps_has_no_place_of_its_kind():
    chosen = recorded_launches(np.tile(np.arange(len(KIND)), 6), 5)
    before = Launches(np.full(40, 999), np.full(40, 99), np.full(40, -1))
    launches = Launches(
        *(
            np.concatenate([getattr(part, name) for part in (before, STEP[chosen])])
            for name in ("kind", "function", "family")
        )
    )
    placement = place_by_count(launches, STEP, 5)
    assert not placement.exact[:40].any()
    assert (placement.place[40:] == chosen).mean() > 0.98


@given(st.lists(st.integers(0, 4), max_size=20), st.lists(st.integers(0, 4), max_size=20))
def test_places_are_of_the_function(launches: list[int], window: list[int]):
    ours, theirs = (
        Launches(*(np.array(kinds, dtype=np.int64) for _ in range(3)))
        for kinds in (launches, window)
    )
    placement = place_by_count(ours, theirs, 3)
    is_placed = placement.place >= 0
    assert is_placed.tolist() == [kind in window for kind in launches]
    assert ours.function[is_placed].tolist() == theirs.function[placement.place[is_placed]].tolist()
    assert placement.exact.tolist() == is_placed.tolist()

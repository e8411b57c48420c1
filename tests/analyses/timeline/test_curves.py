"""Curves keep their peaks and their means however much they are thinned."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timelines import patient
from timesink.analyses.timeline.levels import Level, as_points, thin, visible_points

samples = st.lists(st.tuples(st.integers(0, 20), st.integers(-50, 50)), min_size=1, max_size=30)


@patient
@given(samples, st.sampled_from([1, 4, 16, 64]))
def test_thinning_keeps_extremes_and_mean(samples: list[tuple[int, int]], resolution: int) -> None:
    x = np.cumsum([gap for gap, _ in samples])
    value = np.array([float(number) for _, number in samples])
    every = as_points(np.array([0, len(x)]), x, value)
    thinned = thin(every, resolution)
    assert thinned.low.min() == value.min()
    assert thinned.high.max() == value.max()
    assert thinned.area.sum() == pytest.approx(every.area.sum())
    assert (thinned.low <= thinned.mean + 1e-9).all()
    assert (thinned.mean <= thinned.high + 1e-9).all()
    cells = x // resolution
    assert len(thinned) == len(np.unique(cells))


def test_a_window_begins_with_the_value_that_holds_there() -> None:
    points = as_points(np.array([0, 3]), np.array([0, 100, 200]), np.array([1.0, 2.0, 3.0]))
    window = visible_points([Level(0, points)], 0, 120, 180, pixels=60)
    assert window.x.tolist() == [100]
    assert window.mean.tolist() == [2.0]


def test_curves_are_thinned_each_for_itself() -> None:
    first, x = np.array([0, 2, 4]), np.array([0, 1, 0, 1])
    thinned = thin(as_points(first, x, np.array([1.0, 3.0, 10.0, 30.0])), 8)
    assert thinned.first.tolist() == [0, 1, 2]
    assert thinned.high.tolist() == [3.0, 30.0]

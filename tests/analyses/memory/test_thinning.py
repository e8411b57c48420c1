"""Thinning a line gives what the plain, point by point rule gives."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from timesink.analyses.memory_curve import largest_triangles

Line = NDArray[np.float64]


def point_by_point(x: Line, y: Line, count: int) -> list[int]:
    """The rule as it is written down: one run after the other."""
    runs = np.array_split(np.arange(1, len(x) - 1), count - 2)
    ends = [*runs[1:], np.array([len(x) - 1])]
    chosen = [0]
    for run, following in zip(runs, ends, strict=True):
        before = chosen[-1]
        next_x, next_y = x[following].mean(), y[following].mean()
        area = np.abs(
            (x[before] - next_x) * (y[run] - y[before])
            - (x[before] - x[run]) * (next_y - y[before])
        )
        chosen.append(int(run[area.argmax()]))
    return [*chosen, len(x) - 1]


@pytest.mark.parametrize("count", [3, 4, 50, 499])
def test_same_points_as_one_by_one(count: int):
    for seed in range(3):
        random = np.random.default_rng(seed)
        x = np.cumsum(random.integers(1, 50, size=500)).astype(np.float64)
        y = np.cumsum(random.integers(-1000, 1000, size=500)).astype(np.float64)
        assert largest_triangles(x, y, count).tolist() == point_by_point(x, y, count), seed


@pytest.mark.parametrize("period", [2, 7, 1000])
def test_regular_lines_where_each_choice_hangs_on_the_one_before(period: int):
    # Runs of four points: their means are exact, so that equal triangles stay equal.
    x = np.arange(802.0)
    y = x % period
    assert largest_triangles(x, y, 202).tolist() == point_by_point(x, y, 202)


def test_short_lines_stay_as_they_are():
    x = np.arange(4.0)
    assert largest_triangles(x, x, 4).tolist() == [0, 1, 2, 3]


def test_flat_lines():
    x = np.arange(100.0)
    indices = largest_triangles(x, np.zeros(100), 10)
    assert len(set(indices.tolist())) == 10
    assert (indices[0], indices[-1]) == (0, 99)

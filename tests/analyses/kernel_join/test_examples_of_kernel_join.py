"""Small examples of what analyses.kernel_join computes."""

from __future__ import annotations

import numpy as np
import polars as pl

import timesink
from timesink.analyses.kernels.calls import kernel_calls
from timesink.analyses.kernels.join import join_calls, numbered_launches
from timesink.analyses.kernels.join_alignment import Launches, find_period, windows_of
from timesink.analyses.kernels.join_search import place_by_count, place_launches
from timesink.model.alignment import common_subsequence


def test_common_subsequence() -> None:
    left, right = np.array([7, 1, 2, 7, 3]), np.array([1, 2, 9, 3])
    assert [places.tolist() for places in common_subsequence(left, right)] == [[1, 2, 4], [0, 1, 3]]


def test_place_by_count() -> None:
    kind = np.array([1, 2, 3, 2, 3, 2, 3, 4])
    window = Launches(kind, function=kind, family=kind)
    recorded = np.array([0, 1, 2, 5, 6, 7])
    assert place_by_count(window[recorded], window, every=2).place.tolist() == [0, 1, 2, 5, 6, 7]


def test_join_calls() -> None:
    calls = kernel_calls(timesink.open(timesink.sample()))
    assert join_calls(calls, calls).aligned_share == 1.0


def test_numbered_launches() -> None:
    calls = pl.DataFrame({"name": ["void at::f<at::Add<int>>(T1)"], "grid_x": [2]})
    timed = pl.DataFrame({"name": ["void at::native::f<at::native::Add<int> >(int)"]})
    counters, timeline = numbered_launches(calls, timed.with_columns(grid_x=2))
    assert bool(counters.kind[0] == timeline.kind[0])


def test_place_launches() -> None:
    path = place_launches(np.array([2, 3, 4, 2, 3]), np.array([2, 3, 1, 2, 3, 4, 2, 3]))
    assert path.place.tolist() == [3, 4, 5, 6, 7]


def test_windows_of() -> None:
    function = np.array([3, 4, *[1, 2, 3, 4] * 9])
    assert [len(window.rows) for window in windows_of(function, np.arange(38), None)][:2] == [4, 4]


def test_find_period() -> None:
    step = [5, *[1, 2, 2, 3] * 20, 6]
    assert (find_period(np.array(step * 3)), find_period(np.array(step))) == (82, 0)

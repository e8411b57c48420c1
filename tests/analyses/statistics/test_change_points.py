"""When a level changed: steps are found where they are, and chance is not called a change."""

from __future__ import annotations

import numpy as np
import pytest

from timesink.analyses.statistics.change_points import exact_changes, level_changes


def noisy(*levels: tuple[float, int], seed: int = 0) -> np.ndarray:
    """Rows at levels, each for so many rows, with noise of 1 %."""
    random = np.random.default_rng(seed)
    flat = np.concatenate([np.full(rows, level) for level, rows in levels])
    return np.asarray(flat * (1 + random.normal(0, 0.01, len(flat))))


@pytest.mark.parametrize(("before", "after"), [(5, 12), (12, 5)])
def test_a_step_of_three_percent_is_found_within_a_row(before: int, after: int):
    change_lists = [
        level_changes(noisy((100.0, before), (103.0, after), seed=seed)) for seed in range(20)
    ]
    near = [
        any(change.certain and abs(change.at - before) <= 1 for change in changes)
        for changes in change_lists
    ]
    assert np.mean(near) >= 0.85  # 20 series tell little: the benchmark has thousands


def test_a_flat_series_seldom_changes():
    change_lists = [level_changes(noisy((100.0, 20), seed=seed)) for seed in range(30)]
    assert sum(any(change.certain for change in changes) for changes in change_lists) <= 3


def test_one_answer_for_one_series():
    values = noisy((100.0, 20), (102.0, 20))
    assert level_changes(values) == level_changes(values.copy())


def test_a_level_that_comes_and_goes_is_two_changes():
    changes = level_changes(noisy((100.0, 15), (104.0, 15), (100.0, 15)))
    assert [abs(change.at - at) <= 1 for change, at in zip(changes, (15, 30), strict=True)] == [
        True,
        True,
    ]


def test_what_is_certain_but_small_is_not_told():
    steady = np.concatenate([np.full(10, 100.0), np.full(10, 100.2)])
    assert level_changes(steady) == []
    assert [change.at for change in level_changes(steady, least_pct=0.1)] == [10]


def test_the_newest_rows_may_have_changed():
    (change,) = level_changes(np.append(noisy((100.0, 12)), 110.0))
    assert (change.at, change.certain, change.p) == (12, False, None)
    (change,) = level_changes(np.array([100.0, 100.1, 99.9, 110.0, 110.1, 109.9]))
    assert (change.at, change.certain) == (3, False)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0], [5.0] * 40])
def test_few_or_equal_values_have_one_level(values: list[float]):
    assert level_changes(np.array(values)) == []


def test_counts_change_exactly():
    assert [change.at for change in exact_changes([4, 4, 5]) or ()] == [2]
    assert exact_changes([4, None, 4]) == []
    assert [change.at for change in exact_changes(["a", "b", "b"]) or ()] == [1]
    assert exact_changes([1, 2, 1, 2, 1, 2, 1]) is None

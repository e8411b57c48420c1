"""Small examples of what analyses.statistics computes."""

from __future__ import annotations

import numpy as np

from timesink.analyses.statistics.autocorrelation import (
    cosines,
    pooled_autocorrelation,
    variance_of_mean,
)
from timesink.analyses.statistics.change_points import regime_p, segments, warm_up
from timesink.analyses.statistics.mean_changes import apart, intervals, mean_changes
from timesink.analyses.statistics.moments import moments, moments_with_zeros, sums
from timesink.analyses.statistics.permutation import permutation_p, trimmed_mean
from timesink.analyses.statistics.rank_tests import rank_p, rank_test
from timesink.analyses.statistics.robust import without_outliers
from timesink.analyses.statistics.significance import false_discovery
from timesink.analyses.statistics.student_t import (
    student_t_quantile,
    two_sided_p,
    welch_interval,
    welch_p,
)


def test_apart() -> None:
    base = np.array([[1.0], [1.2], [1.1], [1.3], [1.2], [1], [1.1], [1.2]])
    are_apart, near, far = apart(base, 4 * base, np.zeros(1))
    assert (bool(are_apart[0]), near.round(1).tolist(), far.round(1).tolist()) == (
        True,
        [2.7],
        [4.2],
    )


def test_false_discovery() -> None:
    assert false_discovery(np.array([0.01, 0.04, 0.5])).round(3).tolist() == [0.03, 0.06, 0.5]


def test_mean_changes() -> None:
    base, new = np.array([[10.0], [11], [10], [9]]), np.array([[20.0], [21], [19], [20]])
    changes = mean_changes(base, new)
    assert (changes.delta.tolist(), bool(changes.low[0] > 5), bool(changes.p[0] < 0.01)) == (
        [10.0],
        True,
        True,
    )


def test_without_outliers() -> None:
    steps = np.array([[1.0], [1], [9], [1], [1], [1], [5], [5], [5], [5]])
    assert [side.ravel().round(2).tolist() for side in without_outliers(steps)] == [
        [1.0, 1.0, 1.05, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0]
    ]


def test_cosines() -> None:
    assert [cosines(number) for number in (2, 3, 6, 30, 200)] == [1, 2, 3, 4, 14]


def test_likeness() -> None:
    steps = np.repeat([[1.0], [5.0], [2.0], [7.0], [3.0], [6.0]], 5, axis=0)
    assert (
        pooled_autocorrelation([steps, steps]).round(2).tolist(),
        pooled_autocorrelation([steps[::5]]).round(2).tolist(),
    ) == ([0.81], [0.01])


def test_variance_of_mean() -> None:
    values, rho = np.array([[1.0], [3.0], [1.0], [3.0]]), np.array([0.0])
    assert [estimate.round(3).tolist() for estimate in variance_of_mean(values, rho)] == [
        [0.333],
        [3.0],
    ]


def test_intervals() -> None:
    base = np.array([[1.0], [1.2], [1.1], [1.3], [1.2], [1], [1.1], [1.2]])
    low, high, p = intervals((base, 4 * base), 0.01)
    assert 2.6 < low[0] < high[0] < 4.3
    assert p[0] < 0.001


def test_moments() -> None:
    assert moments(np.array([0, 1, 0]), np.array([2.0, 0.1, 4.0]), 2).spread.round(3).tolist() == [
        1.414,
        0.0,
    ]


def test_moments_with_zeros() -> None:
    group_moments = moments_with_zeros(np.array([0, 0]), np.array([3.0, 3.0]), np.array([3, 2]))
    assert (group_moments.mean.tolist(), group_moments.spread.round(3).tolist()) == (
        [2.0, 0.0],
        [1.732, 0.0],
    )


def test_sums() -> None:
    assert sums(np.array([0, 0, 0]), np.array([1e16, 1.0, 1.0]), 1).tolist() == [
        1.0000000000000002e16
    ]


def test_permutation_p() -> None:
    assert permutation_p(np.array([1.0, 2, 3, 4]), np.array([5.0, 6, 7, 8])).__round__(4) == 0.0286


def test_trimmed_mean() -> None:
    assert trimmed_mean(np.array([1.0, 2.0, 3.0, 4.0, 900.0])) == 3.0


def test_rank_p() -> None:
    is_new = np.array([False, False, False, True, True, True])
    assert rank_p(np.zeros(6, dtype=int), is_new, np.arange(6.0), 1).tolist() == [0.1]


def test_rank_test() -> None:
    assert rank_test(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])) == 0.1


def test_segments() -> None:
    assert [
        (segment.length, segment.level)
        for segment in segments(np.array([5.0, 5.1, 4.9, 5, 9, 9.1, 8.9, 9]))
    ] == [(4, 5.0), (4, 9.0)]


def test_regime_p() -> None:
    halves = np.arange(8) > 3
    assert regime_p(np.array([5.0, 5, 5, 5, 9, 9, 9, 9]), halves).__round__(3) == 0.5


def test_warm_up() -> None:
    assert warm_up(np.array([90.0, 30, 10, 11, 10, 9, 10, 11, 10, 10])) == 2
    assert warm_up(np.array([10.0, 10, 9, 11, 10])) == 0


def test_two_sided_p() -> None:
    assert two_sided_p(np.array([0.0, 12.706204736]), np.array([5.0, 1.0])).round(9).tolist() == [
        1.0,
        0.05,
    ]


def test_two_sided_limits() -> None:
    assert student_t_quantile(0.05, np.array([10.0, 1.0])).round(6).tolist() == [
        2.228139,
        12.706205,
    ]


def test_welch_p() -> None:
    group = np.array([0, 0, 0])
    base, new = (moments(group, np.array(x), 1) for x in ([1.0, 2.0, 3.0], [3.0, 4.0, 5.0]))
    assert welch_p(base, new).round(4).tolist() == [0.0705]


def test_welch_interval() -> None:
    group = np.array([0, 0, 0])
    base, new = (moments(group, np.array(x), 1) for x in ([1.0, 2.0, 3.0], [3.0, 4.0, 5.0]))
    assert [round(end, 4) for end in welch_interval(base, new)] == [-0.267, 4.267]

"""Tests of two sets of measurements: worked out by hand, and beside SciPy."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.statistics.moments import Moments, moments, moments_with_zeros, sums
from timesink.analyses.statistics.rank_tests import rank_p, rank_test
from timesink.analyses.statistics.student_t import (
    student_t_quantile,
    two_sided_p,
    welch_interval,
    welch_p,
)

MEASURED = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda value: round(value, 4))
SETS = st.lists(MEASURED, min_size=2, max_size=12)
TIED_SETS = st.lists(st.integers(0, 6).map(float), min_size=2, max_size=12)


def in_groups(sets: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    """Values of all sets in turns, as a table has them, and the number of each one's set."""
    longest = max(map(len, sets))
    turns = [(n, x[i]) for i in range(longest) for n, x in enumerate(sets) if i < len(x)]
    numbers, values = zip(*turns, strict=True)
    return np.array(numbers), np.array(values)


def of(values: list[float]) -> Moments:
    return moments(np.zeros(len(values), dtype=int), np.array(values), 1)


def all_given(values: list[float]) -> Moments:
    return moments_with_zeros(*in_groups([values]), np.array([len(values)]))


# -- moments ---------------------------------------------------------------------------------------


@given(st.lists(SETS, min_size=1, max_size=6))
def test_moments_are_those_of_each_group_alone(sets):
    group_moments = moments(*in_groups(sets), len(sets) + 1)
    for number, values in enumerate(sets):
        assert group_moments.count[number] == len(values)
        assert group_moments.mean[number] == pytest.approx(np.mean(values), rel=1e-12, abs=1e-9)
        assert group_moments.spread[number] == pytest.approx(
            np.std(values, ddof=1), rel=1e-9, abs=1e-9
        )
    assert (group_moments.count[-1], group_moments.mean[-1], group_moments.spread[-1]) == (0, 0, 0)


@given(st.floats(-1e15, 1e15), st.integers(1, 40))
def test_equal_values_have_no_spread_at_all(value, count):
    for group_moments in (of([value] * count), all_given([value] * count)):
        assert group_moments.mean[0] == value
        assert group_moments.spread[0] == 0


@given(SETS, st.integers(0, 5))
def test_zeros_need_not_be_given(values, absent):
    group_moments = moments_with_zeros(*in_groups([values]), np.array([len(values) + absent]))
    full_moments = of(values + [0.0] * absent)
    assert group_moments.mean[0] == pytest.approx(full_moments.mean[0], rel=1e-12, abs=1e-9)
    assert group_moments.spread[0] == pytest.approx(full_moments.spread[0], rel=1e-9, abs=1e-9)


def test_a_mean_of_decimals_is_not_off_by_rounding():
    """These add up to 0.1753 less one step of the numbers if nothing is carried along."""
    values = [0.0017, 0.0239, 0.0248, 0.0247, 0.0248, 0.0246, 0.0254, 0.0254]
    assert sums(*in_groups([values]), 1)[0] == 0.1753
    assert f"{of(values).mean[0]:.6f}" == "0.021913"


# -- Student ---------------------------------------------------------------------------------------


@given(st.floats(0, 1e6), st.floats(0.5, 1e6))
def test_probabilities_are_those_of_scipy(t, freedom):
    special = pytest.importorskip("scipy.special")
    expected = 2 * special.stdtr(freedom, -t)
    p_value = two_sided_p(np.array([t]), np.array([freedom]))[0]
    assert p_value == pytest.approx(expected, rel=1e-9, abs=1e-14)


@given(st.floats(1e-6, 0.9), st.floats(1, 1e5))
def test_a_limit_is_exceeded_with_its_probability(p, freedom):
    limit = float(student_t_quantile(p, np.array([freedom]))[0])
    assert two_sided_p(np.array([limit]), np.array([freedom]))[0] == pytest.approx(p, rel=1e-9)


def test_limits_of_the_tables():
    few, many = student_t_quantile(0.05, np.array([1.0, 1e6]))
    assert few == pytest.approx(12.7062, abs=1e-4)
    assert many == pytest.approx(1.95997, abs=1e-5)


# -- Welch -----------------------------------------------------------------------------------------


@given(SETS, SETS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_p_values_of_means_are_those_of_scipy(left, right):
    stats = pytest.importorskip("scipy.stats")
    base, new = of(left), of(right)
    sides = [(side.mean[0], side.spread[0], side.count[0]) for side in (base, new)]
    expected = stats.ttest_ind_from_stats(*sides[0], *sides[1], equal_var=False).pvalue
    assert welch_p(base, new)[0] == pytest.approx(expected, rel=1e-8, abs=1e-13, nan_ok=True)
    assert welch_p(new, base)[0] == pytest.approx(welch_p(base, new)[0], nan_ok=True)


def test_without_spread_means_are_equal_or_not():
    assert np.isnan(welch_p(of([3.0] * 4), of([3.0] * 7))[0])
    assert welch_p(of([3.0] * 4), of([3.1] * 7))[0] == 0


def test_one_measurement_tells_nothing():
    assert welch_p(of([3.0]), of([4.0, 5.0]))[0] == 1
    assert welch_interval(of([3.0]), of([4.0, 5.0])) is None


@given(SETS, SETS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_intervals_are_those_of_scipy(left, right):
    stats = pytest.importorskip("scipy.stats")
    expected = stats.ttest_ind(right, left, equal_var=False).confidence_interval(0.95)
    if min(np.ptp(left), np.ptp(right)) > 0:
        interval = welch_interval(of(left), of(right))
        assert interval == pytest.approx((expected.low, expected.high), rel=1e-6, abs=1e-6)


# -- ranks -----------------------------------------------------------------------------------------


@given(st.lists(st.tuples(SETS | TIED_SETS, SETS | TIED_SETS), min_size=1, max_size=5))
def test_p_values_of_ranks_are_those_of_scipy(pairs):
    stats = pytest.importorskip("scipy.stats")
    number, values = in_groups([side for pair in pairs for side in pair])
    p_values = rank_p(number // 2, number % 2 == 1, values, len(pairs))
    expected = [stats.mannwhitneyu(*pair, alternative="two-sided").pvalue for pair in pairs]
    assert p_values == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.integers(0, 5)), min_size=1))
def test_a_weight_stands_for_equal_measurements(measured):
    values, is_new, weights = map(np.array, zip(*measured, strict=True))
    group = np.zeros(len(values), dtype=int)
    written_out = [np.repeat(column, weights) for column in (group, is_new, values)]
    weighted = rank_p(group, is_new, values, 1, weights)
    assert weighted == pytest.approx(rank_p(*written_out, 1), nan_ok=True)


def test_p_values_worked_out_by_hand():
    few = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    # One of the 10 ways to choose two of five is as extreme, and one on the other side.
    assert rank_test(*few) == pytest.approx(2 / 10)
    assert rank_test(np.array([5.0, 5.0]), np.array([5.0, 5.0])) == 1
    assert rank_test(np.array([1.0]), np.array([2.0, 3.0])) is None


def test_p_value_of_many():
    """Twelve against twelve with nothing in common: 1 of 1352078 orders on each side."""
    left, right = np.arange(12.0), np.arange(12.0) + 100
    p = rank_test(left, right)
    assert p is not None
    assert 1e-6 < p < 1e-4
    assert rank_test(right, left) == pytest.approx(p)


def test_few_among_very_many_are_exact():
    """Eight against 1500 have 6.5e20 orders, of which 2 are as extreme as this one."""
    p = rank_test(np.arange(8.0), np.arange(8.0, 1508.0))
    assert p == pytest.approx(2 / comb(1508, 8))

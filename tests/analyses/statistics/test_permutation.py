"""Trimmed means against exchanged measurements."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.statistics.permutation import permutation_p, trimmed_mean

NUMBERS = st.lists(st.integers(0, 20).map(float), min_size=4, max_size=5).map(np.array)


def middle(values) -> float:
    """The trimmed mean of up to nine numbers, which loses one at either end from five on."""
    middle_values = sorted(values)[1:-1] if len(values) >= 5 else values
    return sum(middle_values) / len(middle_values)


@given(NUMBERS, NUMBERS)
def test_few_are_exchanged_in_every_way(left, right):
    both, places = [*left, *right], range(len(left) + len(right))
    changes = [
        abs(
            middle([both[place] for place in chosen])
            - middle([both[place] for place in places if place not in chosen])
        )
        for chosen in combinations(places, len(left))
    ]
    observed_change = abs(middle(left) - middle(right))
    as_far = sum(change >= observed_change - 1e-9 for change in changes)
    assert permutation_p(left, right) == pytest.approx(as_far / len(changes))


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30).map(np.array))
def test_the_middle_three_fifths(values):
    assert trimmed_mean(values) == pytest.approx(scipy.stats.trim_mean(values, 0.2), abs=1e-5)


def test_many_are_drawn_always_in_the_same_way():
    random = np.random.default_rng(1)
    left, right = random.normal(10, 1, 30), random.normal(10.5, 1, 40)
    p = permutation_p(left, right)
    assert p == permutation_p(left, right)
    assert p == pytest.approx(scipy.stats.ttest_ind(left, right).pvalue, abs=0.1)


def test_sides_without_anything_in_common():
    assert permutation_p(np.arange(4.0), np.arange(4.0) + 9) == pytest.approx(2 / comb(8, 4))
    p = permutation_p(np.arange(300.0), np.arange(300.0) + 900)
    assert p is not None
    assert p <= 1 / 500


def test_an_outlier_makes_no_change():
    left, right = np.arange(10.0), np.arange(10.0)
    right[3] = 1e6
    p = permutation_p(left, right)
    assert p is not None
    assert p > 0.3


def test_three_on_a_side_are_too_few():
    assert permutation_p(np.arange(3.0), np.arange(9.0)) is None


def test_equal_measurements_are_no_change():
    assert permutation_p(np.full(4, 0.1), np.full(9, 0.1)) == 1


def test_very_many_are_taken_together():
    """Both sides by stretches of the same length, or one would scatter more than the other."""
    random = np.random.default_rng(1)
    left, right = random.normal(10, 1, 4000), random.normal(10, 1, 700)
    p = permutation_p(left, right)
    assert p is not None
    assert p > 0.05
    moved = permutation_p(left, right + 0.3)
    assert moved is not None
    assert moved < 0.01


def test_a_long_side_is_thinned_whatever_the_other_has():
    random = np.random.default_rng(1)
    few, many = random.normal(10, 1, 6), random.normal(10, 1, 40_000)
    p = permutation_p(few, many)
    assert p is not None
    assert p > 0.05
    moved = permutation_p(many, few + 4)
    assert moved is not None
    assert moved < 0.01

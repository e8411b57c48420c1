"""Running sums against the loop that defines them; and the examples of the noise model."""

from __future__ import annotations

import doctest
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses import statistics
from timesink.analyses.statistics.robust import scaled_mad, shortest_half
from timesink.analyses.statistics.sequential import running_sums, several, sum_onsets, sum_peaks
from timesink.analyses.statistics.tails import exponential_tail

steps = st.lists(st.integers(-5, 5), max_size=15)


@pytest.mark.parametrize("name", [module.name for module in iter_modules(statistics.__path__)])
def test_examples(name: str):
    module = import_module(f"timesink.analyses.statistics.{name}")
    assert not doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed


@given(steps, st.integers(0, 3), st.sampled_from([3, 8, 1000]))
def test_running_sums(added, total, most):
    expected, onsets, rising, so_far = [], [], 0, total
    for place, step in enumerate(added):
        if so_far <= 0 or not place:
            rising = place
        so_far = min(max(so_far + step, 0), most)
        expected.append(so_far)
        onsets.append(rising)
    sums = running_sums(np.array(added, dtype=float), float(total), most)
    assert sums.tolist() == expected
    assert sum_onsets(sums).tolist() == onsets


@given(steps)
def test_peaks_are_the_highest_of_each_rise(added):
    sums = running_sums(np.array(added, dtype=float), 0.0, np.inf)
    expected, highest = [], 0.0
    for value in [*sums.tolist(), 0.0]:
        if value <= 0 < highest:
            expected.append(highest)
        highest = max(highest, value) if value > 0 else 0.0
    assert sum_peaks(sums).tolist() == expected


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.integers(1, 4), st.integers(1, 5))
def test_several(flags, least, last):
    expected = [sum(flags[place : place + last]) >= least for place in range(len(flags) - last + 1)]
    assert several(np.array(flags), least, last).tolist() == expected


@given(st.lists(st.integers(-100, 100), min_size=1, max_size=12))
def test_shortest_half_is_among_the_values(values):
    middle, width = shortest_half(np.array(values, dtype=float))
    ordered, half = sorted(values), -(-len(values) // 2)
    widths = [ordered[at + half - 1] - ordered[at] for at in range(len(values) - half + 1)]
    assert min(widths) <= width <= 2 * min(widths)
    assert ordered[0] <= middle <= ordered[-1]


@given(st.lists(st.integers(-100, 100), min_size=1, max_size=12), st.integers(-50, 50))
def test_spread_does_not_depend_on_where_values_are(values, shift):
    array = np.array(values, dtype=float)
    assert scaled_mad(array + shift, float(np.median(array)) + shift) == pytest.approx(
        scaled_mad(array, float(np.median(array)))
    )


@given(st.lists(st.integers(0, 100), min_size=4, max_size=20), st.floats(1, 100))
def test_what_is_rarer_is_farther_out(values, times):
    ordered = np.sort(np.array(values, dtype=float))
    near, far = (exponential_tail(ordered, 3, rarer) for rarer in (times, 2 * times))
    assert ordered[-4] <= near <= far

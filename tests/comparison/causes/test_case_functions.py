"""Which functions come with each other, how the pace of all is told, and where places are."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.comparison.causes.case import (
    CaseFunctions,
    companions,
    excess,
    functions_of,
    in_proportion,
    slowdown,
)
from timesink.comparison.causes.host import HostPlace
from timesink.model.schema import BEHAVIOUR


def functions(base: list[float], new: list[float]) -> CaseFunctions:
    before, after = np.array([base]), np.array([new])
    table = pl.DataFrame({"function_class": ["cpu_operator"] * len(base)})
    return CaseFunctions(table, before, after, before, after)


def test_nothing_recorded_has_no_functions():
    assert functions_of(BEHAVIOUR.empty(), BEHAVIOUR.empty()).base.shape == (0, 0)


def test_companions_are_more_by_the_same_number_or_a_few_times_that():
    is_companion = companions(functions([1.0, 5.0, 0.0], [101.0, 5.0, 200.0]), 100.0)
    assert is_companion.tolist() == [True, False, True]


def test_in_proportion_in_both_directions():
    more = functions([10.0, 5.0], [12.0, 9.0])
    assert in_proportion(more, 1.2).tolist() == [True, False]
    assert in_proportion(more.swapped(), 1 / 1.2).tolist() == [True, False]


def test_what_grew_beyond_the_pace_of_all_stands_out():
    base = np.array([[10.0, 20, 5], [11, 22, 5.5], [10, 20, 5]])
    new = base * 2 + np.array([0, 0, 30])
    growth = excess(base, new, np.array([True, True, True]))
    assert growth.stands_out.tolist() == [False, False, True]
    assert slowdown(base[:1], 2 * base[:1], np.array([True] * 3)) == 2.0
    assert slowdown(base[:1], new[:1], np.array([False] * 3)) == 1.0


def test_the_largest_of_few_functions_does_not_tell_the_pace_alone():
    """Where cycles differ in their calls, hardly any function is called as often as before."""
    base = np.array([[3000.0, 7, 1], [3200, 7, 1], [2900, 7, 1]])
    new = base + np.array([18000.0, 0.6, 0.2])
    assert slowdown(base, new, np.array([True] * 3)) < 1.2
    growth = excess(base, new, np.array([True] * 3))
    assert growth.stands_out.tolist() == [True, False, False]
    assert slowdown(base, new, np.array([True, False, False])) == 1.0


def test_places_in_words():
    phrases = [
        HostPlace(None, "cudaFree", None).words,
        HostPlace(None, "aten::add", None, operators=frozenset({"aten::add"})).words,
        HostPlace("aten::mm", None, "cudaFree").words,
        HostPlace("aten::mm", None, None).words,
        HostPlace("aten::mm", "a", "b").words,
        HostPlace(None, "a", "b").words,
    ]
    assert phrases == [
        "after the last call of the step (cudaFree)",
        "after the last operator of the step (aten::add)",
        "before the first call of aten::mm (cudaFree)",
        "inside aten::mm",
        "between a and b inside aten::mm",
        "between a and b",
    ]

"""Primitives of arrays against loops that say the same."""

from __future__ import annotations

import doctest
from bisect import bisect_left
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.forest import outermost
from timesink.model import arrays, intervals
from timesink.model.arrays import (
    Groups,
    combine_codes,
    densify,
    exclusive_cumsum,
    grouped_cummax,
    grouped_cumsum,
    is_among,
    is_run_start,
    latest_true,
    narrow,
    new_coverage,
    places_among,
    prefix_sums,
    ragged_ranges,
    ranks_of,
    run_places,
    run_slices,
    run_starts,
    running_argmax,
    sums_by,
    true_runs,
)
from timesink.model.intervals import enclosing_interval, union_starts

columns = st.lists(st.integers(0, 3), max_size=12)
whole_numbers = st.lists(st.integers(-(2**40), 2**40), max_size=12)
flag_lists = st.lists(st.booleans(), max_size=12)
runs = st.lists(st.lists(st.integers(-50, 50), min_size=1, max_size=5), max_size=5)
spans = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 6)), max_size=10)


def as_ints(values):
    return np.array(values, dtype=np.int64)


def joined(parts):
    """Runs as one array, and where each begins."""
    first = [sum(map(len, parts[:place])) for place in range(len(parts))]
    return as_ints([value for part in parts for value in part]), as_ints(first)


def test_examples():
    for module in (arrays, intervals):
        result = doctest.testmod(module)
        assert result.attempted
        assert not result.failed


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=12))
def test_run_starts(rows):
    left, right = (as_ints([row[side] for row in rows]) for side in (0, 1))
    expected = [place == 0 or rows[place] != rows[place - 1] for place in range(len(rows))]
    assert is_run_start(left, right).tolist() == expected
    assert run_starts(left, right).tolist() == [
        at for at, is_start in enumerate(expected) if is_start
    ]


@given(columns)
def test_runs(values):
    parts = [list(group) for _, group in groupby(values)]
    assert [values[part] for part in run_slices(as_ints(values))] == parts
    places = run_places(run_starts(as_ints(values)), len(values))
    assert places.tolist() == [place for part in parts for place in range(len(part))]


@given(flag_lists)
def test_true_runs(flags):
    starts, ends = true_runs(np.array(flags, dtype=bool))
    inside = [place for low, high in zip(starts, ends, strict=True) for place in range(low, high)]
    assert inside == [place for place, flag in enumerate(flags) if flag]
    assert (ends[:-1] < starts[1:]).all()


@given(whole_numbers)
def test_sums_before(values):
    expected = [sum(values[:place]) for place in range(len(values) + 1)]
    assert prefix_sums(as_ints(values)).tolist() == expected
    assert exclusive_cumsum(as_ints(values)).tolist() == expected[:-1]


@given(flag_lists)
def test_latest_true(flags):
    expected = [
        max([at for at in range(place + 1) if flags[at]], default=-1) for place in range(len(flags))
    ]
    assert latest_true(np.array(flags, dtype=bool)).tolist() == expected
    assert places_among(np.array(flags, dtype=bool)).tolist() == [
        sum(flags[:place]) if flag else -1 for place, flag in enumerate(flags)
    ]


@given(columns)
def test_running_argmax(values):
    expected = [
        max(range(place + 1), key=lambda at: (values[at], at)) for place in range(len(values))
    ]
    assert running_argmax(as_ints(values)).tolist() == expected


@given(runs, st.sampled_from([1, 2**58]))
def test_values_so_far_in_each_run(parts, scale):
    values, first = joined([[scale * value // 50 for value in part] for part in parts])
    sums, most = [], []
    for part in parts:
        scaled = [scale * value // 50 for value in part]
        sums += [sum(scaled[: place + 1]) for place in range(len(part))]
        most += [max(scaled[: place + 1]) for place in range(len(part))]
    assert grouped_cumsum(values, first).tolist() == sums
    assert grouped_cummax(values, first).tolist() == most


@given(st.lists(spans.filter(bool), max_size=4))
def test_new_coverage(parts):
    parts = [sorted(part) for part in parts]
    start, first = joined([[start for start, _ in part] for part in parts])
    end, _ = joined([[start + length for start, length in part] for part in parts])
    expected = []
    for part in parts:
        covered: set[int] = set()
        for begin, length in part:
            moments = set(range(begin, begin + length))
            expected.append(len(moments - covered))
            covered |= moments
    assert new_coverage(start, end, first).tolist() == expected


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 4)), max_size=8))
def test_ragged_ranges(ranges):
    starts, counts = (as_ints([row[side] for row in ranges]) for side in (0, 1))
    expected = [number for start, count in ranges for number in range(start, start + count)]
    assert ragged_ranges(starts, counts).tolist() == expected


@given(st.lists(st.integers(0, 99), unique=True, max_size=12))
def test_ranks_of(values):
    ordered = sorted(values)
    assert ranks_of(as_ints(values)).tolist() == [bisect_left(ordered, value) for value in values]


@given(st.lists(st.sampled_from([0, 1, 5, 2**23]), max_size=12))
def test_densify(values):
    code: dict[int, int] = {}
    expected = [code.setdefault(value, len(code)) for value in values]
    assert densify(as_ints(values)).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=12))
def test_combine_codes(rows):
    left, right = (densify(as_ints([row[side] for row in rows])) for side in (0, 1))
    codes = combine_codes(left, right).tolist()
    assert len(set(codes)) == len(set(rows)) == len(set(zip(codes, rows, strict=True)))


@given(columns)
def test_groups(keys):
    groups = Groups.of(as_ints(keys))
    values = as_ints([(7 * place) % 5 for place in range(len(keys))])
    ordered = sorted(set(keys))
    assert groups.group.tolist() == [ordered.index(key) for key in keys]
    assert groups.places.tolist() == [keys[:place].count(key) for place, key in enumerate(keys)]
    smallest = {key: min(values[as_ints(keys) == key].tolist()) for key in ordered}
    assert groups.least(values).tolist() == [smallest[key] for key in keys]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-(2**55), 2**55)), max_size=12))
def test_sums_by(rows):
    group, values = (as_ints([row[side] for row in rows]) for side in (0, 1))
    expected = [sum(value for number, value in rows if number == place) for place in range(3)]
    assert sums_by(group, values, 3).tolist() == expected


@given(spans, st.booleans())
def test_union_starts(rows, joins_touching):
    rows = sorted((start, start + length) for start, length in rows)
    starts, ends = (as_ints([row[side] for row in rows]) for side in (0, 1))
    expected = [
        all(start > end if joins_touching else start >= end for _, end in rows[:place])
        for place, (start, _) in enumerate(rows)
    ]
    assert union_starts(starts, ends, joins_touching=joins_touching).tolist() == expected


@given(spans, st.lists(st.integers(0, 30), max_size=6))
def test_enclosing_interval(rows, moments):
    rows = sorted((start, start + length) for start, length in rows)
    starts, ends = (as_ints([row[side] for row in rows]) for side in (0, 1))
    expected = []
    for moment in moments:
        begun = [row for row, (start, _) in enumerate(rows) if start <= moment][-1:]
        expected.append(next((row for row in begun if moment < rows[row][1]), -1))
    assert enclosing_interval(as_ints(moments), starts, ends).tolist() == expected


MOST = 2**31 - 1
AMOUNTS_OF_32_BITS = np.array([MOST, 5, MOST - 1, MOST], np.int32)
GROUP = np.array([0, 1, 0, 1], np.int32)


@pytest.mark.parametrize(
    "primitive",
    [
        lambda amounts, _: combine_codes(amounts - MOST + 9, amounts),
        lambda amounts, _: exclusive_cumsum(amounts),
        lambda amounts, _: prefix_sums(amounts),
        lambda amounts, _: grouped_cumsum(amounts, np.array([0, 2])),
        lambda amounts, group: ragged_ranges(amounts, group + 1),
        lambda amounts, group: sums_by(group, amounts, 2),
        lambda amounts, _: is_among(amounts, amounts[2:]),
        lambda amounts, _: densify(amounts),
        lambda amounts, group: outermost(group * 2, amounts - MOST + 9, np.array([1] * 3)),
    ],
)
def test_numbers_of_32_bits_do_not_overflow(primitive):
    narrow_result = primitive(AMOUNTS_OF_32_BITS, GROUP)
    wide_result = primitive(AMOUNTS_OF_32_BITS.astype(np.int64), GROUP.astype(np.int64))
    assert narrow_result.tolist() == wide_result.tolist()


def test_places_are_narrow_only_where_two_of_them_add_up():
    places = np.array([0, arrays.MAX_NARROW - 1])
    few = narrow(places, arrays.MAX_NARROW)
    assert (few + few).tolist() == (places + places).tolist()
    assert narrow(places, arrays.MAX_NARROW + 1).dtype == np.int64

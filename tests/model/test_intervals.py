"""Interval algebra against a model that needs no cleverness: sets of whole nanoseconds."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.model.intervals import (
    clip,
    coverage,
    coverage_within,
    intersect,
    merge,
    partially_overlapping,
    subtract,
    sweep,
)

LOW, HIGH = -12, 12

times = st.integers(LOW, HIGH)
intervals = st.tuples(times, times).map(sorted)
interval_sets = st.lists(intervals, max_size=12).map(
    lambda rows: np.array(rows, dtype=np.int64).reshape(-1, 2)
)
weighted = st.lists(st.tuples(intervals, st.integers(-5, 5)), max_size=12)


def instants(rows) -> Counter[int]:
    """How often each nanosecond is covered."""
    return Counter(instant for start, end in rows for instant in range(start, end))


def covered_instants(rows) -> set[int]:
    return set(instants(rows))


def is_canonical(rows) -> bool:
    """Sorted, no empty row, no two rows that overlap or touch."""
    flat = np.asarray(rows).ravel()
    return bool((np.diff(flat) > 0).all())


class TestExamples:
    def test_merge_joins_overlapping_and_touching(self):
        assert merge([[5, 8], [0, 3], [3, 5], [20, 22], [21, 30]]).tolist() == [[0, 8], [20, 30]]

    def test_merge_drops_empty(self):
        assert merge([[5, 5]]).shape == (0, 2)

    def test_busy_time_not_hidden_by_another_set(self):
        communication, computation = [[0, 100]], [[10, 20], [30, 90]]
        assert subtract(communication, computation).tolist() == [[0, 10], [20, 30], [90, 100]]

    def test_subtract_reaches_the_ends_of_time(self):
        ends_of_time = np.iinfo(np.int64)
        assert subtract([[0, 5]], [[ends_of_time.min, 3]]).tolist() == [[3, 5]]
        assert subtract([[0, 5]], [[3, ends_of_time.max]]).tolist() == [[0, 3]]

    def test_sweep_sums_large_integers_exactly(self):
        boundaries, sums = sweep([0, 1], [3, 2], [2**60, 1])
        assert boundaries.tolist() == [0, 1, 2, 3]
        assert sums.tolist() == [2**60, 2**60 + 1, 2**60]

    def test_sweep_of_floats_leaves_no_residue(self):
        starts = np.arange(1000) * 10
        _, sums = sweep(
            np.append(starts, starts + 1), np.append(starts, starts + 1) + 5, [0.1] * 2000
        )
        assert set(sums[3::4]) == {0.0}
        assert set(sums[0::4]) == {0.1}

    def test_sweep_lets_the_old_leave_before_the_new_arrives(self):
        _, sums = sweep([0, 5], [5, 9], [1e20, 1.0])
        assert sums.tolist() == [1e20, 1.0]

    def test_nothing_gives_nothing(self):
        assert merge([]).shape == (0, 2)
        assert intersect([], [[0, 1]]).shape == (0, 2)
        assert subtract([], []).shape == (0, 2)
        assert clip([], 0, 1).shape == (0, 2)
        assert coverage([]) == 0
        assert coverage_within([], [[0, 5]]).tolist() == [0]
        assert coverage_within([[0, 5]], []).tolist() == []
        assert [part.tolist() for part in sweep([], [], [])] == [[], []]
        assert partially_overlapping([]).tolist() == []


class TestAgainstSets:
    @given(interval_sets)
    def test_merge(self, a):
        merged = merge(a)
        assert covered_instants(merged) == covered_instants(a)
        assert is_canonical(merged)
        assert merge(merged).tolist() == merged.tolist()

    @given(interval_sets, interval_sets)
    def test_intersect(self, a, b):
        common = intersect(a, b)
        assert covered_instants(common) == covered_instants(a) & covered_instants(b)
        assert is_canonical(common)

    @given(interval_sets, interval_sets)
    def test_subtract(self, a, b):
        rest = subtract(a, b)
        assert covered_instants(rest) == covered_instants(a) - covered_instants(b)
        assert is_canonical(rest)

    @given(interval_sets, interval_sets)
    def test_intersect_and_subtract_partition(self, a, b):
        common, rest = intersect(a, b), subtract(a, b)
        assert merge(np.concatenate([common, rest])).tolist() == merge(a).tolist()
        assert coverage(common) + coverage(rest) == coverage(a)

    @given(interval_sets, interval_sets)
    def test_coverage_adds_up(self, a, b):
        union = np.concatenate([a, b])
        assert coverage(union) == coverage(a) + coverage(b) - coverage(intersect(a, b))

    @given(interval_sets)
    def test_coverage(self, a):
        assert coverage(a) == len(covered_instants(a))

    @given(interval_sets, intervals)
    def test_clip(self, a, window):
        start, end = window
        clipped = clip(a, start, end)
        inside = {instant: n for instant, n in instants(a).items() if start <= instant < end}
        assert instants(clipped) == inside

    @given(interval_sets, interval_sets)
    def test_coverage_within(self, a, windows):
        expected = [len(covered_instants(a) & set(range(*window))) for window in windows.tolist()]
        assert coverage_within(a, windows).tolist() == expected

    @given(weighted)
    def test_sweep_of_integers(self, rows):
        assert_sweep_matches(rows, sweep(*columns(rows)))

    @given(weighted)
    def test_sweep_of_floats(self, rows):
        starts, ends, values = columns(rows)
        boundaries, sums = sweep(starts, ends, np.array(values, dtype=np.float64) / 10)
        assert_sweep_matches(rows, (boundaries, sums * 10))

    @given(interval_sets)
    def test_crossed(self, a):
        rows = a.tolist()
        expected = [any(start < other[0] < end < other[1] for other in rows) for start, end in rows]
        assert partially_overlapping(a).tolist() == expected


def columns(rows):
    return [row[0] for row, _ in rows], [row[1] for row, _ in rows], [value for _, value in rows]


def assert_sweep_matches(rows, result):
    boundaries, sums = result
    assert boundaries.tolist() == sorted(
        {edge for row, _ in rows if row[0] < row[1] for edge in row}
    )
    for (start, end), total in zip(pairwise(boundaries.tolist()), sums.tolist(), strict=True):
        active = [value for row, value in rows if row[0] <= start and end <= row[1]]
        assert total == pytest.approx(sum(active), abs=1e-12)
        assert active or total == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: merge([[5, 3]]), "ends before it starts"),
        (lambda: sweep([0], [-1], [1]), "ends before it starts"),
        (lambda: clip([[0, 5]], 3, 2), "ends before it starts"),
        (lambda: merge([1, 2, 3]), r"shape \(n, 2\)"),
        (lambda: sweep([[0, 1]], [1], [1]), "flat array"),
        (lambda: merge([[0.5, 1.5]]), "whole nanoseconds"),
        (lambda: sweep([0, 1], [2, 3], [1]), "expected 2 values"),
        (lambda: sweep([0], [2], [float("nan")]), "finite"),
    ],
)
def test_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("starts", [[0, 1], []])
def test_refuses_columns_of_different_length(starts):
    with pytest.raises(ValueError, match="same shape"):
        sweep(starts, [1], [1])

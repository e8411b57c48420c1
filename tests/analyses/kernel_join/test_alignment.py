"""What two sequences have in common, in order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from timesink.model import alignment
from timesink.model.alignment import common_subsequence

Numbers = NDArray[np.int64]

sequences = st.lists(st.integers(0, 4), max_size=24).map(
    lambda numbers: np.array(numbers, dtype=np.int64)
)


def longest(left: Numbers, right: Numbers) -> int:
    """The textbook table."""
    row = [0] * (len(right) + 1)
    for ours in left:
        before = row
        row = [0]
        for column, theirs in enumerate(right):
            row.append(before[column] + 1 if ours == theirs else max(before[column + 1], row[-1]))
    return row[-1]


@given(sequences, sequences)
def test_as_long_as_can_be_and_in_order(left: Numbers, right: Numbers):
    rows, places = common_subsequence(left, right)
    assert left[rows].tolist() == right[places].tolist()
    assert (np.diff(rows) > 0).all()
    assert (np.diff(places) > 0).all()
    assert len(rows) == longest(left, right)


@given(sequences, sequences)
def test_divided_it_is_as_long(left: Numbers, right: Numbers):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(alignment, "_ROWS_KEPT_BITS", 4)
        rows, places = common_subsequence(left, right)
    assert left[rows].tolist() == right[places].tolist()
    assert len(rows) == longest(left, right)


def test_what_one_side_lacks_is_left_out():
    sequence = np.random.default_rng(1).integers(0, 50, 4000)
    positions = np.sort(np.random.default_rng(2).permutation(4000)[:3000])
    rows, places = common_subsequence(sequence[positions], sequence)
    assert rows.tolist() == list(range(3000))
    assert sequence[places].tolist() == sequence[positions].tolist()


def test_nothing_in_common():
    for left, right in (([1, 2], [3]), ([], [3]), ([], [])):
        rows, places = common_subsequence(np.array(left, int), np.array(right, int))
        assert (rows.tolist(), places.tolist()) == ([], [])

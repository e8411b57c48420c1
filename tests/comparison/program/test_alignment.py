"""Two sequences aligned."""

from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.call_tree import align

keys = st.text("abc", max_size=12)


@given(keys, keys)
def test_as_long_as_can_be_and_in_order(left: str, right: str):
    pairs = align(left, right)
    assert all(left[ours] == right[theirs] for ours, theirs in pairs)
    for side in zip(*pairs, strict=True):
        assert list(side) == sorted(set(side))
    assert len(pairs) == longest(left, right)


@cache
def longest(left: str, right: str) -> int:
    if not left or not right:
        return 0
    if left[0] == right[0]:
        return 1 + longest(left[1:], right[1:])
    return max(longest(left[1:], right), longest(left, right[1:]))


def test_of_equal_choices_the_first():
    assert align(["step", "step"], ["step", "step", "step"]) == [(0, 0), (1, 1)]


def test_nothing_in_common():
    assert align(["a"], ["b"]) == []
    assert align([], ["b"]) == []

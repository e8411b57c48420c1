"""The order of units, against its definition."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.cycles import NEARLY, best_first


@dataclass(frozen=True)
class Called:
    name: str
    count: int
    total_ns: int


def by_definition(left: list[Called]) -> list[Called]:
    """Take the longest of all that come near the largest total; then again."""
    ranked = []
    while left:
        most = max(one.total_ns for one in left)
        near = [one for one in left if one.total_ns >= NEARLY * most]
        best = max(near, key=lambda one: (one.total_ns / one.count, one.total_ns, one.name))
        ranked.append(best)
        left = [one for one in left if one is not best]
    return ranked


@given(
    st.lists(
        st.builds(Called, st.text("abc", max_size=3), st.integers(1, 5), st.integers(1, 60)),
        unique_by=lambda one: one.name,
        max_size=20,
    )
)
def test_the_order_is_the_one_defined(items):
    assert list(best_first(items)) == by_definition(items)

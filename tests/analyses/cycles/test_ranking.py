"""The order of units, against its definition."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.cycles.spans import best_first
from timesink.analyses.thresholds import SpansLimits


@dataclass(frozen=True)
class Called:
    name: str
    count: int
    total_ns: int


def by_definition(left: list[Called]) -> list[Called]:
    """Take the longest of all that come near the largest total; then again."""
    ranked = []
    while left:
        most = max(candidate.total_ns for candidate in left)
        near = [candidate for candidate in left if candidate.total_ns >= SpansLimits.nearly * most]
        best = max(
            near,
            key=lambda candidate: (
                candidate.total_ns / candidate.count,
                candidate.total_ns,
                candidate.name,
            ),
        )
        ranked.append(best)
        left = [candidate for candidate in left if candidate is not best]
    return ranked


@given(
    st.lists(
        st.builds(Called, st.text("abc", max_size=3), st.integers(1, 5), st.integers(1, 60)),
        unique_by=lambda candidate: candidate.name,
        max_size=20,
    )
)
def test_the_order_is_the_one_defined(items):
    assert list(best_first(items)) == by_definition(items)

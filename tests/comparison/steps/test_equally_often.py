"""Whether a function is called equally often on both sides."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timesink.comparison.steps.recorded_events import equally_often
from timesink.comparison.thresholds import RecordedEventsLimits

CALLS = st.floats(0, 1e6)


def test_rare_calls_need_not_be_exactly_as_many() -> None:
    assert equally_often(np.array([0.05]), np.array([0.1])).all()
    assert not equally_often(np.array([1.0]), np.array([1.2])).any()


@given(CALLS, CALLS)
def test_it_is_the_same_from_both_sides(base: float, new: float) -> None:
    there, back = (
        equally_often(np.array([a]), np.array([b])) for a, b in ((base, new), (new, base))
    )
    assert there == back


@given(CALLS)
def test_a_small_part_does_not_matter(calls: float) -> None:
    assert equally_often(
        np.array([calls]), np.array([calls * (1 + RecordedEventsLimits.equally_often / 2)])
    ).all()

"""Rows of a track: nothing is drawn over anything else, and callees stand below their callers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timelines import patient
from timesink.analyses.timeline.lanes import stack_rows
from timesink.model.nested_calls import pre_order

spans = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 30), st.integers(0, 12)), min_size=1, max_size=14
)


def stack_spans(spans: list[tuple[int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Track, row, start and end of each span."""
    track, start, dur = (np.array(column, dtype=np.int64) for column in zip(*spans, strict=True))
    order = pre_order(track, start, start + dur, np.zeros(len(spans), dtype=np.bool_))
    track, start, end = track[order], start[order], (start + dur)[order]
    rows = stack_rows(track, start, end)
    return list(zip(*(x.tolist() for x in (track, rows, start, end)), strict=True))


@patient
@given(spans)
def test_slices_of_a_row_do_not_overlap(spans: list[tuple[int, int, int]]) -> None:
    placed = stack_spans(spans)
    for place, (track, row, start, end) in enumerate(placed):
        for other in placed[:place]:
            if other[:2] == (track, row):
                assert other[3] <= start or (start == end == other[2])


@patient
@given(spans)
def test_what_lies_in_another_stands_below_it(spans: list[tuple[int, int, int]]) -> None:
    placed = stack_spans(spans)
    for track, row, start, end in placed:
        for other_track, other_row, other_start, other_end in placed:
            if track == other_track and other_start < start and end < other_end:
                assert row > other_row


def test_nested_calls_take_a_row_each_and_rows_are_used_again() -> None:
    calls = [(0, 0, 100), (0, 10, 30), (0, 12, 5), (0, 50, 30), (0, 55, 5), (0, 200, 10)]
    assert [row for _, row, _, _ in stack_spans(calls)] == [0, 1, 2, 1, 2, 0]


def test_a_callee_of_a_crossing_call_does_not_cover_it() -> None:
    crossing = [(0, 0, 10), (0, 5, 10), (0, 12, 2)]
    assert [row for _, row, _, _ in stack_spans(crossing)] == [0, 1, 2]

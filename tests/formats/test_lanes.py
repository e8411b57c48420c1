"""Lanes on which no two slices cross."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from timesink.formats.chrome.writer import number_lanes


def lanes_of(*spans: tuple[int, int]) -> list[int]:
    return number_lanes(frame_of([("7", start, end) for start, end in spans])).to_list()


def frame_of(slices: list[tuple[str, int, int]]) -> pl.DataFrame:
    return pl.DataFrame(
        [("0", lane, start, end - start) for lane, start, end in slices],
        schema={"pid": pl.String, "tid": pl.String, "ts_ns": pl.Int64, "dur_ns": pl.Int64},
        orient="row",
    )


def test_slices_behind_or_inside_each_other_stay():
    assert lanes_of((0, 100), (0, 40), (40, 60), (45, 45), (100, 120)) == [0, 0, 0, 0, 0]


def test_later_of_two_crossing_slices_moves():
    assert lanes_of((0, 10), (5, 15), (20, 30)) == [0, 1, 0]


def test_slices_that_all_cross_need_a_lane_each():
    assert lanes_of((0, 10), (5, 15), (7, 17)) == [0, 1, 2]


def test_crossing_inside_an_enclosing_slice_is_seen():
    assert lanes_of((0, 100), (10, 30), (20, 40)) == [0, 0, 1]


def test_order_of_the_rows_does_not_matter():
    assert lanes_of((5, 15), (0, 10)) == [1, 0]


def test_other_streams_do_not_count():
    assert number_lanes(frame_of([("7", 0, 10), ("8", 5, 15)])).to_list() == [0, 0]


def test_no_slices():
    assert number_lanes(frame_of([])).to_list() == []


def cross(first: tuple[int, int], second: tuple[int, int]) -> bool:
    (a, b), (c, d) = sorted((first, second))
    return a < c < b < d


spans = st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda pair: (pair[0], sum(pair)))


@given(st.lists(st.tuples(st.sampled_from("78"), spans), max_size=25))
def test_no_lane_has_crossing_slices(drawn: list[tuple[str, tuple[int, int]]]):
    numbers = number_lanes(frame_of([(lane, *span) for lane, span in drawn])).to_list()
    placed = [(lane, number, span) for (lane, span), number in zip(drawn, numbers, strict=True)]
    for place, (lane, number, span) in enumerate(placed):
        for other_lane, other_number, other_span in placed[:place]:
            same = (lane, number) == (other_lane, other_number)
            assert not (same and cross(span, other_span))

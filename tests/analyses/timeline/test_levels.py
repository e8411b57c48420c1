"""Merged slices beside a plain implementation that looks at every slice."""

from __future__ import annotations

from collections import Counter
from itertools import groupby, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timelines import patient
from timesink.analyses.timeline.levels import (
    Level,
    MergedSlices,
    coarser_levels,
    merge,
    single,
    visible,
)

Slice = tuple[int, int, int]
"""Start, length and label."""


def lane_of(gaps: list[Slice]) -> list[Slice]:
    """Slices one after the other from gaps, lengths and labels."""
    now, slices = -20, []
    for gap, dur, label in gaps:
        slices.append((now + gap, dur, label))
        now += gap + dur
    return slices


gaps = st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 3))
lanes = st.lists(st.lists(gaps, max_size=12).map(lane_of), min_size=1, max_size=3)
resolutions = st.sampled_from([1, 2, 8, 32, 128])


def pieces_of(lanes: list[list[Slice]]) -> MergedSlices:
    first = np.append(0, np.cumsum([len(lane) for lane in lanes]))
    rows = np.array([piece for lane in lanes for piece in lane], dtype=np.int64).reshape(-1, 3)
    ids = np.arange(len(rows), dtype=np.int32)
    return single(first, rows[:, 0], rows[:, 1], rows[:, 2].astype(np.uint32), ids)


def plainly_merged(lane: list[Slice], resolution: int) -> list[list[Slice]]:
    """The slices of a lane in the groups they are drawn as."""

    def cell(numbered: tuple[int, Slice]) -> tuple[int, int]:
        number, (start, dur, _) = numbered
        return (start // resolution, -1 if dur < resolution else number)

    return [[piece for _, piece in group] for _, group in groupby(enumerate(lane), cell)]


@patient
@given(lanes, resolutions)
def test_short_neighbours_in_a_cell_become_one(lanes: list[list[Slice]], resolution: int) -> None:
    merged = merge(pieces_of(lanes), resolution)
    groups = [group for lane in lanes for group in plainly_merged(lane, resolution)]
    assert merged.start.tolist() == [group[0][0] for group in groups]
    ends = [group[-1][0] + group[-1][1] for group in groups]
    assert (merged.start + merged.dur).tolist() == ends
    assert merged.count.tolist() == [len(group) for group in groups]
    assert merged.busy.tolist() == [sum(dur for _, dur, _ in group) for group in groups]
    assert ((merged.id >= 0) == (merged.count == 1)).all()


@patient
@given(lanes, resolutions)
def test_the_name_that_takes_most_time_stands_for_all(
    lanes: list[list[Slice]], resolution: int
) -> None:
    merged = merge(pieces_of(lanes), resolution)
    groups = [group for lane in lanes for group in plainly_merged(lane, resolution)]
    for label, group in zip(merged.label.tolist(), groups, strict=True):
        time: Counter[int] = Counter()
        for _, dur, name in group:
            time[name] += dur
        assert time[label] == max(time.values())


@patient
@given(lanes)
def test_nothing_is_lost_from_level_to_level(lanes: list[list[Slice]]) -> None:
    slices = pieces_of(lanes)
    step_by_step = slices
    for resolution in (2, 8, 32, 128):
        step_by_step = merge(step_by_step, resolution)
        at_once = merge(slices, resolution)
        for field in ("first", "start", "dur", "id", "count", "busy"):
            assert getattr(step_by_step, field).tolist() == getattr(at_once, field).tolist()
        for lane, (first, last) in enumerate(pairwise(step_by_step.first.tolist())):
            assert step_by_step.count[first:last].sum() == len(lanes[lane])
            busy = sum(dur for _, dur, _ in lanes[lane])
            assert step_by_step.busy[first:last].sum() == busy


def test_levels_grow_coarser_until_little_is_left() -> None:
    start = np.arange(20_000) * 1000
    labels, ids = np.zeros(20_000, np.uint32), np.arange(20_000, dtype=np.int32)
    slices = single(np.array([0, 20_000]), start, np.full(20_000, 500), labels, ids)
    levels = list(coarser_levels(slices, merge, 20_000_000))
    sizes = [len(level.pieces) for level in levels]
    assert [level.resolution for level in levels] == [4096, 16384, 65536, 262144]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 100


# -- windows ---------------------------------------------------------------------------------------


@patient
@given(lanes, st.integers(-20, 200), st.integers(1, 200), st.integers(1, 50))
def test_a_window_shows_every_slice_in_it(
    lanes: list[list[Slice]], from_ns: int, length: int, pixels: int
) -> None:
    slices = pieces_of(lanes)
    levels = [Level(0, slices), *(Level(r, merge(slices, r)) for r in (4, 16, 64))]
    chosen = np.arange(len(lanes))
    window = visible(levels, chosen, from_ns, from_ns + length, pixels=pixels)
    for lane, (first, last) in enumerate(pairwise(window.pieces.first.tolist())):
        starts = window.pieces.start[first:last]
        ends = starts + window.pieces.dur[first:last]
        for start, dur, _ in lanes[lane]:
            if start < from_ns + length and start + dur > from_ns:
                assert ((starts <= start) & (ends >= start + dur)).any()
        assert last - first <= 2 * (length / window.resolution + 2)


@patient
@given(lanes, st.integers(2, 9))
def test_a_window_is_coarser_where_it_would_hold_too_much(
    lanes: list[list[Slice]], most: int
) -> None:
    slices = pieces_of(lanes)
    levels, chosen = [Level(0, slices)], np.arange(len(lanes))
    window = visible(levels, chosen, -20, 1000, pixels=1000, most=most)
    assert len(window.pieces) <= max(most, 2 * len(lanes))
    visible_pieces = visible(levels, chosen, -20, 1000, pixels=1000)
    assert window.pieces.count.sum() == visible_pieces.pieces.count.sum()

"""What is drawn over a timeline: what recording cost, and the critical path."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import timesink
from timesink.analyses.columns import device_columns, host_columns, start_and_end
from timesink.analyses.replay.own_clock import own_clock, own_timeline
from timesink.analyses.timeline.layout import layout_of
from timesink.analyses.timeline.overlays import (
    WAYS,
    path_levels,
    path_pieces,
    recording_costs,
    recording_levels,
)
from timesink.model.trace import Trace


@cache
def sample() -> Trace:
    return timesink.open(timesink.sample())


@pytest.mark.parametrize("without_overhead", [False, True])
def test_pieces_of_a_path_lie_in_their_slices_and_follow_one_another(
    *, without_overhead: bool
) -> None:
    trace = sample()
    drawn = own_timeline(trace) if without_overhead else trace
    pieces = path_pieces(trace, by_itself=without_overhead)
    for side, events in (
        (~pieces.of_device, host_columns(drawn)),
        (pieces.of_device, device_columns(drawn)),
    ):
        start, end = start_and_end(events, pieces.row[side])
        assert (start <= pieces.start[side]).all()
        assert (pieces.end[side] <= end).all()
    # One thing decides at a time: together they fill the recording, and hardly overlap.
    length = pieces.end.max() - pieces.start.min()
    assert 0.8 * length < (pieces.end - pieces.start).sum() < 1.02 * length
    assert (np.diff(pieces.start) < 0).mean() < 0.01


def test_a_path_goes_to_a_device_by_a_launch_and_back_by_waking_up() -> None:
    pieces = path_pieces(sample())
    ways = np.array(WAYS)[pieces.way[1:]]
    before, after = pieces.of_device[:-1], pieces.of_device[1:]
    assert set(ways[~before & after]) == {"launch"}
    assert set(ways[before & ~after]) == {"wake_up"}
    assert set(ways[before & after]) == {"queue"}
    assert not set(ways[~before & ~after]) - {"", "hand_over"}


def test_what_recording_cost_is_what_the_own_clock_takes_out() -> None:
    trace = sample()
    costs, clock = recording_costs(trace), own_clock(trace)
    assert clock.played is not None
    start, end = start_and_end(host_columns(trace), costs.row[costs.inside])
    assert (start <= costs.start[costs.inside]).all()
    assert (costs.end[costs.inside] <= end).all()
    # On all threads it is at least what cycles became shorter by.
    assert (costs.end - costs.start).sum() > clock.recorded_ns - (clock.own_ns or 0.0)


def test_nothing_is_drawn_where_the_own_clock_is_not_known() -> None:
    trace = sample()
    other = replace(trace, metadata=replace(trace.metadata, format="chrome"))
    assert not own_clock(other).is_known
    assert not len(recording_costs(other).row)
    assert not len(recording_levels(layout_of(other), recording_costs(other))[0].pieces)
    assert len(path_pieces(other, by_itself=True)) == len(path_pieces(other))


def test_what_is_drawn_over_slices_is_merged_as_they_are() -> None:
    trace = sample()
    layout = layout_of(trace)
    for levels in (
        path_levels(layout, path_pieces(trace)),
        recording_levels(layout, recording_costs(trace)),
    ):
        finest, coarsest = levels[0].pieces, levels[-1].pieces
        assert len(coarsest) < 0.3 * len(finest)
        assert coarsest.busy.sum() == finest.dur.sum()
        assert len(finest.first) == len(layout.lanes.slices.first)
        # On the lane of the slice it is part of.
        lane = np.repeat(np.arange(len(finest.first) - 1), np.diff(finest.first))
        track = np.searchsorted(layout.lanes.first_lane, lane, side="right") - 1
        owner, _ = layout.lanes.lanes_at(layout.lanes.place[finest.id])
        assert (track == owner).all()

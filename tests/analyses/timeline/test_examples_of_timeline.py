"""Small examples of what analyses.timeline computes."""

from __future__ import annotations

import numpy as np

import timesink
from timesink.analyses.timeline.lanes import stack_rows
from timesink.analyses.timeline.layout import layout_of, whole_layout
from timesink.analyses.timeline.levels import (
    Level,
    Points,
    as_points,
    coarser_levels,
    joined_ranges,
    merge,
    pixel_length,
    resolutions,
    sample_curves,
    single,
    thin,
    visible,
)
from timesink.analyses.timeline.tracks import Naming, rank_tracks


def test_sampled() -> None:
    trace = timesink.open(timesink.sample())
    assert [samples.track.name for samples in sample_curves(trace, Naming("GPU", {}))] == [
        "allocated memory",
        "allocated memory",
        "reserved memory",
    ]


def test_as_points() -> None:
    assert as_points(np.array([0, 2]), np.array([0, 8]), np.array([3.0, 5.0])).area.tolist() == [
        24.0,
        5.0,
    ]


def test_thin() -> None:
    ones = np.ones(3)
    value = np.array([1.0, 5.0, 2.0])
    all_points = Points(np.array([0, 3]), np.array([0, 3, 9]), value, value, value, ones)
    thinned = thin(all_points, 8)
    assert (
        thinned.x.tolist(),
        thinned.low.tolist(),
        thinned.mean.tolist(),
        thinned.high.tolist(),
    ) == ([0, 9], [1.0, 2.0], [3.0, 2.0], [5.0, 2.0])


def test_layout_of() -> None:
    layout = layout_of(timesink.open(timesink.sample()))
    assert [(track.group, track.name, track.rows) for track in layout.lanes.tracks[:2]] == [
        ("GPU 0", "stream 7", 2),
        ("GPU 0", "stream 7 annotations", 2),
    ]


def test_whole_layout() -> None:
    trace = timesink.open(timesink.sample())
    layout = layout_of(trace)
    full_layout = whole_layout(trace, layout)
    assert (len(layout.levels), len(full_layout.levels) > 1, len(full_layout.arrows)) == (
        1,
        True,
        1176,
    )


def test_coarser_levels() -> None:
    two = np.array([0, 10]), np.array([4, 5]), np.array([1, 2], np.uint32)
    slices = single(np.array([0, 2]), *two, np.array([7, 8], np.int32))
    levels = coarser_levels(slices, merge, 2**22)
    assert [(level.resolution, len(level.pieces)) for level in levels] == [(4096, 1)]


def test_resolutions() -> None:
    assert list(resolutions(2**22)) == [4096, 16384, 65536]


def test_merge() -> None:
    start, dur = np.array([0, 3, 16, 30]), np.array([2, 4, 9, 1])
    label, ids = np.array([5, 6, 5, 6], np.uint32), np.arange(4, dtype=np.int32)
    merged = merge(single(np.array([0, 4]), start, dur, label, ids), 8)
    assert (
        merged.start.tolist(),
        merged.dur.tolist(),
        merged.busy.tolist(),
        merged.id.tolist(),
    ) == ([0, 16, 30], [7, 9, 1], [6, 9, 1], [-1, 2, 3])


def test_stack_rows() -> None:
    start, end = np.array([0, 2, 8, 11]), np.array([10, 4, 14, 12])
    assert stack_rows(np.zeros(4, dtype=np.int64), start, end).tolist() == [0, 1, 1, 2]


def test_naming_process() -> None:
    assert Naming("GPU", {("1525", None): "python3"}).process("1525") == "python3 (1525)"


def test_ranked() -> None:
    named = Naming("GPU", {})
    few, many = (named.thread("1", t, "host", operators=int(t), events=9) for t in "38")
    listed, ids = rank_tracks([few, many])
    assert ([track.name for track in listed], ids) == (["thread 8", "thread 3"], [1, 0])


def test_visible() -> None:
    two = np.array([0, 10]), np.array([4, 5]), np.array([1, 2], np.uint32)
    levels = [Level(0, single(np.array([0, 2]), *two, np.array([7, 8], np.int32)))]
    window = visible(levels, np.array([0]), 3, 12, pixels=9)
    assert (window.pieces.id.tolist(), window.resolution) == ([7, 8], 1)
    assert visible(levels, np.array([0]), 0, 9999, pixels=9).pieces.count.tolist() == [2]


def test_pixel_length() -> None:
    assert (pixel_length(0, 1_000_000, 1000), pixel_length(0, 10, 1000)) == (1024, 1)


def test_joined_ranges() -> None:
    assert joined_ranges([(3, 5), (9, 9), (7, 8)]).tolist() == [3, 4, 7]

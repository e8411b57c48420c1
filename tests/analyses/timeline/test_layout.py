"""Where a recording is drawn: every event once, tracks in the order people look for them."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from hypothesis import given

import builders
import timesink
from timelines import patient, random_traces, trace_of
from timesink.analyses.timeline.layout import WholeLayout, layout_of, whole_layout
from timesink.model.trace import Trace


@cache
def sample() -> Trace:
    return timesink.open(timesink.sample())


@cache
def sample_layout() -> WholeLayout:
    return whole_layout(sample(), layout_of(sample()))


def test_tracks_of_the_sample_in_order() -> None:
    tracks = [(t.kind, t.group, t.name, t.unit) for t in sample_layout().lanes.tracks]
    assert tracks == [
        ("device", "GPU 0", "stream 7", ""),
        ("annotation", "GPU 0", "stream 7 annotations", ""),
        ("host", "python3 (1525)", "thread 1525 (python3)", ""),
        ("host", "python3 (1525)", "thread 1550 (python3)", ""),
        ("annotation", "Spans", "PyTorch Profiler", ""),
        ("annotation", "Traces", "Trace PyTorch Profiler", ""),
        ("memory", "Host, counters", "allocated memory", "B"),
        ("memory", "GPU 0, counters", "allocated memory", "B"),
        ("memory", "GPU 0, counters", "reserved memory", "B"),
    ]


@patient
@given(random_traces)
def test_every_event_is_drawn_once_and_none_over_another(trace: Trace) -> None:
    layout = layout_of(trace)
    slices, place = layout.lanes.slices, layout.lanes.place
    assert len(place) == trace.host.height + trace.device.height
    assert sorted(slices.id[place].tolist()) == list(range(len(place)))
    times = np.append(trace.host["ts_ns"].to_numpy(), trace.device["ts_ns"].to_numpy())
    assert (slices.start[place] + layout.start_ns == times).all()
    for first, last in pairwise(slices.first.tolist()):
        starts = slices.start[first:last]
        assert (starts[1:] >= (starts + slices.dur[first:last])[:-1]).all()
    assert sum(track.events for track in layout.lanes.tracks) == len(place)


def test_labels_count_what_they_stand_for() -> None:
    layout = sample_layout()
    names = pl.Series(layout.lanes.names)
    counted = pl.DataFrame({"name": names, "calls": layout.calls, "total": layout.total_ns})
    mine = counted.filter(pl.col("name") == "aten::conv2d").sum()
    calls = sample().host.filter(pl.col("name") == "aten::conv2d")
    assert (mine["calls"].item(), mine["total"].item()) == (calls.height, calls["dur_ns"].sum())


def test_launches_and_passes_are_arrows() -> None:
    arrows = sample_layout().arrows
    passes = sample().flows.filter(kind="forward_backward", phase="start").height
    assert int((arrows.kind == 1).sum()) == passes
    assert (arrows.head_ns >= arrows.tail_ns).mean() > 0.99
    assert (np.diff(arrows.tail_ns) >= 0).all()


def test_streams_that_compute_come_before_those_that_communicate_or_copy() -> None:
    event = {"kind": "kernel", "device": 0, "pid": "0", "ts_ns": 0, "dur_ns": 5}
    copies = {**event, "kind": "memcpy", "name": "Memcpy HtoD", "stream": "3"}
    talks = {**event, "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "stream": "5"}
    computes = {**event, "name": "gemm", "stream": "7"}
    layout = layout_of(trace_of(device=[copies, talks, computes]))
    assert [(track.kind, track.name) for track in layout.lanes.tracks] == [
        ("device", "stream 7"),
        ("communication", "stream 5"),
        ("device", "stream 3"),
    ]


def test_many_streams_that_do_little_stand_below_the_process() -> None:
    call = {"kind": "operator", "name": "aten::mm", "pid": "5", "tid": "5", "ts_ns": 0, "dur_ns": 9}
    event = {"device": 0, "pid": "0", "ts_ns": 2, "dur_ns": 5, "name": "x"}
    kernel = {**event, "kind": "kernel", "stream": "7"}
    copies = [{**event, "kind": "memcpy", "stream": str(number)} for number in range(60, 65)]
    layout = layout_of(trace_of(host=[call], device=[*copies, kernel]))
    groups = [track.group for track in layout.lanes.tracks]
    assert groups == ["GPU 0", "process 5", *["GPU 0, other streams"] * 5]


def test_counters_come_after_all_that_happens() -> None:
    call = {"kind": "operator", "name": "aten::mm", "pid": "5", "tid": "5", "ts_ns": 0, "dur_ns": 9}
    kernel = {"kind": "kernel", "device": 1, "pid": "1", "ts_ns": 2, "dur_ns": 5, "stream": "7"}
    counted = {"counter": "power", "value": 9.0, "source": "sampled"}
    counters = [{**counted, "device": str(device), "ts_ns": 3} for device in range(2)]
    layout = layout_of(trace_of(host=[call], device=[kernel], counters=counters))
    groups = [track.group for track in layout.lanes.tracks]
    assert groups == ["GPU 1", "process 5", "GPU 0, counters", "GPU 1, counters"]


def test_marks_far_from_the_work_are_left_out() -> None:
    call = {"kind": "operator", "name": "aten::mm", "pid": "1", "tid": "1"}
    mark = {"kind": "instant", "name": "window end", "pid": "", "tid": "", "ts_ns": 0, "dur_ns": 0}
    layout = layout_of(trace_of(host=[{**call, "ts_ns": 10**15, "dur_ns": 7}, mark]))
    assert layout.length_ns == 7
    assert layout.lanes.place.tolist() == [0, -1]
    assert [track.name for track in layout.lanes.tracks] == ["thread 1"]


def test_the_first_thread_of_the_busiest_process_is_on_top() -> None:
    def calls(pid: str, tid: str, count: int) -> list[dict[str, object]]:
        call = {"kind": "operator", "name": "aten::mm", "pid": pid, "tid": tid, "dur_ns": 1}
        return [{**call, "ts_ns": n} for n in range(count)]

    host = [*calls("5", "5", 1), *calls("8", "9", 6), *calls("8", "8", 2), *calls("8", "3", 3)]
    layout = layout_of(trace_of(host=host))
    assert [(track.group, track.name) for track in layout.lanes.tracks] == [
        ("process 8", "thread 8"),
        ("process 8", "thread 9"),
        ("process 8", "thread 3"),
        ("process 5", "thread 5"),
    ]


def test_a_recording_without_events_has_no_tracks() -> None:
    trace = trace_of()
    layout = whole_layout(trace, layout_of(trace))
    assert layout.lanes.tracks == ()
    assert len(layout.arrows) == 0


def test_arrows_with_an_id_that_is_used_again_lead_to_the_pass_after_them(tmp_path: Path) -> None:
    events = []
    for ts in (0, 100):
        events += [
            builders.operator("aten::mm", ts + 1, 5),
            builders.flow("s", 1, ts + 1, category="fwdbwd"),
            builders.operator("MmBackward0", ts + 50, 9),
            builders.operator("aten::t", ts + 50, 4),
            builders.flow("f", 1, ts + 50, category="fwdbwd", bp="e"),
        ]
    file = builders.write(tmp_path / "a.json", builders.kineto(events))
    trace = timesink.open(file, cache=False)
    layout = whole_layout(trace, layout_of(trace))
    lanes, arrows = layout.lanes, layout.arrows
    names = [
        [lanes.names[lanes.slices.label[lanes.place[end]]] for end in ends.tolist()]
        for ends in (arrows.tail, arrows.head)
    ]
    assert names == [["aten::mm"] * 2, ["MmBackward0"] * 2]
    assert (arrows.head_ns - arrows.tail_ns).tolist() == [49_000, 49_000]

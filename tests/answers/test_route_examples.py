"""Small examples of functions that other tests use only in passing."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import polars as pl
import pytest

from timesink.answers.plugin.distributed import device_info, overlap
from timesink.answers.plugin.memory import (
    Units,
    asked_window,
    columns,
    in_units,
    memory_curve,
    memory_events,
    memory_peak,
    memory_table,
    recorded_devices,
    round_values,
    rows_by_device,
)
from timesink.answers.plugin.operators import (
    kernel_pie,
    kernel_table_view,
    shape_text,
    tensor_core_pie,
)
from timesink.answers.plugin.overview import available_views, device_summary, overview
from timesink.answers.plugin.query import Query, microseconds
from timesink.answers.plugin.timeline import counter_events, find_moves, trace_view, without_mark
from timesink.answers.timeline.opening import from_arrays, open_timeline, place_of, to_arrays
from timesink.answers.timeline.requests import pack_arrays
from timesink.answers.timeline.routes import (
    aggregate,
    details,
    export,
    facts_of,
    search,
    slices,
    tracks,
)
from timesink.errors import NotFoundError


def test_aggregating_aggregate():
    import timesink
    from timesink.answers.timeline.opening import open_timeline

    timeline = open_timeline(timesink.open(timesink.sample()))
    assert aggregate(timeline, Query({"from": "0", "to": "1000000"})).table.columns == [
        "name",
        "kind",
        "calls",
        "self_ns",
        "total_ns",
        "share_pct",
        "mean_ns",
        "longest_ns",
    ]


def test_details_details():
    import timesink
    from timesink.answers.timeline.opening import open_timeline

    timeline = open_timeline(timesink.open(timesink.sample()))
    kernel = timeline.layout.host_rows + 50
    answer = details(timeline, Query({"id": str(kernel)}))
    assert answer["kind"] == "kernel"
    assert [(flow["kind"], flow["direction"]) for flow in answer["flows"]] == [("launch", "from")]


def test_export_export():
    import timesink
    from timesink.answers.timeline.opening import open_timeline

    timeline = open_timeline(timesink.open(timesink.sample()))
    assert b'"traceEvents"' in next(export(timeline, Query({"from": "0", "to": "1000000"})))


def test_facts_facts_of():
    import timesink
    from timesink.answers.timeline.opening import open_timeline

    timeline = open_timeline(timesink.open(timesink.sample()))
    assert dict(facts_of(timeline, timeline.layout.host_rows + 50))["block"] == "128, 1, 1"


def test_keeping_to_arrays():
    import timesink
    from timesink.analyses.timeline.layout import layout_of, whole_layout

    trace = timesink.open(timesink.sample())
    layout = whole_layout(trace, layout_of(trace))
    assert from_arrays(to_arrays(layout)).lanes.tracks == layout.lanes.tracks


def test_opening_open_timeline():
    import timesink

    timeline = open_timeline(timesink.open(timesink.sample()))
    assert timeline.layout.lanes.tracks[0].name == "stream 7"


def test_packed_packed():
    answer = pack_arrays({"slices": 1}, {"row": np.array([3], np.uint16)})
    length = int.from_bytes(answer[:4], "little")
    assert msgspec.json.decode(answer[4 : 4 + length]) == {
        "slices": 1,
        "arrays": [["row", "u16", 1]],
    }
    assert answer[4 + length :] == b"\x03\x00\x00\x00\x00\x00\x00\x00"


def test_pictures_tracks():
    import timesink
    from timesink.answers.timeline.opening import open_timeline

    answer = tracks(open_timeline(timesink.open(timesink.sample())), Query())
    assert answer["tracks"][0]["kind"] == "device"
    assert answer["steps"][0]["name"] == "3"


def test_pictures_slices():
    import timesink
    from timesink.answers.timeline.opening import open_timeline

    answer = slices(open_timeline(timesink.open(timesink.sample())), Query({"pixels": "100"}))
    assert b'"resolution_ns":524288' in answer


def test_places_place_of():
    import timesink
    from timesink.answers.timeline.opening import open_timeline

    assert sorted(place_of(open_timeline(timesink.open(timesink.sample())), 0)) == [
        "dur_ns",
        "from_ns",
        "id",
        "name",
        "row",
        "track",
    ]


def test_searching_search():
    import timesink
    from timesink.answers.timeline.opening import open_timeline

    timeline = open_timeline(timesink.open(timesink.sample()))
    answer = search(timeline, Query({"q": "ATEN::CONV2D"}))
    assert answer["names"][0]["name"] == "aten::conv2d"
    assert answer["total"] == len(answer["hits"])


def test_device_summary_device_summary():
    import timesink

    key, summary = device_summary(timesink.open(timesink.sample()))
    assert key == "gpu_metrics"
    assert summary["title"] == "GPU Summary"
    assert summary["data"][0] == {"title": "GPU 0:", "value": ""}


def test_distributed_overlap():
    import timesink
    from timesink.analyses.ranks.rank_set import ranks_of_traces

    with pytest.raises(
        NotFoundError, match=re.escape("no worker communicates with others in this span")
    ):
        overlap(ranks_of_traces({"worker0": timesink.open(timesink.sample())}), Query())


def test_distributed_device_info():
    import timesink
    from timesink.analyses.ranks.rank_set import ranks_of_traces

    answer = device_info(ranks_of_traces({"node_0": timesink.open(timesink.sample())}), Query())
    assert list(answer["data"]["node"]["Process 0"]) == ["GPU0"]


def test_kernels_kernel_pie():
    import timesink

    pie = kernel_pie(timesink.open(timesink.sample()), Query())
    assert [column["name"] for column in pie["total"]["columns"]] == ["name", "value"]


def test_kernels_tensor_core_pie():
    import timesink

    pie = tensor_core_pie(timesink.open(timesink.sample()), Query())
    assert [row[0] for row in pie["total"]["rows"][:2]] == [
        "Using Tensor Cores",
        "Not Using Tensor Cores",
    ]


def test_kernels_kernel_table_view():
    import timesink

    view = kernel_table_view(timesink.open(timesink.sample()), Query({"group_by": "Kernel"}))
    assert view["metadata"] == {"sort": "Total Duration (us)"}


def test_memory_memory_table():
    import timesink

    answer = memory_table(timesink.open(timesink.sample()), Query())
    assert answer["metadata"]["default_device"] == "GPU0"
    assert answer["metadata"]["sort"] == "Self Size Increase (KB)"


def test_memory_memory_curve():
    import timesink

    answer = memory_curve(timesink.open(timesink.sample()), Query())
    assert [column["name"] for column in answer["columns"]] == [
        "Time (ms)",
        "Allocated (MB)",
        "Reserved (MB)",
    ]


def test_memory_memory_events():
    import timesink

    answer = memory_events(timesink.open(timesink.sample()), Query())
    assert [column["name"] for column in answer["columns"]][:3] == [
        "Operator",
        "Size (KB)",
        "Allocation Time (ms)",
    ]


def test_memory_form_units():
    units = Units.of_query(Query({"memory_metric": "GB"}), memory="MB")
    assert units.memory == "GB"
    assert units.bytes(pl.Series([3 * 1024**3])).to_list() == [3.0]


def test_memory_form_asked_window():
    import timesink

    trace = timesink.open(timesink.sample())
    start, end = asked_window(trace, Query({"start_ts": "7"}))
    assert start == trace.metadata.clock_offset_ns + 6_500
    assert end is None


def test_memory_form_rounded():
    assert round_values(pl.Series([1.005, 2.675, 0.00123, 0.0, None, -3.14159])) == [
        1.0,
        2.67,
        0.001,
        0.0,
        None,
        -3.14,
    ]


def test_memory_form_in_units():
    sizes = pl.DataFrame({"calls": [3], "size_bytes": [1536]})
    assert in_units(sizes, Units("ms", "KB")).rows() == [(3, 1.5)]


def test_memory_form_recorded_devices():
    import timesink

    assert recorded_devices(timesink.open(timesink.sample())) == ["CPU", "GPU0"]


def test_memory_form_columns():
    assert columns(Units("ms", "KB"), "memory_events")[:2] == [
        {"name": "Operator", "type": "string", "tooltip": "Which operator took the block."},
        {"name": "Size (KB)", "type": "number", "tooltip": "How large the block is."},
    ]
    assert columns(Units("ms", "KB"), "memory")[0] == {"name": "Operator Name", "type": "string"}


def test_memory_form_rows_by_device():
    assert rows_by_device(pl.DataFrame({"device": ["GPU0"], "calls": [3]}), ["CPU", "GPU0"]) == {
        "CPU": [],
        "GPU0": [[3]],
    }


def test_memory_peak_memory_peak():
    import timesink

    answer = memory_peak(timesink.open(timesink.sample()), Query())
    assert [column["name"] for column in answer["columns"]] == [
        "Category",
        "Operator",
        "Module",
        "Blocks",
        "Size (MB)",
    ]


def test_operators_shape_text():
    assert shape_text("[[2,8,5],[],[]]") == "[[2, 8, 5], [], []]"
    assert shape_text(None) == "[]"


def test_overview_overview():
    import timesink

    answer = overview(timesink.open(timesink.sample()), Query())
    assert list(answer) == [
        "steps",
        "performance",
        "recommendations",
        "environments",
        "gpu_metrics",
    ]


def test_query_query():
    query = Query({"group_by": "Operation", "start_ts": "12"})
    assert query.text("group_by") == "Operation"
    assert query.integer("start_ts") == 12
    assert query.integer("end_ts") is None


def test_query_microseconds():
    assert microseconds(177_592_000) == 177592
    assert microseconds(1_500) == 1.5


def test_timeline_trace_view():
    import timesink

    text = b"".join(trace_view(timesink.open(timesink.sample()), Query()))
    assert b'"GPU 0 Utilization"' in text


def test_timeline_counters_counter_events():
    import timesink

    event = next(counter_events(timesink.open(timesink.sample())))
    assert event["name"] == "GPU 0 Utilization"
    assert event["pid"] == 0
    assert event["args"] == {"GPU Utilization": 1.0}


def test_timeline_lanes_find_moves():
    import timesink

    lanes, tracks = find_moves(timesink.open(timesink.sample()))
    assert tracks[0]["args"] == {"name": "stream 7 (overlap 1)"}
    assert set(lanes.values()) == {"7 (overlap 1)"}


def test_timeline_text_without_mark():
    assert without_mark(b'\xef\xbb\xbf{"traceEvents": [') == b'{"traceEvents": ['


def test_views_available_views():
    import timesink

    assert available_views(timesink.open(timesink.sample())) == [
        "Overview",
        "Operator",
        "Kernel",
        "Trace",
        "Memory",
    ]

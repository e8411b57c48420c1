"""What of a trace was captured: calls, work, and what is no part of a graph."""

from __future__ import annotations

from pathlib import Path

import builders
import graph_programs
import timesink
from timesink.captures.capture_traces import captures_in, eager_capture


def captures(tmp_path: Path, events: list[builders.Event], label: str = ""):
    trace = timesink.open(graph_programs.write(tmp_path / "capture.json", events), cache=False)
    return captures_in(trace, "capture.json", label)


def test_launches_between_begin_and_end_are_its_nodes(tmp_path):
    (capture,) = captures(tmp_path, graph_programs.captured())
    names = capture.calls["name"]
    assert names[capture.nodes["call"].to_list()].to_list() == [
        "aten::addmm", "aten::gelu", "aten::addmm", "aten::mul",
    ]  # fmt: skip
    assert capture.nodes["kernel"].to_list() == ["gemm_128", "gelu", "gemm_64", "mul"]


def test_callers_come_first_and_have_shapes(tmp_path):
    (capture,) = captures(tmp_path, graph_programs.captured(batch=4))
    parents = capture.calls["parent"].to_list()
    assert parents == [-1, 0, 1, 0, 3, 0, 5, 0, 7]
    assert capture.calls["input_dims"][2] == "[[4, 16], [16, 16]]"


def test_work_that_ran_is_no_part_of_the_graph(tmp_path):
    (capture,) = captures(tmp_path, graph_programs.captured(warm_up=True))
    assert "fill" not in capture.nodes["kernel"].to_list()


def test_each_begin_is_a_graph_of_its_own(tmp_path):
    events = graph_programs.captured(start=1000)
    events += graph_programs.captured(graph_programs.LAYERS[:2], start=3000)
    assert [capture.nodes.height for capture in captures(tmp_path, events)] == [4, 2]


def test_without_a_begin_all_launches_without_work_are_one_graph(tmp_path):
    events = [event for event in graph_programs.captured() if "Capture" not in event["name"]]
    (capture,) = captures(tmp_path, events, "batch size 8")
    assert (capture.nodes.height, capture.label) == (4, "batch size 8")


def test_a_range_around_the_begin_is_its_label(tmp_path):
    events = [builders.annotation("capture_32_FULL", 1040, 600), *graph_programs.captured()]
    (capture,) = captures(tmp_path, events)
    assert capture.label == "capture_32_FULL"
    assert "capture_32_FULL" not in capture.calls["name"].to_list()


def test_copies_and_memsets_are_nodes_of_their_kind(tmp_path):
    events = graph_programs.captured(warm_up=False)
    events += [
        builders.runtime("cudaMemcpyAsync", 1200, 2, 700),
        builders.runtime("cudaMemsetAsync", 1210, 2, 701),
    ]
    (capture,) = captures(tmp_path, events)
    assert capture.nodes["kind"].to_list()[-2:] == ["memcpy", "memset"]


def test_a_driver_call_inside_its_runtime_call_is_the_same_launch(tmp_path):
    events = graph_programs.captured(warm_up=False)
    inner = builders.complete("cuda_driver", "cuLaunchKernel", 1067, 1, args={"correlation": 1101})
    (capture,) = captures(tmp_path, [*events, inner])
    assert capture.nodes.height == 4


def test_an_eager_recording_has_its_work_in_the_order_of_launches(tmp_path):
    file = graph_programs.write(tmp_path / "eager.json", graph_programs.eager())
    capture = eager_capture(timesink.open(file, cache=False), "eager.json")
    assert capture is not None
    assert capture.is_eager
    assert capture.nodes["kernel"].to_list() == ["gemm_128", "gelu", "gemm_64", "mul"]

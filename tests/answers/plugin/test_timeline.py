"""The trace file with counters, as JSON that every viewer reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import timesink
from answers import damage
from builders import (
    BASE_NS,
    Document,
    Event,
    complete,
    flow,
    gzip_members,
    kernel,
    kineto,
    operator,
    to_bytes,
    training_trace,
    write,
)
from timesink.answers.plugin.query import Query
from timesink.answers.plugin.timeline import trace_view
from timesink.errors import UnreadableError
from timesink.model.trace import Trace

SPAN = complete("Trace", "PyTorch Profiler (0)", 1000, 4, pid="Spans", tid="PyTorch Profiler")


def timeline_view(trace: Trace) -> Any:
    return json.loads(b"".join(trace_view(trace, Query())), parse_constant=pytest.fail)


def view(file: Path) -> Any:
    return timeline_view(timesink.open(file))


def counters(events: list[Event], name: str) -> list[tuple[Any, Any]]:
    return [
        (event["ts"], *event["args"].values())
        for event in events
        if event["ph"] == "C" and event["name"] == name
    ]


def plain_events(document: Document) -> list[Event]:
    return document if isinstance(document, list) else document["traceEvents"]


# -- counters ------------------------------------------------------------------------------------


def test_counters_come_before_the_events_of_the_file(tmp_path: Path):
    busy = kernel("gemm", 1001, 1.5, 1, **{"blocks per SM": 0.5})
    document = kineto([SPAN, busy], deviceProperties=[{"id": 0, "name": "NVIDIA H200"}])
    document_view = view(write(tmp_path / "trace.json", document))
    added = document_view["traceEvents"][:-2]
    assert document_view == {**document, "traceEvents": [*added, SPAN, busy]}
    assert counters(added, "GPU 0 Utilization") == [
        (1000, 1),
        (1000, 0),
        (1000, 0),
        (1001, 1),
        (1002, 0.5),
        (1003, 0),
        (1004, 0),
    ]
    assert counters(added, "GPU 0 Est. SM Efficiency") == [
        (1000, 1),
        (1000, 0),
        (1001, 0.5),
        (1002.5, 0),
    ]
    assert added[0] == {
        "ph": "C",
        "name": "GPU 0 Utilization",
        "pid": 0,
        "ts": 1000,
        "args": {"GPU Utilization": 1},
    }


def test_times_are_those_of_the_file_to_the_nanosecond(tmp_path: Path):
    busy = kernel("gemm", 1794703861258.979, 1.001, 1, **{"blocks per SM": 0.5})
    file = write(tmp_path / "trace.json", kineto([busy], baseTimeNanoseconds=BASE_NS))
    text = b"".join(trace_view(timesink.open(file), Query()))
    assert b'"ts":1794703861258.979,"args":{"Est. SM Efficiency":0.5}' in text
    assert b'"ts":1794703861259.980,"args":{"Est. SM Efficiency":0.0}' in text


def test_times_since_1970_lose_no_digit(tmp_path: Path):
    text = to_bytes(kineto([kernel("gemm", 0, 1, 1, **{"blocks per SM": 0.5})]))
    file = write(tmp_path / "trace.json", text.replace(b'"ts":0', b'"ts":1712170298123456.789'))
    assert b'"ts":1712170298123456.789,"args":{"Est. SM' in b"".join(
        trace_view(timesink.open(file), Query())
    )


def test_device_has_the_name_its_users_know(tmp_path: Path):
    document = kineto(
        [kernel("MLUKernelAdd", 10, 4, 1)], deviceProperties=[{"id": 0, "name": "MLU370"}]
    )
    first = view(write(tmp_path / "trace.json", document))["traceEvents"][0]
    assert (first["name"], first["args"]) == ("MLU 0 Utilization", {"MLU Utilization": 1})


def test_without_kernels_the_file_is_shown_as_it_is(tmp_path: Path):
    text = to_bytes(kineto([operator("aten::mm", 1, 2)]), indent=3)
    file = write(tmp_path / "trace.json", text)
    assert b"".join(trace_view(timesink.open(file), Query())) == text


def test_sample_of_the_former_plugin(shared_root: Path):
    """Names, order and times as there; its values were scaled up to be seen: 100 and 10 times."""
    kineto_data = shared_root / "data" / "kineto"
    expected = json.loads((kineto_data / "gpu_metrics_expected.json").read_bytes())
    for event in expected["traceEvents"][:78]:
        ((quantity, value),) = event["args"].items()
        scale = 100 if quantity == "GPU Utilization" else 10
        event["args"] = {quantity: value if value in (0, 1) else pytest.approx(value / scale)}
    assert view(kineto_data / "gpu_metrics_input.json") == expected


# -- forms of files ------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".json", ".json.gz", ".json.zip"])
def test_every_packing(tmp_path: Path, ending: str):
    document = training_trace(2)
    document_view = view(write(tmp_path / f"trace{ending}", document))
    listed = plain_events(document)
    assert document_view["traceEvents"][-len(listed) :] == listed


def test_bare_list(tmp_path: Path):
    busy = kernel("gemm", 1001, 1, 1)
    events = view(write(tmp_path / "trace.json", [busy]))
    assert events[-1] == busy
    assert events[0]["ph"] == "C"


@pytest.mark.parametrize(
    "text",
    [
        b'\xef\xbb\xbf{"traceEvents": [%s]}',
        b'{"traceEvents": [\r\n\t%s \n]\n,"displayTimeUnit": "ms"}\n',
        b'{"note": {"traceEvents": []}, "traceEvents": [%s]}',
    ],
    ids=["byte order mark", "white space", "a field of the same name"],
)
def test_layouts(tmp_path: Path, text: bytes):
    busy = kernel("gemm", 1001, 1, 1)
    document_view = view(write(tmp_path / "trace.json", text % json.dumps(busy).encode()))
    assert document_view["traceEvents"][-1] == busy
    assert document_view["traceEvents"][0]["ph"] == "C"


def test_bytes_the_reader_skips_become_utf8(tmp_path: Path):
    text = to_bytes(kineto([kernel("gemm", 1001, 1, 1, note="NOTE é")]))
    file = write(tmp_path / "trace.json", text.replace(b"NOTE", b"\xff\xfe"))
    assert "\ufffd\ufffd \u00e9" in view(file)["traceEvents"][-1]["args"]["note"]


# -- damage --------------------------------------------------------------------------------------


def mend(tmp_path: Path, text: bytes) -> tuple[Trace, list[Event]]:
    trace = timesink.open(write(tmp_path / "trace.json", text))
    return trace, timeline_view(trace)["traceEvents"]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (b'"dur":900', b'"dur":N/A', "bare_word"),
        (b'"aten::linear"', b'"aten::\nlinear"', "control_characters"),
        (b'"aten::linear"', b'"aten::"linear""', "unescaped_quotes"),
        (b'],"displayTimeUnit":"ms"}', b"", "truncated_tail"),
    ],
)
def test_damaged_file_is_written_anew(tmp_path: Path, old: bytes, new: bytes, code: str):
    text = to_bytes(training_trace(2))
    trace, events = mend(tmp_path, text.replace(old, new))
    assert code in damage(trace)
    assert sum(event.get("cat") == "kernel" for event in events) == 8
    assert events[0]["name"] == "GPU 0 Utilization"


@pytest.mark.parametrize("between", [b"}{", b"},,{", b"}\n{"])
def test_commas_that_cost_no_event_are_mended_as_well(tmp_path: Path, between: bytes):
    text = to_bytes(training_trace(2)).replace(b'"ms"', b'"ns"')
    trace, events = mend(tmp_path, text.replace(b"},{", between, 3))
    assert sum(event.get("cat") == "kernel" for event in events) == 8
    assert trace.metadata.events == 50


def test_cut_archive(tmp_path: Path):
    packed = gzip_members([to_bytes(training_trace(40))])
    file = tmp_path / "trace.json.gz"
    file.write_bytes(packed[: len(packed) // 2])
    events = view(file)["traceEvents"]
    assert events[0]["name"] == "GPU 0 Utilization"
    assert any(event.get("cat") == "kernel" for event in events)


def test_other_formats_are_written_as_this_one(shared_root: Path):
    events = view(shared_root / "data" / "nsys" / "output-file.sqlite")["traceEvents"]
    assert events[0]["name"] == "GPU 0 Utilization"
    assert {"kernel", "cuda_runtime"} <= {event.get("cat") for event in events}


def test_file_that_is_gone_is_told(tmp_path: Path):
    file = write(tmp_path / "trace.json.gz", training_trace(1))
    trace = timesink.open(file)
    list(trace_view(trace, Query()))
    file.unlink()
    with pytest.raises(UnreadableError, match="no such file"):
        trace_view(trace, Query())


# -- slices that cross ---------------------------------------------------------------------------


def crossing_kernels() -> list[Event]:
    """Two kernels of one stream that cross, and the arrow to the second."""
    return [
        kernel("first", 1000, 10, 1, stream=7),
        kernel("second", 1005, 10, 2, stream=7, note={"kept": [1.50]}),
        flow("s", 2, 1001),
        flow("f", 2, 1005, pid=0, tid=7, bp="e"),
        kernel("third", 1020, 10, 3, stream=7),
    ]


def test_slice_that_crosses_another_gets_a_lane_of_its_own(tmp_path: Path):
    before = crossing_kernels()
    events = view(write(tmp_path / "trace.json", kineto(before)))["traceEvents"]
    lane = {"tid": "7 (overlap 1)"}
    assert events[-5:] == [before[0], before[1] | lane, before[2], before[3] | lane, before[4]]
    (name,) = (event for event in events if event["name"] == "thread_name")
    assert (name["pid"], name["tid"]) == (0, "7 (overlap 1)")
    assert name["args"] == {"name": "stream 7 (overlap 1)"}


def test_moved_slices_of_a_long_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cut_small_pieces(monkeypatch)
    before = [
        {**event, "ts": event["ts"] + 100 * place}
        for place in range(50)
        for event in crossing_kernels()
    ]
    document_view = view(write(tmp_path / "trace.json.gz", kineto(before)))
    after = document_view["traceEvents"][-len(before) :]
    moved = [place for place, event in enumerate(after) if event["tid"] == "7 (overlap 1)"]
    assert moved == [place for place in range(250) if place % 5 in (1, 3)]
    assert [
        {**event, "tid": old["tid"]} for event, old in zip(after, before, strict=True)
    ] == before
    assert document_view["displayTimeUnit"] == "ms"


def cut_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    from timesink.answers.plugin import timeline as timeline_lanes
    from timesink.answers.plugin import timeline as timeline_text
    from timesink.formats.chrome.container import cut_pieces

    for module in (timeline_lanes, timeline_text):
        monkeypatch.setattr(module, "cut_pieces", lambda events: cut_pieces(events, size=1000))

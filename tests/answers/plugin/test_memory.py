"""The answers of the memory view: form, units, windows, notes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import timesink
from builders import BASE_NS, memory, operator
from cases import ALLOC, O, columns, read
from timesink.answers.plugin.memory import memory_curve, memory_events, memory_peak, memory_table
from timesink.answers.plugin.query import Query
from timesink.errors import NotFoundError, UsageError
from timesink.model.trace import Trace

ANSWERS = (memory_table, memory_curve, memory_events, memory_peak)


@pytest.fixture
def small() -> Trace:
    return read(
        O("aten::conv2d", 100, 100),
        O("aten::empty", 110, 50),
        ALLOC(120, 1536, device=0, address=1, total=1536),
        ALLOC(150, 8, address=2, total=8),
        ALLOC(180, -1536, device=0, address=1),
        deviceProperties=[{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 4 * 1024**2}],
    )


@pytest.mark.parametrize("answer", ANSWERS)
def test_answers_are_json(small: Trace, answer: Any):
    payload = answer(small, Query())
    assert json.loads(json.dumps(payload)) == payload


@pytest.mark.parametrize("answer", ANSWERS)
def test_no_memory_records(answer: Any):
    with pytest.raises(NotFoundError):
        answer(read(O("aten::mm", 0, 10)), Query())


@pytest.mark.parametrize("parameter", ["memory_metric", "time_metric"])
def test_unknown_units_are_refused(small: Trace, parameter: str):
    with pytest.raises(UsageError, match=parameter):
        memory_curve(small, Query({parameter: "furlong"}))


# -- table -----------------------------------------------------------------------------------------


def test_table(small: Trace):
    answer = memory_table(small, Query())
    assert answer["metadata"]["title"] == "Memory View"
    assert answer["metadata"]["default_device"] == "GPU0"
    assert answer["metadata"]["search"] == "Operator Name"
    assert answer["metadata"]["sort"] == "Self Size Increase (KB)"
    assert columns(answer) == [
        "Operator Name",
        "Calls",
        "Size Increase (KB)",
        "Self Size Increase (KB)",
        "Allocation Count",
        "Self Allocation Count",
        "Allocation Size (KB)",
        "Self Allocation Size (KB)",
    ]
    assert answer["rows"] == {
        "CPU": [
            ["aten::conv2d", 1, 0.008, 0.0, 1, 0, 0.008, 0.0],
            ["aten::empty", 1, 0.008, 0.008, 1, 1, 0.008, 0.008],
        ],
        "GPU0": [
            ["aten::conv2d", 1, 0.0, -1.5, 1, 0, 1.5, 0.0],
            ["aten::empty", 1, 1.5, 1.5, 1, 1, 1.5, 1.5],
        ],
    }


def test_table_tells_what_no_operator_took():
    trace = read(O("aten::mm", 0, 10), ALLOC(5, 1024), ALLOC(20, -2048))
    metadata = memory_table(trace, Query())["metadata"]
    assert metadata["memory_metric"] == "KB"
    assert metadata["outside_operators"] == {
        "CPU": {
            "records": 1,
            "size_increase": -2.0,
            "allocation_count": 0,
            "allocation_size": 0.0,
        }
    }


def test_window_is_on_the_clock_of_the_file():
    """Times in the file count from a base; the curve tells where it starts on the same clock."""
    trace = read(
        operator("aten::mm", 100.0, 50.0),
        memory(120.7, 512, total=512),
        operator("aten::add", 300.0, 50.0),
        memory(320.7, 512, total=512),
        baseTimeNanoseconds=BASE_NS,
    )
    answer = memory_curve(trace, Query())
    to_us = 1 / answer["metadata"]["time_factor"]
    points = [answer["metadata"]["first_ts"] + row[0] * to_us for row in answer["rows"]["GPU0"]]
    assert points == pytest.approx([120.7, 320.7, 320.7])
    window = Query({"start_ts": "321", "end_ts": "321"})
    assert [row[0] for row in memory_table(trace, window)["rows"]["GPU0"]] == ["aten::add"]
    assert len(memory_events(trace, window)["rows"]["GPU0"]) == 1


def test_window_has_whole_numbers(small: Trace):
    with pytest.raises(UsageError):
        memory_table(small, Query({"start_ts": "soon"}))


# -- curve -----------------------------------------------------------------------------------------


def test_curve(small: Trace):
    answer = memory_curve(small, Query({"memory_metric": "KB"}))
    assert answer["metadata"] == {
        "default_device": "GPU0",
        "devices": ["CPU", "GPU0"],
        "peaks": {
            "CPU": "Peak Memory Usage: 0.0KB",
            "GPU0": "Peak Memory Usage: 1.5KB",
        },
        "totals": {"GPU0": 4096.0},
        "first_ts": 100,
        "time_metric": "ms",
        "memory_metric": "KB",
        "time_factor": 0.001,
        "memory_factor": 1 / 1024,
        "sources": {"CPU": "recorded", "GPU0": "recorded"},
        "notes": [],
    }
    assert columns(answer) == ["Time (ms)", "Allocated (KB)", "Reserved (KB)"]
    assert answer["rows"]["GPU0"] == [[0.02, 1.5, 3.0], [0.08, 1.5, 3.0], [0.08, 0.0, 0.0]]


def test_curve_is_in_megabytes_unless_asked(small: Trace):
    assert columns(memory_curve(small, Query())) == [
        "Time (ms)",
        "Allocated (MB)",
        "Reserved (MB)",
    ]


def test_curve_tells_when_points_are_left_out():
    trace = read(*(ALLOC(ts, 1, device=0, total=ts) for ts in range(6000)))
    answer = memory_curve(trace, Query({"memory_metric": "B"}))
    assert len(answer["rows"]["GPU0"]) == 10240
    assert max(row[1] for row in answer["rows"]["GPU0"]) == 5999
    assert answer["metadata"]["notes"] == [
        "GPU0: 10240 of 11999 points are drawn; the peaks are exact."
    ]


# -- single blocks ---------------------------------------------------------------------------------


def test_events(small: Trace):
    answer = memory_events(small, Query())
    assert answer["metadata"] == {"title": "Memory Events", "default_device": "GPU0", "notes": []}
    assert columns(answer) == [
        "Operator",
        "Size (KB)",
        "Allocation Time (ms)",
        "Release Time (ms)",
        "Duration (ms)",
    ]
    name = "aten::conv2d (aten::empty)"
    assert answer["rows"] == {
        "CPU": [[name, 0.008, 0.05, None, None]],
        "GPU0": [[name, 1.5, 0.02, 0.08, 0.06]],
    }


def test_unnamed_blocks():
    trace = read(O("aten::empty", 0, 10), ALLOC(5, 8, address=1), ALLOC(20, -8, address=2))
    rows = memory_events(trace, Query({"memory_metric": "B"}))["rows"]["CPU"]
    assert [row[0] for row in rows] == ["aten::empty", "<unknown>"]


# -- peak ------------------------------------------------------------------------------------------


def test_peak(small: Trace):
    answer = memory_peak(small, Query({"memory_metric": "KB"}))
    assert answer["metadata"]["peaks"]["GPU0"] == {
        "source": "recorded",
        "peak_allocated": 1.5,
        "peak_allocated_time": 0.02,
        "peak_step": "0",
        "reserved_at_peak": 3.0,
        "fragmentation": 1.5,
        "peak_reserved": 3.0,
        "peak_reserved_time": 0.02,
        "capacity": 4096.0,
    }
    assert answer["rows"]["GPU0"] == [["forward", "aten::empty", None, 1, 1.5]]


# -- a real recording ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def before_addresses(shared_root: Path) -> Trace:
    """From PyTorch 1.9: no addresses, no totals, threads as text."""
    name = "worker0.1623143089861.pt.trace.json.gz"
    folder = shared_root / "data" / "kineto" / "resnet50_num_workers_0"
    return timesink.open(folder / name)


def test_old_recording_has_a_full_table(before_addresses: Trace):
    answer = memory_table(before_addresses, Query())
    rows = {row[0]: row for row in answer["rows"]["GPU0"]}
    calls, taken_by_itself = rows["aten::cudnn_convolution"][1], rows["aten::cudnn_convolution"][5]
    assert (calls, taken_by_itself) == (318, 318)


def test_old_recording_has_a_curve_that_says_where_it_comes_from(before_addresses: Trace):
    answer = memory_curve(before_addresses, Query())
    assert len(answer["rows"]["GPU0"]) == 10240
    assert [row[2] for row in answer["rows"]["GPU0"][:3]] == [None] * 3
    assert [note.split(":")[0] for note in answer["metadata"]["notes"]] == ["CPU", "GPU0", "GPU0"]
    assert answer["metadata"]["sources"] == {"CPU": "summed", "GPU0": "summed"}
    assert round(answer["metadata"]["totals"]["GPU0"]) == 32505


def test_old_recording_has_no_blocks_and_says_why(before_addresses: Trace):
    answer = memory_events(before_addresses, Query())
    assert answer["rows"] == {"CPU": [], "GPU0": []}
    started = [note.partition(", so")[0] for note in answer["metadata"]["notes"]]
    assert started == [f"{name}: the records have no addresses" for name in ("CPU", "GPU0")]

"""What the newest writers of PyTorch and torch_npu put into and around Chrome JSON."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import timesink
from builders import DIALECTS, kineto, to_bytes
from timesink.errors import UnreadableError
from timesink.formats.source_file import read_trace

LARGE_ID = 2**63 + 12345


def kernel(name: str, ts: float, category: str = "kernel", **args: object) -> dict[str, object]:
    common = {"device": 1, "stream": 7, "correlation": 4}
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 1,
        "tid": 7,
        "ts": ts,
        "dur": 5.0,
        "args": {**common, **args},
    }


def read(tmp_path: Path, events: list[dict[str, object]]) -> timesink.Trace:
    path = tmp_path / "trace.json"
    path.write_bytes(to_bytes(kineto(events)))
    return read_trace(path)


def test_samples_of_hardware_counters(tmp_path):
    """Each is one nameless series of a process of its own."""
    events = [kernel("gemm", 10)]
    events += [
        {"ph": "C", "name": name, "pid": "GPU 1 Counters", "ts": 10.0 + step, "args": {"": value}}
        for step in range(3)
        for name, value in (("SM Active (%)", 40.5 + step), ("NVLink RX", 7))
    ]
    events.append(
        {
            "ph": "M",
            "name": "process_sort_index",
            "pid": "GPU 1 Counters",
            "tid": 0,
            "ts": 0,
            "args": {"sort_index": 101},
        }
    )
    counters = read(tmp_path, events).counters
    assert counters["device"].cast(pl.String).unique().to_list() == ["GPU 1"]
    active = counters.filter(pl.col("counter") == "SM Active (%)")
    assert active["value"].to_list() == [40.5, 41.5, 42.5]


def test_ids_of_collectives_keep_every_digit(tmp_path):
    collective = {
        "Collective name": "allreduce",
        "In msg nelems": 16,
        "Out msg nelems": 16,
        "Group size": 8,
        "dtype": "Float",
        "Seq": 812,
        "Comms Id": LARGE_ID,
    }
    other = {**collective, "Seq": 813, "Comms Id": 17, "Is asynchronized op": True}
    events = [
        kernel("ncclDevKernel_AllReduce", 10, **collective),
        kernel("ncclDevKernel_AllReduce", 20, **other),
    ]
    trace = read(tmp_path, events)
    assert trace.collectives["sequence"].to_list() == [812, 813]
    assert [number % 2**64 for number in trace.collectives["comms_id"]] == [LARGE_ID, 17]
    assert trace.event_args["key"].cast(pl.String).to_list() == ["Is asynchronized op"]
    assert not [entry for entry in trace.health if entry.code == "unmodelled_args"]


def test_synchronisation_of_other_makers(tmp_path):
    events = [
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": "xccl:all_reduce",
            "pid": 9,
            "tid": 9,
            "ts": 1.0,
            "dur": 3.0,
            "args": {},
        },
        kernel("zeEventHostSynchronize", 30, "xpu_sync"),
        kernel("gemm", 40),
    ]
    device = read(tmp_path, events).device.sort("ts_ns")
    assert device["kind"].cast(pl.String).to_list() == ["sync", "kernel"]


def ascend_folder(folder: Path) -> Path:
    """What the profiler of torch_npu leaves of rank 3: traces it made, and its data."""
    parsed = folder / "ASCEND_PROFILER_OUTPUT"
    raw = folder / "PROF_000001_2026/mindstudio_profiler_output"
    parsed.mkdir(parents=True)
    raw.mkdir(parents=True)
    content = to_bytes(DIALECTS["ascend"]())
    (parsed / "trace_view.json").write_bytes(content)
    (raw / "msprof_2026.json").write_bytes(content)
    (parsed / "communication.json").write_text(json.dumps({"step1": {"p2p": {}}}))
    (folder / "profiler_info_3.json").write_text(json.dumps({"config": {}}))
    return folder


def test_a_folder_of_ascend_is_one_rank(tmp_path):
    trace = timesink.open(ascend_folder(tmp_path / "host_77_2026_ascend_pt"))
    assert trace.metadata.vendor == "ascend"
    assert trace.metadata.distributed.rank == 3
    assert trace.metadata.worker == "host_77_2026"


def test_data_of_ascend_that_was_not_parsed(tmp_path):
    folder = tmp_path / "host_77_2026_ascend_pt"
    (folder / "PROF_000001_2026/device_0/data").mkdir(parents=True)
    (folder / "profiler_info_0.json").write_text("{}")
    with pytest.raises(UnreadableError, match="was not parsed") as refused:
        timesink.open(folder)
    assert "torch_npu.profiler.profiler.analyse" in refused.value.hint

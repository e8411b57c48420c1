"""rocprofv3 JSON: small files built here, and the shared real one."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from timesink.errors import UnreadableError
from timesink.formats import rocprof
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import open_source
from timesink.model.schema import TABLES
from timesink.model.trace import Trace

Json = dict[str, Any]

CPU, FIRST_GPU, SECOND_GPU = 900, 901, 902
KINDS: list[Json] = [
    {"kind": "NONE", "operations": []},
    {"kind": "HIP_RUNTIME_API", "operations": ["hipMalloc", "hipLaunchKernel"]},
    {"kind": "MARKER_CORE_API", "operations": ["roctxMarkA", "roctxRangePushA"]},
    {"kind": "KERNEL_DISPATCH", "operations": ["NONE", "ENQUEUE", "COMPLETE"]},
    {
        "kind": "MEMORY_COPY",
        "operations": [
            *("MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE"),
            *("MEMORY_COPY_DEVICE_TO_HOST", "MEMORY_COPY_DEVICE_TO_DEVICE"),
        ],
    },
    {"kind": "RCCL_API", "operations": ["ncclAllReduce"]},
]
HIP, MARKER, DISPATCH, COPY, RCCL = range(1, 6)


def agent(handle: int, node: int, kind: int = 2) -> Json:
    return {
        "id": {"handle": handle},
        "type": kind,
        "node_id": node,
        "name": "gfx942",
        "product_name": f"MI300X at node {node}",
        "cu_count": 304,
        "mem_banks": [{"size_in_bytes": 192 << 30}],
    }


def record(kind: int, operation: int, start: int, end: int, correlation: int = 1) -> Json:
    return {
        "size": 48,
        "kind": kind,
        "operation": operation,
        "thread_id": 77,
        "correlation_id": {"internal": correlation, "external": 0},
        "start_timestamp": start,
        "end_timestamp": end,
    }


def kernel(start: int = 100, end: int = 150, *, stream: int = 4, queue: int = 1) -> Json:
    return record(DISPATCH, 2, start, end) | {
        "stream_id": {"handle": stream},
        "dispatch_info": {
            "agent_id": {"handle": FIRST_GPU},
            "queue_id": {"handle": queue},
            "kernel_id": 8,
            "group_segment_size": 4096,
            "workgroup_size": {"x": 64, "y": 2, "z": 1},
            "grid_size": {"x": 130, "y": 2, "z": 1},
        },
    }


def process(**buffers: list[Any]) -> Json:
    return {
        "metadata": {
            "pid": 42,
            "node": {"hostname": "node7", "release": "6.8"},
            "command": ["/usr/bin/python3", "train.py"],
        },
        "agents": [agent(SECOND_GPU, 5), agent(CPU, 0, kind=1), agent(FIRST_GPU, 3)],
        "strings": {"buffer_records": KINDS, "marker_api": []},
        "kernel_symbols": [
            {"kernel_id": 0, "formatted_kernel_name": 0, "demangled_kernel_name": 0},
            {
                "kernel_id": 8,
                "formatted_kernel_name": "gemm(float*)",
                "demangled_kernel_name": "gemm(float*) [clone .kd]",
                "arch_vgpr_count": 48,
            },
        ],
        "callback_records": {"counter_collection": []},
        "buffer_records": buffers,
    }


def read(path: Path) -> Trace:
    return rocprof.read(open_source(path), ReadOptions())


@pytest.fixture
def read_processes(tmp_path: Path):
    def write_and_read(*processes: Json) -> Trace:
        path = tmp_path / "42_results.json"
        path.write_text(json.dumps({"rocprofiler-sdk-tool": list(processes)}))
        return read(path)

    return write_and_read


def health(trace: Trace) -> dict[str, int]:
    """What the reader itself counted."""
    general = {"rank_assumed", "no_host_activity", "no_device_activity", "unlinked_kernels"}
    return {entry.code: entry.count for entry in trace.health if entry.code not in general}


def only_row(frame: pl.DataFrame) -> Json:
    assert frame.height == 1
    return {key: value for key, value in frame.row(0, named=True).items() if value is not None}


def test_kernel(read_processes) -> None:
    assert only_row(read_processes(process(kernel_dispatch=[kernel()])).device) == {
        "index": 0,
        "kind": "kernel",
        "category": "KERNEL_DISPATCH",
        "name": "gemm(float*)",
        "pid": "42",
        "tid": "GPU 0 stream 4",
        "ts_ns": 100,
        "dur_ns": 50,
        "device": 0,
        "stream": "4",
        "correlation": 1,
        "grid_x": 3,
        "grid_y": 1,
        "grid_z": 1,
        "block_x": 64,
        "block_y": 2,
        "block_z": 1,
        "registers_per_thread": 48,
        "shared_memory_bytes": 4096,
    }


def test_queues_stand_in_where_no_stream_was_recorded(read_processes) -> None:
    kernels = [kernel(stream=0, queue=1), kernel(200, 300, stream=0, queue=2)]
    trace = read_processes(process(kernel_dispatch=kernels))
    assert trace.device["stream"].to_list() == ["queue 1", "queue 2"]


@pytest.mark.parametrize(
    ("operation", "ends", "direction", "device"),
    [
        (1, (CPU, CPU), "HtoH", None),
        (2, (CPU, SECOND_GPU), "HtoD", 1),
        (3, (FIRST_GPU, CPU), "DtoH", 0),
        (4, (FIRST_GPU, FIRST_GPU), "DtoD", 0),
        (4, (FIRST_GPU, SECOND_GPU), "PtoP", 1),
        (99, (CPU, FIRST_GPU), "other", 0),
    ],
)
def test_copies(
    read_processes, operation: int, ends: tuple[int, int], direction: str, device: int | None
) -> None:
    copy = record(COPY, operation, 10, 30) | {
        "src_agent_id": {"handle": ends[0]},
        "dst_agent_id": {"handle": ends[1]},
        "bytes": 1024,
    }
    row = only_row(read_processes(process(memory_copy=[copy])).device)
    assert (row["kind"], row["name"], row["bytes"]) == ("memcpy", f"Memcpy {direction}", 1024)
    assert (row["copy_direction"], row.get("device")) == (direction, device)


def test_calls_and_markers(read_processes) -> None:
    entry = process(
        hip_api=[record(HIP, 1, 10, 20, correlation=5)],
        marker_api=[
            record(MARKER, 1, 0, 90, correlation=6),
            record(MARKER, 0, 15, 15, correlation=7),
            record(MARKER, 1, 16, 18, correlation=8),
        ],
        rccl_api=[record(RCCL, 0, 30, 40, correlation=9)],
    )
    entry["strings"]["marker_api"] = [
        {"key": 6, "value": "ProfilerStep#2"},
        {"key": 7, "value": "here"},
    ]
    trace = read_processes(entry)
    assert trace.host.select("kind", "category", "name", "tid", "dur_ns", "correlation").rows() == [
        ("runtime", "HIP_RUNTIME_API", "hipLaunchKernel", "77", 10, 5),
        ("annotation", "MARKER_CORE_API", "ProfilerStep#2", "77", 90, 6),
        ("instant", "MARKER_CORE_API", "here", "77", 0, 7),
        ("annotation", "MARKER_CORE_API", "roctxRangePushA", "77", 2, 8),
        ("collective", "RCCL_API", "ncclAllReduce", "77", 10, 9),
    ]
    assert trace.steps["step"].to_list() == [2]


def test_memory(read_processes) -> None:
    def allocation(start: int, address: object, size: int, handle: int = FIRST_GPU) -> Json:
        return record(16, 1, start, start + 1) | {
            "agent_id": {"handle": handle},
            "address": address,
            "allocation_size": size,
        }

    trace = read_processes(
        process(
            memory_allocation=[
                allocation(1, "0x00007f00", 512),
                allocation(3, "0x00007f00", 0),
                allocation(2, 4096, 64, handle=CPU),
                allocation(4, "0xdead", 0),
                allocation(5, "nowhere", 8),
            ]
        )
    )
    columns = ("index", "ts_ns", "device_type", "device", "address", "bytes")
    assert trace.memory.select(columns).rows() == [
        (0, 1, 1, 0, 0x7F00, 512),
        (1, 3, 1, 0, 0x7F00, -512),
        (2, 2, 0, -1, 4096, 64),
        (3, 4, 1, 0, 0xDEAD, None),
        (4, 5, 1, 0, None, 8),
    ]


def test_processes_are_put_together(read_processes) -> None:
    second = process(kernel_dispatch=[kernel()])
    second["metadata"]["pid"] = 43
    second["kernel_symbols"][1]["formatted_kernel_name"] = "other"
    trace = read_processes(process(kernel_dispatch=[kernel()]), second)
    assert trace.device.select("index", "pid", "name").rows() == [
        (0, "42", "gemm(float*)"),
        (1, "43", "other"),
    ]
    assert trace.metadata.events == 2


def test_metadata(read_processes) -> None:
    metadata = read_processes(process(kernel_dispatch=[kernel()])).metadata
    assert (metadata.format, metadata.vendor, metadata.clock) == ("rocprof", "amd", "monotonic")
    assert [(device.id, device.name) for device in metadata.devices] == [
        (0, "MI300X at node 3"),
        (1, "MI300X at node 5"),
    ]
    first = metadata.devices[0]
    assert (first.multiprocessors, first.memory_bytes) == (304, 192 << 30)
    assert first.compute_capability == "gfx942"
    assert metadata.extra["host_name"] == "node7"


def test_tracks(read_processes) -> None:
    trace = read_processes(process(kernel_dispatch=[kernel()]))
    assert trace.tracks.select("pid", "tid", "name", "labels").rows() == [
        ("42", None, "python3", None),
        ("42", "GPU 0 stream 4", "GPU 0 stream 4", "GPU 0"),
    ]


def test_odd_records_are_repaired_or_left_out_and_counted(read_processes) -> None:
    backwards = kernel(300, 200)
    unknown = kernel(400, 500)
    unknown["dispatch_info"]["kernel_id"] = 1234
    no_start = {key: value for key, value in kernel().items() if key != "start_timestamp"}
    no_end = {key: value for key, value in kernel(600).items() if key != "end_timestamp"}
    wrong_type = kernel() | {"start_timestamp": "soon"}
    huge = kernel() | {"start_timestamp": 2**64}
    kernels = [kernel(), backwards, unknown, no_start, no_end, wrong_type, huge, None]
    trace = read_processes(process(kernel_dispatch=kernels))
    assert trace.device.select("index", "name", "ts_ns", "dur_ns").rows() == [
        (0, "gemm(float*)", 100, 50),
        (1, "gemm(float*)", 300, 0),
        (2, "", 400, 100),
        (4, "gemm(float*)", 600, 0),
    ]
    assert health(trace) == {
        "lost_events": 3,
        "negative_duration": 1,
        "missing_name": 1,
        "missing_ts": 1,
        "missing_duration": 1,
    }


def test_odd_sections_are_counted(read_processes) -> None:
    entry = process(kernel_dispatch=[kernel()], scratch_memory=[record(12, 1, 0, 1)] * 2)
    entry["buffer_records"]["hip_api"] = "none"
    entry["agents"].append({"id": "not a handle"})
    entry["metadata"] = []
    trace = read_processes(entry)
    assert trace.device.height == 1
    assert health(trace) == {"unknown_phase": 2, "lost_events": 1, "bad_metadata": 2}


def test_missing_sections_give_an_empty_trace(read_processes) -> None:
    trace = read_processes({})
    assert trace.metadata.events == 0
    assert trace.device.is_empty()
    assert health(trace) == {}


def test_every_table_has_the_schema_of_the_model(read_processes) -> None:
    trace = read_processes(process(kernel_dispatch=[kernel()], hip_api=[record(HIP, 1, 0, 1)]))
    for name, table in TABLES.items():
        assert trace.lazy(name).collect_schema() == table.schema


def test_invalid_utf8_is_replaced_and_counted(tmp_path: Path) -> None:
    text = json.dumps({"rocprofiler-sdk-tool": [process(kernel_dispatch=[kernel()])]})
    path = tmp_path / "results.json"
    path.write_bytes(text.encode().replace(b"gemm(float*)", b"gemm\xff"))
    trace = read(path)
    assert trace.device["name"].to_list() == ["gemm\ufffd"]
    assert health(trace)["invalid_utf8"] > 0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"rocprofiler-sdk-tool": [{"buffer_records": {', "truncated"),
        (b'{"rocprofiler-sdk-tool": [{]}', "malformed"),
        (b'{"rocprofiler-sdk-tool": 7}', "unknown shape"),
        (b"{}", "unknown shape"),
    ],
)
def test_damaged_files_are_refused_in_one_line(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(content)
    with pytest.raises(UnreadableError, match=reason) as caught:
        read(path)
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_a_truncated_archive_names_both_reasons(tmp_path: Path) -> None:
    text = json.dumps({"rocprofiler-sdk-tool": [process(kernel_dispatch=[kernel()] * 999)]})
    packed = gzip.compress(text.encode())
    path = tmp_path / "results.json.gz"
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(UnreadableError, match="truncated; the compressed stream ends early"):
        read(path)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b'{"rocprofiler-sdk-tool": [', True),
        (b'\n{\n  "rocprofiler-sdk-tool" : [', True),
        (b'{"traceEvents": [{"name": "rocprofiler-sdk-tool"', False),
        (b"", False),
    ],
)
def test_sniff(head: bytes, *, expected: bool) -> None:
    assert rocprof.sniff(head, "any") is expected

"""Exports of Nsight Systems: small ones built here, and the shared real one."""

from __future__ import annotations

import gzip
import hashlib
import sqlite3
import zipfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from nsys_exports import (
    CALL,
    GLOBAL_PID,
    GLOBAL_TID,
    KERNEL,
    PID,
    PLACE,
    RANGE,
    START,
    STRINGS,
    Tables,
    write_export,
)
from timesink.errors import UnreadableError
from timesink.formats import nsys
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import open_source
from timesink.model.schema import TABLES
from timesink.model.trace import Trace


def kernels(*rows: Mapping[str, Any]) -> Tables:
    return {"CUPTI_ACTIVITY_KIND_KERNEL": rows, **STRINGS}


def nvtx(*rows: Mapping[str, Any]) -> Tables:
    return {"NVTX_EVENTS": rows, **STRINGS}


def read(path: Path) -> Trace:
    return nsys.read(open_source(path), ReadOptions())


@pytest.fixture
def export(tmp_path: Path):
    return lambda tables: read(write_export(tmp_path / "run.sqlite", tables))


def health(trace: Trace) -> dict[str, int]:
    """What the reader itself counted."""
    general = {"rank_assumed", "no_host_activity", "no_device_activity", "unlinked_kernels"}
    return {entry.code: entry.count for entry in trace.health if entry.code not in general}


def only_row(frame: pl.DataFrame) -> dict[str, Any]:
    assert frame.height == 1
    return {key: value for key, value in frame.row(0, named=True).items() if value is not None}


def test_kernel(export) -> None:
    assert only_row(export({**kernels(KERNEL), **START}).device) == {
        "index": 0,
        "kind": "kernel",
        "category": "CUPTI_ACTIVITY_KIND_KERNEL",
        "name": "void gemm<float>(float*)",
        "pid": "4242",
        "tid": "GPU 0 stream 7",
        "ts_ns": 1_700_000_000_000_001_000,
        "dur_ns": 500,
        "device": 0,
        "stream": "7",
        "correlation": 11,
        "grid_x": 8,
        "grid_y": 2,
        "grid_z": 1,
        "block_x": 128,
        "block_y": 1,
        "block_z": 1,
        "registers_per_thread": 32,
        "shared_memory_bytes": 128,
        "graph_id": 3,
        "graph_node_id": 5,
    }


def test_kernel_of_an_export_with_few_columns(export) -> None:
    trace = export(kernels({"start": 10, "end": 30, "shortName": 2}))
    row = only_row(trace.device)
    assert (row["name"], row["ts_ns"], row["dur_ns"]) == ("gemm", 10, 20)
    assert not {"pid", "device", "stream", "correlation", "grid_x"} & row.keys()


def test_communication_kernels_count_as_kernels(export) -> None:
    strings = [{"id": 1, "value": "ncclDevKernel_AllReduce_Sum_bf16"}]
    trace = export({**kernels(KERNEL), "StringIds": strings})
    assert trace.device["kind"].to_list() == ["kernel"]


@pytest.mark.parametrize(
    ("copy_kind", "direction"),
    [(1, "HtoD"), (2, "DtoH"), (8, "DtoD"), (9, "HtoH"), (10, "PtoP"), (0, "other"), (99, "other")],
)
def test_copy_directions(export, copy_kind: int, direction: str) -> None:
    copy = {"start": 0, "end": 4, **PLACE, "bytes": 64, "copyKind": copy_kind}
    row = only_row(export({"CUPTI_ACTIVITY_KIND_MEMCPY": [copy]}).device)
    assert (row["kind"], row["copy_direction"], row["bytes"]) == ("memcpy", direction, 64)
    assert row["name"] == f"Memcpy {direction}"


def test_names_of_work_that_is_no_kernel(export) -> None:
    span = {"start": 0, "end": 4, **PLACE}
    copy = {"bytes": 1, "copyKind": 1, "srcKind": 1, "dstKind": 2}
    no_stream = {"syncType": 2, "streamId": 0xFFFF_FFFF}
    trace = export(
        {
            "CUPTI_ACTIVITY_KIND_MEMCPY": [span | copy],
            "CUPTI_ACTIVITY_KIND_MEMSET": [span | {"bytes": 8, "memKind": 2}],
            "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": [span | {"syncType": 3}, span | no_stream],
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [span | {"graphId": 12}],
        }
    )
    assert trace.device.select("kind", "name", "tid").sort("name").rows() == [
        ("kernel", "CUDA graph 12", "GPU 0 stream 7"),
        ("memcpy", "Memcpy HtoD (Pinned -> Device)", "GPU 0 stream 7"),
        ("memset", "Memset (Device)", "GPU 0 stream 7"),
        ("sync", "Stream Sync", "GPU 0 stream 7"),
        ("sync", "Stream Wait Event", "GPU 0"),
    ]


def test_calls(export) -> None:
    trace = export(
        {
            **STRINGS,
            "CUPTI_ACTIVITY_KIND_RUNTIME": [CALL],
            "CUPTI_ACTIVITY_KIND_DRIVER": [CALL | {"nameId": 6}],
            "OSRT_API": [CALL | {"nameId": 4}],
            "PROFILER_OVERHEAD": [CALL | {"nameId": 4}],
            "CUBLAS_EVENTS": [CALL | {"nameId": 2}],
        }
    )
    assert sorted(trace.host.select("kind", "name", "pid", "tid", "correlation").rows()) == [
        ("annotation", "gemm", "4242", "4243", 11),
        ("driver", "cuMemcpyHtoDAsync_v2", "4242", "4243", 11),
        ("other", "worker", "4242", "4243", 11),
        ("overhead", "worker", "4242", "4243", 11),
        ("runtime", "cudaLaunchKernel", "4242", "4243", 11),
    ]
    assert sorted(trace.host["index"]) == list(range(5))


def test_calls_of_an_unknown_table_are_kept_and_counted(export) -> None:
    trace = export({**STRINGS, "OSRT_API": [CALL], "MPI_OTHER_EVENTS": [CALL | {"textId": 5}]})
    assert set(trace.host["category"]) == {"OSRT_API", "MPI_OTHER_EVENTS"}
    assert set(trace.host["kind"]) == {"other"}
    assert health(trace) == {"unknown_category": 1}


def test_activities_without_a_place_in_the_model_are_counted(export) -> None:
    trace = export({**kernels(KERNEL), "CUPTI_ACTIVITY_KIND_CUDA_EVENT": [{"timestamp": 5}] * 3})
    assert health(trace) == {"unknown_phase": 3}


def test_nvtx_ranges_marks_and_domains(export) -> None:
    trace = export(
        nvtx(
            {"start": -9, "eventType": 75, "text": "train", "domainId": 1, "globalTid": GLOBAL_TID},
            RANGE | {"domainId": 1},
            RANGE | {"text": None, "textId": 5, "eventType": 60},
            RANGE | {"text": "here", "eventType": 34, "end": None},
        )
    )
    assert trace.host.select("kind", "name", "dur_ns").rows() == [
        ("annotation", "step", 200),
        ("annotation", "registered range", 200),
        ("instant", "here", 0),
    ]
    assert trace.event_args.rows() == [(1, "domain", '"train"')]
    assert trace.metadata.events == 4
    assert health(trace) == {}


def test_nvtx_oddities(export) -> None:
    trace = export(nvtx(RANGE | {"end": None}, RANGE | {"eventType": 76}))
    assert trace.host["dur_ns"].to_list() == [0]
    assert health(trace) == {"unpaired_begin_end": 1, "unknown_phase": 1}


def test_steps_are_found_in_nvtx(export) -> None:
    trace = export(nvtx(RANGE | {"text": "ProfilerStep#3"}))
    assert trace.steps.select("step", "ts_ns", "dur_ns").rows() == [(3, 100, 200)]


def test_odd_rows_are_repaired_or_left_out_and_counted(export) -> None:
    trace = export(
        kernels(
            KERNEL | {"start": None},
            KERNEL | {"start": "soon"},
            KERNEL | {"end": None},
            KERNEL | {"end": 400},
            KERNEL | {"demangledName": 77, "shortName": None},
        )
    )
    assert trace.device.select("index", "name", "dur_ns").rows() == [
        (2, "void gemm<float>(float*)", 0),
        (3, "void gemm<float>(float*)", 0),
        (4, "", 500),
    ]
    assert health(trace) == {
        "missing_ts": 2,
        "missing_duration": 1,
        "negative_duration": 1,
        "missing_name": 1,
    }


def test_values_of_another_type_count_as_missing(export) -> None:
    trace = export(kernels(KERNEL | {"gridX": "8, or so", "deviceId": b"\x00", "blockX": 64.0}))
    row = only_row(trace.device)
    assert not {"grid_x", "device"} & row.keys()
    assert row["grid_y"] == 2


def test_more_rows_than_are_read_at_once(export, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("timesink.formats.sqlite_file.ROWS_AT_ONCE", 4)
    marks = [RANGE | {"start": n, "end": n + 1} for n in range(9)]
    trace = export({**kernels(*[KERNEL | {"start": n} for n in range(10)]), **nvtx(*marks)})
    assert trace.device["ts_ns"].to_list() == list(range(10))
    assert trace.host["ts_ns"].to_list() == list(range(9))


def test_invalid_utf8_is_replaced_and_counted(tmp_path: Path) -> None:
    path = write_export(tmp_path / "run.sqlite", kernels(KERNEL))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE StringIds SET value = CAST(x'6bff' AS TEXT) WHERE id = 1")
        connection.commit()
    trace = read(path)
    assert trace.device["name"].to_list() == ["k\ufffd"]
    assert health(trace) == {"invalid_utf8": 1}


def test_clock(export, tmp_path: Path) -> None:
    without_start = export(kernels(KERNEL)).metadata
    assert (without_start.clock, without_start.clock_offset_ns) == ("monotonic", 0)
    late = 1_700_000_000_000_001_000
    normalised = kernels(KERNEL | {"start": late, "end": late + 5})
    trace = read(write_export(tmp_path / "normalised.sqlite", {**normalised, **START}))
    assert (trace.metadata.clock, trace.metadata.clock_offset_ns) == ("unix", 0)
    assert trace.device["ts_ns"].to_list() == [late]


def test_counters(export) -> None:
    trace = export(
        {
            **kernels(KERNEL),
            **START,
            "GPU_METRICS": [
                {"timestamp": 50, "typeId": 0x0100_0001, "metricId": 2, "value": 93},
                {"timestamp": 60, "typeId": 0x0100_0001, "metricId": 9, "value": 1.5},
                {"timestamp": None, "typeId": 0x0100_0001, "metricId": 2, "value": 1},
            ],
            "TARGET_INFO_GPU_METRICS": [
                {"typeId": 0x0100_0001, "metricId": 2, "metricName": "SMs Active [%]"}
            ],
        }
    )
    assert trace.counters.select("ts_ns", "counter", "device", "value", "source").rows() == [
        (1_700_000_000_000_000_050, "SMs Active [%]", "GPU 1", 93.0, "trace"),
        (1_700_000_000_000_000_060, "metric 9", "GPU 1", 1.5, "trace"),
    ]
    assert health(trace) == {"missing_ts": 1}


def test_counters_name_the_device_as_activities_do(export) -> None:
    trace = export(
        {
            **kernels(KERNEL),
            "TARGET_INFO_GPU": [gpu(0), gpu(1)],
            "TARGET_INFO_CUDA_DEVICE": [{"gpuId": 1, "cudaId": 0}],
            "GPU_METRICS": [
                {"timestamp": 1, "typeId": 0x0100_0001, "metricId": 2, "value": 9},
                {"timestamp": 2, "typeId": 0x0100_0000, "metricId": 2, "value": 9},
            ],
        }
    )
    assert trace.counters["device"].to_list() == ["GPU 0", "GPU 1"]


def test_memory(export) -> None:
    event = {"globalPid": GLOBAL_PID, "deviceId": 1, "address": -(2**63), "bytes": 512}
    trace = export(
        {
            **kernels(KERNEL),
            "CUDA_GPU_MEMORY_USAGE_EVENTS": [
                event | {"start": 5, "memKind": 2, "memoryOperationType": 0},
                event | {"start": 6, "memKind": 2, "memoryOperationType": 1},
                event | {"start": 7, "memKind": 1, "memoryOperationType": 0},
            ],
        }
    )
    columns = ("ts_ns", "pid", "device_type", "device", "address", "bytes")
    assert trace.memory.select(columns).rows() == [
        (5, "4242", 1, 1, 2**63, 512),
        (6, "4242", 1, 1, 2**63, -512),
        (7, "4242", 0, -1, 2**63, 512),
    ]


def gpu(number: int, **facts: int) -> dict[str, Any]:
    defaults = {"totalMemory": 80 << 30, "smCount": 132, "computeMajor": 9, "computeMinor": 0}
    return {"id": number, "name": f"H100 in slot {number}", **defaults, **facts}


def names_by_number(trace: Trace) -> dict[int, str]:
    return {device.id: device.name for device in trace.metadata.devices}


def test_devices(export) -> None:
    (device,) = export({**kernels(KERNEL), "TARGET_INFO_GPU": [gpu(0)]}).metadata.devices
    assert (device.id, device.name, device.memory_bytes) == (0, "H100 in slot 0", 80 << 30)
    assert (device.compute_capability, device.multiprocessors) == ("9.0", 132)


def test_devices_have_the_numbers_cuda_gives_them(export) -> None:
    trace = export(
        {
            **kernels(KERNEL),
            "TARGET_INFO_GPU": [gpu(0), gpu(1), gpu(2)],
            "TARGET_INFO_CUDA_DEVICE": [{"gpuId": 2, "cudaId": 0}, {"gpuId": 0, "cudaId": 1}],
        }
    )
    assert names_by_number(trace) == {
        0: "H100 in slot 2",
        1: "H100 in slot 0",
        2: "H100 in slot 1",
    }


def test_devices_keep_their_own_numbers_when_processes_disagree(export) -> None:
    trace = export(
        {
            **kernels(KERNEL),
            "TARGET_INFO_GPU": [gpu(0), gpu(1)],
            "TARGET_INFO_CUDA_DEVICE": [{"gpuId": 0, "cudaId": 0}, {"gpuId": 1, "cudaId": 0}],
        }
    )
    assert names_by_number(trace) == {0: "H100 in slot 0", 1: "H100 in slot 1"}


def test_tracks_and_versions(export) -> None:
    trace = export(
        {
            **kernels(KERNEL),
            "PROCESSES": [{"globalPid": GLOBAL_PID, "pid": PID, "name": "python"}],
            "ThreadNames": [{"nameId": 4, "globalTid": GLOBAL_TID}],
            "META_DATA_EXPORT": [
                {"name": "EXPORT_PRODUCT_VERSION", "value": "2025.6.3"},
                {"name": "EXPORT_SCHEMA_VERSION", "value": "3.24.5"},
            ],
        }
    )
    assert trace.tracks.select("pid", "tid", "name", "labels").rows() == [
        ("4242", None, "python", None),
        ("4242", "4243", "worker", None),
        ("4242", "GPU 0 stream 7", "GPU 0 stream 7", "GPU 0"),
    ]
    assert trace.metadata.versions == {"nsight_systems": "2025.6.3", "export_schema": "3.24.5"}
    assert trace.metadata.schema_version == 3


def test_an_export_without_activities_is_an_empty_trace(export) -> None:
    trace = export({"EXPORT_META_DATA": [{"name": "EXPORT_PRODUCT_VERSION", "value": "2021.5"}]})
    assert trace.metadata.events == 0
    assert trace.host.is_empty()
    assert trace.device.is_empty()


def test_every_table_has_the_schema_of_the_model(export) -> None:
    trace = export({**kernels(KERNEL), **nvtx(RANGE), "CUPTI_ACTIVITY_KIND_RUNTIME": [CALL]})
    for name, table in TABLES.items():
        assert trace.lazy(name).collect_schema() == table.schema


def test_packed_exports_read_the_same(tmp_path: Path) -> None:
    plain = write_export(tmp_path / "with spaces? & #1.sqlite", kernels(KERNEL))
    packed = tmp_path / "run.sqlite.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    archive = tmp_path / "run.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.write(plain, "run.sqlite")
    expected = read(plain)
    for path in (packed, archive):
        assert nsys.sniff(open_source(path).head(), "anything")
        assert read(path).device.equals(expected.device)


def test_a_foreign_database_is_declined(tmp_path: Path) -> None:
    path = write_export(tmp_path / "other.sqlite", {"bookmarks": [{"url": "x"}]})
    with pytest.raises(UnreadableError, match="without tables of Nsight Systems") as caught:
        read(path)
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint


def many_kernels(path: Path) -> Path:
    rows = [KERNEL | {"start": n * 1000, "end": n * 1000 + 500} for n in range(2000)]
    return write_export(path, kernels(*rows))


@pytest.mark.parametrize("cut_at", [20, 2000, 0.5, 0.99])
def test_a_truncated_export_is_refused(tmp_path: Path, cut_at: float) -> None:
    path = many_kernels(tmp_path / "cut.sqlite")
    content = path.read_bytes()
    path.write_bytes(content[: int(cut_at * len(content)) if cut_at < 1 else int(cut_at)])
    with pytest.raises(UnreadableError, match="damaged beyond repair") as caught:
        read(path)
    assert "nsys export" in caught.value.hint


def test_a_corrupt_page_is_refused(tmp_path: Path) -> None:
    path = many_kernels(tmp_path / "corrupt.sqlite")
    content = bytearray(path.read_bytes())
    content[8192:40960] = b"\xa5" * (40960 - 8192)
    path.write_bytes(bytes(content))
    with pytest.raises(UnreadableError, match="malformed"):
        read(path)


def test_a_truncated_archive_names_both_reasons(tmp_path: Path) -> None:
    packed = gzip.compress(many_kernels(tmp_path / "run.sqlite").read_bytes())
    path = tmp_path / "cut.sqlite.gz"
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(UnreadableError, match="compressed stream ends early"):
        read(path)


@pytest.mark.parametrize(
    ("head", "expected"),
    [(b"SQLite format 3\0...", True), (b"{}", False), (b"", False), (b"SQLite", False)],
)
def test_sniff(head: bytes, *, expected: bool) -> None:
    assert nsys.sniff(head, "run.sqlite") is expected


def test_shared_export(shared_root: Path) -> None:
    path = shared_root / "data" / "nsys" / "output-file.sqlite"
    before, beside = hashlib.sha256(path.read_bytes()).digest(), sorted(path.parent.iterdir())
    trace = read(path)
    counted = trace.device.group_by("kind").agg(pl.len(), pl.sum("dur_ns")).sort("kind")
    assert counted.rows() == [
        ("kernel", 1106, 67_790_352),
        ("memcpy", 102, 519_460),
        ("memset", 44, 108_672),
        ("sync", 195, 37_746_191),
    ]
    assert dict(trace.host.group_by("kind").len().rows()) == {
        "runtime": 4255,
        "annotation": 107 + 1,
        "overhead": 3,
    }
    assert trace.metadata.extra["rows"]["NVTX_EVENTS"] == 107 + 1
    assert trace.metadata.events == 5814
    assert hashlib.sha256(path.read_bytes()).digest() == before
    assert sorted(path.parent.iterdir()) == beside


def test_shared_export_metadata(shared_root: Path) -> None:
    trace = read(shared_root / "data" / "nsys" / "output-file.sqlite")
    metadata = trace.metadata
    assert (metadata.format, metadata.vendor, metadata.clock) == ("nsys", "nvidia", "unix")
    assert metadata.clock_offset_ns == 1_664_652_525_888_489_604
    assert metadata.versions["nsight_systems"] == "2021.5.2.53"
    assert [device.id for device in metadata.devices] == list(range(8))
    first, hidden = metadata.devices[0], metadata.devices[-1]
    assert first.name == "NVIDIA A100-PCIE-40GB"
    assert (first.multiprocessors, first.compute_capability) == (108, "8.0")
    assert first.properties["busLocation"] == "0000:01:00.0"
    assert hidden.multiprocessors is None
    assert health(trace) == {}
    copied = trace.device.group_by("copy_direction").agg(pl.sum("bytes")).drop_nulls()
    assert dict(copied.rows()) == {"HtoD": 1_619_316, "DtoH": 1_314_924, "DtoD": 24_641_552}


def test_ranges_of_pytorch_are_operators(export) -> None:
    texts = (
        "aten::mm, seq = 7, op_id = 12, sizes = [[2, 3], [3, 4]]",
        "aten::empty, op_id = 13",
        "FSDP::pre_forward (blocks.3), op_id = 14",
        "FlashAttnFunc, seq = 8, op_id = 15, input_op_ids = [(13,0)]",
        "my range, number 3",
    )
    ranges = [
        RANGE | {"start": 100 * n, "end": 100 * n + 50, "text": t} for n, t in enumerate(texts)
    ]
    host = export(nvtx(*ranges)).host
    columns = ("kind", "name", "sequence_number", "external_id", "input_dims")
    assert host.select(columns).rows() == [
        ("operator", "aten::mm", 7, 12, "[[2, 3], [3, 4]]"),
        ("operator", "aten::empty", None, 13, None),
        ("annotation", "FSDP::pre_forward (blocks.3)", None, 14, None),
        ("operator", "FlashAttnFunc", 8, 15, None),
        ("annotation", "my range, number 3", None, None, None),
    ]


def test_without_its_table_of_texts_the_table_is_named(export) -> None:
    entries = export({"CUPTI_ACTIVITY_KIND_KERNEL": [KERNEL]}).health
    (lost,) = (entry for entry in entries if entry.code == "lost_table")
    assert "StringIds" in lost.example

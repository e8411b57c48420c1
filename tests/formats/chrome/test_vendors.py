"""One small trace of every vendor's dialect, and the tables it must become."""

from __future__ import annotations

from typing import Any

import pytest

from answers import damage, rows
from builders import (
    BASE_NS,
    DIALECTS,
    ascend_trace,
    complete,
    cuda_trace,
    kernel,
    kineto,
    mlu_trace,
    mtia_trace,
    old_trace,
    probe_trace,
    process_labels,
    rocm_trace,
    runtime,
    xpu_trace,
)
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import read_trace
from timesink.model.trace import Device

DEVICE_COLUMNS = ("kind", "name", "device", "stream", "correlation", "ts_ns", "dur_ns")
HOST_COLUMNS = ("kind", "name", "tid", "correlation", "ts_ns", "dur_ns")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_recognised_and_read_without_loss(read, dialect):
    document = DIALECTS[dialect]()
    trace = read(document)
    listed = document if isinstance(document, list) else document["traceEvents"]
    assert trace.metadata.vendor == dialect.split(",")[0]
    assert trace.metadata.events == len(listed)
    assert damage(trace) == {}


def test_cuda(read):
    trace = read(cuda_trace())
    assert rows(trace.device, *DEVICE_COLUMNS) == [
        ("kernel", "gemm", 0, "7", 11, BASE_NS + 140_002, 20_003),
        ("memcpy", "Memcpy HtoD (Pageable -> Device)", 0, "7", 12, BASE_NS + 190_000, 3_000),
        ("memset", "Memset (Device)", 0, "7", 13, BASE_NS + 195_000, 1_000),
        ("annotation", "ProfilerStep#7", 0, "7", None, BASE_NS + 140_000, 60_000),
    ]
    assert rows(trace.host, *HOST_COLUMNS) == [
        ("annotation", "ProfilerStep#7", "4242", None, BASE_NS + 100_000, 400_500),
        ("operator", "aten::mm", "4242", None, BASE_NS + 110_125, 60_500),
        ("runtime", "cudaLaunchKernel", "4242", 11, BASE_NS + 120_001, 10_250),
        ("runtime", "cudaMemcpyAsync", "4242", 12, BASE_NS + 180_000, 5_000),
        ("runtime", "cudaMemsetAsync", "4242", 13, BASE_NS + 191_000, 2_000),
        ("driver", "cuLaunchKernel", "4242", 14, BASE_NS + 200_000, 2_000),
        ("trace", "PyTorch Profiler (0)", "PyTorch Profiler", None, BASE_NS + 90_000, 500_000),
    ]
    assert trace.metadata.format == "kineto"
    assert trace.metadata.clock == "unix"


def test_cuda_kernels_keep_their_launch_geometry(read):
    gemm = read(cuda_trace()).device.row(0, named=True)
    assert [gemm[f"grid_{axis}"] for axis in "xyz"] == [8, 2, 1]
    assert [gemm[f"block_{axis}"] for axis in "xyz"] == [128, 1, 1]
    assert gemm["registers_per_thread"] == 32
    assert gemm["shared_memory_bytes"] == 1024
    assert (gemm["blocks_per_sm"], gemm["warps_per_sm"], gemm["occupancy_pct"]) == (0.5, 2.25, 40)


def test_cuda_copies_keep_their_direction_and_size(read):
    copy = read(cuda_trace()).device.filter(kind="memcpy")
    assert copy.select("copy_direction", "bytes").row(0) == ("HtoD", 640)


def test_cuda_memory_events(read):
    memory = read(cuda_trace()).memory
    assert memory.drop("index", "pid", "tid").row(0, named=True) == {
        "ts_ns": BASE_NS + 210_500,
        "device_type": 1,
        "device": 0,
        "address": 140_000_000,
        "bytes": 512,
        "total_allocated_bytes": 4096,
        "total_reserved_bytes": 8192,
    }


def test_cuda_flows(read):
    assert rows(read(cuda_trace()).flows, "kind", "phase", "pid", "tid") == [
        ("launch", "start", "4242", "4242"),
        ("launch", "end", "0", "7"),
    ]


def test_old_categories_and_textual_threads(read):
    trace = read(old_trace())
    assert rows(trace.device, *DEVICE_COLUMNS) == [
        ("kernel", "add_kernel", 0, "7", 311, 1621401187223220000, 4000),
        ("memcpy", "Memcpy DtoH (Device -> Pageable)", 0, "7", 312, 1621401187223230000, 1000),
    ]
    assert rows(trace.host, *HOST_COLUMNS) == [
        ("operator", "aten::add", "25738", None, 1621401187223197000, 121000),
        ("runtime", "cudaLaunchKernel", "25738", 311, 1621401187223200000, 9000),
        ("python_function", "train.py(1): main", "25738", None, 1621401187223100000, 300000),
    ]


def test_external_id_is_read_in_either_spelling(read):
    trace = read(old_trace())
    assert rows(trace.host, "external_id") == [(2,), (2,), (None,)]
    assert rows(trace.device, "external_id") == [(2,), (None,)]


def test_rocm(read):
    trace = read(rocm_trace())
    assert rows(trace.device, *DEVICE_COLUMNS) == [
        ("kernel", "Cijk_Ailk", 2, "0", 117, 4203669603220250, 30125),
        ("memcpy", "CopyHostToDevice", 2, "0", 118, 4203669603270000, 4000),
    ]
    assert trace.host.filter(kind="runtime")["name"].to_list() == [
        "hipExtModuleLaunchKernel",
        "hipMemcpyWithStream",
    ]


def test_rocm_kernels_take_their_geometry_from_the_launch(read):
    device = read(rocm_trace()).device
    geometry = device.select("^grid_.$", "^block_.$")
    assert geometry.row(0) == (64, 1, 1, 256, 1, 1)
    assert geometry.row(1) == (None,) * 6


def test_rocm_is_recognised_by_its_calls_alone(read):
    document = kineto([runtime("hipLaunchKernel", 1, 2, 3), kernel("k", 4, 5, 3)])
    assert read(document).metadata.vendor == "amd"


def test_mlu(read):
    trace = read(mlu_trace())
    assert rows(trace.device, *DEVICE_COLUMNS) == [
        ("kernel", "MLUKernelAdd", 0, "1", 28, 1698918189334350000, 4000),
        ("memcpy", "Memcpy HtoD", 0, "1", 29, 1698918189334370000, 7000),
    ]
    assert rows(trace.host, "kind", "name") == [
        ("operator", "aten::add"),
        ("runtime", "cnrtInvokeKernel"),
        ("runtime", "cnMemcpyAsync"),
    ]
    assert rows(trace.flows, "kind", "phase") == [("launch", "start"), ("launch", "end")]
    assert trace.metadata.devices[0].memory_bytes == 24576 * 1024**2
    assert trace.metadata.devices[0].multiprocessors == 8


def test_mlu_task_types_are_kept_as_arguments(read):
    assert read(mlu_trace()).event_args.rows() == [
        (3, "kernel type", "UNION"),
        (3, "dimx", "4"),
        (3, "dimy", "1"),
        (3, "dimz", "1"),
    ]


def test_ascend(read):
    trace = read(ascend_trace())
    assert rows(trace.device, *DEVICE_COLUMNS) == [
        ("kernel", "MatMulV2", None, "2", 77, 1718180918984170001, 35250),
        ("memcpy", "MEMCPY_ASYNC", None, "2", None, 1718180918984210000, 5000),
        ("collective", "hcom_allReduce_", None, "3", None, 1718180918984220500, 40000),
    ]
    assert rows(trace.host, *HOST_COLUMNS) == [
        ("operator", "aten::mm", "1", None, 1718180918984140120, 90500),
        ("runtime", "AscendCL@aclnnMm", "1", 77, 1718180918984150120, 10500),
    ]
    assert rows(trace.flows, "kind", "phase") == [("launch", "start"), ("launch", "end")]


def test_xpu_queues_stand_for_streams(read):
    trace = read(xpu_trace())
    queue = "0x55d0c8a3f7e0"
    assert rows(trace.device, *DEVICE_COLUMNS) == [
        ("kernel", "AddKernel", 0, queue, 41, 1_020_000, 8_000),
        ("memcpy", "Memcpy M2D", 0, queue, 42, 1_040_000, 2_000),
    ]
    assert trace.device["copy_direction"].to_list() == [None, "HtoD"]
    assert rows(trace.host, "kind", "name") == [
        ("operator", "aten::add"),
        ("runtime", "urEnqueueKernelLaunch"),
    ]


def test_mtia_takes_devices_from_processes_and_copies_from_arguments(read):
    trace = read(mtia_trace())
    assert rows(trace.device, *DEVICE_COLUMNS) == [
        ("kernel", "fc_kernel", 9, "4", 18, 3605054881210125, 30500),
        ("memcpy", "dma_request", 9, "801", None, 3605054881202837, 8136),
    ]
    copy = trace.device.filter(kind="memcpy")
    assert copy.select("copy_direction", "bytes").row(0) == ("DtoH", 16)
    assert trace.metadata.devices == (Device(id=9, name="MTIA 9"),)


def test_system_probes(read):
    trace = read(probe_trace())
    assert rows(trace.device, "pid", *DEVICE_COLUMNS) == [
        ("node1(1234)", "kernel", "decode_attention", 0, "7", 5, 1762935807026620500, 50000),
        ("node1(1234)", "memcpy", "Memcpy HtoD", 0, "7", 6, 1762935807026680000, 5000),
    ]
    assert rows(trace.host, "kind", "category", "name", "pid") == [
        ("python_function", "python", "Scheduler.run_batch", "node1(1234)"),
        ("runtime", "cuda_runtime", "cudaLaunchKernel", "node1(1234)"),
        ("other", "CAT_CPU", "oncpu", "node1(1234)"),
        ("other", "CAT_APP", "cuStreamSynchronize", "node1(1234)"),
    ]


def test_counters_of_system_probes_name_their_device_or_process(read):
    counters = read(probe_trace()).counters
    assert counters.select("counter", "device", "value", "ts_ns").rows() == [
        ("gpu_sm_util", "GPU 0", 87.5, 1762935807026000000),
        ("host_cpu_usage", "Host", 12.25, 1762935807027000000),
    ]


def counter_event(name: str, pid: str, tid: str = "1", category: str = "CAT_CPU", **args: Any):
    lane = {"pid": pid, "tid": tid, "cat": category}
    return {"ph": "C", "name": name, **lane, "ts": 5, "args": args or {"value": 1}}


def test_counters_of_processes_are_told_by_their_device(read):
    counters = read(
        [
            counter_event("process_cpu_usage_944615", "node1(1)", category="CAT_PROCESS"),
            counter_event("process_gpu_usage_944616", "node1(1)", "CAT_XPU_7", "CAT_XPU"),
            counter_event(
                "net_rx_rate", "node1(1)", "CAT_NET_eth0", "CAT_NET", value=2, hostname="n"
            ),
            counter_event("gpu_usage", "7", "CAT_XPU_3", "CAT_XPU", args='{"value": 5}'),
        ]
    ).counters
    assert rows(counters, "counter", "device", "value") == [
        ("process_cpu_usage", "pid 944615", 1.0),
        ("process_gpu_usage", "pid 944616", 1.0),
        ("net_rx_rate", "Host", 2.0),
        ("gpu_usage", "GPU 3", 5.0),
    ]


def test_devices_of_several_hosts_are_told_apart(read):
    counters = read(
        [
            counter_event("gpu_usage", "node1(5)", "CAT_XPU_0", "CAT_XPU"),
            counter_event("gpu_usage", "node2(5)", "CAT_XPU_0", "CAT_XPU"),
            counter_event("host_cpu_usage", "node2(5)"),
        ]
    ).counters
    assert counters["device"].to_list() == ["GPU 0 on node1", "GPU 0 on node2", "Host on node2"]


def test_device_number_from_the_label_of_its_process(read):
    event = complete("kernel", "k", 1, 2, pid=77, tid=3)
    device = read(kineto([process_labels(77, "GPU 5"), event])).device
    assert device.select("device", "stream").row(0) == (5, "3")


def test_unknown_categories_are_kept_and_reported(read):
    trace = read(kineto([complete("quantum_op", "flip", 1, 2), kernel("k", 1, 2, 3)]))
    assert rows(trace.host, "kind", "category", "name") == [("other", "quantum_op", "flip")]
    unknown = next(entry for entry in trace.health if entry.code == "unknown_category")
    assert (unknown.count, unknown.example) == (1, "quantum_op")


def test_a_trace_without_device_work_is_a_cpu_trace(read):
    document = kineto([complete("cpu_op", "aten::add", 1, 2)], deviceProperties=[])
    assert read(document).metadata.vendor == "cpu"


@pytest.mark.parametrize(
    ("recording", "vendor", "events"),
    [
        ("hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz", "amd", 220),
        ("mlu/mlu_metrics_input.json", "cambricon", 390),
        ("kineto/gpu_metrics_input.json", "nvidia", 340),
        ("hta/cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", "cpu", 30),
        ("tracelens/inference/vllm_decode_full.json.gz", "amd", 1993),
    ],
)
def test_real_recordings(shared_root, recording, vendor, events):
    metadata = read_trace(shared_root / "data" / recording, ReadOptions(jobs=1)).metadata
    assert (metadata.vendor, metadata.events) == (vendor, events)

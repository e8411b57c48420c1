"""Which class a function has, and which counters matter to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from behaviours import activity, behaviour, call, cycles_at, rows_of, trace_of_rows
from timesink.analyses.behaviour.classes import FUNCTION_CLASSES, load_classes
from timesink.errors import TimesinkError, UsageError

ONE_CYCLE = cycles_at((0, 100))


HOST_CALLS = [
    ("operator", "aten::mm", "cpu_operator"),
    ("annotation", "decode_step", "cpu_annotation"),
    ("python_function", "model.py(3): forward", "cpu_python"),
    ("module", "nn.Module: Linear_0", "cpu_python"),
    ("runtime", "cudaLaunchKernel", "cpu_launch"),
    ("driver", "cuLaunchKernel", "cpu_launch"),
    ("runtime", "cudaStreamSynchronize", "cpu_sync"),
    ("runtime", "hipDeviceSynchronize", "cpu_sync"),
    ("other", "cuStreamSynchronize", "cpu_sync"),
    ("runtime", "cudaStreamWaitEvent", "cpu_launch"),
    ("runtime", "cudaMemcpy", "cpu_copy"),
    ("runtime", "cudaMemcpyAsync", "cpu_copy"),
    ("runtime", "hipMemcpyWithStream", "cpu_copy"),
    ("driver", "cuMemsetD8Async", "cpu_copy"),
    ("runtime", "cnMemcpyHtoDAsync", "cpu_copy"),
    ("other", "AscendCL@aclrtMemcpyAsync", "cpu_copy"),
    ("runtime", "zeCommandListAppendMemoryCopy", "cpu_copy"),
    ("runtime", "cudaGraphAddMemcpyNode", "cpu_launch"),
    ("operator", "cudaMemcpy", "cpu_operator"),
    ("other", "mmap", "cpu_os_syscall_mem"),
    ("other", "readv", "disk_read_and_write"),
    ("other", "oncpu_17", "oncpu"),
    ("other", "runq", "runq"),
    ("other", "something", "cpu_other"),
    ("operator", "write", "cpu_operator"),
]


def test_class_of_a_host_call():
    """Each in a cycle of its own, because several have one name."""
    spans = [(100 * at, 100 * at + 100) for at in range(len(HOST_CALLS))]
    calls = [
        call(name, start + 10, 20, kind)
        for (kind, name, _), (start, _) in zip(HOST_CALLS, spans, strict=True)
    ]
    rows = rows_of(behaviour(trace_of_rows(calls), cycles_at(*spans)))
    class_by_cycle = {row["cycle"]: row["function_class"] for row in rows}
    assert len(rows) == len(HOST_CALLS)
    assert [
        (kind, name, class_by_cycle[at]) for at, (kind, name, _) in enumerate(HOST_CALLS, 1)
    ] == HOST_CALLS


@pytest.mark.parametrize("kind", ["instant", "overhead", "trace"])
def test_what_is_no_work_is_not_counted(kind: str):
    trace = trace_of_rows([call("mark", 10, 20, kind), call("aten::mm", 10, 20)])
    assert [row["function"] for row in rows_of(behaviour(trace, ONE_CYCLE))] == ["aten::mm"]


@pytest.mark.parametrize(
    ("kind", "name", "direction", "expected"),
    [
        ("kernel", "gemm", None, "gpu_compute"),
        ("kernel", "ncclDevKernel_AllReduce", None, "gpu_comm"),
        ("kernel", "cross_device_reduce_1stage", None, "gpu_comm"),
        ("collective", "hcom_allReduce_", None, "gpu_comm"),
        ("memcpy", "Memcpy HtoD", "HtoD", "gpu_memcpy_h2d"),
        ("memcpy", "Memcpy DtoH", "DtoH", "gpu_memcpy_d2h"),
        ("memcpy", "Memcpy DtoD", "DtoD", "gpu_memcpy_d2d"),
        ("memcpy", "Memcpy PtoP", "PtoP", "gpu_memcpy_d2d"),
        ("memcpy", "Memcpy", None, "gpu_memcpy_h2d"),
        ("memset", "Memset", None, "gpu_memcpy_h2d"),
    ],
)
def test_class_of_device_work(kind: str, name: str, direction: str | None, expected: str):
    work = activity(name, 10, 20, kind, copy_direction=direction)
    (row,) = rows_of(behaviour(trace_of_rows(device=[work]), ONE_CYCLE))
    assert row["function_class"] == expected


def test_annotations_on_the_device_are_no_work():
    work = [activity("decode_step", 0, 90, "annotation"), activity("gemm", 10, 20)]
    rows = rows_of(behaviour(trace_of_rows(device=work), ONE_CYCLE))
    assert [row["function"] for row in rows] == ["gemm"]


def test_every_class_is_in_the_map():
    assert set(load_classes().metrics) == set(FUNCTION_CLASSES)


def test_a_file_replaces_the_classes_it_names(tmp_path: Path):
    map_file = tmp_path / "map.csv"
    map_file.write_text("# mine\nmetric, class\nfan_*, gpu_compute\n,gpu_comm\n")
    classes = load_classes(map_file)
    assert classes.metrics["gpu_compute"] == ("fan_*",)
    assert classes.metrics["gpu_comm"] == ()
    assert classes.metrics["oncpu"] == load_classes().metrics["oncpu"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"class,metric\ngpu_compte,x\n", "'gpu_compte', which no function has"),
        (b"function,counter\na,b\n", "no map of classes to metrics"),
        (b"class,metric\n", "names no class"),
        (b"", "no map of classes to metrics"),
        (b"\xff\xfe\x00", "is not text"),
    ],
)
def test_a_file_that_is_no_map(tmp_path: Path, content: bytes, message: str):
    map_file = tmp_path / "map.csv"
    map_file.write_bytes(content)
    with pytest.raises(UsageError, match="--map") as raised:
        load_classes(map_file)
    assert message in raised.value.message


def test_a_map_that_is_not_there(tmp_path: Path):
    with pytest.raises(TimesinkError, match="no such file"):
        load_classes(tmp_path / "absent.csv")
    with pytest.raises(TimesinkError, match="is a folder"):
        load_classes(tmp_path)

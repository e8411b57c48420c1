"""Collective calls of one worker, however they were recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import timesink
from builders import Event, annotation, kernel, memcpy, operator, runtime, step
from cases import K, O, read, read_document
from mlu import training_loop
from timesink.analyses.communication_calls import (
    bytes_of_inputs,
    collective_kind,
    communication_ranges,
    communication_records,
    element_bytes,
)
from timesink.model.trace import Trace


@pytest.fixture(autouse=True)
def own_cache(common_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cache for all, so that each recording is read once."""
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(common_cache))


def arguments(collective: str, elements: int, dtype: str = "Float", **more: Any) -> dict[str, Any]:
    return {
        "Collective name": collective,
        "In msg nelems": elements,
        "Out msg nelems": elements,
        "dtype": dtype,
        "Group size": 2,
        "Process Group Name": "0",
        "Process Group Ranks": "[0, 1]",
        **more,
    }


def nccl_call(start: int = 100) -> list[Event]:
    """As PyTorch records it: arguments around an annotation, a kernel that outlasts both."""
    call_arguments = arguments("allreduce", 1000, Seq=7)
    return [
        operator("record_param_comms", start, 60, **{"External id": 5}, **call_arguments),
        annotation("nccl:all_reduce", start + 10, 40, **{"External id": 6}),
        runtime("cudaLaunchKernelExC", start + 20, 10, 11, **{"External id": 6}),
        kernel(
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL", start + 30, 200, 11, **{"External id": 5}
        ),
    ]


def ranges(trace: Trace) -> list[tuple[int, bool, float, float]]:
    return [
        (record, on_device, start / 1000, end / 1000)
        for record, on_device, start, end in communication_ranges(trace).rows()
    ]


# -- one call, one record --------------------------------------------------------------------------


def test_annotation_arguments_and_kernel_are_one_record():
    trace = read(*nccl_call())
    (record,) = communication_records(trace).to_dicts()
    expected = {
        "record": 0,
        "name": "nccl:all_reduce",
        "collective": "all_reduce",
        "library": "nccl",
        "group": "0",
        "group_ranks": "[0, 1]",
        "group_size": 2,
        "sequence": 7,
        "dtype": "Float",
        "size_bytes": 4000,
        "out_bytes": 4000,
        "host_start_ns": 110_000,
        "host_end_ns": 150_000,
        "start_ns": 110_000,
        "end_ns": 330_000,
        "latency_ns": 220_000,
    }
    assert {key: record[key] for key in expected} == expected
    assert ranges(trace) == [(0, False, 110, 150), (0, True, 130, 330)]


def test_arguments_inside_the_annotation_are_the_same_call():
    trace = read(
        annotation("nccl:all_gather", 100, 60),
        operator("record_param_comms", 110, 10, **arguments("allgather", 10, "BFloat16")),
    )
    records = communication_records(trace)
    assert records.select("name", "group", "size_bytes").rows() == [("nccl:all_gather", "0", 20)]


def test_call_known_by_its_arguments_alone_is_named_after_them():
    trace = read(operator("record_param_comms", 100, 60, **arguments("alltoall", 10)))
    records = communication_records(trace)
    assert records.select("name", "collective").rows() == [("alltoall", "all_to_all")]


def test_waiting_for_a_collective_is_none():
    call_arguments = arguments("wait", 0, "Byte")
    trace = read(
        *nccl_call(),
        operator("record_param_comms", 400, 10, **call_arguments),
        operator("record_param_comms", 500, 10),
    )
    assert communication_records(trace)["name"].to_list() == ["nccl:all_reduce"]


def test_kernel_without_a_call_is_a_record_of_its_own():
    call_arguments = arguments("_reduce_scatter_base", 8, "Half", Seq=3)
    trace = read(kernel("ncclDevKernel_ReduceScatter_Sum_f16", 100, 50, 9, **call_arguments))
    (record,) = communication_records(trace).to_dicts()
    assert record["name"] == "ncclDevKernel_ReduceScatter_Sum_f16"
    assert (record["collective"], record["size_bytes"]) == ("reduce_scatter", 16)
    assert (record["sequence"], record["host_start_ns"]) == (3, None)
    assert ranges(trace) == [(0, True, 100, 150)]


def test_kernel_follows_its_launch_rather_than_its_external_id():
    """Some profilers write the correlation as external id, which then names any call."""
    trace = read(
        annotation("nccl:all_reduce", 0, 50, **{"External id": 11}),
        operator("aten::add", 100, 50, **{"External id": 3}),
        runtime("cudaLaunchKernel", 110, 10, 11, **{"External id": 3}),
        kernel("add_kernel", 130, 20, 11, **{"External id": 11}),
    )
    assert ranges(trace) == [(0, False, 0, 50)]


def test_calls_of_old_recordings_own_kernels_by_external_id():
    shape = {"Input dims": [[53120]], "Input type": ["float"]}
    trace = read(O("nccl:broadcast", 0, 75, x=146, **shape), K("broadcast", 16, 99, x=146))
    records = communication_records(trace)
    assert records.select("size_bytes", "latency_ns").rows() == [(212480, 115_000)]


def test_gloo_transfers_during_its_call_only():
    trace = read(
        annotation("gloo:all_reduce", 100, 60, **{"External id": 6}),
        runtime("cudaMemcpyAsync", 110, 10, 11, **{"External id": 6}),
        memcpy("Memcpy DtoH", 120, 100, 11, **{"External id": 6}),
    )
    assert ranges(trace) == [(0, False, 100, 160)]


def test_cncl_owns_its_copies_and_kernels():
    document, _ = training_loop(iterations=1, steps=True)
    (record,) = communication_records(trace := read_document(document)).to_dicts()
    assert (record["name"], record["library"]) == ("cncl:all_reduce", "cncl")
    base = record["start_ns"] / 1000
    assert [(kind, start - base, end - base) for _, kind, start, end in ranges(trace)] == [
        (False, 0, 80),
        (True, 30, 45),
        (True, 50, 110),
    ]


def test_annotation_alone_is_communication():
    trace = read(annotation("nccl:all_reduce", 100, 60))
    assert communication_records(trace).select("size_bytes", "latency_ns").rows() == [
        (None, 60_000)
    ]


# -- steps -----------------------------------------------------------------------------------------


def test_step_is_the_one_a_call_was_made_in():
    trace = read(
        step(4, 0, 90),
        step(5, 100, 400),
        annotation("gloo:barrier", 92, 4),
        *nccl_call(),
        annotation("gloo:broadcast", 480, 60),
    )
    records = communication_records(trace)
    assert records.select("collective", "step").rows() == [
        ("barrier", None),
        ("all_reduce", "5"),
        ("broadcast", "5"),
    ]


# -- names and sizes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("nccl:_reduce_scatter_base", "reduce_scatter"),
        ("nccl:all_gather_into_tensor_coalesced", "all_gather"),
        ("nccl:send 0->1", "send"),
        ("gloo:recv", "recv"),
        ("nccl:all_to_allv", "all_to_all"),
        ("hccl:allgather", "all_gather"),
        ("nccl:reduce", "reduce"),
        ("nccl:all_reduce_barrier", "barrier"),
        ("cross_device_reduce_1stage<half>", "all_reduce"),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgs)", "send_recv"),
        ("init", None),
    ],
)
def test_kinds(name: str, kind: str | None):
    assert collective_kind(name) == kind


@pytest.mark.parametrize(
    ("spellings", "size"),
    [
        (("Float8_e4m3fn", "c10::Float8_e5m2", "Bool", "bool", "Char", "signed char", "Byte"), 1),
        (("Half", "c10::Half", "c10::BFloat16", "BFloat16", "Short"), 2),
        (("Float", "float", "Int", "int", "c10::complex<c10::Half>"), 4),
        (("Double", "double", "Long", "long int", "c10::complex<float>", "ComplexFloat"), 8),
        (("ComplexDouble", "c10::complex<double>"), 16),
        (("Mystery", "TensorList"), None),
    ],
)
def test_element_sizes(spellings: tuple[str, ...], size: int | None):
    assert {element_bytes(spelling) for spelling in spellings} == {size}


def test_input_of_unknown_type_makes_the_size_unknown():
    assert bytes_of_inputs("[[4], [4]]", '["float", "mystery"]') is None
    assert bytes_of_inputs("not JSON", None) is None
    assert bytes_of_inputs('[["s0"]]', '["float"]') is None
    assert bytes_of_inputs("[[9999999999, 9999999999]]", '["float"]') is None


# -- real recordings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "calls", "kernels"),
    [
        ("tracelens/b200/eager_trace.json.gz", {"all_gather": 1, "all_reduce": 73}, 74),
        (
            "hta/mtia_trace_single_rank/mtia_rank_0.json.gz",
            {"all_gather": 96, "all_reduce": 1, "all_to_all": 1, "barrier": 48},
            0,
        ),
    ],
)
def test_real_recordings(shared_root: Path, path: str, calls: dict[str, int], kernels: int):
    trace = timesink.open(shared_root / "data" / path)
    records = communication_records(trace)
    assert communication_ranges(trace)["on_device"].sum() == kernels
    assert (records["latency_ns"] >= 0).all()
    assert (records["latency_ns"] <= records["end_ns"] - records["start_ns"]).all()
    if calls is not None:
        counts = records["collective"].value_counts(sort=True)
        assert dict(counts.sort("collective").iter_rows()) == calls


def test_calls_made_ahead_of_the_device_stay_in_their_step(shared_root: Path):
    path = shared_root / "data/tracelens/mi300/resnet_act_checkpoint.json.gz"
    records = communication_records(timesink.open(path)).drop_nulls("host_start_ns")
    per_step = records.group_by("step", maintain_order=True).len()
    assert per_step.rows() == [("15", 4), ("16", 4), ("17", 4)]

"""Small examples of what analyses.communication computes."""

from __future__ import annotations

import numpy as np
import polars as pl

import timesink
from timesink.analyses.communication_calls import (
    RECORD_SCHEMA,
    arguments_of,
    bus_share,
    bytes_of_inputs,
    collective_kind,
    collective_work,
    communication_ranges,
    element_bytes,
    library_of,
    peers_of,
    per_second,
    volume,
    with_meaning,
)
from timesink.analyses.communication_workers import (
    find_mismatches,
    match_calls,
    mean_over_steps,
    step_communication,
)


def test_arguments_of() -> None:
    assert arguments_of(np.array([0]), timesink.open(timesink.sample()))[
        "group_size"
    ].to_list() == [None]


def test_volume() -> None:
    call = {"collective": "all_gather", "size_bytes": 8, "out_bytes": None, "group_size": 4}
    assert pl.DataFrame([call]).select(volume()).item() == 32


def test_bus_share() -> None:
    assert (
        pl.DataFrame([{"collective": "all_reduce", "group_size": 4}]).select(bus_share()).item()
        == 1.5
    )


def test_per_second() -> None:
    calls = pl.DataFrame({"volume": [8, 8], "moving_ns": [1_000, 3_000]})
    assert calls.select(per_second("volume", "moving_ns")).item() == 4000000.0


def test_collective_work() -> None:
    assert collective_work(timesink.open(timesink.sample())).columns == [
        "name",
        "row",
        "call",
        "start_ns",
        "end_ns",
    ]


def test_mean_over_steps() -> None:
    steps = pl.DataFrame(
        {"worker": ["a"] * 3, "complete": [True, True, False], "communication_ns": [4, 5, 99]}
    )
    assert mean_over_steps(steps, "communication_ns").rows() == [("a", 4.5)]


def test_collective_kind() -> None:
    assert (
        collective_kind("nccl:_all_gather_base"),
        collective_kind("ncclDevKernel_AllReduce_Sum_f32"),
    ) == ("all_gather", "all_reduce")
    assert collective_kind("wait") is collective_kind("ncclDevKernel_Generic") is None


def test_library_of() -> None:
    assert (
        library_of("gloo:all_reduce"),
        library_of("ncclDevKernel_Generic"),
        library_of("barrier"),
    ) == ("gloo", "nccl", None)


def test_peers_of() -> None:
    names = pl.DataFrame({"name": ["nccl:send 0->1", "nccl:recv 1<-0", "nccl:send"]})
    assert names.select(**peers_of(pl.col("name"))).rows() == [(0, 1), (0, 1), (None, None)]


def test_element_bytes() -> None:
    assert [
        element_bytes(name) for name in ("c10::BFloat16", "Float8_e4m3fn", "long int", "Long")
    ] == [2, 1, 8, 8]
    assert element_bytes("TensorList") is None


def test_input_bytes() -> None:
    assert bytes_of_inputs("[[2, 3], [], [4]]", '["float", "Scalar", "c10::Half"]') == 32
    assert bytes_of_inputs("[[[9600]]]", '["TensorList"]') is None


def test_match_calls() -> None:
    call = pl.DataFrame([{"name": "nccl:all_reduce"}], schema=RECORD_SCHEMA)
    assert match_calls({"rank0": call, "rank1": call})["match"].to_list() == [0, 0]


def test_find_mismatches() -> None:
    call = pl.DataFrame([{"name": "nccl:all_reduce"}], schema=RECORD_SCHEMA)
    matched = match_calls({"rank0": call, "rank1": call.clear()})
    assert find_mismatches(matched, {"rank0": 0, "rank1": 1}).select("name", "missing").rows() == [
        ("nccl:all_reduce", ["rank1"])
    ]


def test_with_meaning() -> None:
    call = {"call": 0, "name": "nccl:all_reduce", "carries_arguments": False}
    inputs = {"input_dims": "[[256]]", "input_types": '["c10::Half"]'}
    meanings = with_meaning(pl.DataFrame([call | inputs]), timesink.open(timesink.sample()))
    assert meanings.select("collective", "library", "size_bytes").row(0) == (
        "all_reduce",
        "nccl",
        512,
    )


def test_communication_ranges() -> None:
    assert communication_ranges(timesink.open(timesink.sample())).columns == [
        "record",
        "on_device",
        "start_ns",
        "end_ns",
    ]


def test_step_communication() -> None:
    steps = step_communication(timesink.open(timesink.sample()))
    assert bool((steps["overlap_ns"] <= steps["computation_ns"]).all())

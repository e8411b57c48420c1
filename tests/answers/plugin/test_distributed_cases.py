"""Two workers whose waiting and transfer can be worked out on paper."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Event
from cases import K, O, costs, read
from rank_sets import as_set
from timesink.answers.plugin.distributed import communication_operations, overlap, wait_time
from timesink.answers.plugin.query import Query
from timesink.model.trace import Trace

SMALL, LARGE = [[53120]], [[2049000]]
"""Shapes of what is broadcast and reduced: 212480 and 8196000 bytes."""


def collective(
    name: str, ts: int, dur: int, *, x: int, dims: list[list[int]], tid: str = "123"
) -> Event:
    shape = {"Input dims": dims, "Input type": ["float"]}
    return O(name, ts, dur, x=x, tid=tid, **shape)


def answer(view: Any, traces: dict[str, Trace]) -> dict[str, Any]:
    data: dict[str, Any] = view(as_set(traces), Query(workers=len(traces)))["data"]
    return data


def operations(traces: dict[str, Trace], worker: str) -> list[list[Any]]:
    rows: list[list[Any]] = answer(communication_operations, traces)[worker]["rows"]
    return rows


# -- collectives that run on the device ------------------------------------------------------------


def nccl_worker(
    broadcast: tuple[int, int],
    broadcast_kernel: tuple[int, int],
    add: tuple[int, int],
    add_kernel: tuple[int, int],
    reduce_kernel: tuple[int, int],
) -> Trace:
    return read(
        collective("nccl:broadcast", *broadcast, x=146, dims=SMALL),
        K("ncclKernel_Broadcast_RING_LL_Sum_int8_t", *broadcast_kernel, x=146),
        O("aten::add_", *add, x=5),
        K("add_kernel", *add_kernel),
        collective("nccl:all_reduce", 160, 75, x=2513, dims=LARGE),
        K("ncclKernel_AllReduce_RING_LL_Sum_float", *reduce_kernel, x=2513),
    )


@pytest.fixture(scope="module")
def nccl() -> dict[str, Trace]:
    return {
        "worker0": nccl_worker((0, 75), (16, 16), (100, 20), (130, 161), (162, 1556)),
        "worker1": nccl_worker((0, 20), (8, 31), (25, 20), (30, 161), (562, 1058)),
    }


def test_nccl_parts_of_the_step(nccl: dict[str, Trace]):
    assert costs(nccl["worker0"]) == [[105, 0, 0, 75, 0, 0, 20, 35, 235]]
    assert costs(nccl["worker1"])[0][3] == 74


def test_nccl_overlap(nccl: dict[str, Trace]):
    expected = {"worker0": [30, 75, 75, 55], "worker1": [121, 40, 74, 0]}
    assert answer(overlap, nccl) == {"0": expected, "all": expected}


def test_nccl_operations(nccl: dict[str, Trace]):
    assert operations(nccl, "worker0") == [
        ["nccl:broadcast", 1, 212480, 212480, 75, 75, 36, 36],
        ["nccl:all_reduce", 1, 8196000, 8196000, 1558, 1558, 1133, 1133],
    ]
    assert operations(nccl, "worker1") == [
        ["nccl:broadcast", 1, 212480, 212480, 39, 39, 36, 36],
        ["nccl:all_reduce", 1, 8196000, 8196000, 1133, 1133, 1133, 1133],
    ]


def test_nccl_waiting(nccl: dict[str, Trace]):
    waited = answer(wait_time, nccl)
    assert waited["all"] == {"worker0": [1169, 464], "worker1": [1169, 3]}


# -- collectives that run on the host --------------------------------------------------------------


def gloo_worker(
    broadcasts: list[tuple[int, int]],
    reductions: list[tuple[int, int]],
    add: tuple[int, int],
    *busy: Event,
) -> Trace:
    """Collectives on threads of their own, where they may overlap."""
    calls = [("gloo:broadcast", SMALL, *times) for times in broadcasts]
    calls += [("gloo:all_reduce", LARGE, *times) for times in reductions]
    events = [
        collective(name, ts, dur, x=x, dims=dims, tid=f"90{x}")
        for x, (name, dims, ts, dur) in enumerate(calls, start=1)
    ]
    return read(O("aten::add_", *add, x=100), *busy, *events)


def gloo_workers(first: Event, second: Event) -> dict[str, Trace]:
    return {
        "worker0": gloo_worker(
            [(16, 38), (25, 36), (66, 18)], [(110, 18), (120, 36)], (0, 20), first
        ),
        "worker1": gloo_worker(
            [(20, 28), (28, 30), (77, 6)], [(88, 38), (130, 16)], (0, 30), second
        ),
    }


@pytest.fixture(scope="module")
def gloo_with_kernels() -> dict[str, Trace]:
    return gloo_workers(K("mul_kernel", 30, 101), K("mul_kernel", 70, 70))


@pytest.fixture(scope="module")
def gloo_without_device() -> dict[str, Trace]:
    return gloo_workers(O("aten::mul", 30, 101, x=101), O("aten::mul", 70, 70, x=101))


def test_gloo_beside_kernels(gloo_with_kernels: dict[str, Trace]):
    assert costs(gloo_with_kernels["worker0"]) == [[101, 0, 0, 39, 0, 0, 16, 0, 156]]
    assert costs(gloo_with_kernels["worker1"]) == [[70, 0, 0, 44, 0, 0, 20, 12, 146]]
    expected = {"worker0": [31, 70, 39, 16], "worker1": [16, 54, 44, 32]}
    assert answer(overlap, gloo_with_kernels)["all"] == expected


def test_gloo_without_device(gloo_without_device: dict[str, Trace]):
    assert costs(gloo_without_device["worker0"]) == [[0, 0, 0, 109, 0, 0, 47, 0, 156]]
    assert costs(gloo_without_device["worker1"]) == [[0, 0, 0, 98, 0, 0, 36, 12, 146]]
    # Without kernels, what the processor does is the computation.
    expected = {"worker0": [47, 74, 35, 0], "worker1": [36, 64, 34, 12]}
    assert answer(overlap, gloo_without_device)["all"] == expected


@pytest.mark.parametrize("workers", ["gloo_with_kernels", "gloo_without_device"])
def test_gloo_waiting_and_operations(workers: str, request: pytest.FixtureRequest):
    traces = request.getfixturevalue(workers)
    assert answer(wait_time, traces)["all"] == {"worker0": [75, 34], "worker1": [78, 20]}
    assert operations(traces, "worker0") == [
        ["gloo:broadcast", 3, 637440, 212480, 63, 21, 41, 14],
        ["gloo:all_reduce", 2, 16392000, 8196000, 46, 23, 34, 17],
    ]
    assert operations(traces, "worker1") == [
        ["gloo:broadcast", 3, 637440, 212480, 44, 15, 44, 15],
        ["gloo:all_reduce", 2, 16392000, 8196000, 54, 27, 34, 17],
    ]

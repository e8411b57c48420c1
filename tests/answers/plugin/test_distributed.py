"""The distributed view as its users get it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import timesink
from builders import Event, annotation, kernel, step
from cases import O, read, read_document
from mlu import training_loop
from rank_sets import as_set
from timesink.analyses.ranks.rank_set import RankSet
from timesink.answers.plugin.distributed import (
    communication_operations,
    device_info,
    overlap,
    wait_time,
)
from timesink.answers.plugin.query import Query
from timesink.errors import NotFoundError
from timesink.model.trace import Trace

VIEWS = (overlap, wait_time, communication_operations, device_info)


@pytest.fixture(autouse=True)
def own_cache(common_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cache for all, so that each recording is read once."""
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(common_cache))


def gloo(name: str, start: int, length: int, elements: int | None = 256) -> Event:
    shape = {"Input Dims": [[elements]], "Input type": ["float"]} if elements else {}
    return annotation(f"gloo:{name}", start, length, **shape) | {"tid": 2}


def span(**traces: Trace) -> tuple[RankSet, Query]:
    return as_set(traces), Query(workers=len(traces))


def steps(*ends: int) -> list[Event]:
    """Steps 1, 2, ... from one end to the next."""
    bounds = (0, *ends)
    return [
        step(number + 1, bounds[number], end - bounds[number]) for number, end in enumerate(ends)
    ]


@pytest.fixture
def two_workers() -> tuple[RankSet, Query]:
    return span(
        worker0=read(*steps(100, 201), gloo("all_reduce", 10, 50), gloo("all_reduce", 110, 31)),
        worker1=read(*steps(100, 201), gloo("all_reduce", 30, 30), gloo("all_reduce", 110, 60)),
    )


def test_overlap(two_workers: tuple[RankSet, Query]):
    assert overlap(*two_workers) == {
        "metadata": {
            "title": "Computation/Communication Overview",
            "legends": ["Computation", "Overlapping", "Communication", "Other"],
            "units": "us",
        },
        "data": {
            "all": {"worker0": [0, 0, 40, 60], "worker1": [0, 0, 45, 56]},
            "1": {"worker0": [0, 0, 50, 50], "worker1": [0, 0, 30, 70]},
            "2": {"worker0": [0, 0, 31, 70], "worker1": [0, 0, 60, 41]},
        },
    }


def test_wait_time(two_workers: tuple[RankSet, Query]):
    assert wait_time(*two_workers) == {
        "metadata": {
            "title": "Synchronizing/Communication Overview",
            "legends": ["Data Transfer Time", "Synchronizing Time"],
            "units": "us",
        },
        "data": {
            "all": {"worker0": [30, 10], "worker1": [30, 14]},  # means 30.5, 10 and 30.5, 14.5
            "1": {"worker0": [30, 20], "worker1": [30, 0]},
            "2": {"worker0": [31, 0], "worker1": [31, 29]},
        },
    }


def test_communication_operations(two_workers: tuple[RankSet, Query]):
    answer = communication_operations(*two_workers)
    assert answer["metadata"] == {"title": "Communication Operations Stats"}
    assert [column["name"] for column in answer["data"]["worker0"]["columns"]] == [
        "Name",
        "Calls",
        "Total Size (bytes)",
        "Avg Size (bytes)",
        "Total Latency (us)",
        "Avg Latency (us)",
        "Data Transfer Time (us)",
        "Avg Data Transfer Time (us)",
    ]
    assert {worker: table["rows"] for worker, table in answer["data"].items()} == {
        "worker0": [["gloo:all_reduce", 2, 2048, 1024, 81, 40, 61, 30]],
        "worker1": [["gloo:all_reduce", 2, 2048, 1024, 90, 45, 61, 30]],
    }


def test_unknown_size_is_null():
    answer = communication_operations(*span(a=read(gloo("all_reduce", 0, 50, elements=None))))
    assert answer["data"]["a"]["rows"] == [["gloo:all_reduce", 1, None, None, 50, 50]]


def test_single_worker_is_shown_without_waiting():
    traces = span(only=read(gloo("all_reduce", 0, 50)))
    answer = wait_time(*traces)
    assert answer["metadata"]["legends"] == ["Communication Time"]
    assert answer["data"] == {"all": {"only": [50]}, "0": {"only": [50]}}


def test_missing_call_keeps_the_view_and_is_counted():
    traces = span(
        worker0=read(gloo("all_reduce", 0, 50), gloo("barrier", 100, 10)),
        worker1=read(gloo("all_reduce", 0, 30)),
    )
    answer = wait_time(*traces)
    assert answer["metadata"]["mismatched_calls"] == 1
    assert answer["data"]["all"] == {"worker0": [40, 20], "worker1": [30, 0]}
    assert communication_operations(*traces)["metadata"]["mismatched_calls"] == 1


def test_workers_come_in_the_order_of_their_numbers():
    traces = {f"rank{number}": read(gloo("barrier", 0, 50)) for number in (1, 2, 10)}
    ranks, query = span(**traces)
    assert list(overlap(ranks, query)["data"]["all"]) == ["rank1", "rank2", "rank10"]
    assert list(communication_operations(ranks, query)["data"]) == ["rank1", "rank2", "rank10"]


@pytest.mark.parametrize("view", [overlap, wait_time, communication_operations])
def test_nothing_to_show_without_communication(view: Any):
    with pytest.raises(NotFoundError):
        view(*span(worker0=read(O("aten::mm", 0, 50))))


# -- devices ---------------------------------------------------------------------------------------


def on_device(device: int) -> Trace:
    properties = [
        {"id": number, "name": "V100", "totalGlobalMem": 16945512448, "computeMajor": 7}
        | {"computeMinor": 0}
        for number in range(2)
    ]
    return read(kernel("gemm", 0, 10, 1, device=device), deviceProperties=properties)


def test_devices_by_node_and_process():
    v100 = {
        "Name": "V100",
        "Memory": "15.78 GB",
        "Memory Raw": 16945512448,
        "Compute Capability": "7.0",
    }
    answer = device_info(*span(node_a_0=on_device(0), node_a_1=on_device(1), plain=on_device(0)))
    assert answer == {
        "metadata": {"title": "Device Information"},
        "data": {
            "node_a": {"Process 0": {"GPU0": v100}, "Process 1": {"GPU1": v100}},
            "plain": {"Process 0": {"GPU0": v100}},
        },
    }


def test_devices_of_an_mlu_go_by_its_name():
    trace = read_document(training_loop(properties=True)[0])
    answer = device_info(*span(node_0=trace))
    assert answer is not None
    described = answer["data"]["node"]["Process 0"]["MLU0"]
    assert (described["Name"], described["Memory"]) == ("MLU370", "24.0 GB")


def test_devices_nobody_describes():
    assert device_info(*span(worker0=read(gloo("barrier", 0, 50)))) is None
    assert device_info(*span(worker0=read(kernel("gemm", 0, 50, 1)))) is None


# -- real recordings -------------------------------------------------------------------------------


@pytest.mark.parametrize("run", ["ddp8_normal", "ddp8_stall_rank3"])
def test_eight_ranks(shared_root: Path, run: str):
    ranks, query = timesink.analyze(shared_root / "data/h200/traces" / run).ranks, Query(workers=8)
    assert ranks is not None
    assert len(ranks.names) == 8
    for view in VIEWS:
        answer = json.loads(json.dumps(view(ranks, query)))
        assert "mismatched_calls" not in answer["metadata"]
        assert len(answer["data"]) == (7 if view in {overlap, wait_time} else 8)
    for values in overlap(ranks, query)["data"].values():
        assert all(part >= 0 for parts in values.values() for part in parts)

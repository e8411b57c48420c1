"""`/diff` and `/diffnode` as their readers get them."""

from __future__ import annotations

from typing import Any

import pytest

from cases import DATA_LOADER, OTHER, STEP, K, O, R, read
from timesink.answers.plugin.distributed import diff, diff_node
from timesink.answers.plugin.query import Query
from timesink.errors import NotFoundError, UsageError
from timesink.model.trace import Trace

SGD = "Optimizer.step#SGD.step"


def run(product: int) -> Trace:
    return read(
        STEP(1, 0, 500),
        O("aten::mm", 10, product, x=1),
        R(12, 5, c=1, x=1),
        K("gemm", 30, 70, c=1, x=1),
        O(SGD, 200, 50),
        O("MmBackward0", 100, 30, tid=OTHER),
    )


def operator(name: str, host: int, self_host: int, device: int) -> dict[str, Any]:
    return {
        "name": name,
        "calls": 1,
        "host_duration": host,
        "device_duration": device,
        "self_host_duration": self_host,
        "self_device_duration": device,
    }


def test_whole_response():
    answer = diff(run(20), run(40), Query())
    other_threads = {
        "duration": 30,
        "device_duration": 0,
        "total_duration": 30,
        "aggs": [operator("MmBackward0", 30, 30, 0)],
    }
    assert answer["left"] == {
        "name": "CompositeNodes",
        "duration": 70,
        "device_duration": 70,
        "total_duration": 120,
        "aggs": [operator("aten::mm", 20, 15, 70)],
        "other_threads": other_threads,
    }
    product, optimizer = answer["children"]
    assert product == {
        "left": {
            "name": "aten::mm",
            "duration": 20,
            "device_duration": 70,
            "total_duration": 70,
            "aggs": [operator("aten::mm", 20, 15, 70)],
            "other_threads": other_threads,
        },
        "right": {
            "name": "aten::mm",
            "duration": 40,
            "device_duration": 70,
            "total_duration": 70,
            "aggs": [operator("aten::mm", 40, 35, 70)],
            "other_threads": other_threads,
        },
        "children": [],
    }
    assert list(optimizer["left"]) == [
        "name",
        "duration",
        "device_duration",
        "total_duration",
        "aggs",
    ]


def test_one_level_at_a_path():
    left = read(STEP(1, 0, 500), O(DATA_LOADER, 10, 50), O("aten::mm", 70, 10), O(SGD, 200, 50))
    right = read(STEP(1, 0, 500), O("enumerate(DataPipe)#Mapper", 10, 5), O(SGD, 200, 50))
    top = diff_node(left, right, Query())
    assert (top["path"], [child["path"] for child in top["children"]]) == ("0", ["0-0", "0-1"])
    assert all(child["children"] == [] for child in top["children"])
    inner = diff_node(left, right, Query({"path": "0-0"}))
    assert [child["left"]["name"] for child in inner["children"]] == [DATA_LOADER, "aten::mm"]
    assert inner["left"] == top["children"][0]["left"]


def test_paths_that_lead_nowhere():
    with pytest.raises(NotFoundError):
        diff_node(run(20), run(20), Query({"path": "0-7"}))
    with pytest.raises(UsageError):
        diff_node(run(20), run(20), Query({"path": "1-x"}))


def test_runs_without_calls():
    with pytest.raises(NotFoundError):
        diff(read(), read(), Query())

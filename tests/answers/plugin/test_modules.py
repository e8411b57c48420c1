"""`/module` and `/tree` as their readers get them."""

from __future__ import annotations

import pytest

from builders import Event, flow
from cases import MAIN, MODULE, OTHER, PID, STEP, K, O, R, read
from timesink.answers.plugin.operators import module_view, tree_view
from timesink.answers.plugin.query import Query
from timesink.errors import NotFoundError


def module(name: str, ts: int, dur: int, number: int = 0) -> Event:
    return MODULE(f"nn.Module: {name}", ts, dur, python_id=ts, parent=None, module=number)


def layer() -> list[Event]:
    return [
        module("Net", 100, 90, 4),
        module("Linear", 120, 50, 7),
        O("aten::linear", 130, 30, x=1),
        R(135, 5, c=1, x=1),
        K("gemm", 150, 25, c=1, x=1),
    ]


def backward() -> list[Event]:
    return [
        O("autograd::engine::evaluate_function: AddmmBackward0", 300, 12, tid=OTHER),
        flow("s", 1, 130, category="fwdbwd", pid=PID, tid=MAIN),
        flow("f", 1, 300, category="fwdbwd", pid=PID, tid=OTHER),
    ]


# -- /module ---------------------------------------------------------------------------------------


def test_whole_response():
    times = {"backward_host_duration": 0, "backward_device_duration": 0}
    assert module_view(read(*layer()), Query()) == {
        "columns": [
            {"name": "Module Name", "type": "string", "key": "name"},
            {"name": "Occurences", "type": "number", "key": "occurences"},
            {"name": "Operators", "type": "number", "key": "operators"},
            {"name": "Host Total Time", "type": "number", "key": "host_duration"},
            {"name": "Host Self Time", "type": "number", "key": "self_host_duration"},
            {"name": "Device Total Time", "type": "number", "key": "device_duration"},
            {"name": "Device Self Time", "type": "number", "key": "self_device_duration"},
        ],
        "data": [
            {
                "name": "Net",
                "id": 4,
                "occurences": 1,
                "operators": 0,
                "host_duration": 90,
                "self_host_duration": 40,
                "device_duration": 25,
                "self_device_duration": 0,
                "own_device_duration": 0,
                "avg_duration": 25.0,
                **times,
                "children": [
                    {
                        "name": "Linear",
                        "id": 7,
                        "occurences": 1,
                        "operators": 1,
                        "host_duration": 50,
                        "self_host_duration": 20,
                        "device_duration": 25,
                        "self_device_duration": 25,
                        "own_device_duration": 0,
                        "avg_duration": 25.0,
                        **times,
                        "children": [],
                    }
                ],
            }
        ],
    }


def test_backward_columns_where_the_pass_was_recorded():
    answer = module_view(read(*layer(), *backward()), Query())
    assert [column["key"] for column in answer["columns"][7:]] == [
        "backward_host_duration",
        "backward_device_duration",
    ]
    assert answer["data"][0]["backward_host_duration"] == 12


def test_no_modules_were_recorded():
    with pytest.raises(NotFoundError, match="modules"):
        module_view(read(O("aten::mm", 0, 10)), Query())


# -- /tree -----------------------------------------------------------------------------------------


def test_tree_of_the_main_thread():
    answer = tree_view(read(STEP(1, 0, 500), *layer(), O("aten::mm", 10, 5, tid=OTHER)), Query())
    linear = answer["children"][0]["children"][0]["children"][0]
    assert (answer["name"], answer["type"], answer["tid"]) == ("CallTreeRoot", "Python", MAIN)
    assert (answer["start_time"], answer["end_time"]) == (0, 500)
    assert answer["threads"] == [{"pid": str(PID), "tid": MAIN}, {"pid": str(PID), "tid": OTHER}]
    assert linear == {
        "name": "nn.Module: Linear",
        "start_time": 120,
        "end_time": 170,
        "type": "Module",
        "tid": MAIN,
        "children": [
            {
                "name": "aten::linear",
                "start_time": 130,
                "end_time": 160,
                "type": "Operator",
                "tid": MAIN,
                "children": [],
            }
        ],
    }


def test_tree_of_another_thread():
    trace = read(STEP(1, 0, 500), O("aten::mm", 10, 5, tid=OTHER))
    answer = tree_view(trace, Query({"thread": OTHER}))
    assert [call["name"] for call in answer["children"]] == ["aten::mm"]
    with pytest.raises(NotFoundError, match="no thread=7"):
        tree_view(trace, Query({"thread": "7"}))


def test_a_thread_that_is_not_there_is_told_with_those_that_are():
    trace = read(STEP(1, 0, 500), O("aten::mm", 10, 5, tid=OTHER))
    with pytest.raises(NotFoundError) as caught:
        tree_view(trace, Query({"pid": "abc"}))
    assert caught.value.message == "the recording has no pid=abc"
    assert caught.value.hint == f"it has thread={MAIN}&pid={PID}, thread={OTHER}&pid={PID}"


def test_tree_with_the_backward_pass():
    answer = tree_view(read(STEP(1, 0, 500), *layer(), *backward()), Query())
    (step,) = answer["children"]
    assert [(call["name"], call["type"]) for call in step["children"]] == [
        ("nn.Module: Net", "Module"),
        ("nn.Module: Net.backward", "backward"),
    ]


def test_no_calls_were_recorded():
    with pytest.raises(NotFoundError, match="no calls"):
        tree_view(read(K("gemm", 0, 10)), Query())

"""`/operation`, `/operation/table`, `/operation/stack`: the form of the responses."""

from __future__ import annotations

from typing import Any

import pytest

from cases import STEP, K, O, R, read
from timesink.answers.plugin.operators import operation_pie, operation_stack, operation_table
from timesink.answers.plugin.query import Query
from timesink.errors import NotFoundError, UsageError
from timesink.model.trace import Trace

BY_SHAPE = {"group_by": "OperationAndInputShape"}
SMALL, LARGE = {"Input dims": [[2, 8], []]}, {"Input dims": [[4, 8], []]}
HERE, THERE = {"Call stack": "train.py(3): step;main"}, {"Call stack": "eval.py(9): step;main"}


def on_device() -> Trace:
    """`mm` twice, of other shapes and from other places; `add` without device work."""
    return read(
        O("aten::mm", 0, 50, **SMALL, **HERE),
        R(10, 10, c=1),
        K("gemm", 100, 7.4, c=1),
        O("aten::mm", 200, 80, **LARGE, **THERE),
        R(210, 10, c=2),
        K("gemm", 300, 9.1, c=2),
        O("aten::add", 400, 20),
    )


def on_host() -> Trace:
    return read(O("aten::mm", 0, 50, **SMALL), O("aten::add", 100, 80))


def ask(answer: Any, trace: Trace, **params: str) -> dict[str, Any]:
    return answer(trace, Query(params))


def test_device_that_only_communicates_has_its_columns():
    trace = read(O("aten::mm", 0, 50), K("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 10, 30))
    assert "device_self_duration" in ask(operation_table, trace)["data"][0]


@pytest.mark.parametrize("answer", [operation_pie, operation_table])
def test_grouping_that_is_not_known(answer: Any):
    with pytest.raises(UsageError, match="'group_by' is 'bogus'"):
        ask(answer, on_host(), group_by="bogus")


class TestTable:
    def test_with_device_work(self):
        answer = ask(operation_table, on_device(), group_by="Operation")
        assert answer["metadata"]["sort"] == "device_self_duration"
        assert set(answer["metadata"]["tooltips"]) == {
            "tc_eligible",
            "tc_self_ratio",
            "tc_total_ratio",
        }
        assert answer["data"] == [
            {
                "name": "aten::mm",
                "calls": 2,
                "device_self_duration": 16,
                "device_total_duration": 16,
                "host_self_duration": 110,
                "host_total_duration": 130,
                "tc_eligible": "Yes",
                "tc_self_ratio": 0.0,
                "tc_total_ratio": 0.0,
                "has_call_stack": True,
            },
            {
                "name": "aten::add",
                "calls": 1,
                "device_self_duration": 0,
                "device_total_duration": 0,
                "host_self_duration": 20,
                "host_total_duration": 20,
                "tc_eligible": "No",
                "tc_self_ratio": 0,
                "tc_total_ratio": 0,
                "has_call_stack": False,
            },
        ]

    def test_of_the_host_alone(self):
        answer = ask(operation_table, on_host())
        assert answer["metadata"]["sort"] == "host_self_duration"
        assert [row["name"] for row in answer["data"]] == ["aten::add", "aten::mm"]
        assert not any("device" in key for row in answer["data"] for key in row)

    def test_collectives_are_device_work(self):
        trace = read(O("nccl:all_reduce", 0, 9, x=1), K("ncclDevKernel_AllReduce", 20, 5, x=1))
        assert ask(operation_table, trace)["metadata"]["sort"] == "device_self_duration"

    def test_by_shape(self):
        rows = ask(operation_table, on_device(), **BY_SHAPE)["data"]
        assert list(rows[0])[:3] == ["name", "input_shape", "calls"]
        assert [(row["name"], row["input_shape"]) for row in rows] == [
            ("aten::mm", "[[4, 8], []]"),
            ("aten::mm", "[[2, 8], []]"),
            ("aten::add", "[]"),
        ]

    def test_nothing(self):
        assert ask(operation_table, read())["data"] == []


class TestPies:
    def test_four_pies_of_the_names_that_take_time(self):
        answer = ask(operation_pie, on_device(), group_by="Operation")
        assert {key: pie["title"] for key, pie in answer.items()} == {
            "device_total_time": "Device Total Time (us)",
            "device_self_time": "Device Self Time (us)",
            "host_total_time": "Host Total Time (us)",
            "host_self_time": "Host Self Time (us)",
        }
        assert answer["device_self_time"]["rows"] == [["aten::mm", 16.5]]
        assert answer["host_total_time"]["rows"] == [["aten::mm", 130], ["aten::add", 20]]
        assert [column["name"] for column in answer["host_self_time"]["columns"]] == [
            "name",
            "value",
        ]

    def test_a_pie_without_slices_is_none(self):
        answer = ask(operation_pie, on_host())
        assert answer["device_total_time"] is answer["device_self_time"] is None
        assert answer["host_self_time"]["rows"] == [["aten::add", 80], ["aten::mm", 50]]

    def test_by_shape_rows_still_show_the_name(self):
        rows = ask(operation_pie, on_device(), **BY_SHAPE)["device_self_time"]["rows"]
        assert rows == [["aten::mm", 9.1], ["aten::mm", 7.4]]

    def test_equal_slices_come_in_the_order_of_their_calls(self):
        trace = read(O("b", 0, 10), O("a", 20, 10), O("c", 40, 10))
        assert [name for name, _ in ask(operation_pie, trace)["host_self_time"]["rows"]] == [
            "b",
            "a",
            "c",
        ]


class TestStacks:
    def test_one_operator_by_the_places_it_is_called_from(self):
        rows = ask(operation_stack, on_device(), op_name="aten::mm")["data"]
        assert [(row["call_stack"], row["calls"]) for row in rows] == [
            ("eval.py(9): step;main", 1),
            ("train.py(3): step;main", 1),
        ]
        assert "has_call_stack" not in rows[0]

    def test_of_one_shape(self):
        params = {"op_name": "aten::mm", "input_shape": "[[2, 8], []]", **BY_SHAPE}
        (row,) = ask(operation_stack, on_device(), **params)["data"]
        assert row["call_stack"] == "train.py(3): step;main"

    def test_calls_without_a_stack_are_left_out(self):
        assert ask(operation_stack, on_device(), op_name="aten::add")["data"] == []

    def test_an_unknown_operator(self):
        with pytest.raises(NotFoundError, match="no operator 'aten::bmm'"):
            ask(operation_stack, on_device(), op_name="aten::bmm")

    def test_an_unknown_shape(self):
        params = {"op_name": "aten::mm", "input_shape": "[[9]]", **BY_SHAPE}
        with pytest.raises(NotFoundError, match="with this shape"):
            ask(operation_stack, on_device(), **params)

    def test_the_name_is_needed(self):
        with pytest.raises(UsageError, match="'op_name' is missing"):
            ask(operation_stack, on_device())


def test_frames_are_no_operators():
    trace = read(STEP(1, 0, 100), O("Optimizer.step#SGD.step", 10, 50), O("aten::mul", 20, 5))
    assert [row["name"] for row in ask(operation_table, trace)["data"]] == ["aten::mul"]

"""Time per operator, and where device work was launched from."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

import oracle
from builders import complete
from cases import DATA_LOADER, MAIN, OTHER, STEP, C, K, O, R, S, host_event, read
from recordings import Recording, recordings
from timesink.analyses.modules import python_table
from timesink.analyses.operators import eligible_share, launch_sites, operator_table
from timesink.answers.query import run_query
from timesink.model.trace import Trace

VOLTA = {"deviceProperties": [{"id": 0, "name": "Tesla V100", "computeMajor": 7}]}
TENSOR_KERNEL = "volta_fp16_s884gemm_fp16_128x128"


def table(trace: Trace, *columns: str, **groups: bool) -> list[tuple[Any, ...]]:
    return operator_table(trace, **groups).select("name", *columns).rows()


def launch_events(
    name: str, ts: int, kernel_us: int, *, kernel: str = "gemm", **args: Any
) -> list[dict]:
    """An operator of 50 us with one kernel; none if it takes no time."""
    events = [O(name, ts, 50, **args)]
    if kernel_us:
        events += [R(ts + 10, 10, c=ts + 1), K(kernel, ts + 30, kernel_us, c=ts + 1)]
    return events


class TestTable:
    def test_calls_of_a_name_are_added_up(self):
        trace = read(
            *launch_events("mm", 0, 7), *launch_events("mm", 100, 0), *launch_events("add", 200, 9)
        )
        columns = ("calls", "calls_with_device_work", "device_self_ns", "host_self_ns")
        assert table(trace, *columns, "host_total_ns") == [
            ("add", 1, 1, 9_000, 40_000, 50_000),
            ("mm", 2, 1, 7_000, 90_000, 100_000),
        ]

    def test_sorted_by_device_time_and_then_as_they_finished(self):
        events = [
            *launch_events("c", 0, 5),
            *launch_events("a", 100, 5),
            *launch_events("b", 200, 6),
        ]
        assert table(read(*events)) == [("b",), ("c",), ("a",)]

    def test_sorted_by_host_time_where_nothing_ran_on_a_device(self):
        assert table(read(O("a", 0, 10), O("b", 20, 30))) == [("b",), ("a",)]

    def test_first_place_is_the_order_in_which_names_first_finished(self):
        trace = read(O("outer", 0, 100), O("inner", 10, 20), O("later", 200, 300))
        assert sorted(table(trace, "first_place"), key=lambda row: row[1]) == [
            ("inner", 0),
            ("outer", 1),
            ("later", 2),
        ]

    def test_only_operators_are_rows(self):
        frames = [STEP(1, 0, 500), O(DATA_LOADER, 10, 10), O("Optimizer.step#SGD.step", 300, 100)]
        wrappers = [O("DataParallel.forward", 30, 200), O("Optimizer.zero_grad#SGD", 420, 10)]
        assert table(read(*frames, *wrappers, O("mm", 40, 10), O("nccl:all_reduce", 60, 10))) == [
            ("mm",),
            ("nccl:all_reduce",),
        ]

    def test_nothing(self):
        empty = operator_table(read(K("gemm", 0, 10)))
        assert empty.is_empty()
        assert empty.columns == operator_table(read(O("mm", 0, 10))).columns


class TestGroups:
    def trace(self) -> Trace:
        small, large = {"Input dims": [[2, 8], []]}, {"Input dims": [[4, 8], []]}
        here, there = {"Call stack": "train.py(3);main"}, {"Call stack": "eval.py(9);main"}
        return read(
            O("mm", 0, 10, **small, **here),
            O("mm", 20, 20, **large, **here),
            O("mm", 50, 40, **small, **there),
            O("add", 100, 5, **small),
        )

    def test_by_shape(self):
        assert table(self.trace(), "input_dims", "host_self_ns", by_shape=True) == [
            ("mm", "[[2, 8], []]", 50_000),
            ("mm", "[[4, 8], []]", 20_000),
            ("add", "[[2, 8], []]", 5_000),
        ]

    def test_by_stack(self):
        assert table(self.trace(), "call_stack", "calls", by_stack=True) == [
            ("mm", "eval.py(9);main", 1),
            ("mm", "train.py(3);main", 2),
            ("add", None, 1),
        ]

    def test_by_both(self):
        groups = table(self.trace(), "input_dims", "call_stack", by_shape=True, by_stack=True)
        assert len(groups) == len(set(groups)) == 4

    def test_whether_some_call_has_a_stack(self):
        assert table(self.trace(), "has_call_stack") == [("mm", True), ("add", False)]

    def test_an_empty_stack_is_none(self):
        trace = read(O("mm", 0, 10, **{"Call stack": ""}))
        assert table(trace, "has_call_stack") == [("mm", False)]


class TestStacksFromNesting:
    """A recording of Python functions, without the argument "Call stack"."""

    def trace(self) -> Trace:
        def function(name: str, ts: int, dur: int) -> dict:
            return host_event("python_function", name, ts, dur, MAIN)

        return read(
            function("train.py(1): main", 0, 900),
            function("nn.py(5): forward", 100, 200),
            function("<built-in method mm of Tensor object at 0x7f01>", 110, 50),
            O("mm", 115, 40),
            R(120, 5, c=1),
            K("gemm", 200, 30, c=1),
            function("nn.py(5): forward", 400, 200),
            function("<built-in method mm of Tensor object at 0x7f02>", 410, 50),
            # Longer than its caller by the rounding of clocks.
            O("mm", 415, 46),
            O("mm", 700, 10),
            O("told", 720, 10, **{"Call stack": "elsewhere"}),
            O("mm", 100, 10, tid=OTHER),
        )

    def test_operators_without_call_stacks_are_grouped_by_the_functions_around_them(self):
        deep = "<built-in method mm of Tensor object>;nn.py(5): forward;train.py(1): main"
        assert sorted(table(self.trace(), "call_stack", "calls", by_stack=True), key=str) == [
            ("mm", deep, 2),
            ("mm", "train.py(1): main", 1),
            ("mm", None, 1),
            ("told", "elsewhere", 1),
        ]
        assert table(self.trace(), "has_call_stack") == [("mm", True), ("told", True)]

    def test_responses_of_the_former_plugin_have_recorded_stacks_only(self):
        operator_rows = operator_table(self.trace(), as_plugin=True)
        assert operator_rows.select("name", "has_call_stack").rows() == [
            ("mm", False),
            ("told", True),
        ]

    def test_queries_see_them(self):
        query_rows = run_query(
            self.trace(), "select distinct call_stack from host where name = 'mm'"
        )
        assert query_rows.height == 3

    def test_python_functions_by_caller(self):
        rows = python_table(self.trace()).select(
            "parent_id", "name", "calls", "host_total_ns", "host_self_ns", "device_total_ns"
        )
        assert rows.rows() == [
            (None, "train.py(1): main", 1, 900_000, 500_000, 30_000),
            (0, "nn.py(5): forward", 2, 400_000, 300_000, 30_000),
            (1, "<built-in method mm of Tensor object>", 2, 100_000, 100_000, 30_000),
        ]

    def test_very_deep_stacks_are_cut_at_their_outer_end(self):
        nested = [
            host_event("python_function", f"f{depth}", depth, 1000 - 2 * depth, MAIN)
            for depth in range(300)
        ]
        ((_, stack),) = table(read(*nested, O("mm", 310, 50)), "call_stack", by_stack=True)
        assert (stack.split(";")[0], stack.count(";")) == ("f299", 127)


class TestTensorCores:
    def test_share_of_own_and_of_all_kernel_time(self):
        trace = read(
            O("aten::linear", 0, 100),
            R(5, 5, c=1),
            K("elementwise", 200, 10, c=1),
            O("aten::addmm", 20, 50),
            R(30, 5, c=2),
            K(TENSOR_KERNEL, 300, 30, c=2),
            **VOLTA,
        )
        ratios = ("tensor_core_self_ratio", "tensor_core_total_ratio", "tensor_core_eligible")
        assert table(trace, *ratios) == [
            ("aten::addmm", 1.0, 1.0, True),
            ("aten::linear", 0.0, 0.75, True),
        ]

    def test_nothing_to_divide_by(self):
        trace = read(O("aten::mm", 0, 10), K("gemm", 20, 5), **VOLTA)
        assert table(trace, "tensor_core_self_ratio") == [("aten::mm", None)]

    def test_a_caller_is_eligible_with_its_callee(self):
        trace = read(O("outer", 0, 100), O("aten::mm", 10, 20), O("add", 50, 9), **VOLTA)
        assert dict(table(trace, "tensor_core_eligible")) == {
            "outer": True,
            "aten::mm": True,
            "add": False,
        }

    def test_eligible_kernel_time_counts_at_the_innermost_operators(self):
        trace = read(
            O("aten::linear", 0, 100),
            R(5, 5, c=1),
            K("elementwise", 200, 10, c=1),
            O("aten::addmm", 20, 50),
            R(30, 5, c=2),
            K("sgemm", 300, 30, c=2),
            *launch_events("aten::add", 400, 60),
            **VOLTA,
        )
        assert eligible_share(trace) == pytest.approx(30 / 100)

    def test_no_kernels_no_share(self):
        assert eligible_share(read(O("aten::mm", 0, 10), **VOLTA)) is None


class TestLaunchSites:
    def test_all_device_work_is_in_one_row(self):
        trace = read(
            STEP(1, 0, 500),
            *launch_events("mm", 10, 7),
            R(100, 5, c=901),
            K("in the step", 200, 3, c=901),
            R(600, 5, c=902),
            C(620, 4, c=902),
            R(50, 5, c=903, tid=OTHER),
            S(640, 2, c=903),
            K("unlinked", 700, 1, c=999),
            complete("gpu_user_annotation", "forward", 0, 900, pid=0, tid=7),
        )
        assert launch_sites(trace).rows() == [
            ("operator", 1, 7_000),
            ("outside of recorded calls", 2, 6_000),
            ("step", 1, 3_000),
            ("launch not in trace", 1, 1_000),
        ]

    @given(recordings())
    def test_rows_add_up_to_the_device_work_of_the_trace(self, recording: Recording):
        trace = recording.trace
        busy = [row for row in oracle.rows_of(trace, "device") if row["kind"] in oracle.BUSY]
        sites = launch_sites(trace)
        assert sites["events"].sum() == len(busy)
        assert sites["device_ns"].sum() == sum(row["dur_ns"] for row in busy)


def namesake_inside_its_namesake() -> Trace:
    """The outer call takes 100 us, 8 us on the device; 5 us of it through the inner one."""
    return read(
        O("mse_loss_backward", 0, 100),
        R(5, 5, c=1),
        K("fill", 200, 3, c=1),
        O("mse_loss_backward", 20, 40),
        R(30, 5, c=2),
        K("gemm", 300, 5, c=2),
        O("zeros", 70, 5),
        O("mse_loss_backward", 200, 10),
    )


def test_an_operator_inside_its_namesake_counts_once():
    columns = ("calls", "device_self_ns", "device_total_ns", "host_total_ns")
    trace = namesake_inside_its_namesake()
    assert table(trace, *columns)[0] == ("mse_loss_backward", 3, 8_000, 8_000, 110_000)
    again = table(trace, *columns, as_plugin=True)[0]
    assert again == ("mse_loss_backward", 3, 8_000, 13_000, 150_000)


@given(recordings())
def test_totals_are_of_the_outermost_calls(recording: Recording):
    trace = recording.trace
    nodes = oracle.forest(trace)
    oracle.add_times(trace, nodes)
    rows = [node for node in nodes if node.role == "operator" and node.stands_for is node]
    nested = {id(b) for a in rows for b in a.subtree() if b is not a and b.name == a.name}
    expected: dict[str, int] = {}
    for node in rows:
        length = 0 if id(node) in nested else node.end - node.start
        expected[node.name] = expected.get(node.name, 0) + length
    assert dict(table(trace, "host_total_ns")) == expected


@given(recordings())
def test_rows_are_sums_of_what_the_oracle_says(recording: Recording):
    trace = recording.trace
    nodes = oracle.forest(trace)
    oracle.add_times(trace, nodes)
    expected: dict[str, list[int]] = {}
    for node in nodes:
        if node.role == "operator" and node.stands_for is node:
            launched_below = sum(descendant.launched_ns for descendant in node.subtree())
            node_sums = [1, node.self_ns, node.end - node.start, node.launched_ns, launched_below]
            totals = expected.setdefault(node.name, [0] * 5)
            expected[node.name] = [a + b for a, b in zip(totals, node_sums, strict=True)]
    columns = ["calls", "host_self_ns", "host_total_ns", "device_self_ns", "device_total_ns"]
    rows = operator_table(trace, as_plugin=True).select("name", *columns).rows()
    assert {name: list(numbers) for name, *numbers in rows} == expected


def test_missing_shapes_and_no_inputs_are_one_group():
    trace = read(O("mm", 0, 10), host_event("Operator", "mm", 20, 5, MAIN))
    assert operator_table(trace, by_shape=True).select("input_dims", "calls").rows() == [("[]", 2)]

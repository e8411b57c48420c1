"""Time per kernel: by name, and by operator and launch properties."""

from __future__ import annotations

from typing import Any

import polars as pl

from builders import annotation, complete, kernel, kineto, mlu_trace, on_device, operator, runtime
from cases import STEP, C, K, O, R, read, read_document
from timesink.analyses.kernels.table import kernel_groups, kernel_table
from timesink.analyses.names import ROOT
from timesink.analyses.operators import launch_sites
from timesink.model.trace import Trace

US = 1000


def table(trace: Trace, *columns: str) -> list[tuple[Any, ...]]:
    return kernel_table(trace).select(columns).rows()


def groups(trace: Trace, *columns: str) -> list[tuple[Any, ...]]:
    return kernel_groups(trace).select(columns).rows()


# -- by name ---------------------------------------------------------------------------------------


def test_measures_of_a_kernel():
    trace = read(K("a", 100, 10), K("a", 200, 25), K("b", 300, 20))
    assert table(trace, "name", "calls", "total_ns", "mean_ns", "max_ns", "min_ns") == [
        ("a", 2, 35 * US, 17.5 * US, 25 * US, 10 * US),
        ("b", 1, 20 * US, 20 * US, 20 * US, 20 * US),
    ]


def test_equal_totals_go_by_name_backwards():
    trace = read(K("b", 100, 10), K("a", 200, 10), K("c", 300, 10), K("B", 400, 10))
    assert table(trace, "name") == [("c",), ("b",), ("a",), ("B",)]


def test_every_kernel_counts():
    """Communication, kernels outside of steps and kernels without their launch; no copies."""
    trace = read(
        STEP(1, 100, 50),
        R(110, 5, c=1),
        K("inside", 120, 10, c=1),
        K("outside", 900, 9, c=2),
        on_device("collective_comm", "ncclDevKernel_AllReduce", 130, 8),
        C(140, 100, c=3),
    )
    assert table(trace, "name", "calls") == [
        ("inside", 1),
        ("outside", 1),
        ("ncclDevKernel_AllReduce", 1),
    ]


def test_waits_for_events_do_not_top_the_kernels():
    trace = read(
        STEP(1, 0, 1000),
        R(1, 1, c=1),
        complete("mtia_ccp_events", "event_wait", 100, 500, pid=0, args={"correlation": 1}),
        complete("mtia_ccp_events", "fc-dtype_Float", 600, 40, pid=0, args={"correlation": 1}),
        complete("kernel", "Notify_Wait", 700, 90, pid=0, args={"correlation": 1}),
    )
    assert table(trace, "name") == [("fc-dtype_Float",)]
    assert trace.device.filter(pl.col("kind") == "sync").height == 2
    assert launch_sites(trace)["device_ns"].to_list() == [40 * US]


def test_what_has_a_grid_is_a_kernel_whatever_its_name():
    assert table(read(K("barrier", 100, 10, grid=[1, 1, 1])), "name") == [("barrier",)]


def test_estimates_of_launches_without_length():
    trace = read(K("a", 100, 0, **{"blocks per SM": 3.0}))
    assert table(trace, "blocks_per_sm", "occupancy_pct") == [(0.0, None)]


def test_full_and_short_names():
    trace = read(K("void at::native::reduce_kernel<512, 1>(int)", 100, 10))
    assert table(trace, "short_name", "tensor_cores") == [("reduce_kernel", False)]


def test_no_kernels():
    trace = read(O("aten::add", 100, 10), C(120, 5, c=1))
    assert kernel_table(trace).is_empty()
    assert kernel_groups(trace).is_empty()
    assert kernel_groups(read()).is_empty()


# -- by operator and properties --------------------------------------------------------------------


def test_operator_is_the_innermost_call_around_the_launch():
    trace = read(
        O("aten::linear", 100, 100, x=1),
        O("aten::addmm", 110, 50, x=2),
        R(120, 5, c=1, x=2),
        K("a", 130, 10, c=1, x=2),
        R(170, 5, c=2, x=1),
        K("a", 180, 5, c=2, x=1),
    )
    assert groups(trace, "operator", "eligible", "total_ns") == [
        ("aten::addmm", True, 10 * US),
        ("aten::linear", True, 5 * US),
    ]


def test_launches_outside_of_all_calls_and_unknown_launches_are_groups_of_their_own():
    trace = read(
        O("aten::mm", 100, 50, x=1),
        R(110, 5, c=1, x=1),
        R(200, 5, c=2),
        K("a", 120, 3, c=1, x=1),
        K("a", 210, 2, c=2),
        K("a", 300, 1, c=99),
    )
    assert groups(trace, "operator", "launched", "total_ns") == [
        ("aten::mm", True, 3 * US),
        (ROOT, True, 2 * US),
        (None, False, 1 * US),
    ]


def test_steps_launch_too():
    trace = read(STEP(1, 100, 300, x=2), R(130, 20, c=1, x=2), K("a", 220, 8, c=1, x=2))
    assert groups(trace, "operator", "calls") == [("ProfilerStep#1", 1)]


def test_equal_totals_go_by_place_in_the_call_tree():
    """Callees before their caller, launches of one call in order of time, unknown launches last."""
    trace = read(
        K("z", 90, 10, c=99),
        O("outer", 100, 100, x=1),
        R(105, 5, c=1, x=1),
        O("inner", 120, 30, x=2),
        R(125, 5, c=2, x=2),
        R(160, 5, c=3, x=1),
        O("next", 210, 20, x=3),
        R(215, 2, c=4, x=3),
        K("y", 300, 10, c=1, x=1),
        K("x", 310, 10, c=2, x=2),
        K("w", 320, 10, c=3, x=1),
        K("v", 330, 10, c=4, x=3),
    )
    assert groups(trace, "name", "operator") == [
        ("x", "inner"),
        ("y", "outer"),
        ("w", "outer"),
        ("v", "next"),
        ("z", None),
    ]


def test_properties_are_numbers_even_where_written_as_text():
    shape = {"grid": [8, 2, 1], "block": [128, 1, 1], "registers per thread": "32"}
    trace = read(K("a", 100, 10, **shape, **{"shared memory": "1024"}))
    assert groups(trace, "grid_x", "grid_y", "block_x", "registers_per_thread") == [(8, 2, 128, 32)]
    assert groups(trace, "shared_memory_bytes") == [(1024,)]


def test_groups_add_up_to_the_kernels():
    events = [annotation("train", 0, 1000), operator("aten::mm", 10, 500)]
    for number in range(1, 40):
        events += [
            runtime("cudaLaunchKernel", 25 * number, 5, number),
            kernel(f"k{number % 3}", 25 * number + 10, number, number, grid=[number % 5, 1, 1]),
        ]
    trace = read_document(kineto(events))
    assert kernel_groups(trace)["total_ns"].sum() == kernel_table(trace)["total_ns"].sum()
    assert kernel_groups(trace)["calls"].sum() == 39


# -- MLU -------------------------------------------------------------------------------------------


def test_mlu_kernels_have_their_own_properties():
    trace = read_document(mlu_trace())
    columns = ("operator", "kernel_type", "dim", "tasktopo", "tensor_cores", "eligible")
    assert groups(trace, *columns) == [("aten::add", "UNION", "[4, 1, 1]", None, False, False)]


def test_mlu_kernels_are_told_apart_by_all_of_them():
    def launch(ts: int, **args: Any) -> dict[str, Any]:
        shape = {"kernel type": "BLOCK", "dim": [1, 1, 1], "tasktopo": 0, "tasktopo_node": 0}
        return kernel("MLUKernel", ts, 5, ts, **shape | args)

    differing = [{}, {"kernel type": "UNION"}, {"dim": [4, 1, 1]}, {"tasktopo": 7}]
    events = [launch(100 * place, **args) for place, args in enumerate(differing, start=1)]
    properties = [{"id": 0, "name": "MLU370"}]
    trace = read_document(kineto([*events, launch(900)], deviceProperties=properties))
    assert sorted(groups(trace, "kernel_type", "dim", "tasktopo", "calls")) == [
        ("BLOCK", "[1, 1, 1]", "0", 2),
        ("BLOCK", "[1, 1, 1]", "7", 1),
        ("BLOCK", "[4, 1, 1]", "0", 1),
        ("UNION", "[1, 1, 1]", "0", 1),
    ]

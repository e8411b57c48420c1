"""What one recording lacks is told from what a program no longer does."""

from __future__ import annotations

import polars as pl
import pytest

from timesink.comparison.steps.recorded_events import find_unrecorded

KERNEL = ("gemm", "gpu_compute", "GPU 0")
OPERATOR = ("aten::mm", "cpu_operator", "Host")
MARK = ("step", "cpu_annotation", "Host")
FRAME = ("train.py(3): main", "cpu_python", "Host")
LAUNCH = ("cudaLaunchKernel", "cpu_launch", "Host")
SYNC = ("cudaStreamSynchronize", "cpu_sync", "Host")
COPY = ("cudaMemcpyAsync", "cpu_copy", "Host")
GRAPH = ("cudaGraphLaunch", "cpu_launch", "Host")
ON_CPU = ("oncpu", "oncpu", "Host")
NO_CALL = ("(no recorded call)", "cpu_untraced", "Host")
UNKNOWN = ("something", None, "Host")

ALL_SORTS = [KERNEL, OPERATOR, MARK, FRAME, LAUNCH, SYNC, ON_CPU]


def table(rows: list) -> pl.DataFrame:
    schema = dict.fromkeys(("function", "function_class", "device"), pl.String)
    return pl.DataFrame(rows, schema=schema, orient="row")


def left_out(base: list, new: list) -> list[str]:
    """Functions of base that are not compared."""
    rows = table(base)
    return rows.filter(find_unrecorded(rows, table(new)).of_these())["function"].to_list()


@pytest.mark.parametrize(
    ("new", "lacks"),
    [
        (ALL_SORTS, ()),
        ([KERNEL], ("host events",)),
        ([KERNEL, LAUNCH], ("annotations", "Python functions", "operators", "scheduler events")),
        ([call for call in ALL_SORTS if call != KERNEL], ("device work",)),
        ([call for call in ALL_SORTS if call not in (LAUNCH, SYNC)], ("runtime calls",)),
        ([call for call in ALL_SORTS if call != SYNC], ()),
        ([call for call in ALL_SORTS if call != LAUNCH], ()),
        ([call for call in ALL_SORTS if call != FRAME], ("Python functions",)),
        ([], ()),
    ],
)
def test_sorts_that_one_side_lacks_altogether(new: list, lacks: tuple[str, ...]):
    missing = find_unrecorded(table(ALL_SORTS), table(new))
    assert (missing.base, missing.new) == ((), lacks)
    back = find_unrecorded(table(new), table(ALL_SORTS))
    assert (back.base, back.new) == (lacks, ())


def test_copies_are_runtime_calls():
    assert left_out([KERNEL, OPERATOR, LAUNCH, COPY], [KERNEL, OPERATOR]) == [LAUNCH[0], COPY[0]]
    assert find_unrecorded(table([OPERATOR, LAUNCH]), table([OPERATOR, COPY])).new == ()


def test_where_neither_device_nor_class_is_known_nothing_is_missed():
    nowhere = ("aten::mm", None, "N/A")
    assert find_unrecorded(table(ALL_SORTS), table([nowhere])).new == ()


def test_a_graph_runs_without_operators():
    assert find_unrecorded(table([KERNEL, OPERATOR, LAUNCH]), table([KERNEL, GRAPH])).new == ()


def test_a_wait_that_is_new_is_a_change():
    assert left_out([KERNEL, ON_CPU, SYNC], [KERNEL, ON_CPU]) == []


def test_functions_of_these_sorts_are_left_out():
    assert left_out([KERNEL, OPERATOR, LAUNCH, SYNC], [KERNEL, LAUNCH]) == ["aten::mm"]
    assert left_out([KERNEL, UNKNOWN, LAUNCH], [KERNEL]) == ["something", "cudaLaunchKernel"]
    assert left_out([KERNEL, UNKNOWN], [UNKNOWN]) == ["gemm"]


def test_time_in_no_call_needs_a_thread_on_both_sides():
    assert left_out([KERNEL, LAUNCH, NO_CALL], [KERNEL, LAUNCH]) == ["(no recorded call)"]
    assert left_out([KERNEL, LAUNCH, NO_CALL], [KERNEL, LAUNCH, NO_CALL]) == []


def test_callers_are_those_whose_own_time_would_grow():
    rows = table([KERNEL, OPERATOR, MARK, FRAME, LAUNCH, NO_CALL])
    missing = find_unrecorded(rows, table([KERNEL, MARK, FRAME, LAUNCH, NO_CALL]))
    assert rows.filter(missing.call_these())["function"].to_list() == [
        "step",
        "train.py(3): main",
        "(no recorded call)",
    ]

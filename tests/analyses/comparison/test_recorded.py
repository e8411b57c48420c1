"""What one recording lacks is told from what a program no longer does."""

from __future__ import annotations

import polars as pl
import pytest

from timesink.analyses.comparison.recorded import unrecorded

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

WHOLE = [KERNEL, OPERATOR, MARK, FRAME, LAUNCH, SYNC, ON_CPU]


def table(rows: list) -> pl.DataFrame:
    schema = dict.fromkeys(("function", "function_class", "device"), pl.String)
    return pl.DataFrame(rows, schema=schema, orient="row")


def left_out(base: list, new: list) -> list[str]:
    """Functions of base that are not compared."""
    rows = table(base)
    return rows.filter(unrecorded(rows, table(new)).of_these())["function"].to_list()


@pytest.mark.parametrize(
    ("new", "lacks"),
    [
        (WHOLE, ()),
        ([KERNEL], ("host events",)),
        ([KERNEL, LAUNCH], ("annotations", "Python functions", "operators", "scheduler events")),
        ([each for each in WHOLE if each != KERNEL], ("device work",)),
        ([each for each in WHOLE if each not in (LAUNCH, SYNC)], ("runtime calls",)),
        ([each for each in WHOLE if each != SYNC], ()),
        ([each for each in WHOLE if each != LAUNCH], ()),
        ([each for each in WHOLE if each != FRAME], ("Python functions",)),
        ([], ()),
    ],
)
def test_sorts_that_one_side_lacks_altogether(new: list, lacks: tuple[str, ...]):
    found = unrecorded(table(WHOLE), table(new))
    assert (found.base, found.new) == ((), lacks)
    back = unrecorded(table(new), table(WHOLE))
    assert (back.base, back.new) == (lacks, ())


def test_copies_are_runtime_calls():
    assert left_out([KERNEL, OPERATOR, LAUNCH, COPY], [KERNEL, OPERATOR]) == [LAUNCH[0], COPY[0]]
    assert unrecorded(table([OPERATOR, LAUNCH]), table([OPERATOR, COPY])).new == ()


def test_where_neither_device_nor_class_is_known_nothing_is_missed():
    nowhere = ("aten::mm", None, "N/A")
    assert unrecorded(table(WHOLE), table([nowhere])).new == ()


def test_a_graph_runs_without_operators():
    assert unrecorded(table([KERNEL, OPERATOR, LAUNCH]), table([KERNEL, GRAPH])).new == ()


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
    found = unrecorded(rows, table([KERNEL, MARK, FRAME, LAUNCH, NO_CALL]))
    assert rows.filter(found.call_these())["function"].to_list() == [
        "step",
        "train.py(3): main",
        "(no recorded call)",
    ]

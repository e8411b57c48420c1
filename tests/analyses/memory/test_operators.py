"""Memory by operator: which call a record belongs to, and how sums add up."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import timesink
from cases import ALLOC, OTHER, STEP, O, read
from timesink.analyses.memory_blocks import memory_by_operator, memory_outside_operators
from timesink.analyses.memory_curve import memory_records
from timesink.analyses.operators import operator_table
from timesink.model.trace import Trace

US = 1000


def own_increase(trace: Trace) -> dict[str, int]:
    table = memory_by_operator(trace).filter(pl.col("self_size_increase_bytes") != 0)
    return dict(table.select("name", "self_size_increase_bytes").iter_rows())


def test_innermost_call_takes_the_record():
    trace = read(O("outer", 0, 100), O("inner", 20, 30), ALLOC(10, 1), ALLOC(30, 2), ALLOC(60, 4))
    assert own_increase(trace) == {"outer": 5, "inner": 2}


def test_call_holds_its_start_and_not_its_end():
    trace = read(O("outer", 0, 100), O("inner", 20, 30), ALLOC(20, 1), ALLOC(50, 2), ALLOC(100, 4))
    assert own_increase(trace) == {"inner": 1, "outer": 2}


def test_threads_do_not_mix():
    trace = read(O("here", 0, 100), O("there", 0, 100, tid=OTHER), ALLOC(10, 1, tid=OTHER))
    assert own_increase(trace) == {"there": 1}


def test_calls_merged_into_their_caller_are_one_with_it():
    trace = read(O("aten::to", 0, 100), O("aten::to", 10, 50), ALLOC(20, 8))
    assert memory_by_operator(trace).select("name", "calls", "self_size_increase_bytes").rows() == [
        ("aten::to", 1, 8)
    ]


def test_sums_reach_through_calls_that_are_no_operators():
    trace = read(O("outer", 0, 100), STEP(1, 10, 80), O("inner", 20, 10), ALLOC(25, 8))
    sums = memory_by_operator(trace).select("name", "allocation_bytes", "self_allocation_bytes")
    assert sums.rows() == [("inner", 8, 8), ("outer", 8, 0)]


def test_operators_without_memory_are_left_out():
    trace = read(O("aten::mm", 0, 10), O("aten::view", 20, 10), ALLOC(5, 8))
    assert memory_by_operator(trace)["name"].to_list() == ["aten::mm"]


@pytest.fixture
def three_calls() -> Trace:
    return read(
        *(O("aten::mm", start, 20) for start in (0, 100, 200)),
        *(ALLOC(start + 10, 1 << place) for place, start in enumerate((0, 100, 200))),
    )


@pytest.mark.parametrize(
    ("start_us", "end_us", "calls", "size"),
    [
        (None, None, 3, 7),
        (110, 210, 2, 6),
        (111, None, 2, 4),
        (None, 109, 2, 1),
        (20, 100, 2, 0),
    ],
)
def test_window_includes_both_ends(
    three_calls: Trace, start_us: int | None, end_us: int | None, calls: int, size: int
):
    window = [None if end is None else end * US for end in (start_us, end_us)]
    rows = memory_by_operator(three_calls, *window).select("calls", "allocation_bytes").rows()
    assert rows == ([(calls, size)] if size else [])


def test_what_happens_outside_of_operators_is_counted():
    trace = read(STEP(1, 0, 100), O("aten::mm", 10, 20), ALLOC(15, 8), ALLOC(50, 4), ALLOC(70, -8))
    assert memory_outside_operators(trace).rows() == [("CPU", 2, -4, 1, 4)]


def test_records_without_any_call():
    trace = read(ALLOC(15, 8))
    assert memory_by_operator(trace).is_empty()
    assert memory_outside_operators(trace)["records"].to_list() == [1]


# -- real recordings -------------------------------------------------------------------------------


@pytest.fixture(
    params=[
        "kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
        "tracelens/mi300/timesformer.json.gz",
    ],
)
def recorded_trace(request: pytest.FixtureRequest, shared_root: Path) -> Trace:
    return timesink.open(shared_root / "data" / request.param)


def test_operators_and_the_rest_add_up(recorded_trace: Trace):
    table, outside = memory_by_operator(recorded_trace), memory_outside_operators(recorded_trace)
    increase = table["self_size_increase_bytes"].sum() + outside["size_increase_bytes"].sum()
    taken = table["self_allocation_bytes"].sum() + outside["allocation_bytes"].sum()
    records = memory_records(recorded_trace)["bytes"]
    assert increase == records.sum()
    assert taken == records.filter(records > 0).sum()


def test_calls_are_those_of_the_operator_table(recorded_trace: Trace):
    calls = dict(operator_table(recorded_trace).select("name", "calls").iter_rows())
    table = memory_by_operator(recorded_trace)
    assert table.height > 30
    assert {name: calls[name] for name in table["name"]} == dict(
        table.select("name", "calls").iter_rows()
    )

"""The time of a cycle's own thread that is in no recorded call."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from behaviours import (
    Row,
    activity,
    behaviour,
    both,
    call,
    cycles_at,
    rows_of,
    samples,
    trace_of_rows,
)
from timelines import patient
from timesink.analyses.behaviour.classes import UNTRACED
from timesink.analyses.behaviour.functions import NO_CALL, WAITING
from timesink.analyses.cycles.search import find_cycles

CYCLES = cycles_at((0, 100), (100, 200))


def mark(end: int, dur: int = 10, **fields: Any) -> Row:
    return call("step", end - dur, dur, "annotation", **fields)


def untraced_rows(host: list[Row], cycles=CYCLES, **more: Any) -> list[tuple[int, str, int, int]]:
    """Cycle, function, time and stretches."""
    rows = rows_of(behaviour(trace_of_rows(host, **more), cycles), function_class=UNTRACED)
    assert {row["device"] for row in rows} <= {"Host"}
    return [(row["cycle"], row["function"], row["dur_ns"], row["calls"]) for row in rows]


def test_what_a_thread_does_between_its_calls_is_a_function():
    host = [call("mm", 20, 30), mark(100), call("mm", 110, 30), call("add", 130, 5), mark(200)]
    assert untraced_rows(host) == [(1, NO_CALL, 60, 2), (2, NO_CALL, 60, 2)]


def test_a_stall_is_found_where_no_call_is():
    host = [call("mm", 5, 85), mark(100), call("mm", 105, 85), mark(1200)]
    rows = untraced_rows(host, cycles_at((0, 100), (100, 1200)))
    assert [row[2] for row in rows] == [5, 5 + 1000]


def test_shares_of_the_thread_add_up():
    host = [call("mm", 20, 30), mark(100), call("mm", 90, 30, tid="2"), mark(200)]
    rows = rows_of(behaviour(trace_of_rows(host), CYCLES))
    shares = [sum(row["beta_pct"] for row in rows if row["cycle"] == cycle) for cycle in (1, 2)]
    assert shares == [110.0, 120.0]  # the second thread comes on top


def test_a_mark_that_spans_its_cycle_leaves_nothing():
    host = [call("step", 0, 100, "annotation"), call("step", 100, 100, "annotation")]
    assert untraced_rows(host) == []


def test_cycles_that_are_longer_than_their_call_have_the_rest():
    host = [call("step", 0, 70, "python_function"), call("step", 130, 70, "python_function")]
    assert untraced_rows(host) == [(1, NO_CALL, 30, 1), (2, NO_CALL, 30, 1)]


def test_cycles_of_the_device_have_no_thread():
    trace = trace_of_rows([call("step", 0, 20, "runtime")], [activity("step", 0, 50)])
    result = behaviour(trace, cycles_at((0, 100), on_device=True))
    assert not rows_of(result, function_class=UNTRACED)


def test_without_a_mark_no_thread_is_known():
    assert untraced_rows([call("mm", 20, 30)]) == []


@pytest.mark.parametrize("names", [("it 1", "it 2"), ("ProfilerStep#8", "ProfilerStep#9")])
def test_numbered_marks_tell_the_thread_too(names: tuple[str, str]):
    host = [call(names[0], 0, 90, "annotation"), call(names[1], 100, 90, "annotation")]
    first = names[0] if names[0] == "it 1" else "ProfilerStep"
    named = replace(CYCLES, table=CYCLES.table.with_columns(name=pl.lit(first)))
    assert untraced_rows(host, named) == [(1, NO_CALL, 10, 1), (2, NO_CALL, 10, 1)]


def test_each_cycle_is_that_of_the_thread_that_marks_it():
    host = [mark(100, 80), mark(100, 5, tid="2"), mark(200, 70, tid="2")]
    assert untraced_rows(host) == [(1, NO_CALL, 20, 1), (2, NO_CALL, 30, 1)]


def test_each_process_has_its_own():
    host = [mark(100, 90), mark(100, 60, pid="2")]
    cycles = both(cycles_at((0, 100)), cycles_at((0, 100), pid="2"))
    assert sorted(untraced_rows(host, cycles)) == [(1, NO_CALL, 10, 1), (1, NO_CALL, 40, 1)]


def test_turns_on_a_cpu_and_the_profiler_are_no_calls():
    host = [mark(100, 40), call("oncpu", 0, 100, "other"), call("flush", 0, 50, "overhead")]
    assert untraced_rows(host) == [(1, NO_CALL, 60, 1)]


# -- other threads ---------------------------------------------------------------------------------


def backward(start: int, **fields: Any) -> list[Row]:
    """What the thread of the backward pass does while the one that started it waits."""
    return [
        call("mm_backward", start, 20, tid="2", **fields),
        call("sync", start + 30, 10, tid="2"),
    ]


def test_time_in_which_the_backward_thread_works_is_a_wait():
    host = [call("mm", 0, 40), *backward(45), mark(100)]
    rows = untraced_rows(host, cycles_at((0, 100)))
    assert sorted(rows) == [(1, NO_CALL, 20, 3), (1, WAITING, 30, 2)]


def test_a_thread_that_works_beside_it_is_not_waited_for():
    loader = [call("decode", 0, 60, tid="2"), call("decode", 70, 30, tid="2")]
    host = [call("mm", 0, 40), *loader, mark(100)]
    assert untraced_rows(host, cycles_at((0, 100))) == [(1, NO_CALL, 50, 1)]


@pytest.mark.parametrize("kind", ["python_function", "annotation"])
def test_what_may_be_waiting_itself_is_not_waited_for(kind: str):
    host = [call("mm", 0, 40), call("Thread.run", 45, 40, kind, tid="2"), mark(100)]
    assert untraced_rows(host, cycles_at((0, 100))) == [(1, NO_CALL, 50, 1)]


def test_threads_of_other_processes_are_not_waited_for():
    host = [call("mm", 0, 40), call("mm", 45, 40, pid="2", tid="2"), mark(100)]
    assert untraced_rows(host, cycles_at((0, 100))) == [(1, NO_CALL, 50, 1)]


def test_counters_are_read_for_what_the_thread_does_and_not_for_its_waits():
    host = [call("mm", 0, 40), *backward(45), mark(100)]
    counters = samples("host_cpu_usage", {0: 5, 50: 5, 100: 5}, "Host")
    rows = rows_of(
        behaviour(trace_of_rows(host, counters=counters), cycles_at((0, 100))),
        function_class=UNTRACED,
    )
    read = {row["function"]: (row["metric"], row["mu"]) for row in rows}
    assert read == {NO_CALL: ("host_cpu_usage", 5.0), WAITING: (None, None)}


def test_found_cycles_of_a_training_loop_add_up():
    host = [
        event
        for start in range(0, 5000, 1000)
        for event in (
            call("aten::mm", start + 100, 200),
            call("mm_backward", start + 400, 300, tid="2"),
            call("Optimizer.step#SGD.step", start + 800, 100, "annotation"),
        )
    ]
    trace = trace_of_rows(host)
    cycles = find_cycles(trace)
    table = behaviour(trace, cycles).table
    thread_rows = table.filter(pl.col("function").cast(pl.String) != "mm_backward")
    shares = thread_rows.group_by("cycle").agg(pl.col("beta_pct").sum())["beta_pct"].to_list()
    assert cycles.anchor == "Optimizer.step#SGD.step"
    assert shares == pytest.approx([100.0] * len(shares))
    waits = rows_of(behaviour(trace, cycles), function=WAITING)
    assert {row["dur_ns"] for row in waits} == {300}


# -- against the definition ------------------------------------------------------------------------

_calls = st.lists(
    st.tuples(st.sampled_from(["1", "2"]), st.integers(0, 90), st.integers(0, 30)), max_size=8
)


@patient
@given(_calls, st.lists(st.integers(0, 100), min_size=2, max_size=6, unique=True).map(sorted))
def test_agrees_with_the_definition(calls: list[tuple[str, int, int]], borders: list[int]):
    spans = list(zip(borders[::2], borders[1::2], strict=False))
    marks = [mark(end, 1) for _, end in spans]
    host = [*marks, *(call("mm", start, dur, tid=tid) for tid, start, dur in calls)]

    def busy(tid: str, moment: int) -> bool:
        return any(
            row["tid"] == tid and row["ts_ns"] <= moment < row["ts_ns"] + row["dur_ns"]
            for row in host
        )

    inside = [moment for start, end in spans for moment in range(start, end)]
    working = [moment for moment in inside if busy("2", moment)]
    in_calls = sum(busy("1", moment) for moment in inside)
    beside = sum(busy("1", moment) for moment in working)
    waited_for = 10 * beside * len(inside) <= len(working) * in_calls
    expected: dict[tuple[int, str], int] = {}
    for number, (start, end) in enumerate(spans, 1):
        for moment in range(start, end):
            if not busy("1", moment):
                name = WAITING if waited_for and busy("2", moment) else NO_CALL
                expected[number, name] = expected.get((number, name), 0) + 1
    rows = untraced_rows(host, cycles_at(*spans))
    assert {(cycle, name): time for cycle, name, time, _ in rows} == expected

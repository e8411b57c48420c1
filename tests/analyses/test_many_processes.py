"""Recordings that hold several processes, or ids that come twice."""

from __future__ import annotations

import polars as pl

from timesink.analyses.links import link_launches
from timesink.analyses.steps import find_steps
from timesink.formats.finish import conform
from timesink.model.schema import DEVICE, HOST, STEPS
from timesink.model.trace import Metadata, Trace


def trace_of(vendor: str = "nvidia", **tables: list[dict[str, object]]) -> Trace:
    of_name = {"host": HOST, "device": DEVICE, "steps": STEPS}
    frames = {
        name: conform(pl.DataFrame(rows), of_name[name]).lazy() for name, rows in tables.items()
    }
    return Trace(Metadata("a.json", "nsys", vendor, events=0), frames=frames)


def call(pid: str, ts: int, *, dur: int = 5, kind: str = "runtime", name: str = "launch"):
    place = {"kind": kind, "name": name, "pid": pid, "tid": "1"}
    return {**place, "ts_ns": ts, "dur_ns": dur, "correlation": 7}


def kernel(pid: str, ts: int):
    return {
        "kind": "kernel",
        "name": "gemm",
        "pid": pid,
        "ts_ns": ts,
        "dur_ns": 9,
        "correlation": 7,
    }


def test_equal_ids_of_two_processes_are_told_apart():
    trace = trace_of(
        host=[call("100", 10), call("200", 20)], device=[kernel("200", 40), kernel("100", 50)]
    )
    assert link_launches(trace).call_row.tolist() == [1, 0]


def test_device_numbers_for_processes_leave_the_id_alone():
    trace = trace_of(host=[call("100", 10)], device=[kernel("0", 40)])
    assert link_launches(trace).call_row.tolist() == [0]


def test_later_call_takes_over_an_id():
    trace = trace_of(
        host=[call("100", 10), call("100", 60)], device=[kernel("0", 40), kernel("0", 80)]
    )
    assert link_launches(trace).call_row.tolist() == [0, 1]


def test_runtime_call_launches_not_the_driver_call_in_it():
    driver = call("100", 12, dur=2, kind="driver")
    trace = trace_of(host=[driver, call("100", 10)], device=[kernel("0", 40)])
    assert link_launches(trace).call_row.tolist() == [1]


def mark(number: int, pid: str, ts: int, dur: int):
    name = f"ProfilerStep#{number}"
    return {"step": number, "name": name, "pid": pid, "tid": "1", "ts_ns": ts, "dur_ns": dur}


def test_steps_marked_by_two_processes_are_one_each():
    trace = trace_of(steps=[mark(1, "100", 0, 90), mark(1, "200", 5, 95), mark(2, "100", 100, 80)])
    steps = find_steps(trace)
    assert steps.select("name", "start_ns", "end_ns").rows() == [("1", 0, 100), ("2", 100, 180)]


def test_number_that_comes_again_later_is_another_step():
    trace = trace_of(steps=[mark(1, "100", 0, 90), mark(1, "100", 90, 60)])
    assert find_steps(trace)["start_ns"].to_list() == [0, 90]


def test_number_too_large_for_the_column_keeps_its_text():
    huge = {**mark(1, "100", 0, 9), "step": None, "name": "ProfilerStep#99999999999999999999"}
    assert find_steps(trace_of(steps=[huge]))["name"].to_list() == ["99999999999999999999"]


def operator(pid: str, tid: str = "1"):
    place = {"kind": "operator", "name": "aten::mm", "pid": pid, "tid": tid}
    return {**place, "ts_ns": 0, "dur_ns": 30}


def test_calls_shown_in_a_process_of_their_own_belong_to_their_thread():
    events = {"host": [operator("10"), call("20", 10)], "device": [kernel("30", 40)]}
    assert link_launches(trace_of("ascend", **events)).node.tolist() == [0]
    assert link_launches(trace_of("nvidia", **events)).node.tolist() == [-1]


def test_thread_of_two_processes_is_no_evidence():
    operators = [operator("10"), operator("11")]
    trace = trace_of("ascend", host=[*operators, call("20", 10)], device=[kernel("30", 40)])
    assert link_launches(trace).node.tolist() == [-1]

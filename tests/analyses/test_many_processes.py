"""Recordings that hold several processes, or ids that come twice."""

from __future__ import annotations

import polars as pl

from builders import complete, process_labels
from builders import kernel as one
from cases import read
from timesink.analyses.links import link_launches
from timesink.analyses.operators import launch_sites
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


def events_on_a_device_numbered_like_a_process(*labels: dict) -> list[dict]:
    """Processes 1 and 50 launch kernels on device 1, each with ids of its own."""
    launched = [(1 if number % 2 else 50, number, 10 * number) for number in range(1, 9)]
    calls = [
        complete("cuda_runtime", f"launch{pid}", ts, 5, pid=pid, tid=7, args={"correlation": c})
        for pid, c, ts in launched
    ]
    return [*calls, *(one(f"k{pid}", ts + 6, 3, c, device=1) for pid, c, ts in launched), *labels]


def assert_none_is_lost(*events: dict) -> Trace:
    trace = read(*events)
    rows = link_launches(trace).call_row
    assert (rows >= 0).all()
    names = trace.host["name"].cast(pl.String)[rows].to_list()
    assert [name.removeprefix("launch") for name in names] == [
        name.removeprefix("k") for name in trace.device["name"].to_list()
    ]
    assert "unlinked_kernels" not in {entry.code for entry in trace.health}
    return trace


def test_no_launch_is_lost_when_a_process_has_the_number_of_a_device():
    assert_none_is_lost(*events_on_a_device_numbered_like_a_process())


def test_ids_of_a_process_with_the_number_of_a_device_do_not_take_over_its_kernels():
    # Both processes count from 1, as ranks do; the label says that 1 is the device here.
    calls = [
        complete("cuda_runtime", f"launch{pid}", ts, 5, pid=pid, tid=7, args={"correlation": 4})
        for pid, ts in ((1, 0), (50, 20))
    ]
    assert_none_is_lost(*calls, one("k50", 30, 3, 4, device=1), process_labels(1, "GPU 1"))


def test_launches_are_kept_when_a_device_has_another_number_than_its_process():
    # `MTIA 3` lies in process 9, and a host process 9 makes calls with other ids.
    calls = [
        complete("mtia_runtime", "launch50", ts, 5, pid=50, tid=7, args={"correlation": ts})
        for ts in range(10, 50, 10)
    ]
    other = complete("mtia_runtime", "launch9", 5, 5, pid=9, tid=7, args={"correlation": 99})
    kernels = [
        complete("mtia_ccp_events", "k50", ts + 6, 3, pid=9, args={"device": 3, "correlation": ts})
        for ts in range(10, 50, 10)
    ]
    assert_none_is_lost(other, *calls, *kernels)


def test_health_and_launch_sites_count_the_same_unlinked_work():
    # Process 200 lost the launch of id 8, which process 100 has as well.
    calls = [
        complete("cuda_runtime", "launch", ts, 5, pid=pid, tid=7, args={"correlation": number})
        for pid, number, ts in ((100, 7, 0), (100, 8, 20), (200, 7, 5))
    ]
    kernels = [
        complete("kernel", "k", ts, 5, pid=200, tid=7, args={"correlation": number, "device": 0})
        for number, ts in ((7, 40), (8, 50))
    ]
    trace = read(*calls, *kernels)
    counted = {entry.code: entry.count for entry in trace.health}["unlinked_kernels"]
    sites = {row["site"]: row["events"] for row in launch_sites(trace).iter_rows(named=True)}
    assert counted == sites["launch not in trace"] == 1


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

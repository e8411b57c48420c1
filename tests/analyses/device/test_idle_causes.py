"""Why a device had nothing to do during the steps."""

from __future__ import annotations

from hypothesis import given, settings

import oracle
from cases import DATA_LOADER, MAIN, STEP, K, O, R, host_event, read
from oracle import Recording
from timesink.analyses.device.idle_causes import CAUSES, idle_causes
from timesink.model.trace import Trace

BUSY = [STEP(1, 0, 400), R(2, 5, c=1), K("first", 10, 90, c=1), K("last", 300, 100, c=2)]
"""A step with a gap from 100 to 300; each test says when the second kernel was launched.

Before the first kernel 10 us are idle as well, waiting for its launch.
"""


def sync(ts: int, dur: int) -> dict:
    return host_event("cuda_runtime", "cudaStreamSynchronize", ts, dur, MAIN)


def causes(trace: Trace, device: int = 0) -> dict[str, float]:
    """Idle time of a device by cause, in us, without causes that played no part."""
    (row,) = (row for row in idle_causes(trace).to_dicts() if row["device"] == device)
    assert row["idle_ns"] == sum(row[f"{cause}_ns"] for cause in CAUSES)
    return {cause: row[f"{cause}_ns"] / 1000 for cause in CAUSES if row[f"{cause}_ns"]}


def test_the_host_launched_too_late():
    assert causes(read(*BUSY, R(280, 5, c=2))) == {"host": 10 + 200}


def test_work_was_queued_and_waited_for_something_else():
    assert causes(read(*BUSY, R(50, 5, c=2))) == {"host": 10, "queued": 200}


def test_the_host_had_waited_for_the_device():
    waited_long = [sync(20, 200), R(290, 5, c=2)]
    assert causes(read(*BUSY, *waited_long)) == {"host": 10, "sync": 200}


def test_a_short_wait_explains_as_much_of_a_gap_as_it_lasted():
    short = [sync(95, 20), R(290, 5, c=2)]
    assert causes(read(*BUSY, *short)) == {"host": 10 + 180, "sync": 20}


def test_a_wait_that_ended_before_the_gap_explains_nothing():
    assert causes(read(*BUSY, sync(20, 70), R(290, 5, c=2))) == {"host": 10 + 200}


def test_the_host_did_nothing_that_was_recorded():
    launches = [R(2, 5, c=1), R(3000, 5, c=2)]
    kernels = [K("first", 10, 90, c=1), K("last", 3100, 900, c=2)]
    trace = read(STEP(1, 0, 4000), *launches, *kernels, O("mm", 7, 493))
    assert causes(trace) == {"stalled": 2500, "host": 10 + 500}


def test_data_loading_and_communication_come_before_other_causes():
    loading, talking = O(DATA_LOADER, 120, 50), O("gloo:all_reduce", 160, 60)
    assert causes(read(*BUSY, loading, talking, R(280, 5, c=2))) == {
        "data_loading": 50,
        "communication": 50,
        "host": 10 + 100,
    }


def test_no_further_work_came():
    trace = read(STEP(1, 0, 100), R(2, 5, c=1), K("gemm", 10, 20, c=1))
    assert causes(trace) == {"host": 10 + 70}


def test_each_device_has_its_own_gaps():
    trace = read(*BUSY, R(280, 5, c=2), R(2, 5, c=3), K("other", 5, 395, c=3, device=1))
    assert causes(trace, 0) == {"host": 10 + 200}
    assert causes(trace, 1) == {"host": 5}


def test_only_complete_steps_count():
    trace = read(*BUSY, R(280, 5, c=2), STEP(2, 400, 900))
    assert idle_causes(trace)["steps_ns"].to_list() == [400_000]
    assert causes(trace) == {"host": 10 + 200}


def test_a_trace_without_device_work():
    assert idle_causes(read(STEP(1, 0, 100), O("mm", 0, 50))).is_empty()


@given(oracle.recordings())
@settings(max_examples=60, deadline=None)
def test_causes_add_up_to_the_idle_time(recording: Recording):
    trace = recording.trace
    steps = [step for step in oracle.steps(trace) if step.complete]
    inside = {ns for step in steps for ns in range(step.start, step.end)}
    for row in idle_causes(trace).to_dicts():
        work = [a for a in oracle.rows_of(trace, "device") if a["kind"] in oracle.BUSY]
        mine = [a for a in work if a["device"] == row["device"]]
        busy = {ns for a in mine for ns in range(a["ts_ns"], oracle.end_of(a))}
        assert row["steps_ns"] == len(inside)
        assert row["idle_ns"] == len(inside - busy)
        assert row["idle_ns"] == sum(row[f"{cause}_ns"] for cause in CAUSES)

"""Why a device had nothing to do during the steps."""

from __future__ import annotations

from hypothesis import given

import oracle
from cases import DATA_LOADER, MAIN, OTHER, STEP, K, O, R, host_event, read
from recordings import Recording, recordings
from timesink.analyses.device_idle import CAUSES, idle_causes
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


def test_the_launch_is_not_in_the_trace():
    assert causes(read(*BUSY)) == {"host": 10, "unknown": 200}
    assert causes(read(STEP(1, 0, 100), O("mm", 0, 100), K("gemm", 10, 20))) == {"unknown": 80}


def test_nothing_of_the_host_is_in_the_trace():
    trace = read(STEP(1, 0, 9000), K("first", 10, 90), K("last", 5000, 100))
    assert causes(trace) == {"unknown": 9000 - 190}


def test_a_blocking_copy_inside_a_gap_is_a_wait():
    copy = host_event("cuda_runtime", "cudaMemcpy", 120, 170, MAIN, correlation=2)
    assert causes(read(*BUSY, copy)) == {"host": 10 + 20 + 10, "sync": 170}


def test_long_runtime_calls_of_the_thread_that_launches_next():
    freeing = host_event("cuda_runtime", "cudaFree", 120, 150, MAIN)
    assert causes(read(*BUSY, freeing, R(280, 5, c=2))) == {"host": 10 + 50, "runtime_call": 150}
    elsewhere = host_event("cuda_runtime", "cudaFree", 120, 150, OTHER)
    assert causes(read(*BUSY, elsewhere, R(280, 5, c=2))) == {"host": 10 + 200}


def test_calls_of_the_usual_length_are_the_pace_of_the_host():
    short = host_event("cuda_runtime", "cudaFree", 120, 99, MAIN)
    assert causes(read(*BUSY, short, R(280, 5, c=2))) == {"host": 10 + 200}
    assert causes(read(*BUSY, R(120, 170, c=2))) == {"host": 10 + 200}


def test_a_launch_that_takes_a_millisecond_is_a_long_call():
    launches = [R(2, 5, c=1), R(1000, 1500, c=2)]
    kernels = [K("first", 10, 1090, c=1), K("last", 2500, 900, c=2)]
    trace = read(STEP(1, 0, 3400), O("mm", 0, 3400), *launches, *kernels)
    # Launched before the gap began: queued.  One that starts in the gap is the cause of it.
    assert causes(trace) == {"host": 10, "queued": 1400}
    late = [R(2, 5, c=1), R(1200, 1200, c=2)]
    trace = read(STEP(1, 0, 3400), O("mm", 0, 3400), *late, *kernels)
    assert causes(trace) == {"host": 10 + 100 + 100, "runtime_call": 1200}


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


@given(recordings())
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

"""Operators that wait for the device, again and again."""

from __future__ import annotations

import pytest

import timesink
from cases import MAIN, OTHER, STEP, K, O, R, host_event, read
from loaded_cycles import Piece, cycles
from timesink.answers.analysis.finding_values import evidence_json
from timesink.model.findings import Finding
from timesink.model.trace import Trace
from timesink.rules.device_work import many_waits
from timesink.rules.efficiency import proven_findings


def wait(ts: int, dur: int, tid: str = MAIN) -> list[dict]:
    call = host_event("Runtime", "cudaStreamSynchronize", ts + 1, dur - 2, tid)
    return [O("aten::item", ts, dur, tid=tid), call]


def trace_of_waits(count: int, us: int, *more_events: dict, kernel_us: int = 10) -> Trace:
    """A step of 1 ms with one kernel at its start and waits of this length, 50 us apart."""
    kernel = [R(0, 1, c=1), K("gemm", 1, kernel_us, c=1)]
    waits = [event for place in range(count) for event in wait(50 + 50 * place, us)]
    return read(STEP(1, 0, 1000), *kernel, *waits, *more_events)


def test_share_gain_and_evidence():
    (finding,) = many_waits(trace_of_waits(10, 20))
    assert (finding.rule, finding.severity) == ("many-waits", "medium")
    # Of the operators, what is spent in calls that wait.
    assert finding.share == pytest.approx(0.18)
    assert finding.cost_ns == 180_000
    (operator,) = (evidence_json(item) for item in finding.evidence)
    expected = {"kind": "operator", "name": "aten::item", "calls_per_step": 10, "host_us": 200}
    assert operator == expected


def test_threads_that_wait_at_once_count_once():
    more_events = [event for place in range(10) for event in wait(50 + 50 * place, 20, OTHER)]
    (finding,) = many_waits(trace_of_waits(10, 20, *more_events))
    assert finding.cost_ns == 180_000


@pytest.mark.parametrize(("count", "us", "finding_count"), [(9, 40, 0), (10, 6, 0), (10, 7, 1)])
def test_ten_a_step_and_five_percent_are_needed(count: int, us: int, finding_count: int):
    assert len(many_waits(trace_of_waits(count, us))) == finding_count


def test_waits_cost_no_more_than_the_idle_time_that_waits_for_them():
    # The device works until 400 us; of the waits after that 3 lie in idle time.
    (finding,) = many_waits(trace_of_waits(10, 40, kernel_us=400))
    assert "400 us of the 1.00 ms step" in finding.sentence
    assert finding.cost_ns <= 3 * 40_000
    assert many_waits(trace_of_waits(10, 40, kernel_us=900)) == []


def test_waits_outside_the_steps_do_not_count():
    later = [event for place in range(20) for event in wait(2000 + 50 * place, 40)]
    assert many_waits(trace_of_waits(9, 40, *later)) == []


def test_without_device_work_nobody_waits_for_it():
    waits = [event for place in range(20) for event in wait(50 * place, 40)]
    assert many_waits(read(STEP(1, 0, 1000), *waits)) == many_waits(read()) == []


# -- one wait a step, which only a replay can price ------------------------------------------------


def single_wait(operator: str = "aten::item") -> Trace:
    """Steps that launch 0.9 ms of kernels, wait for these and prepare the next for 0.15 ms."""
    pieces = [Piece("kernel", "aten::mm", 50, 300)] * 3
    return cycles([*pieces, Piece("wait", operator), Piece("host", "aten::arange", 150)], 5)


def found_in(trace: Trace) -> dict[str, Finding]:
    return {finding.id: finding for finding in proven_findings(trace)}


def test_one_wait_a_step_is_told_with_what_its_removal_saves():
    trace = single_wait()
    finding = found_in(trace)["synchronisation"]
    saved = timesink.whatif(trace, ["remove sync:aten::item"]).saving_ns
    # That one is on the clock without the profiler.
    assert finding.cost_ns == pytest.approx(saved, rel=0.15)
    # The host prepares while the device works: at most what it prepares.
    assert 100_000 < finding.cost_ns <= 220_000
    assert finding.severity == "high"


def test_waits_inside_products_are_no_matter_of_the_program():
    assert "synchronisation" not in found_in(single_wait("aten::bmm"))


def test_a_wait_that_saves_nothing_is_not_told():
    pieces = [Piece("kernel", "aten::mm", 5, 900), Piece("wait", "aten::item")]
    assert "synchronisation" not in found_in(cycles(pieces))

"""Verdict, attribution, anomalies and causes of a pair."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compared import named
from diagnosed import clock_cause
from slowed import MS, USUAL, Program, pair
from timesink.answers.comparison.report import ComparisonAnswer
from timesink.comparison.causes.diagnosis import beyond_expected, change_ns, diagnose
from timesink.comparison.results import WITHIN
from timesink.model.diagnosis import Component, CycleTime, Expectation


def test_a_slower_host_is_a_regression_that_nothing_explains() -> None:
    diagnosis = diagnose(pair(USUAL, USUAL.slowed(1.4)))
    assert diagnosis.verdict == "regression"
    assert diagnosis.causes == ()
    change = diagnosis.cycle_time.new_ns - diagnosis.cycle_time.base_ns
    assert diagnosis.unexplained_ns == pytest.approx(change, rel=0.01)
    assert diagnosis.unexplained[0][0] == "host_cpu"


def test_what_is_explained_and_what_is_not_add_up() -> None:
    diagnosis = diagnose(pair(USUAL, replace(USUAL.slowed(1.2), gap_ms=10.0)))
    change = diagnosis.cycle_time.new_ns - diagnosis.cycle_time.base_ns
    explained = sum(cause.cost_ns for cause in diagnosis.causes)
    assert explained == pytest.approx(10 * MS, rel=0.1)
    assert explained + diagnosis.unexplained_ns == pytest.approx(change, rel=0.01)
    assert sum(ns for _, ns in diagnosis.unexplained) == pytest.approx(diagnosis.unexplained_ns)


def test_cycles_of_one_run_that_take_as_long_have_no_causes() -> None:
    held_up = replace(USUAL, loading_ms=60.0)
    slowed_pair = pair(replace(USUAL, loading_ms=1.0), held_up)
    uncertain_times = replace(slowed_pair.cycle_times, one_run=True, p_value=0.3)
    assert diagnose(slowed_pair).causes
    assert diagnose(replace(slowed_pair, cycle_times=uncertain_times)).causes == ()
    assert diagnose(replace(slowed_pair, cycle_times=uncertain_times, kind=WITHIN)).causes


def twice(program: Program) -> Program:
    calls = {
        name: replace(call, calls=2 * call.calls, ms=2 * call.ms)
        for name, call in program.calls.items()
    }
    return replace(program, calls=calls)


@pytest.mark.parametrize(("new", "expected"), [(twice(USUAL), {"workload_change"}), (USUAL, set())])
def test_cycles_of_other_work_have_no_other_cause(new: Program, expected: set[str]) -> None:
    slowed_pair = pair(USUAL, replace(new, gap_ms=30.0))
    other = replace(
        slowed_pair, equal_work=None, workload=replace(slowed_pair.workload, comparable=False)
    )
    diagnosis = diagnose(other)
    assert diagnosis.verdict == "incomparable"
    assert {cause.id for cause in diagnosis.causes} == expected


def test_without_parts_the_lengths_say_what_there_is_to_explain() -> None:
    lengths = CycleTime(5.0, 0.0, None, None, None)
    assert change_ns((), lengths) == -5.0
    grown = Component("idle", None, 1.0, 3.0, None, None)
    assert change_ns((grown,), lengths) == 2.0


def test_what_was_expected_comes_last_however_much_it_explains() -> None:
    costs = {"workload_change": 9.0, "gpu_clock": 1.0, "disk_io": 0.1, "gpu_contention": 4.0}
    causes = tuple(clock_cause(cause=name, explained_ns=ms * MS) for name, ms in costs.items())
    expected = Expectation(5.0 * MS, ("workload_change", "kernel_choice"))
    ordered = beyond_expected(causes, (), expected)
    order = ["gpu_contention", "gpu_clock", "disk_io", "workload_change"]
    assert [cause.id for cause in ordered] == order
    odd = [cause for cause in causes if cause.id == "gpu_contention"]
    assert [cause.id for cause in beyond_expected(causes[:1], (), expected)] == ["workload_change"]
    assert beyond_expected(causes[:1], odd, expected) == ()
    saving = clock_cause(cause="debug_mode", explained_ns=-0.03 * MS)
    assert beyond_expected((saving,), (), expected) == ()


@pytest.mark.parametrize("pairs", [1, 2])
def test_every_pair_of_a_comparison_knows_what_was_expected(pairs: int) -> None:
    slower = named(pair(USUAL, replace(USUAL, gap_ms=30.0, loading_ms=60.0)), "x")
    comparison = ComparisonAnswer(("a", "b"), (slower,) * pairs, ())
    beyond = comparison.beyond(Expectation(90.0 * MS, ("data_loading",)))
    assert [cause.id for cause in comparison.diagnosis.causes] == ["data_loading", "host_code"]
    assert [cause.id for cause in beyond.diagnosis.causes] == ["host_code", "data_loading"]

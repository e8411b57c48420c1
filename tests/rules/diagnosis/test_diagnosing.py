"""Verdict, attribution, anomalies and causes of a pair."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import timesink
from diagnosed import clock_cause
from slowed import MS, USUAL, Program, pair
from timesink.analyses.comparison import WITHIN
from timesink.answers.comparison.pairing import Compared
from timesink.answers.comparison.report import Comparison
from timesink.model.diagnosis import Component, CycleTime, Expectation
from timesink.rules.diagnosis import beyond_expected, change_ns, diagnose


def test_a_slower_host_is_a_regression_that_nothing_explains() -> None:
    found = diagnose(pair(USUAL, USUAL.slowed(1.4)))
    assert found.verdict == "regression"
    assert found.causes == ()
    change = found.cycle_time.new_ns - found.cycle_time.base_ns
    assert found.unexplained_ns == pytest.approx(change, rel=0.01)
    assert found.unexplained[0][0] == "host_cpu"


def test_what_is_explained_and_what_is_not_add_up() -> None:
    found = diagnose(pair(USUAL, replace(USUAL.slowed(1.2), gap_ms=10.0)))
    change = found.cycle_time.new_ns - found.cycle_time.base_ns
    explained = sum(cause.explained_ns for cause in found.causes)
    assert explained == pytest.approx(10 * MS, rel=0.1)
    assert explained + found.unexplained_ns == pytest.approx(change, rel=0.01)
    assert sum(ns for _, ns in found.unexplained) == pytest.approx(found.unexplained_ns)


def test_a_run_is_the_same_as_itself() -> None:
    same = timesink.compare(timesink.sample(), timesink.sample()).pair
    found = diagnose(same)
    assert (found.verdict, found.causes, found.unexplained) == ("no_change", (), ())


def test_cycles_of_one_run_that_take_as_long_have_no_causes() -> None:
    held_up = replace(USUAL, loading_ms=60.0)
    found = pair(replace(USUAL, loading_ms=1.0), held_up)
    alike = replace(found.cycle_times, one_run=True, p_value=0.3)
    assert diagnose(found).causes
    assert diagnose(replace(found, cycle_times=alike)).causes == ()
    assert diagnose(replace(found, cycle_times=alike, kind=WITHIN)).causes


def twice(program: Program) -> Program:
    calls = {
        name: replace(call, calls=2 * call.calls, ms=2 * call.ms)
        for name, call in program.calls.items()
    }
    return replace(program, calls=calls)


@pytest.mark.parametrize(("new", "told"), [(twice(USUAL), {"workload_change"}), (USUAL, set())])
def test_cycles_of_other_work_have_no_other_cause(new: Program, told: set[str]) -> None:
    found = pair(USUAL, replace(new, gap_ms=30.0))
    other = replace(found, equal_work=None, workload=replace(found.workload, comparable=False))
    diagnosis = diagnose(other)
    assert diagnosis.verdict == "incomparable"
    assert {each.cause for each in diagnosis.causes} == told


def test_a_clock_that_was_low_in_the_first_run_explains_an_improvement(shared: Path) -> None:
    faults = shared / "data/h200/faults"
    found = timesink.compare(faults / "gpu_clock", faults / "normal").diagnosis
    assert (found.verdict, found.anomalies) == ("improvement", ())
    assert found.causes[0].cause == "gpu_clock"
    assert found.causes[0].explained_ns == pytest.approx(-5.3 * MS, rel=0.1)


def test_without_parts_the_lengths_say_what_there_is_to_explain() -> None:
    lengths = CycleTime(5.0, 0.0, None, None, None)
    assert change_ns((), lengths) == -5.0
    grown = Component("idle", None, 1.0, 3.0, None, None)
    assert change_ns((grown,), lengths) == 2.0


def test_what_was_expected_comes_last_however_much_it_explains() -> None:
    costs = {"workload_change": 9.0, "gpu_clock": 1.0, "disk_io": 0.1, "gpu_contention": 4.0}
    causes = tuple(clock_cause(cause=name, explained_ns=ms * MS) for name, ms in costs.items())
    expected = Expectation(5.0 * MS, ("workload_change", "kernel_choice"))
    found = beyond_expected(causes, (), expected)
    order = ["gpu_contention", "gpu_clock", "disk_io", "workload_change"]
    assert [one.cause for one in found] == order
    odd = [one for one in causes if one.cause == "gpu_contention"]
    assert [one.cause for one in beyond_expected(causes[:1], (), expected)] == ["workload_change"]
    assert beyond_expected(causes[:1], odd, expected) == ()
    saving = clock_cause(cause="debug_mode", explained_ns=-0.03 * MS)
    assert beyond_expected((saving,), (), expected) == ()


@pytest.mark.parametrize("pairs", [1, 2])
def test_every_pair_of_a_comparison_knows_what_was_expected(pairs: int) -> None:
    slower = Compared("x", "", pair(USUAL, replace(USUAL, gap_ms=30.0, loading_ms=60.0)), "x")
    found = Comparison(("a", "b"), (slower,) * pairs, ())
    beyond = found.beyond(Expectation(90.0 * MS, ("data_loading",)))
    assert [one.cause for one in found.diagnosis.causes] == ["data_loading", "host_code"]
    assert [one.cause for one in beyond.diagnosis.causes] == ["host_code", "data_loading"]

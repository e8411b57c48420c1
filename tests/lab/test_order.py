"""The order of runs: drift of the machine must not look like a fault."""

from __future__ import annotations

from collections import Counter

from timesink_lab.faults import FAULTS
from timesink_lab.order import LabRun, gone_on_with, left_out, order_runs
from timesink_lab.workloads.switches import WORKLOADS

VIT, DENOISE = WORKLOADS
LOADS = FAULTS[:5]


def names(runs: tuple[LabRun, ...]) -> list[str]:
    return [run.name for run in runs]


def test_every_fault_comes_once_per_round_in_every_workload_that_can_have_it():
    runs = order_runs([VIT, DENOISE], FAULTS, 2, has_gpu=True)
    counted = Counter((run.workload.name, run.fault_name) for run in runs if run.fault)
    assert set(counted.values()) == {2}
    assert len(counted) == 2 * len(FAULTS) - 1
    assert ("denoise", "slow_loader") not in counted
    assert len({run.folder for run in runs}) == len(runs)


def test_faults_that_cannot_be_put_in_are_left_out():
    runs = order_runs([DENOISE], FAULTS, 1, has_gpu=False)
    fault_names = {run.fault_name for run in runs}
    assert {"cpu_hog", "python_stall"} <= fault_names
    assert not fault_names & {"gpu_neighbour", "extra_sync", "slow_loader"}


def test_an_early_end_leaves_every_fault_beside_a_fresh_run_without_one():
    runs = order_runs([VIT, DENOISE], FAULTS, 2, has_gpu=True)
    half = 2 + len(FAULTS) + 4
    assert {run.fault_name for run in runs[:half]} > {fault.name for fault in FAULTS}
    since: dict[str, int] = {}
    for run in runs:
        since[run.workload.name] = 0 if run.fault is None else since[run.workload.name] + 1
        assert since[run.workload.name] <= 3


def test_rounds_have_orders_of_their_own():
    runs = order_runs([DENOISE], FAULTS, 2, has_gpu=True)
    first, second = ([run.fault for run in runs if run.fault and run.number == n] for n in (1, 2))
    assert first != second
    assert {fault.name for fault in first} == {fault.name for fault in second}


def test_after_a_pause_faults_get_a_normal_run_of_the_same_day():
    runs = order_runs([DENOISE], LOADS, 1, has_gpu=True)
    there = set(names(runs[:2]))
    plan = gone_on_with(runs, lambda run: run.name in there)
    assert names(plan)[2] == "normal-3"
    assert plan[2].is_fresh_start
    assert [name for name in names(plan) if name != "normal-3"] == names(runs)


def test_a_plan_that_was_not_begun_or_is_done_stays_as_it_is():
    runs = order_runs([VIT, DENOISE], LOADS, 2, has_gpu=True)
    for there in (False, True):
        assert gone_on_with(runs, lambda _, there=there: there) == runs


def test_faults_that_fit_no_workload_are_known():
    named = [fault.name for fault in left_out([DENOISE], FAULTS, has_gpu=True)]
    assert named == ["slow_loader"]
    assert left_out([VIT, DENOISE], FAULTS, has_gpu=True) == []

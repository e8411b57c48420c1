"""The order of runs: drift of the machine must not look like a fault."""

from __future__ import annotations

from collections import Counter

from timesink.lab.driving.order import Run, gone_on_with, left_out, ordered
from timesink.lab.faults.registry import FAULTS
from timesink.lab.workloads.registry import WORKLOADS

VIT, DECODE, _ = WORKLOADS
LOADS = FAULTS[:6]


def names(runs: tuple[Run, ...]) -> list[str]:
    return [run.name for run in runs]


def test_every_fault_comes_once_per_round_and_normal_runs_twice():
    runs = ordered([VIT, DECODE], FAULTS, 2, has_gpu=True)
    counted = Counter((run.workload.name, run.fault_name) for run in runs)
    assert counted["vit_train", "normal"] == counted["decode", "normal"] == 4
    assert counted["vit_train", "slow_loader"] == counted["decode", "cpu_hog"] == 2
    assert len({run.folder for run in runs}) == len(runs)


def test_faults_that_cannot_be_put_in_are_left_out():
    runs = ordered([DECODE], FAULTS, 1, has_gpu=False)
    found = {run.fault_name for run in runs}
    assert {"cpu_hog", "python_stall"} <= found
    assert not found & {"gpu_neighbour", "extra_sync", "slow_loader"}


def test_normal_runs_lie_between_faults_and_rounds_differ():
    runs = names(ordered([DECODE], LOADS, 2, has_gpu=True))
    assert runs[0] == "normal-1"
    assert runs[4] == "normal-2"
    first, second = (
        [name.partition("-")[0] for name in part if "normal" not in name]
        for part in (runs[:8], runs[8:])
    )
    assert sorted(first) == sorted(second)
    assert first != second


def test_after_a_pause_faults_get_a_normal_run_of_the_same_day():
    runs = ordered([DECODE], LOADS, 1, has_gpu=True)
    there = set(names(runs[:2]))
    plan = gone_on_with(runs, lambda run: run.name in there)
    assert names(plan)[2] == "normal-3"
    assert plan[2].is_fresh_start
    assert [name for name in names(plan) if name != "normal-3"] == names(runs)


def test_a_plan_that_was_not_begun_or_is_done_stays_as_it_is():
    runs = ordered([VIT, DECODE], LOADS, 2, has_gpu=True)
    for there in (False, True):
        assert gone_on_with(runs, lambda _, there=there: there) == runs


def test_faults_that_fit_no_workload_are_known():
    named = [one.name for one in left_out([DECODE], FAULTS, has_gpu=True)]
    assert named == ["slow_loader"]
    assert left_out([VIT, DECODE], FAULTS, has_gpu=True) == []

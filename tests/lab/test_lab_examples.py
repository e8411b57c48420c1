"""Small examples of functions that other tests use only in passing."""

from __future__ import annotations

import numpy as np

from timesink_lab.driver import Bench
from timesink_lab.faults import (
    GPU,
    LOADER,
    Expected,
    Fault,
    expected_of,
    faults_named,
    heads,
    workloads_named,
)
from timesink_lab.order import TimeLeft, order_runs
from timesink_lab.ranks.events import geometry
from timesink_lab.ranks.generated import Traces, file_name, file_names
from timesink_lab.ranks.layout import Group, PlannedLayout, Slowness, affected_steps
from timesink_lab.ranks.plan import Plan, PlannedStraggler
from timesink_lab.ranks.simulate import carry_out, group_ends, simulate, transfer_us
from timesink_lab.ranks.stage_program import HostCall, _one_forward_one_backward, stage_program
from timesink_lab.ranks.truth import Truth, truth_told
from timesink_lab.score import DiagnosisAnswer, LabScore, Rate, first_name, made_how, rate_of
from timesink_lab.score_document import in_short
from timesink_lab.workloads.switches import LabWorkload, Switches, as_text, print_word


def test_bench_bench_words():
    assert Bench("2.9.0", "NVIDIA H200", 16).words == "NVIDIA H200, 16 cores, PyTorch 2.9.0"


def test_order_ordered():
    from timesink_lab.faults import faults_named, workloads_named

    denoise, stall = workloads_named(["denoise"]), faults_named(["python_stall"])
    assert [run.name for run in order_runs(denoise, stall, 2, has_gpu=False)] == [
        "normal-1",
        "python_stall-1",
        "normal-2",
        "python_stall-2",
    ]


def test_time_left_timeleft_words():
    assert TimeLeft(cycles=50).words(4) == "about 60 s"


def test_time_left_timeleft_left_s():
    assert repr(TimeLeft(cycles=50).left_s) == "inf"


def test_time_left_timeleft_has_room():
    assert TimeLeft(cycles=50).has_room
    assert not TimeLeft(cycles=50, limit_s=10).has_room


def test_fault_fault_kind():
    assert Fault("copies", "", "", load=("link_copies",)).kind == "load"


def test_fault_fault_lacks():
    assert Fault("copies", "", "", needs=(GPU,)).lacks([LOADER]) == ("gpu",)


def test_fault_fault_expected():
    assert Fault("hog", "", "", anomaly=("cpu_contention", "host_memory")).expected == {
        "anomaly": "cpu_contention|host_memory"
    }


def test_listing_workloads_named():
    assert [workload.name for workload in workloads_named(None)] == ["vit_train", "denoise"]


def test_listing_faults_named():
    assert [fault.name for fault in faults_named(["python_stall"])] == ["python_stall"]


def test_arguments_geometry():
    assert "blocks per SM" in geometry((24, 1, 1), (544, 1, 1), 96, 82240)


def test_layout_group_ranks_text():
    assert Group("7", "data", (0, 8)).ranks_text == "[0, 8]"


def test_layout_layout_alike():
    layout = PlannedLayout(Plan(ranks=16, expert=8))
    assert sorted(layout.same_group_ranks(3)) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert PlannedLayout(Plan(ranks=16, tensor=2)).same_group_ranks(3) == {3}


def test_meetings_transfer_us():
    from timesink_lab.ranks.plan import Plan

    layout = PlannedLayout(Plan(ranks=16))
    call = HostCall("talk", 90.0, talk="all_reduce", role="data", elements=25_000_000)
    assert round(transfer_us(layout, call, 16)) == 2062


def test_meetings_group_ends():
    one_group = np.array([[0, 1]])
    ones, zeros = np.ones(2), np.zeros(2)
    assert (
        repr(group_ends(np.array([5.0, 9.0]), one_group, ones * 100, ones, zeros))
        == "array([109., 109.])"
    )


def test_naming_file_name():
    assert file_name(3) == "rank3.pt.trace.json.gz"


def test_naming_file_names():
    from timesink_lab.ranks.plan import Plan
    from timesink_lab.ranks.simulate import carry_out

    assert (
        file_names(Traces(carry_out(Plan(ranks=2, steps=1))), "handler")[1].partition(".")[0]
        == "node000_4007"
    )


def test_program_stage_program():
    program = stage_program(Plan(ranks=8), 0)
    assert program.calls[0].kind == "load"
    assert program.calls[-1].kind == "sync"


def test_program_one_forward_one_backward():
    assert _one_forward_one_backward(Plan(ranks=2, pipeline=2), 0) == [
        ("forward", 0),
        ("forward", 1),
        ("backward", 0),
        ("backward", 1),
    ]


def test_runs_carry_out():
    run = carry_out(Plan(ranks=8, stragglers=(PlannedStraggler("data_loading", rank=5),)))
    assert run.truth.answers[0].ranks == (5,)
    assert 0.15 < run.truth.answers[0].cost_us / run.truth.run_us < 0.25


def test_simulate_simulate():
    plan = Plan(ranks=4, steps=2)
    (stage,) = simulate(plan, PlannedLayout(plan), Slowness.none(plan))
    assert stage.call_start.shape[1] == 4
    assert bool((stage.kernel_end > stage.kernel_start).all())


def test_slowness_affected_steps():
    assert affected_steps(Plan(steps=4), PlannedStraggler("sync", 1), 0).tolist() == [0, 1, 2, 3]


def test_truth_file_truth_told():
    document = truth_told(Plan(ranks=1), Truth((), 9.0, 9.0, (0,), (0.0,), 7, ("a/rank0.json",)))
    assert document["plan"]["ranks"] == 1
    assert document["files"] == ["rank0.json"]


def test_answer_first_name():
    quiet = DiagnosisAnswer("no_change", 0.1, (), ("host_code",), 0, 0, 0)
    assert first_name(Expected(cause="host_code"), quiet) == "host_code"
    assert first_name(Expected(), quiet) == "host_code"


def test_expected_expected_of():
    assert (
        expected_of({"fault": "hog", "anomaly": "cpu_contention"}, {}).anomaly == "cpu_contention"
    )


def test_expected_heads():
    assert heads("a|b", ["b", "c"])
    assert not heads("a", [])
    assert heads(None, ["c"])


def test_made_made_how():
    assert made_how([]).recordings == 0


def test_rates_rate_of():
    assert repr(rate_of([True, False, True])) == "Rate(hits=2, trials=3)"


def test_rates_rate_interval():
    low, high = Rate(9, 10).interval
    assert round(low, 3) == 0.596
    assert round(high, 3) == 0.982


def test_rates_rate_cells():
    assert Rate(9, 10).cells == ("9 of 10", "90 %", "60 to 98 %")
    assert Rate(0, 0).cells == ("not tried", "", "")


def test_tables_in_short():
    assert (
        in_short(LabScore("lab", {}, ()))
        == "No fault was tried. No pair without a fault was tried."
    )


def test_words_say():
    print_word("ready")  # nobody listens


def test_registry_workload_module():
    assert LabWorkload("denoise", "").module == "timesink_lab.workloads.denoise"


def test_switches_as_text():
    assert as_text({"sleep_ms": 12, "full_precision": 1}) == "sleep_ms=12,full_precision=1"


def test_switches_switches_depth():
    deeper = Switches(more_depth=0.2)
    assert Switches().depth(12) == 12
    assert deeper.depth(12) == 14
    assert deeper.depth(3) == 4

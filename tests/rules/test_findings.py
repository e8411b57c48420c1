"""What all findings have in common."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from timesink.analyses.ranks.analysis import cost_together
from timesink.analyses.ranks.lateness import Panel
from timesink.answers.comparison.gate_result import unseen
from timesink.comparison.causes.device import precision
from timesink.comparison.causes.diagnosis import unexplained_changes
from timesink.comparison.causes.machine import relief_sentence
from timesink.comparison.causes.resources import chance
from timesink.comparison.causes.slow_steps import CycleSplit, excesses, split_cycles
from timesink.comparison.gate.budget_file import (
    AmountError,
    Increase,
    fits,
    increase,
    time_ns,
)
from timesink.comparison.gate.verdict import Limit, unseen_pct
from timesink.comparison.results import Process
from timesink.model.diagnosis import Component, CycleTime
from timesink.model.findings import Anomaly, Cause, Evidence, Finding, RunFinding, Straggler
from timesink.rules.counter_names import capacity_of, hardware_of, plain_name, without_pid
from timesink.rules.steps import Steps


@pytest.mark.parametrize(
    ("finding", "subject"),
    [
        (Anomaly("gpu_clock", "", device="GPU 0"), "GPU 0"),
        (Cause("gpu_clock", "", device="GPU 0", process="rank 3"), "rank 3"),
        (Straggler("host_code", "", rank=0), "rank 0"),
        (RunFinding("data-loading", ""), ""),
    ],
)
def test_the_subject_is_what_tells_it_from_others(finding: Finding, subject: str):
    assert finding.subject == subject


def test_a_finding_shows_what_it_says_and_no_more():
    finding = Finding("gpu_clock", "Slow.", cost_ns=5.0, evidence=(Evidence("cycle", "here"),))
    assert repr(finding).startswith(
        "Finding(id='gpu_clock', sentence='Slow.', cost_ns=5.0, evidence"
    )
    assert "advice" not in repr(finding)
    assert finding.proofs == ("here",)


def test_relief_is_told_from_the_first_run_to_the_second():
    levels = {"metric": "clock", "unit": "MHz", "base": 1980.0, "new": 345.0}
    slow = Anomaly("gpu_clock", "", device="GPU 0", **levels)
    assert relief_sentence(slow) == "The clock of GPU 0 rose: clock 345 → 1 980 MHz."


def test_what_no_cause_explains():
    grown = Component("idle", None, 10.0, 15.0, None, None)
    assert unexplained_changes((grown,), ()) == (("idle", 5.0),)
    cause = Cause("host_code", "", claims=(("idle", 5.0), ("copies", 1.0)))
    assert unexplained_changes((grown,), (cause,)) == (("copies", -1.0),)


def test_a_steady_level_that_moved_is_no_chance():
    steady = np.full(8, 1980.0)
    assert chance(steady, steady) == 1.0
    assert chance(steady, np.full(8, 345.0)) < 0.001


def test_what_links_carry():
    assert capacity_of("pcie", hardware_of("NVIDIA A100-SXM4-80GB"), 0) == 31.5e9
    assert capacity_of("link", None, 2e11) == 300e9
    assert capacity_of("network", None, 1.18e9) == 12.5e9
    assert capacity_of("network", None, 1.18e9, steady=1.18e9) == 1.25e9
    assert capacity_of("network", None, 1.18e9, steady=1.0e9) == 12.5e9
    hardware = hardware_of("NVIDIA H200")
    assert hardware is not None
    assert (hardware.pcie, hardware.link, hardware.memory_bandwidth, hardware.power_w) == (
        63e9,
        450e9,
        4800e9,
        700.0,
    )


def test_names_of_counters_as_the_table_writes_them():
    names = ["utilization.gpu [%]", "mlu_usage", "NVML:gpu-temp", "process_gpu_usage_944615"]
    assert [plain_name(name) for name in names] == [
        "utilization_gpu",
        "device_usage",
        "device_temp",
        "process_device_usage",
    ]
    assert without_pid("psi_cpu_avg_10") == "psi_cpu_avg_10"


def test_time_inside_of_steps():
    steps = Steps(np.array([[0, 100], [200, 300]]), 2, 100.0, marked=True)
    assert steps.per_step_ns([[50, 150], [60, 90], [290, 400]]) == 30.0
    assert steps.hold(np.array([50, 150, 200, 300])).tolist() == [True, False, True, False]
    assert Steps(np.zeros((0, 2), int), 1, 2e6, marked=False).step_phrase == "the recorded 2.00 ms"


def test_slow_cycles_by_length_and_by_function():
    lengths = [10, 10, 11, 10, 30, 10, 11, 10]
    table = pl.DataFrame({"cycle": range(1, 9), "cycle_dur_ns": lengths})
    assert split_cycles(Process("run", "run.csv", "7", table)).slow == (5,)
    rows = {"cycle": [1, 2, 3, 4], "function": "f", "device": "Host"}
    times = {"cycle_dur_ns": [10, 10, 10, 50], "dur_ns": [5, 5, 5, 45]}
    role = Process("run", "run.csv", "7", pl.DataFrame({**rows, **times}))
    slow_cycles = excesses(role, CycleSplit((1, 2, 3), (4,), (), (), (), 10.0))
    assert [
        (slow_cycle.cycle, slow_cycle.function, slow_cycle.time_ns) for slow_cycle in slow_cycles
    ] == [(4, "f", 45.0)]


def test_limits_of_a_gate_and_what_cannot_be_seen():
    assert (Limit.of("regression"), Limit.of("2.5 %")) == (Limit(), Limit(2.5))
    assert (Limit().text, Limit(5.0).text) == ("regression", "5%")
    assert [Limit(5.0).is_exceeded(pct) for pct in (5.0, 5.1)] == [False, True]
    assert Limit().is_exceeded(0.1)
    assert unseen_pct(CycleTime(100.0, 101.0, 1.0, (-3.0, 5.0), 0.6)) == 4.0
    text = unseen(20.0, Limit(), (8, 6))
    assert text == "Changes below about 20 % cannot be detected in 8 and 6 steps."
    assert unseen(3.72, Limit(2.0), (8, 8)).startswith("Changes below about 3.8 %")
    assert "a slowdown of 2 % may pass. Record more steps." in unseen(3.72, Limit(2.0), (8, 8))
    assert "1 235 %" in unseen(1234.5, None, (2, 2))
    assert "0.032 %" in unseen(0.0311, None, (2, 2))


def test_amounts_of_budgets():
    assert (increase("10%"), increase("0.2 ms")) == (Increase(pct=10.0), Increase(ns=200_000.0))
    assert (time_ns("1.5 ms"), time_ns("200us")) == (1_500_000.0, 200_000.0)
    assert (Increase(pct=10.0).text, Increase(ns=200_000.0).text) == ("+10 %", "+200 us")
    assert Increase(pct=10.0).is_below(12, 100)
    assert not Increase(ns=20.0).is_below(12, 100)
    with pytest.raises(AmountError, match="a time is a number"):
        time_ns("10%")
    assert fits("aten::conv*", "aten::conv2d")
    assert fits("f[*]", "f[*]")
    assert not fits("aten::m?", "aten::mul")


def test_number_formats_by_the_names_of_kernels():
    names = ["sm80_xmma_gemm_f32f32_f32f32_f32_nn_n", "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n"]
    assert [precision(name) for name in names] == ["fp32", "tf32"]
    assert (precision("ampere_bf16_s16816gemm"), precision("nvjet_sm90")) == ("bf16", None)


def test_several_late_ranks_cost_what_the_latest_of_each_step_does():
    caused_wait = np.array([[5.0, 5.0], [5.0, 0.0]])
    panel = Panel(
        np.arange(2),
        ("1", "2"),
        caused_wait,
        caused_wait,
        caused_wait,
        {},
        caused_wait,
        np.zeros(2),
    )
    always = Straggler("gpu_clock", "", cost_ns=10.0, rank=0)
    once = Straggler("host_code", "", cost_ns=7.0, rank=1)
    assert cost_together([always, once], panel)[0] == 12.0

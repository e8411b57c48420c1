"""Causes in the work of the device, and resources that act on it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slowed import MS, USUAL, Call, Program, anomaly, causes

GEMM = "nvjet_sm90_tst_64x8"
FP32 = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n"
CLOCK: dict[str, Any] = {"metric": "gpu_sm_frequency", "unit": "MHz", "base": 2000.0, "new": 1000.0}


def test_more_launches_of_a_family_are_found_by_name_and_precision() -> None:
    (cause,) = causes(USUAL, USUAL.but(**{FP32: Call("gpu_compute", 2, 5.0)}))
    assert cause.id == "kernel_change"
    assert cause.cost_ns == pytest.approx(5 * MS, rel=0.05)
    assert cause.sentence.startswith("2 more gemm launches per step: 0 ns → 5")
    assert f"{FP32} (fp32)" in cause.sentence
    assert cause.claims[0][0] == "device_compute/gemm"
    assert cause.evidence[0].function == FP32
    assert cause.evidence[0].device == "GPU 0"


def test_what_another_part_saved_does_not_make_a_change_of_kernels_smaller() -> None:
    new = USUAL.slowed(0.9).but(**{FP32: Call("gpu_compute", 2, 5.0)})
    explained = {cause.id: cause.cost_ns for cause in causes(USUAL, new)}
    assert explained == {"kernel_change": pytest.approx(5 * MS, rel=0.05)}


def test_other_tiles_that_take_as_long_are_no_cause() -> None:
    new = USUAL.but(**{GEMM: None, "nvjet_sm90_tst_128x8": Call("gpu_compute", 72, 10.0)})
    assert causes(USUAL, new) == ()


def test_other_kernels_that_take_longer_are_one() -> None:
    (cause,) = causes(USUAL, USUAL.but(**{GEMM: None, FP32: Call("gpu_compute", 72, 40.0)}))
    assert cause.id == "kernel_change"
    assert cause.sentence.startswith("The gemm family runs different kernels")
    assert f"instead of {GEMM}" in cause.sentence


# With casts to half precision: they are launches of their own, which kernels in fp32 do without.
CASTING = USUAL.but(
    **{
        "aten::to": Call("cpu_operator", 60, 6.0),
        "aten::copy_": Call("cpu_operator", 60, 6.0),
        "cudaLaunchKernel": Call("cpu_launch", 460, 7.0),
        "void at::native::cast_elementwise_kernel<4>": Call("gpu_compute", 60, 0.5),
    }
)


@pytest.mark.parametrize("gemm_ms", [20.0, 40.0])
def test_slower_kernels_that_are_fewer_are_not_hidden_by_what_the_host_saves(
    gemm_ms: float,
) -> None:
    full = USUAL.but(**{GEMM: None, FP32: Call("gpu_compute", 72, gemm_ms)})
    for base, new, sign in ((CASTING, full, 1), (full, CASTING, -1)):
        causes_by_name = {cause.id: cause for cause in causes(base, new)}
        assert set(causes_by_name) == {"kernel_change", "host_code"}
        kernels, host = causes_by_name["kernel_change"], causes_by_name["host_code"]
        assert kernels.cost_ns == pytest.approx(sign * (gemm_ms - 10.5) * MS, rel=0.05)
        assert kernels.sentence.startswith("The gemm family runs different kernels")
        assert "aten::" not in kernels.sentence
        assert ("full precision" in kernels.advice) == (sign > 0)
        assert host.cost_ns == pytest.approx(-sign * 13 * MS, rel=0.1)
        assert f"{'less' if sign > 0 else 'more'} often too" in host.sentence


def test_a_slower_device_without_a_reason_is_not_explained() -> None:
    assert causes(USUAL, USUAL.slowed(2.0, "gpu")) == ()


def test_a_lower_clock_explains_kernels_up_to_its_share() -> None:
    (cause,) = causes(USUAL, USUAL.slowed(1.8, "gpu"), anomaly("gpu_clock", **CLOCK))
    assert cause.id == "gpu_clock"
    assert cause.cost_ns == pytest.approx(0.8 * 22 * MS, rel=0.05)
    (cause,) = causes(USUAL, USUAL.slowed(4.0, "gpu"), anomaly("gpu_clock", **CLOCK))
    assert cause.cost_ns == pytest.approx(22 * MS, rel=0.05)
    assert cause.evidence[0].metric == "gpu_sm_frequency"


@pytest.mark.parametrize("metric", ["DCGM_FI_DEV_SM_CLOCK", "sclk", "gpu_frequency"])
def test_a_clock_of_any_name_explains_no_more_than_its_share(metric: str) -> None:
    slow = anomaly("gpu_clock", **{**CLOCK, "metric": metric})
    (cause,) = causes(USUAL, USUAL.slowed(4.0, "gpu"), slow)
    assert cause.cost_ns == pytest.approx(22 * MS, rel=0.05)


def test_a_clock_that_rose_explains_what_was_gained() -> None:
    (cause,) = causes(USUAL.slowed(1.8, "gpu"), USUAL, relieved=(anomaly("gpu_clock", **CLOCK),))
    assert cause.id == "gpu_clock"
    assert cause.cost_ns == pytest.approx(-0.8 * 22 * MS, rel=0.05)
    assert cause.sentence.startswith("The clock of GPU 0 rose: gpu_sm_frequency 1 000 → 2 000 MHz.")
    assert "took 39.6 → 21.9 ms per step" in cause.sentence


def test_a_clock_of_another_device_explains_nothing() -> None:
    there = anomaly("gpu_clock", "GPU 1", **CLOCK)
    assert "gpu_clock" not in {cause.id for cause in causes(USUAL, USUAL.slowed(2.0, "gpu"), there)}


def test_two_reasons_for_the_same_time_are_not_counted_twice() -> None:
    reasons = anomaly("hbm_contention"), anomaly("gpu_contention")
    cause_list = causes(USUAL, USUAL.slowed(2.0, "gpu"), *reasons)
    assert [cause.id for cause in cause_list] == ["hbm_contention"]
    assert sum(cause.cost_ns for cause in cause_list) == pytest.approx(22 * MS, rel=0.05)


def test_a_busy_link_explains_copies_that_take_longer_and_not_kernels() -> None:
    new = USUAL.slowed(2.0, "gpu").but(cudaMemcpyAsync=Call("cpu_copy", 2, 4.0))
    (cause,) = causes(USUAL, new, anomaly("pcie_contention"))
    assert cause.claims[0][0] == "launch_gap"
    assert cause.cost_ns == pytest.approx(3.7 * MS, rel=0.1)


def test_a_busy_processor_explains_the_host_and_its_waiting() -> None:
    new = USUAL.slowed(1.5).but(runq=Call("runq", 1, 40.0))
    base = USUAL.but(runq=Call("runq", 1, 0.1))
    (cause,) = causes(base, new, anomaly("cpu_contention", "Host", metric="host_cpu_usage"))
    assert cause.id == "cpu_contention"
    assert cause.claims[0][0] == "run_queue"
    assert cause.cost_ns > 60 * MS


def test_one_kernel_that_takes_longer_stands_out() -> None:
    (cause,) = causes(USUAL, USUAL.but(**{GEMM: Call("gpu_compute", 72, 30.0)}))
    assert cause.id == "kernel_change"
    assert "in as many launches, while the other kernels take as long as before" in cause.sentence


def test_larger_grids_of_most_kernels_are_another_workload() -> None:
    larger = {
        name: replace(call, ms=2 * call.ms, blocks=2 * call.blocks)
        for name, call in USUAL.calls.items()
        if call.device != "Host"
    }
    (cause,) = causes(USUAL, USUAL.but(**larger))
    assert cause.id == "workload_change"
    assert "grids 2.00 times as large" in cause.sentence
    assert cause.cost_ns == pytest.approx(22 * MS, rel=0.05)


def repeat_calls(program: Program, factor: float, *but: str) -> Program:
    """The same with all calls that many times as often, at the same time each, but some."""
    calls = {
        name: call
        if name in but
        else replace(call, calls=round(factor * call.calls), ms=factor * call.ms)
        for name, call in program.calls.items()
    }
    return replace(program, calls=calls)


ENDS = {f"aten::end{number}": Call("cpu_operator", 1, 0.1) for number in range(12)}
FIXED = ("step", "cudaStreamSynchronize", "cudaMemcpyAsync", *ENDS)


@pytest.mark.parametrize("pace", [0.9, 1.1])
def test_more_layers_take_their_operators_and_launches_along(pace: float) -> None:
    base = USUAL.but(**ENDS, **{FP32: Call("gpu_compute", 40, 4.0)})
    (cause,) = causes(base, repeat_calls(base, 1.25, *FIXED).slowed(pace))
    assert cause.id == "kernel_change"
    assert "1.25 times as often" in cause.sentence
    assert "precision" not in cause.advice
    # Beside kernels of 26 ms, operators of 51 ms and launches of 6 ms.
    assert cause.cost_ns == pytest.approx(0.25 * 83 * MS * pace, rel=0.25)


def test_more_of_nearly_everything_is_another_workload() -> None:
    base = USUAL.but(**dict.fromkeys(FIXED[:3]))
    (cause,) = causes(base, repeat_calls(base, 1.2))
    assert cause.id == "workload_change"
    assert "1.20 times as often" in cause.sentence
    assert cause.cost_ns == pytest.approx(0.2 * 79 * MS, rel=0.1)


def test_an_operator_that_does_more_than_launch_is_a_cause_of_its_own() -> None:
    new = USUAL.but(
        **{FP32: Call("gpu_compute", 40, 5.0), "aten::plan": Call("cpu_operator", 40, 400.0)}
    )
    explained = {cause.id: cause.cost_ns for cause in causes(USUAL, new)}
    assert explained["host_code"] == pytest.approx(400 * MS, rel=0.1)
    assert explained["kernel_change"] < 10 * MS

"""Roofs, utilisation and headroom of steps and operators."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Event, kernel, memcpy, operator, runtime, step
from cases import read
from timesink.analyses.kernels.peaks import choose_peaks
from timesink.analyses.work.efficiency import (
    REACHED,
    Efficiency,
    efficiency,
    family_efficiency,
    operator_efficiency,
)
from timesink.analyses.work.steps import BEYOND
from timesink.answers.analysis.headline import efficiency_sentences, notes_of

SIZE = 8192
FLOP = 2.0 * SIZE**3
PEAK = 989.4e12
H200 = {"deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}]}


def products(length_us: float, steps: int = 2, *, kind: str = "c10::BFloat16") -> list[Event]:
    """Steps of 10 ms with one product of matrices each, which takes `length_us`."""
    events: list[Event] = []
    for number in range(steps):
        at = 10_000 * number
        arguments: dict[str, Any] = {"Input Dims": [[SIZE, SIZE]] * 2, "Input type": [kind] * 2}
        events += [
            step(number, at, 10_000),
            operator("aten::mm", at + 10, 100, **{"External id": number + 1, **arguments}),
            runtime("cudaLaunchKernel", at + 20, 5, number + 1),
            kernel("nvjet_hsh", at + 200, length_us, number + 1, grid=[9, 1, 1], block=[9, 1, 1]),
        ]
    return events


def of(events: list[Event]) -> Efficiency:
    return efficiency(read(*events, **H200))


def test_utilisation_is_the_time_at_the_peak_by_the_step():
    run_efficiency = of(products(4000))
    assert run_efficiency.step.matrix_flop == FLOP
    assert run_efficiency.step.mfu == pytest.approx(FLOP / PEAK / 10e-3)
    assert run_efficiency.step.hfu == run_efficiency.step.mfu


def test_parts_of_a_step_add_up_to_it():
    step = of(products(4000)).step
    assert sum(step.ideal_ns.values()) == pytest.approx(1e9 * FLOP / PEAK)
    parts = sum(step.ideal_ns.values()) + sum(getattr(step, name) for name in BEYOND)
    assert parts == pytest.approx(step.step_ns)


def test_headroom_is_what_a_step_would_save():
    row = operator_efficiency(of(products(4000))).row(0, named=True)
    roof = 1e9 * FLOP / PEAK
    assert row["gflop"] == FLOP / 1e9
    assert row["mib"] == 3 * 2 * SIZE**2 / 2**20
    assert row["tflops"] == pytest.approx(FLOP / 4e-3 / 1e12)
    assert (row["bound"], row["precision"]) == ("matrix", "bf16")
    assert row["roof_pct"] == pytest.approx(100 * roof / 4e6)
    assert row["headroom_ns"] == pytest.approx(4e6 - roof)
    assert row["reachable_headroom_ns"] == pytest.approx(4e6 - roof / REACHED["matrix"])


def test_faster_than_can_be_is_said_to_be():
    run_efficiency = of(products(100, steps=1)[1:])
    assert run_efficiency.step.mfu > 1
    assert any("above 100 %" in note for note in notes_of(run_efficiency))


def test_products_of_fp32_without_matrix_units_have_the_roof_of_fp32():
    events = products(25_000, steps=1, kind="float")
    for event in events:
        if event["name"].startswith("nvjet"):
            event["name"] = "ampere_sgemm_128x64_nn"
    assert operator_efficiency(of(events))["precision"].to_list() == ["fp32"]


def test_what_is_faster_than_fp32_can_be_is_rounded():
    events = products(9000, kind="float")
    for event in events:
        if event["name"].startswith("nvjet"):
            event["name"] = "triton_tem_fused_mm_0"
    row = operator_efficiency(of(events)).row(0, named=True)
    assert row["precision"] == "tf32"
    assert "tf32" in row["assumed"]


def test_a_device_can_be_named():
    trace = read(*products(4000))
    unnamed = efficiency(trace)
    assert unnamed.step.mfu is None
    assert any("no roofline" in note for note in notes_of(unnamed))
    chosen = choose_peaks(trace, device="H200")
    assert Efficiency(trace, chosen, unnamed.modelled).step.mfu is not None


def test_without_shapes_there_is_no_utilisation():
    events = products(4000)
    for event in events:
        event["args"] = {k: v for k, v in event["args"].items() if not k.startswith("Input")}
    run_efficiency = of(events)
    assert run_efficiency.step is None
    assert list(efficiency_sentences(run_efficiency)) == []
    assert any("no MFU" in note for note in notes_of(run_efficiency))


def test_what_the_backward_pass_does_again_is_no_work_of_the_model():
    """A product of the forward pass is done again below a call of the backward pass."""
    events = products(4000, steps=1)
    events[1]["args"]["Sequence number"] = 5
    backward = {"Sequence number": 5, "Fwd thread id": 1}
    arguments = {"Input Dims": [[SIZE, SIZE]] * 2, "Input type": ["c10::BFloat16"] * 2}
    events += [
        operator("AddmmBackward0", 4900, 300, **backward),
        operator("aten::mm", 5000, 100, **{"External id": 9, "Sequence number": 8, **arguments}),
        runtime("cudaLaunchKernel", 5020, 5, 9),
        kernel("nvjet_hsh", 5200, 4000, 9, grid=[9, 1, 1], block=[9, 1, 1]),
    ]
    step = of(events).step
    assert step.recomputed_flop == FLOP
    assert step.hfu == pytest.approx(2 * step.mfu)


def test_a_copy_within_the_device_is_a_part_of_its_own():
    events = [
        *products(1400, steps=1),
        memcpy("Memcpy DtoD (Device -> Device)", 2000, 500, 90, bytes=2**30),
    ]
    step = of(events).step
    assert step.copies_ns == 500_000
    assert step.below_ns == pytest.approx(1.4e6 - 1e9 * FLOP / PEAK)
    parts = sum(step.ideal_ns.values()) + sum(getattr(step, name) for name in BEYOND)
    assert parts == pytest.approx(step.step_ns)


def test_devices_are_averaged():
    """Two devices one after the other: each is idle while the other works."""
    events = products(4000, steps=1)
    second = [
        operator("aten::mm", 5010, 100, **{**events[1]["args"], "External id": 7}),
        runtime("cudaLaunchKernel", 5020, 5, 7),
        kernel("nvjet_hsh", 5200, 4000, 7, device=1),
    ]
    single_step, both = of(events).step, of([*events, *second]).step
    assert both.mfu == pytest.approx(single_step.mfu)
    assert (both.below_ns, both.idle_ns) == pytest.approx(
        (single_step.below_ns, single_step.idle_ns)
    )
    table = operator_efficiency(of([*events, *second]))
    assert table["step_ns"].sum() == pytest.approx(4e6)


def test_a_product_without_a_peak_that_hardly_matters_leaves_the_others_theirs():
    events = products(4000, steps=1)
    arguments = {"Input Dims": [[8, 8]] * 2, "Input type": ["long int"] * 2}
    events += [
        operator("aten::mm", 6000, 100, **{"External id": 8, **arguments}),
        runtime("cudaLaunchKernel", 6010, 5, 8),
        kernel("gemm_int", 6200, 10, 8),
    ]
    assert of(events).step.mfu == pytest.approx(FLOP / PEAK / 10e-3)


def test_families_hold_all_kernels_of_steps():
    events = [*products(4000), kernel("void at::native::softmax_warp", 9000, 50, 99)]
    rows = {row["name"]: row for row in family_efficiency(of(events)).to_dicts()}
    assert rows["softmax"]["modelled_pct"] == 0
    assert sum(row["step_ns"] for row in rows.values()) == pytest.approx(4e6 + 25e3)

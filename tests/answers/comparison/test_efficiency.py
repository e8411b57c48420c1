"""What both sides of a comparison compute and move, and how near they come to the roofs."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.json import encode

from builders import Document, Event, annotation, kernel, kineto, operator, runtime, write
from cases import read_document
from compared import pair_of
from timesink.analyses.behaviour.table import behaviour_table
from timesink.analyses.cycles.search import find_cycles
from timesink.analyses.work.cycle_work import process_work
from timesink.answers.comparison.comparison_json import EfficiencyChangeJson
from timesink.answers.comparison.efficiency import efficiency_section
from timesink.answers.comparison.report import ComparisonAnswer, compare
from timesink.comparison.gate.baseline_store import save_baseline
from timesink.comparison.results import Process
from timesink.comparison.steps.efficiency import EfficiencyChange, efficiency_change
from timesink.errors import TimesinkError
from timesink.model.trace import Trace

TF32 = "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128"
FP32 = "ampere_sgemm_128x128_nn"
SIZE = 1024
FLOP = 2 * SIZE**3
CALLS = 2


def document(
    *,
    name: str = TF32,
    size: int = SIZE,
    took_us: float = 20.0,
    calls: int = CALLS,
    shapes: bool = True,
    device: str = "NVIDIA H200",
    types: str = "float",
) -> Document:
    """Ten cycles that multiply square matrices, and do some more."""
    shape_fields: dict[str, Any] = {"Input Dims": [[size, size]] * 2, "Input type": [types] * 2}
    events: list[Event] = []
    for cycle in range(10):
        events.append(annotation("decode_step", 1000.0 * cycle, 900 + cycle % 3))
        for place in range(calls):
            at, correlation = 1000.0 * cycle + 10 + 200 * place, 10 * cycle + place + 1
            events += [
                operator("aten::mm", at, 60, **(shape_fields if shapes else {})),
                runtime("cudaLaunchKernel", at + 5, 20, correlation),
                kernel(name, at + 30, took_us + 0.1 * (cycle % 2), correlation),
            ]
        for place, other in enumerate(("norm", "sample", "copy")):
            at, correlation = 1000.0 * cycle + 700 + 50 * place, 1000 + 10 * cycle + place
            events += [
                operator(f"own::{other}", at, 30),
                runtime("cudaLaunchKernel", at + 5, 20, correlation),
                kernel(f"{other}_kernel", at + 26, 1, correlation),
            ]
    about = {"id": 0, "name": device, "computeMajor": 9, "computeMinor": 0, "numSms": 132}
    return kineto(events, deviceProperties=[about])


def recording(path: Path, **options: Any) -> Path:
    return write(path, document(**options))


@cache
def side(**options: Any) -> Process:
    return role_of(read_document(document(**options)))


def role_of(trace: Trace) -> Process:
    """The process of a recording, with what efficiency is told from."""
    cycles = find_cycles(trace)
    table = behaviour_table(trace, cycles).table
    (pid,) = table["pid"].unique().to_list()
    work = process_work(trace, cycles).get(pid)
    return Process("base", "base.json", pid, table, work=work)


def change_between(
    base: dict[str, Any], new: dict[str, Any], peaks: str | None = None
) -> EfficiencyChange | None:
    return efficiency_change(pair_of(base=side(**base), new=side(**new), peaks=peaks))


def efficiency_answer(efficiency: EfficiencyChange | None) -> dict[str, Any]:
    return json.loads(encode(None if efficiency is None else EfficiencyChangeJson.of(efficiency)))


def comparison_efficiency(comparison: ComparisonAnswer) -> dict[str, Any]:
    return json.loads(comparison.to_json())["efficiency"]


def test_equal_programs_do_the_same_work_and_no_operator_is_listed():
    efficiency = efficiency_answer(change_between({}, {"took_us": 20.5}))
    assert efficiency["same_work"] is True
    assert efficiency["operators"] == []
    assert efficiency["base"]["matrix_flop"] == efficiency["new"]["matrix_flop"] == CALLS * FLOP
    assert efficiency["new"]["bytes"] == CALLS * 3 * 4 * SIZE**2
    assert efficiency["sentences"][0].startswith("The same work: 4.29 GFLOP of matrix products")


def test_products_in_another_precision_are_named_with_figures():
    efficiency = efficiency_answer(change_between({}, {"name": FP32, "took_us": 150.0}))
    (row,) = efficiency["operators"]
    assert (row["operator"], row["shape"]) == ("aten::mm", "1024x1024, 1024x1024")
    assert (row["change"], row["base_precision"], row["new_precision"]) == (
        *("precision", "tf32", "fp32"),
    )
    assert row["base_gflop"] == row["new_gflop"] == pytest.approx(CALLS * FLOP / 1e9)
    assert row["base_tflops"] == pytest.approx(FLOP / 20.05e-6 / 1e12, rel=1e-3)
    assert efficiency["base"]["matrix_flop_by_precision"] == {"tf32": CALLS * FLOP}
    assert efficiency["sentences"][0] == (
        "The same work in another precision: 4.29 GFLOP of matrix products (tf32 → fp32) and "
        "24.0 MiB per step; 1 operator in another precision."
    )
    assert efficiency["same_work"] is False


def test_same_work_that_takes_longer_falls_from_its_roof():
    efficiency = efficiency_answer(change_between({}, {"took_us": 80.0}))
    (row,) = efficiency["operators"]
    assert (row["change"], efficiency["same_work"]) == ("slower", True)
    assert row["new_roof_pct"] == pytest.approx(row["base_roof_pct"] * 20.05 / 80.05, rel=1e-3)
    assert efficiency["sentences"][0].endswith("; same work but slower: 1 operator.")


def test_side_without_shapes_is_named_and_nothing_is_compared():
    efficiency = efficiency_answer(change_between({"shapes": False}, {}))
    assert (efficiency["same_work"], efficiency["reason"], efficiency["base"]) == (
        None,
        "no shapes",
        None,
    )
    assert efficiency["new"]["matrix_flop"] == CALLS * FLOP
    assert efficiency["sentences"][0].startswith("base has no shapes (record_shapes=True)")


def test_nothing_is_said_where_neither_side_has_shapes():
    change = change_between({"shapes": False}, {"shapes": False})
    assert efficiency_answer(change) is None
    assert list(efficiency_section(change, 10)) == []


def test_peaks_that_are_given_are_those_of_both_sides(tmp_path: Path):
    devices = "H200", "own"
    default_peaks = efficiency_answer(change_between(*({"device": device} for device in devices)))
    assert default_peaks["new"]["mfu_pct"] is None
    sides = [recording(tmp_path / f"{device}.json", device=device) for device in devices]
    chosen_peaks = comparison_efficiency(
        compare(*sides, peaks="dram=1TB/s,tf32_tensor=100TFLOP/s", cache=False)
    )
    assert chosen_peaks["base"]["mfu_pct"] == pytest.approx(
        default_peaks["base"]["mfu_pct"] * 494.7 / 100
    )
    assert chosen_peaks["new"]["mfu_pct"] == pytest.approx(chosen_peaks["base"]["mfu_pct"])
    assert "H200 (given: dram tf32_tensor)" in chosen_peaks["sentences"][1]
    with pytest.raises(TimesinkError, match="no such file"):
        compare(*sides, peaks="lost.csv", cache=False)


def test_shares_of_different_devices_name_both():
    efficiency = efficiency_answer(change_between({}, {"device": "NVIDIA A100-SXM4-80GB"}))
    assert efficiency["same_device"] is False
    assert "Different devices, H200 → A100" in efficiency["sentences"][1]


def test_baseline_keeps_what_its_cycles_do(tmp_path: Path):
    base, new = recording(tmp_path / "base.json"), recording(tmp_path / "new.json", took_us=80.0)
    save_baseline("main", base, store=tmp_path / "store")
    (compared,) = compare("@main", new, store=tmp_path / "store").pairs
    assert efficiency_answer(compared.efficiency) == efficiency_answer(
        change_between({}, {"took_us": 80.0})
    )

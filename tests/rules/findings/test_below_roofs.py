"""What operators lose against the roofs of their device, and the reason that shapes give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import timesink
from builders import kernel, operator, runtime, step
from cases import read
from roofed_runs import (
    DOUBLE,
    FLOAT,
    H200,
    HALF,
    MI300X,
    MI355X,
    RULES,
    Call,
    findings_by_rule,
    good,
    run,
)
from timesink.analyses.work.arguments import CallArguments, parse_inputs
from timesink.analyses.work.efficiency import efficiency
from timesink.rules.efficiency import efficiency_findings, proven_findings
from timesink.rules.product_shapes import product_of
from timesink.rules.register import rules_for


class TestProducts:
    def test_rows_that_lie_apart_by_a_round_number_are_fine(self):
        half = [HALF, HALF]
        dims, padded = "[[8192, 30522], [30522, 768]]", "[[30528, 1], [768, 1]]"
        plain = "[[30522, 1], [768, 1]]"
        odd = [
            product_of(CallArguments("aten::mm", arguments, places={"a": 0, "b": 1})).odd_sizes
            for arguments in (
                parse_inputs(dims, str(half).replace("'", '"'), strides)
                for strides in (plain, padded)
            )
        ]
        assert odd == [(30522,), ()]

    def test_wide_numbers(self):
        (finding,) = run(Call("aten::mm", [[4096, 4096]] * 2, 3000, "dgemm_128x128", DOUBLE))
        assert (finding.id, finding.title) == ("wide-products", "Matrix products are in fp64")

    @pytest.mark.parametrize(
        ("device", "expected", "advice"),
        [
            (MI300X, "in tf32 is 654 TFLOP/s", "TF32"),
            (MI355X, "in bf16 is 2,517 TFLOP/s", "autocast"),
        ],
    )
    def test_narrower_numbers_by_name(self, device: dict[str, Any], expected: str, advice: str):
        name = "Cijk_Ailk_Bljk_SB_MT128x128x16_MI32x32x2x1"
        (finding,) = run(Call("aten::mm", [[8192, 8192]] * 2, 9000, name, FLOAT), device=device)
        assert (finding.id, finding.title) == ("wide-products", "Matrix products are in fp32")
        assert expected in finding.sentence
        assert advice in finding.advice

    def test_a_peak_that_was_measured_is_reached_wholly(self):
        wide = Call("aten::mm", [[4096, 4096]] * 2, 3000, "dgemm_128x128", DOUBLE)
        (finding,) = run(wide, peaks="fp32=60TFLOP/s")
        assert finding.cost_ns == pytest.approx(3000e3 - 2 * 4096**3 / 60e3, rel=0.01)

    def test_a_few_rows_only_read_weights(self):
        (finding,) = run(*[Call("aten::mm", [[8, 8192], [8192, 28672]], 120)] * 20)
        assert finding.id == "few-rows"
        # Half the bytes at the same rate.
        assert finding.cost_ns == pytest.approx(20 * 60e3, rel=0.01)

    def test_small_ones_are_over_before_the_device_is_busy(self):
        small = Call("aten::mm", [[256, 512], [512, 512]], 12, "gemm_64x64_32x6")
        (finding,) = run(*[small] * 200)
        assert finding.id == "small-products"

    def test_a_last_round_that_is_nearly_empty(self):
        # 17 x 8 = 136 tiles for 132 multiprocessors.
        (finding,) = run(*[Call("aten::mm", [[2176, 8192], [8192, 2048]], 170)] * 4)
        assert finding.id == "unfilled-waves"
        assert finding.share == pytest.approx(0.4, abs=0.1)

    @pytest.mark.parametrize(
        ("grid", "is_told"),
        [
            ((8, 8, 1), True),
            ((8, 8, 4), False),  # four blocks share a tile
            ((132, 1, 1), False),  # a block for each multiprocessor: may be shared as well
            ((8 * 128, 8, 1), True),  # counted in threads
        ],
    )
    def test_tiles_that_blocks_share_are_not_too_few(
        self, grid: tuple[int, int, int], *, is_told: bool
    ):
        name = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn"
        call = Call("aten::mm", [[1024, 8192], [8192, 1024]], 40, name, grid=grid)
        assert ("unfilled-waves" in {finding.id for finding in run(*[call] * 4)}) == is_told

    def test_good_kernels_are_left_alone(self):
        assert run(*[good()] * 3) == []


class TestHeadroom:
    def test_who_loses_most(self):
        slow = Call("aten::gelu", [[8192, 8192]], 500, "gelu_kernel")
        (finding,) = run(good(), slow)
        assert finding.id == "largest-headroom"
        # 268 MB at 85 % of 4.8 TB/s.
        assert finding.cost_ns == pytest.approx(500e3 - 65.8e3, rel=0.01)

    def test_layouts_by_what_convolutions_launch(self, shared_root: Path):
        path = shared_root / "data/tracelens/mi300/resnet_act_checkpoint.json.gz"
        assert "inside convolutions" in findings_by_rule(path)["layout-conversions"].sentence


class TestSavings:
    def test_work_that_the_host_outlasts_saves_nothing_and_is_not_told(self):
        events = [
            operator("aten::gelu", 1, 9, **{"Input Dims": [[8192, 8192]], "Input type": [HALF]}),
            runtime("cudaLaunchKernel", 2, 5, 1),
            kernel("gelu_kernel", 10, 500, 1),
            operator("aten::slow", 20, 5000),
        ]
        trace = read(step(1, 0, 5100), *events, **H200)
        assert not RULES & {finding.id for finding in proven_findings(trace, efficiency(trace))}

    @pytest.mark.parametrize("name", ["bert_train", "resnet50_train"])
    def test_it_is_part_of_a_step_and_adds_up(self, shared_root: Path, name: str):
        findings = timesink.analyze(shared_root / "data/h200/traces" / name).findings
        mine = [finding for finding in findings if finding.id in RULES]
        assert mine
        assert all(0.01 <= finding.share < 1 for finding in mine)
        gains = [finding.together_ns for finding in findings if finding.cost_ns]
        assert gains == sorted(gains)

    def test_without_peaks_nothing_is_said(self):
        trace = read(step(1, 0, 100))
        assert not RULES & {finding.id for finding in proven_findings(trace, efficiency(trace))}


@pytest.mark.parametrize("name", ["h200/traces/bert_train"])
def test_kernels_are_spoken_of_once_and_save_no_more_than_they_take(shared_root: Path, name: str):
    assert len(rules_for("efficiency")) == len(RULES) + 1
    trace = timesink.open(shared_root / "data" / name)
    findings = efficiency_findings(efficiency(trace))
    rows = np.concatenate([finding.row for finding in findings])
    assert len(set(rows)) == len(rows) > 0
    left = np.concatenate([finding.left_ns for finding in findings])
    assert ((left >= 0) & (left <= trace.device["dur_ns"].to_numpy()[rows])).all()

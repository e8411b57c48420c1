"""What operators lose against the roofs of their device, and the reason that shapes give."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from builders import kernel, operator, runtime, step
from cases import read
from roofed_runs import DOUBLE, H200, HALF, RULES, Call, good, run, told
from timesink.analyses.work.arguments import CallArguments, parse_inputs
from timesink.analyses.work.efficiency import efficiency
from timesink.rules.product_shapes import product_of
from timesink.rules.registry import rules_for
from timesink.rules.savings import proven_findings


class TestProducts:
    def test_a_vocabulary_that_is_no_multiple_of_eight(self, shared: Path):
        found = told(shared / "data/h200/traces/bert_train")["odd-dimensions"]
        assert "no multiple of 8 (30522) keep 3 matrix products a step" in found.sentence
        assert "Pad 30522 to 30528" in found.advice
        assert found.evidence[0].text == "aten::mm 8192x30522, 30522x768"
        assert found.evidence[0].numbers["roof_reached_pct"] == pytest.approx(20.5, abs=0.2)
        assert 3e6 < found.gain_ns < 4.1e6

    def test_rows_that_lie_apart_by_a_round_number_are_fine(self):
        half = [HALF, HALF]
        dims, padded = "[[8192, 30522], [30522, 768]]", "[[30528, 1], [768, 1]]"
        plain = "[[30522, 1], [768, 1]]"
        odd = [
            product_of(CallArguments("aten::mm", given, places={"a": 0, "b": 1})).odd_sizes
            for given in (
                parse_inputs(dims, str(half).replace("'", '"'), strides)
                for strides in (plain, padded)
            )
        ]
        assert odd == [(30522,), ()]

    def test_wide_numbers(self):
        (found,) = run(Call("aten::mm", [[4096, 4096]] * 2, 3000, "dgemm_128x128", DOUBLE))
        assert (found.id, found.title) == ("wide-products", "Matrix products are in fp64")
        assert "became double by accident" in found.advice

    def test_a_few_rows_only_read_weights(self):
        (found,) = run(*[Call("aten::mm", [[8, 8192], [8192, 28672]], 120)] * 20)
        assert found.id == "few-rows"
        assert "With 8 rows, 20 matrix products a step only read weights" in found.sentence
        assert "81.7 % of the memory's bandwidth" in found.sentence
        # Half the bytes at the same rate.
        assert found.gain_ns == pytest.approx(20 * 60e3, rel=0.01)

    def test_small_ones_are_over_before_the_device_is_busy(self):
        small = Call("aten::mm", [[256, 512], [512, 512]], 12, "gemm_64x64_32x6")
        (found,) = run(*[small] * 200)
        assert found.id == "small-products"
        assert "200 matrix products a step of 12.00 us each" in found.sentence

    def test_a_last_round_that_is_nearly_empty(self):
        # 17 x 8 = 136 tiles for 132 multiprocessors.
        (found,) = run(*[Call("aten::mm", [[2176, 8192], [8192, 2048]], 170)] * 4)
        assert found.id == "unfilled-waves"
        assert "136 tiles for 132 multiprocessors: the last of 2 rounds has 4" in found.sentence
        assert found.share == pytest.approx(0.4, abs=0.1)

    def test_good_kernels_are_left_alone(self):
        assert run(*[good()] * 3) == []


class TestHeadroom:
    def test_who_loses_most(self):
        slow = Call("aten::gelu", [[8192, 8192]], 500, "gelu_kernel")
        (found,) = run(good(), slow)
        assert found.id == "largest-headroom"
        assert found.sentence.startswith("aten::gelu on 8192x8192 loses most: 1 call a step, ")
        assert "of the memory's bandwidth (0.54 TB/s)" in found.sentence
        # 268 MB at 85 % of 4.8 TB/s.
        assert found.gain_ns == pytest.approx(500e3 - 65.8e3, rel=0.01)

    def test_it_is_told_of_real_convolutions(self, shared: Path):
        found = told(shared / "data/h200/traces/resnet50_train")
        assert "aten::convolution_backward on 64x64x56x56" in found["largest-headroom"].sentence
        assert "layout-conversions" in found

    def test_layouts_by_what_convolutions_launch(self, shared: Path):
        path = shared / "data/tracelens/mi300/resnet_act_checkpoint.json.gz"
        assert "inside convolutions" in told(path)["layout-conversions"].sentence


class TestSavings:
    def test_work_that_the_host_outlasts_saves_nothing_and_is_not_told(self):
        events = [
            operator("aten::gelu", 1, 9, **{"Input Dims": [[8192, 8192]], "Input type": [HALF]}),
            runtime("cudaLaunchKernel", 2, 5, 1),
            kernel("gelu_kernel", 10, 500, 1),
            operator("aten::slow", 20, 5000),
        ]
        trace = read(step(1, 0, 5100), *events, **H200)
        assert not RULES & {one.id for one in proven_findings(trace, efficiency(trace))}

    @pytest.mark.parametrize("name", ["bert_train", "gpt_infer", "resnet50_train", "unet_train"])
    def test_it_is_part_of_a_step_and_adds_up(self, shared: Path, name: str):
        found = timesink.analyze(shared / "data/h200/traces" / name).findings
        mine = [one for one in found if one.id in RULES]
        assert mine
        assert all(0.01 <= one.share < 1 for one in mine)
        gains = [one.together_ns for one in found if one.gain_ns]
        assert gains == sorted(gains)

    def test_without_peaks_nothing_is_said(self):
        trace = read(step(1, 0, 100))
        assert not RULES & {one.id for one in proven_findings(trace, efficiency(trace))}


def test_no_kernel_is_spoken_of_twice():
    assert len(rules_for("efficiency")) == len(RULES) + 1

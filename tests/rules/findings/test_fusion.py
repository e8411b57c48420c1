"""Operators that one kernel could do: attention, and chains bound by memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofed_runs import FLOAT, Call, findings_by_rule, good, run

SCORES, ROWS = [64, 1024, 1024], [64, 1024, 64]
BIG = [8192, 8192]
TENSOR_US = 70.0
"""Microseconds that reading and writing one such tensor takes good kernels, in half precision."""


def attention(*between: Call) -> list[Call]:
    return [
        Call("aten::bmm", [ROWS, [64, 64, 1024]], 50),
        *between,
        Call("aten::bmm", [SCORES, ROWS], 50),
    ]


def softmax(us: float = 80) -> Call:
    return Call("aten::_softmax", [SCORES, [], []], us, "softmax_warp_forward")


class TestAttention:
    def test_scores_are_what_is_saved(self):
        mask = Call("aten::add", [SCORES, [1, 1024, 1024]], 80, "add_kernel")
        (finding,) = run(*attention(mask, softmax()))
        # Written by the first product and both between, read by both and the last: 6 x 128 MiB.
        assert "768 MiB of scores" in finding.sentence
        # 4 x 64 x 1024 x 1024 x 64 operations at half of 989 TFLOP/s.
        assert finding.cost_ns == pytest.approx(260e3 - 34.7e3, rel=0.01)

    def test_each_call_belongs_to_one_attention(self):
        # From a softmax the product of the next layer's scores is the twelfth call.
        wide, rows = [4096, 1024], [[4096, 1024], [1024, 1024]]
        between = [
            *(Call("aten::clone", [wide], 5), Call("aten::mm", rows, 20)),
            *(Call("aten::add", [wide] * 2, 8), Call("aten::native_layer_norm", [wide], 6)),
            *(Call("aten::mm", rows, 20), Call("aten::gelu", [wide], 5)),
            *(Call("aten::mm", rows, 20), Call("aten::add", [wide] * 2, 8)),
            *(Call("aten::native_layer_norm", [wide], 6), Call("aten::mm", rows, 20)),
        ]
        findings = run(*[*attention(softmax()), *between] * 4)
        (mine,) = (finding for finding in findings if finding.id == "attention-not-fused")
        assert "4 attentions a step" in mine.sentence
        assert "720 us of the 1.24 ms step" in mine.sentence  # 50 + 80 + 50, four times

    def test_on_the_way_back_there_are_two_products_on_each_side(self):
        turned = [64, 64, 1024]
        back = [
            *(Call("aten::bmm", [SCORES, ROWS], 50), Call("aten::bmm", [ROWS, turned], 50)),
            Call("aten::_softmax_backward_data", [SCORES, SCORES, [], []], 90),
            *(Call("aten::bmm", [SCORES, ROWS], 50), Call("aten::bmm", [turned, SCORES], 50)),
        ]
        findings = run(*back * 3, good(20))
        (mine,) = (finding for finding in findings if finding.id == "attention-not-fused")
        assert "3 attentions a step" in mine.sentence
        assert "870 us of the 906 us step" in mine.sentence

    def test_a_softmax_without_products_on_both_sides_is_none(self):
        single_softmax = [good(), softmax(40), good()]
        assert "attention-not-fused" not in {finding.id for finding in run(*single_softmax)}


class TestChains:
    def test_what_is_written_and_read_at_once(self):
        names = ("aten::mul", "aten::tanh", "aten::gelu")
        (finding,) = run(*(Call(name, [BIG], TENSOR_US, "elementwise_kernel") for name in names))
        assert finding.evidence[0].text == "mul + tanh + gelu"
        # Two of three tensors that are written, and two of three that are read.
        # That takes 128 MiB each at 85 % of 4.8 TB/s.
        assert finding.cost_ns == pytest.approx(2**27 / 4.08e3 * (1 + 1.8 + 1), rel=0.01)

    def test_no_more_is_saved_than_passing_it_through_memory_takes(self):
        chain = [Call(name, [[1024, 1024]], 10) for name in ("aten::mul", "aten::tanh")]
        small = {finding.id: finding for finding in run(*chain * 100)}
        # 2 MiB written and read take a microsecond, whatever else keeps the kernels.
        assert small["unfused-chains"].cost_ns < 200 * 2 * 2**21 / 4.08e3

    def test_what_is_far_slower_than_its_bytes_has_headroom_of_its_own(self):
        shape = [[1024, 1024]]
        chain = [
            Call("aten::mul", shape, 3),
            Call("aten::cumsum", shape, 2000),
            Call("aten::tanh", shape, 3),
        ]
        finding = run(*chain * 10)[0]
        assert (finding.id, finding.advice.split(".")[0]) == (
            "largest-headroom",
            "Speed up aten::cumsum",
        )

    def test_what_another_rule_spoke_of_was_between(self):
        calls = [Call("aten::tanh", [BIG], TENSOR_US), *attention(softmax())]
        rule_ids = {finding.id for finding in run(*calls, Call("aten::gelu", [BIG], TENSOR_US))}
        assert "attention-not-fused" in rule_ids
        assert "unfused-chains" not in rule_ids

    def test_of_a_program_that_goes_backward_only_what_is_read_is_saved(self, shared_root: Path):
        finding = findings_by_rule(shared_root / "data/h200/traces/resnet50_train")[
            "unfused-chains"
        ]
        assert "cudnn_batch_norm + clamp_min_" in {evidence.text for evidence in finding.evidence}
        assert finding.cost_ns < 0.25 * 17e6

    @pytest.mark.parametrize(
        "calls",
        [
            [
                Call("aten::tanh", [BIG], TENSOR_US),
                Call("aten::gelu", [[4096, 8192]], TENSOR_US / 2),
            ],
            [Call("aten::tanh", [BIG], TENSOR_US), good(), Call("aten::gelu", [BIG], TENSOR_US)],
            [Call("aten::mul_", [BIG, []], TENSOR_US)] * 3,
            [Call("aten::copy_", [BIG, BIG], TENSOR_US), Call("aten::clone", [BIG], TENSOR_US)],
            [Call("aten::tanh", [[64, 64]], 3), Call("aten::gelu", [[64, 64]], 3)],
        ],
        ids=["other sizes", "apart", "alike", "copies", "small"],
    )
    def test_none_where_nothing_is_handed_on(self, calls: list[Call]):
        assert "unfused-chains" not in {finding.id for finding in run(*calls)}

    def test_wider_numbers_are_other_tensors(self):
        first = Call("aten::tanh", [BIG], TENSOR_US)
        second = Call("aten::gelu", [BIG], 2 * TENSOR_US, type=FLOAT)
        assert "unfused-chains" not in {finding.id for finding in run(first, second)}

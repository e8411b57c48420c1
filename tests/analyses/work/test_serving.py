"""Work of operators of serving engines, against counts in plain loops and recorded calls."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from timesink.analyses.work import formulas as registry
from timesink.analyses.work.arguments import (
    CallArguments,
    KernelLaunch,
    RunFacts,
    Tensor,
    parse_inputs,
)
from timesink.analyses.work.formulas import Work, work_of

BF16, FP8, FLOAT, INT, LONG = "c10::BFloat16", "c10::Float8_e4m3fn", "float", "int", "long int"
BYTE = "unsigned char"


def call_arguments(
    name: str, *inputs: object, launches: tuple[KernelLaunch, ...] = ()
) -> CallArguments:
    """A call with tensors as (type, sizes ...) and plain values as they are."""
    tensors = [value if isinstance(value, tuple) else ("",) for value in inputs]
    return CallArguments(
        name,
        parse_inputs(
            json.dumps([list(tensor[1:]) for tensor in tensors]),
            json.dumps([tensor[0] for tensor in tensors]),
        ),
        tuple("" if isinstance(value, tuple) or value is None else str(value) for value in inputs),
        launches=launches,
        facts=RunFacts(usual_type=BF16),
    )


def recorded_work(name: str, *inputs: object, launches: tuple[KernelLaunch, ...] = ()) -> Work:
    call_work = work_of(call_arguments(name, *inputs, launches=launches))
    assert call_work is not None
    return call_work


class TestPasses:
    def test_a_norm(self):
        work = recorded_work(
            "_C::rms_norm", (BF16, 888, 2880), (BF16, 888, 2880), (BF16, 2880), 1e-5
        )
        rows = 888 * 2880 * 2
        assert (work.read_bytes, work.written_bytes) == (rows + 2880 * 2, rows)
        assert (work.vector_flop, work.matrix_flop) == (2 * 888 * 2880, 0)

    def test_a_norm_with_a_residual_reads_and_writes_both(self):
        x = (BF16, 16, 64)
        work = recorded_work("_C::fused_add_rms_norm", x, x, (BF16, 64), 1e-5)
        assert (work.read_bytes, work.written_bytes) == (2 * 2048 + 128, 2 * 2048)
        apart = recorded_work("aiter::rmsnorm2d_fwd_with_add_ck", x, x, x, x, (BF16, 64), 1e-5, 0)
        assert apart == work

    def test_a_norm_to_eight_bits(self):
        work = recorded_work(
            "_C::rms_norm_static_fp8_quant", (FP8, 4, 64), (BF16, 4, 64), (BF16, 64), (FLOAT, 1), 1
        )
        assert (work.read_bytes, work.written_bytes) == (512 + 128 + 4, 256)

    def test_a_gated_activation(self):
        work = recorded_work("_C::silu_and_mul", (BF16, 4, 64), (BF16, 4, 128))
        assert (work.read_bytes, work.written_bytes, work.vector_flop) == (1024, 512, 512)

    def test_arguments_in_another_order_give_nothing(self):
        assert (
            work_of(call_arguments("_C::rms_norm", (BF16, 4, 64), (BF16, 64), (BF16, 4, 64), 1))
            is None
        )
        assert (
            work_of(call_arguments("_C::scaled_fp4_quant", (BF16, 4, 64), (FLOAT, 1), (BF16, 4)))
            is None
        )

    @pytest.mark.parametrize(
        "call",
        [
            ("aiter::rmsnorm2d_fwd_with_add", *[(BF16, 4, 64)] * 2, (BF16, 64), (BF16, 4, 64)),
            ("aiter::rms_norm", (BF16, 4, 64), (BF16, 4, 64), (BF16, 64), 1e-5),
            ("aiter::silu_and_mul", (BF16, 4, 128), (BF16, 4, 128)),
            ("_C::rms_norm", (BF16, 4, 32), (BF16, 4, 64), (BF16, 64), 1e-5),
            ("aiter::reshape_and_cache", *[(BF16, 4, 2, 8)] * 2, *[(BF16, 9, 4, 2, 8)] * 3),
            ("sgl_kernel::merge_state", *[(BF16, 4, 2, 8), (FLOAT, 4, 2)] * 2, (FLOAT, 4, 2)),
            ("sgl_kernel::topk_softmax", (BF16, 6, 8), (FLOAT, 12), (INT, 6, 2)),
            ("sgl_kernel::moe_sum", (BF16, 6, 32), (BF16, 6, 2, 32)),
            ("_C::cutlass_scaled_mm", (BF16, 7, 16), (FP8, 4, 32), (FP8, 32, 16)),
        ],
        ids=lambda call: call[0],
    )
    def test_sizes_that_do_not_fit_together_give_nothing(self, call):
        assert work_of(call_arguments(*call)) is None


class TestRotaryEmbedding:
    def test_of_a_recorded_call(self):
        work = recorded_work(
            "_C::rotary_embedding",
            *((LONG, 888), (BF16, 888, 512), (BF16, 888, 64), 64, (BF16, 131072, 64), True),
        )
        assert work.vector_flop == 3 * 888 * (512 + 64)
        assert work.written_bytes == 888 * (512 + 64) * 2
        assert work.read_bytes == work.written_bytes + 888 * (64 * 2 + 8)

    def test_of_a_part_of_each_head(self):
        work = recorded_work(
            "_C::rotary_embedding",
            *((LONG, 10), (BF16, 10, 256), (BF16, 10, 128), 128, (BF16, 4096, 32), True),
        )
        assert work.vector_flop == 3 * 10 * (256 + 128) / 4


class TestCaches:
    def test_tokens_are_written_in_the_type_of_the_cache(self):
        work = recorded_work(
            "_C_cache_ops::reshape_and_cache_flash",
            *((BF16, 888, 1, 64), (BF16, 888, 1, 64), (BYTE, 4213816, 16, 1, 64)),
            *((BYTE, 4213816, 16, 1, 64), (LONG, 888), "", (FLOAT,), (FLOAT,)),
        )
        assert (work.read_bytes, work.written_bytes) == (2 * 888 * 64 * 2 + 888 * 8, 2 * 888 * 64)

    def test_padding_has_no_slot(self):
        key, cache = (BF16, 32, 2, 8), (BF16, 100, 16, 2, 8)
        work = recorded_work("_C_cache_ops::reshape_and_cache", key, key, cache, cache, (LONG, 8))
        assert work.written_bytes == 2 * 8 * 16 * 2
        assert work.vector_flop == 0

    def test_a_latent_vector_fills_a_row(self):
        work = recorded_work(
            "_C_cache_ops::concat_and_cache_mla",
            *((BF16, 7, 512), (BF16, 7, 64), (BYTE, 100, 64, 656), (LONG, 7)),
        )
        assert work.written_bytes == 7 * 656

    def test_blocks_are_copied_in_every_layer(self):
        caches = (Tensor((100, 16, 4), ""),) * 3
        call = call_arguments("_C_cache_ops::copy_blocks", None, None, (LONG, 5, 2))
        inputs = (caches, caches, call.inputs[2])
        work = work_of(CallArguments(call.name, inputs, facts=call.facts))
        assert work.read_bytes == work.written_bytes == 6 * 5 * 16 * 4 * 2


def fa2(q: tuple, k: tuple, ends: int, longest: tuple[int, int], blocks: tuple | None) -> Work:
    return work_of(
        call_arguments(
            "_vllm_fa2_C::varlen_fwd",
            *(q, k, k, q, (INT, ends), (INT, ends), None, None, blocks, None),
            *(*longest, 0.0, 0.125, False, True, -1, -1, 0.0, False),
        )
    )


class TestAttention:
    def test_sequences_that_are_all_the_longest(self):
        """Half the square of each sequence, as causal attention is counted."""
        work = fa2((BF16, 64, 8, 16), (BF16, 64, 2, 16), 5, (16, 16), None)
        assert work.matrix_flop == 4 * 8 * (16 * 16 / 2) * 2 * (16 + 16)
        assert work.read_bytes == 64 * (8 + 2 + 2) * 16 * 2
        assert work.written_bytes == 64 * 8 * 16 * 2

    def test_one_sequence_with_a_cache_in_blocks(self):
        work = fa2((BF16, 1, 8, 16), (BF16, 999, 16, 2, 16), 2, (1, 100), (INT, 1, 64))
        assert work.matrix_flop == 2 * 8 * 100 * 32
        assert work.read_bytes == (8 * 16 + 2 * 100 * 2 * 16) * 2
        assert work.assumed

    def test_keys_that_do_not_fit_queries_give_nothing(self):
        assert fa2((BF16, 64, 8, 16), (BF16, 64, 2, 32), 5, (16, 16), None) is None
        assert fa2((BF16, 64, 8, 16), (BF16, 64, 3, 16), 5, (16, 16), None) is None

    def test_other_lengths_are_not_known(self):
        assert fa2((BF16, 60, 8, 16), (BF16, 60, 2, 16), 5, (16, 16), None) is None
        assert fa2((BF16, 4, 8, 16), (BF16, 999, 16, 2, 16), 5, (1, 100), (INT, 4, 64)) is None
        q, kv = (FP8, 888, 8, 64), (BF16, 888, 1, 64)
        call = call_arguments(
            "vllm::unified_attention_with_output", q, kv, kv, (BF16, 888, 8, 64), "", ""
        )
        assert work_of(call) is None


def tile_counts(tokens: int, choices: int, experts: int, tile: int) -> int:
    """The most tiles that tokens can need: every expert begins one, the rest fills one expert."""
    rest = [1] * min(experts, tokens * choices)
    left, full = tokens * choices - len(rest), 0
    while left >= tile:
        left, full = left - tile, full + 1
    return len(rest) + full


class TestExperts:
    def test_weights_and_choices_are_recorded(self):
        work = recorded_work(
            "vllm::inplace_fused_experts",
            *((BF16, 6, 32), (BF16, 4, 48, 32), (BF16, 4, 32, 24), (FLOAT, 6, 2), (INT, 6, 2)),
        )
        flop = 0
        for _token in range(6):
            for _choice in range(2):
                flop += 2 * 32 * 48 + 2 * 24 * 32
        assert work.matrix_flop == flop
        touched = 4 * (1 - 0.5**6)
        weights = touched * (48 * 32 + 32 * 24) * 2
        assert work.read_bytes == pytest.approx(6 * 32 * 2 + 6 * 2 * 8 + weights)
        assert "tokens choose experts evenly" in work.assumed

    def test_experts_on_several_devices(self):
        x, w1, w2 = (BF16, 6, 32), (BF16, 4, 48, 32), (BF16, 4, 32, 24)
        chosen = (FLOAT, 6, 2), (INT, 6, 2), "silu", False, 16, (INT, 16)
        work = recorded_work("vllm::inplace_fused_experts", x, w1, w2, *chosen)
        assert work.matrix_flop == 12 * 2 * 32 * (48 + 24) * 4 / 16

    def test_weights_of_four_bits(self):
        work = recorded_work(
            "vllm::outplace_fused_experts",
            *((BF16, 6, 32), (BYTE, 4, 48, 16), (BYTE, 4, 32, 12), (FLOAT, 6, 2), (INT, 6, 2)),
        )
        assert work.matrix_flop == 6 * 2 * 2 * 32 * (48 + 24)

    def test_the_two_products_apart(self):
        """As one operator for both counts them."""
        w1, w2, ids, many = (BF16, 4, 48, 32), (BF16, 4, 32, 24), (INT, 12), (INT, 1)
        first = recorded_work(
            "aiter::ck_moe_stage1", (BF16, 6, 32), w1, w2, ids, ids, many, (BF16, 6, 2, 24), 2
        )
        second = recorded_work(
            "aiter::ck_moe_stage2", (BF16, 6, 2, 24), w1, w2, ids, ids, many, (BF16, 6, 32), 2
        )
        assert first.matrix_flop + second.matrix_flop == 2 * 12 * 32 * (48 + 24)
        x, out = (BF16, 6, 32), (BF16, 6, 32)
        both = recorded_work("aiter::fmoe_g1u1", out, x, w1, w2, ids, ids, ids, many, 2)
        assert both.matrix_flop == first.matrix_flop + second.matrix_flop
        stage = ("aiter::ck_moe_stage1", (BF16, 6, 32), w1, w2, ids, ids, many)
        assert work_of(call_arguments(*stage, (BF16, 6, 2, 40), 2)) is None
        assert (
            work_of(call_arguments("aiter::fmoe_g1u1", out, x, w1, w2, ids, ids, ids, many, 16))
            is None
        )

    def test_rows_sorted_by_expert(self):
        """Three experts with one, two and three rows."""
        flop = sum(2 * 8 * 5 for rows in (1, 2, 3) for _row in range(rows))
        forward = recorded_work(
            "primus_turbo::grouped_gemm", (BF16, 6, 8), (BF16, 3, 5, 8), (LONG, 3)
        )
        backward = recorded_work(
            "primus_turbo::grouped_gemm_variable_k", (BF16, 6, 8), (BF16, 6, 5), (LONG, 3)
        )
        assert forward.matrix_flop == backward.matrix_flop == flop
        assert backward.written_bytes == 3 * 8 * 5 * 2

    def recorded(self, tokens: int, first: tuple[int, int], second: tuple[int, int]):
        """As recorded of a model with 128 experts, four per token, on a B200."""
        tile = "Fp32_t128x16x256u2_s3_et128x16_m128x16x32_rM_TN_transOut_biasM_bN"
        names = (
            f"bmm_MxE4m3_MxE2m1MxE4m3_{tile}_tma_clmp_swiGlu_dynBatch_sm100f",
            f"bmm_Bfloat16_MxE2m1MxE4m3_{tile}_tmaOpt_clmp_dynBatch_sm100f",
        )
        launches = tuple(
            KernelLaunch(name, (*grid, 1))
            for name, grid in zip(names, (first, second), strict=True)
        )
        scores = (BF16, tokens, 128)
        return work_of(
            call_arguments("vllm::moe_forward", (BF16, tokens, 3072), scores, "", launches=launches)
        )

    def test_from_names_and_grids_of_kernels(self):
        assert tile_counts(888, 4, 128, 16) == 342
        work = self.recorded(888, (8, 342), (24, 342))
        assert work.matrix_flop == 2 * 888 * 4 * (3072 * 1024 + 512 * 3072)
        assert work.precision == "fp8"
        weights = 128 * 3072 * (1024 + 512) * (0.5 + 1 / 32)
        assert work.read_bytes == pytest.approx(weights + 888 * (3072 + 128) * 2, rel=1e-6)
        # Within what a B200 can do in the 185 us that it took.
        assert work.bytes / 185e-6 < 8e12
        assert work.matrix_flop / 185e-6 < 4.5e15

    def test_few_tokens(self):
        rows = tile_counts(5, 4, 128, 16)
        assert self.recorded(5, (8, rows), (24, rows)).matrix_flop == 2 * 20 * 3072 * 1536

    @pytest.mark.parametrize(
        ("first", "second"),
        [((8, 343), (24, 343)), ((8, 342), (23, 342)), ((8, 342), (24, 286)), ((148, 1), (148, 1))],
    )
    def test_grids_that_do_not_fit_tell_nothing(self, first, second):
        assert self.recorded(888, first, second) is None

    def test_other_kernels_tell_nothing(self):
        call = call_arguments("vllm::moe_forward", (BF16, 32, 3072), (BF16, 32, 32), "", "")
        assert work_of(call) is None

    def test_routing_and_adding_up(self):
        choice = (FLOAT, 8, 2)
        routed = recorded_work(
            "_moe_C::topk_softmax", choice, (INT, 8, 2), (INT, 8, 2), (FLOAT, 8, 64)
        )
        assert (routed.read_bytes, routed.written_bytes) == (8 * 64 * 4, 3 * 64)
        added = recorded_work("_moe_C::moe_sum", (BF16, 8, 2, 64), (BF16, 8, 64))
        assert (added.vector_flop, added.written_bytes) == (8 * 64, 1024)


class TestFewBits:
    def test_scaled_products(self):
        scales = (FLOAT, 1), (FLOAT, 1)
        work = recorded_work(
            "_C::cutlass_scaled_mm", (BF16, 8, 24), (FP8, 8, 16), (FP8, 16, 24), *scales
        )
        assert (work.matrix_flop, work.precision) == (2 * 8 * 24 * 16, "fp8")
        assert (work.read_bytes, work.written_bytes) == (8 * 16 + 16 * 24 + 8, 8 * 24 * 2)
        other = recorded_work(
            "sgl_kernel::fp8_scaled_mm", (FP8, 8, 16), (FP8, 16, 24), *scales, 15, None
        )
        assert other == work
        turned = recorded_work("aiter::gemm_a8w8_CK", (FP8, 8, 16), (FP8, 24, 16), *scales)
        assert (turned.matrix_flop, turned.assumed) == (work.matrix_flop, "result has 16 bits")

    def test_two_numbers_to_a_byte(self):
        scales = (FP8, 8, 2), (FP8, 24, 2)
        work = recorded_work(
            "_C::cutlass_scaled_fp4_mm", (BF16, 8, 24), (BYTE, 8, 16), (BYTE, 24, 16), *scales
        )
        assert (work.matrix_flop, work.precision) == (2 * 8 * 24 * 32, "fp4")

    @pytest.mark.parametrize(
        ("name", "arguments"),
        [
            ("_C::awq_gemm", [(INT, 128, 8), (BF16, 1, 64), (INT, 1, 8), 8]),
            ("_C::gptq_gemm", [(INT, 16, 64), (INT, 1, 8), (BF16, 1, 64), (INT, 128), True, 4]),
            (
                "_C::gptq_marlin_gemm",
                [
                    None,
                    (INT, 8, 128),
                    None,
                    (BF16, 1, 64),
                    None,
                    None,
                    (INT, 0),
                    (INT, 0),
                    (INT, 9),
                ],
            ),
            ("_C::gptq_marlin_gemm", [None, (INT, 8, 128), (BF16, 1, 64), None, (INT, 9), 4, 5]),
            ("_C::machete_mm", [(INT, 16, 64), 1, None, None, None]),
        ],
    )
    def test_packed_weights(self, name: str, arguments: list):
        """128 x 64 weights of four bits."""
        work = recorded_work(name, (BF16, 5, 128), *arguments)
        assert work.matrix_flop == 2 * 5 * 128 * 64
        assert work.precision == "bf16"
        assert work.read_bytes >= 5 * 128 * 2 + 128 * 64 / 2
        assert work.written_bytes == 5 * 64 * 2

    def test_weights_by_a_code(self):
        code = (FLOAT, 16)
        work = recorded_work(
            "bitsandbytes::gemv_4bit",
            *((BF16, 1, 1, 128), (BYTE, 4096, 1), "[64, 128]", (FLOAT, 128), code, 64),
        )
        assert work.matrix_flop == 2 * 128 * 64
        back = recorded_work(
            "bitsandbytes::dequantize_4bit",
            *((BYTE, 4096, 1), (FLOAT, 128), 64, "nf4", "[64, 128]", 15),
        )
        assert (back.read_bytes, back.written_bytes) == (4096 + 512, 64 * 128 * 2)

    def test_to_fewer_bits(self):
        work = recorded_work(
            "_C::static_scaled_fp8_quant", (FP8, 888, 512), (BF16, 888, 512), (FLOAT,)
        )
        assert (work.read_bytes, work.written_bytes) == (888 * 512 * 2 + 4, 888 * 512)

    def test_layers_of_transformer_engine(self):
        weight, x = (BF16, 48, 32), (BF16, 6, 4, 32)
        flop = 2 * 24 * 48 * 32
        assert (
            recorded_work("_LayerNormLinear", x, (BF16, 32), (BF16, 32), weight).matrix_flop == flop
        )
        both = recorded_work("_LayerNormMLP", x, (BF16, 32), weight, (BF16, 32, 24))
        assert both.matrix_flop == flop + 2 * 24 * 24 * 32
        assert both.written_bytes == 24 * 32 * 2


STRANGE = [
    [],
    [None] * 20,
    [(BF16,)] * 20,
    [(BF16, 0)] * 20,
    [(BF16, 0, 0)] * 20,
    [(LONG, 1)] * 20,
    [(INT, 0, 5)] * 20,
    [(FLOAT, 3, 5, 7)] * 20,
    [(BYTE, 1, 2, 3, 4, 5)] * 20,
    [(BF16, 2, 0), (INT, 0, 2)] * 10,
    [0] * 20,
    [-1, (BF16, 4, 4)] * 10,
]


def all_have_work_or_none(call: CallArguments) -> None:
    """Of every operator that was given the same."""
    for name in registry._built_in().rows:
        work = work_of(replace(call, name=name.replace("*", "x")))
        assert work is None or min(work.flop, work.read_bytes, work.written_bytes) >= 0


@pytest.mark.parametrize("arguments", STRANGE)
def test_strange_arguments_raise_nothing(arguments: list):
    all_have_work_or_none(call_arguments("any", *arguments, launches=(KernelLaunch("bmm_x_E2m1"),)))


def test_lists_of_tensors_raise_nothing():
    all_have_work_or_none(CallArguments("any", ((Tensor((0, 2), ""),) * 2,) * 20))

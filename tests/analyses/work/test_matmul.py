"""Work of matrix products."""

from __future__ import annotations

import pytest

from operator_calls import call_arguments, half, single, work
from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.formulas import work_of


def byte(*shape: int) -> Tensor:
    return Tensor(shape, "signed char")


def test_a_product_of_a_language_model_has_its_known_work():
    call_work = work("aten::mm", half(8944, 1024), half(1024, 2816))
    assert call_work.matrix_flop / 1e9 == pytest.approx(51.58, abs=0.01)
    assert call_work.bytes / 2**20 == pytest.approx(71.008, abs=0.001)
    assert call_work.precision == "bf16"


def test_the_forward_pass_of_a_language_model_adds_up():
    tokens, width, inner = 8944, 1024, 2816
    addmm = work(
        "aten::addmm", half(width), half(tokens, width), half(width, width), 1, 1
    ).matrix_flop
    projection = work("aten::mm", half(tokens, width), half(width, width)).matrix_flop
    gate = work("aten::mm", half(tokens, width), half(width, inner)).matrix_flop
    down = work("aten::mm", half(tokens, inner), half(inner, width)).matrix_flop
    q = half(16, 559, 16, 64)
    attention = work(
        "aten::_flash_attention_forward", q, q, q, None, None, 559, 559, 0.0, True, False
    ).matrix_flop
    layer = 3 * addmm + projection + 2 * gate + down + attention
    assert 24 * layer / 1e9 == pytest.approx(5760.9, abs=0.05)


@pytest.mark.parametrize(
    ("name", "arguments", "sides", "out_bytes"),
    [
        ("aten::mm", (single(3, 4), single(4, 5)), (3, 5, 4), 4),
        ("aten::mm", (half(3, 4), half(4, 5), 6), (3, 5, 4), 4),
        ("aten::mm", (half(3, 4), half(4, 5), half(3, 5)), (3, 5, 4), 2),
        ("aten::bmm", (half(7, 3, 4), half(7, 4, 5)), (7 * 3, 5, 4), 2),
        ("aten::mv", (half(3, 4), half(4)), (3, 1, 4), 2),
        ("aten::dot", (half(4), half(4)), (1, 1, 4), 2),
        ("aten::_int_mm", (byte(3, 4), byte(4, 5)), (3, 5, 4), 4),
        ("aten::mm", (half(4096, 4096), half(4096, 4096)), (4096, 4096, 4096), 2),
    ],
)
def test_products_without_a_bias(name, arguments, sides, out_bytes):
    m, n, k = sides
    call_work = work(name, *arguments)
    assert call_work.matrix_flop == 2 * m * n * k
    assert call_work.read_bytes == arguments[0].bytes + arguments[1].bytes
    assert call_work.written_bytes == m * n * out_bytes


def test_a_bias_counts_its_additions_over_the_product_and_its_own_bytes():
    plain = work("aten::mm", half(6, 4), half(4, 8))
    added = work("aten::addmm", half(8), half(6, 4), half(4, 8), 1, 1)
    assert added.matrix_flop - plain.matrix_flop == 6 * 8
    assert added.read_bytes - plain.read_bytes == 8 * 2
    spread = Tensor((6, 8), "c10::BFloat16", (0, 1))
    assert work("aten::addmm", spread, half(6, 4), half(4, 8), 1, 1) == added


def test_a_bias_that_counts_nothing_is_not_read():
    plain = work("aten::bmm", half(2, 6, 4), half(2, 4, 8))
    assert work("aten::baddbmm", half(2, 6, 8), half(2, 6, 4), half(2, 4, 8), 0, 1) == plain


def test_a_product_of_another_type_is_told_from_factors():
    typed = work("aten::addmm", single(8), half(6, 4), half(4, 8), 6, 1, 1)
    assert typed.written_bytes == 6 * 8 * 4
    into = work("aten::addmm", half(8), half(6, 4), half(4, 8), 1, 1, half(6, 8))
    assert into.written_bytes == 6 * 8 * 2


def test_products_of_a_batch_can_be_added_up():
    call_work = work("aten::addbmm", half(6, 8), half(3, 6, 4), half(3, 4, 8), 1, 1)
    assert call_work.matrix_flop == 2 * 3 * 6 * 4 * 8 + 6 * 8
    assert call_work.written_bytes == 6 * 8 * 2


def test_complex_products_count_four_real_ones():
    a, b = Tensor((3, 4), "c10::complex<float>"), Tensor((4, 5), "c10::complex<float>")
    assert work("aten::mm", a, b).matrix_flop == 4 * 2 * 3 * 4 * 5


def test_scaled_products_in_eight_bits_read_their_scales():
    a, b = Tensor((16, 32), "c10::Float8_e4m3fn"), Tensor((32, 64), "c10::Float8_e4m3fn")
    call_work = work("aten::_scaled_mm", a, b, single(16, 1), single(1, 64), None, None, 15, True)
    assert (call_work.matrix_flop, call_work.precision) == (2 * 16 * 32 * 64, "fp8")
    assert call_work.read_bytes == 16 * 32 + 32 * 64 + 4 * (16 + 64)
    assert (call_work.written_bytes, call_work.assumed) == (16 * 64 * 2, "")
    older = work("aten::_scaled_mm", a, b, half(64), 15, single(1), single(1), None, True)
    assert older.matrix_flop == call_work.matrix_flop + 16 * 64


def test_four_bit_operands_hold_two_numbers_per_byte():
    a, b = (Tensor(shape, "c10::Float4_e2m1fn_x2") for shape in ((16, 32), (32, 64)))
    scale = Tensor((128,), "c10::Float8_e4m3fn")
    call_work = work("aten::_scaled_mm", a, b, scale, scale, None, None, 15, False)
    assert (call_work.matrix_flop, call_work.precision) == (2 * 16 * 64 * 64, "fp4")


def test_groups_of_rows_meet_one_weight_each():
    ends = Tensor((4,), "int")
    call_work = work("aten::_grouped_mm", half(100, 32), half(4, 32, 64), ends, None, None)
    assert call_work.matrix_flop == 2 * 100 * 32 * 64
    assert call_work.written_bytes == 100 * 64 * 2
    weights = work("aten::_grouped_mm", half(32, 100), half(100, 64), ends, None, None)
    assert weights.matrix_flop == 2 * 100 * 32 * 64
    assert weights.written_bytes == 4 * 32 * 64 * 2


def test_packed_weights_count_what_they_occupy():
    packed = Tensor((2048 // 8, 1024 // 128, 32, 4), "int")
    call_work = work("aten::_weight_int4pack_mm", half(2, 1024), packed, 32, half(32, 2048, 2))
    assert call_work.matrix_flop == 2 * 2 * 1024 * 2048
    assert call_work.read_bytes == 2 * 1024 * 2 + 1024 * 2048 // 2 + 32 * 2048 * 2 * 2
    assert call_work.precision == "bf16"


def test_gradients_of_a_linear_layer_are_those_asked_for():
    both = work("aten::linear_backward", half(9, 4), half(9, 8), half(8, 4), [True, True, True])
    assert both.matrix_flop == 2 * 2 * 9 * 4 * 8 + 9 * 8
    single_work = work(
        "aten::linear_backward", half(9, 4), half(9, 8), half(8, 4), [True, False, False]
    )
    assert single_work.matrix_flop == 2 * 9 * 4 * 8


def test_a_gemm_by_columns_finds_its_sides():
    # Weight 64 x 32 transposed, rows 16 x 32: a product of 16 x 64.
    byte, scale = "unsigned char", single(1)
    call = ["tex_ts::te_gemm_ts", Tensor((64, 32), byte), scale, 0, 0, 1]
    call += [Tensor((16, 32), byte), scale, 0, 0, 0, half(16, 64), scale, 0, scale, half(64)]
    call_work = work(*call)
    assert (call_work.matrix_flop, call_work.precision) == (2 * 16 * 32 * 64, "fp8")


@pytest.mark.parametrize(
    "call",
    [
        CallArguments("aten::mm", ()),
        call_arguments("aten::mm", half(4), None),
        call_arguments("aten::mm", half(3, 4), half(5, 6)),
        call_arguments("aten::mm", Tensor((), "float"), Tensor((), "float")),
        call_arguments("aten::addmm", half(3, 4)),
        call_arguments("aten::_grouped_mm", half(4), half(4)),
    ],
)
def test_what_is_not_told_is_not_guessed(call):
    assert work_of(call) is None


def test_empty_matrices_take_no_work():
    assert work("aten::mm", half(0, 4), half(4, 5)).matrix_flop == 0

"""Kernels that Inductor fused."""

from __future__ import annotations

import pytest

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.formulas import Work, work_of
from timesink.analyses.work.fused import fused_operators

BF16 = "c10::BFloat16"


def _work(
    name: str, pointers: list[tuple[int, ...]], numbers: str = "", kind: str = BF16, **extra: str
) -> Work:
    values = ("",) * len(pointers) + tuple(numbers.split())
    inputs = tuple(Tensor(shape, kind) for shape in pointers)
    plain = (None,) * len(numbers.split())
    call_work = work_of(CallArguments(name, inputs + plain, values, extra=extra))
    assert call_work is not None
    return call_work


@pytest.mark.parametrize(
    ("kernel", "operators"),
    [
        ("triton_poi_fused_add_cos_sin_0", ("add", "cos", "sin")),
        ("triton_poi_fused__unsafe_view_mul_silu_2", ("_unsafe_view", "mul", "silu")),
        ("triton_per_fused__to_copy_mean_pow_rsqrt_11", ("_to_copy", "mean", "pow", "rsqrt")),
        ("triton_poi_fused_threshold_backward_3", ("threshold_backward",)),
        ("triton_poi_fused_bitwise_and_ge_lt_0", ("bitwise_and", "ge", "lt")),
        ("triton_poi_fused_0", ()),
    ],
)
def test_operators_in_a_name(kernel: str, operators: tuple[str, ...]) -> None:
    assert fused_operators(kernel) == operators


def test_the_last_pointer_is_written() -> None:
    work = _work("triton_poi_fused_add_cos_sin_0", [(10, 10)] * 3, "100", "float")
    assert (work.read_bytes, work.written_bytes, work.vector_flop) == (800, 400, 300)
    assert work.precision == "fp32"


def test_reductions_run_over_two_extents() -> None:
    shapes = [(8, 4096, 2048), (2048,), (8, 4096, 2048)]
    name, settings = "triton_red_fused_add_mean_mul_pow_rsqrt_0", "XBLOCK=2,R0_BLOCK=2048"
    work = _work(name, shapes, "32768 2048", kernel_kwargs=settings)
    assert work.vector_flop == 5 * 32768 * 2048
    assert work.bytes == 2 * (2 * 32768 * 2048 + 2048)


def test_products_of_two_may_overwrite_the_first() -> None:
    size = 268435456
    work = _work("triton_poi_fused__unsafe_view_mul_silu_2", [(size,), (size,)], str(size))
    assert (work.read_bytes, work.written_bytes) == (4 * size, 2 * size)
    assert work.vector_flop == 2 * size
    assert "in place" in work.assumed


def test_a_matrix_that_is_viewed_is_no_result() -> None:
    shapes = [(8, 4, 2), (8, 4, 2), (32, 2)]
    work = _work("triton_poi_fused__unsafe_view_add_3", shapes, "64")
    assert (work.read_bytes, work.written_bytes) == (3 * 128, 128)


def test_a_small_last_pointer_is_no_result() -> None:
    work = _work("triton_poi_fused_convolution_relu_1", [(64, 56), (64,)], "3584")
    assert (work.read_bytes, work.written_bytes) == (2 * (3584 + 64), 2 * 3584)
    assert work.vector_flop == 3584


def test_tables_are_read_in_part() -> None:
    name = "triton_poi_fused_embedding_0"
    work = _work(name, [(16,), (50000, 64), (16, 64)], "1024")
    assert work.read_bytes == 2 * (16 + 1024)
    assert (work.written_bytes, work.vector_flop) == (2048, 0)


def test_fills_read_nothing() -> None:
    assert _work("triton_poi_fused_zeros_0", [(64,)], "64").read_bytes == 0


def test_recorded_bytes_go_first() -> None:
    name = "triton_poi_fused_add_0"
    work = _work(name, [(1000,)] * 3, "1000", kernel_num_gb="0.000008")
    assert work.bytes == pytest.approx(8000)


@pytest.mark.parametrize(
    ("name", "shapes", "flop"),
    [
        ("triton_tem_fused_mm_0", [(64, 32), (32, 16), (64, 16)], 2 * 64 * 32 * 16),
        ("triton_tem_fused_addmm_1", [(16,), (64, 32), (32, 16), (64, 16)], 2 * 64 * 32 * 16),
        ("triton_tem_fused_bmm_2", [(4, 8, 32), (4, 32, 16), (4, 8, 16)], 2 * 4 * 8 * 32 * 16),
        (
            "triton_tem_fused_convolution_3",
            [(2, 3, 8, 8), (5, 3, 3, 3), (2, 5, 6, 6)],
            2 * 360 * 27,
        ),
    ],
)
def test_templates(name: str, shapes: list[tuple[int, ...]], flop: int) -> None:
    work = _work(name, shapes)
    assert (work.matrix_flop, work.precision) == (flop, "bf16")

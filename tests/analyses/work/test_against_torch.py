"""Bytes and operations of formulas against those of real tensors and of PyTorch's own counter."""

from __future__ import annotations

from typing import Any

import pytest

from operator_calls import work
from timesink.analyses.work.arguments import Tensor
from timesink.analyses.work.formulas import Work

torch = pytest.importorskip("torch")
aten = torch.ops.aten
counter = pytest.importorskip("torch.utils.flop_counter")

TYPES = {
    torch.float32: "float",
    torch.bfloat16: "c10::BFloat16",
    torch.int64: "long",
    torch.bool: "bool",
    torch.complex64: "c10::complex<float>",
}
NAMES = {"convolution": "convolution_overrideable"}
"""Operators whose arguments are those of one with a formula."""


def real(*shape: int, dtype: Any = torch.float32) -> Any:
    return (torch.rand(shape) + 0.5).to(dtype)


def labels(*shape: int) -> Any:
    return torch.zeros(shape, dtype=torch.int64)


def same_work(operator: Any, arguments: tuple[Any, ...]) -> Work:
    """The work of the same call as a recording would hold it."""
    kinds = [
        Tensor(tuple(argument.shape), TYPES[argument.dtype], tuple(argument.stride()))
        if isinstance(argument, torch.Tensor)
        else argument
        for argument in arguments
    ]
    name = operator.__name__.split(".")[0]
    return work(f"aten::{NAMES.get(name, name)}", *kinds)


def case_id(value: Any) -> str:
    return "" if isinstance(value, tuple) else str(value)


def outputs(result: Any) -> int:
    result = result if isinstance(result, tuple) else (result,)
    return sum(tensor.nbytes for tensor in result if isinstance(tensor, torch.Tensor))


X = real(2, 8, 6, 10)
ROWS, ROW = real(4, 16), real(16)
IMAGE, KERNEL = real(2, 4, 9, 9), real(8, 4, 3, 3)
FLAT = (ROWS, -1, False)
POOL = (IMAGE, [3, 3], [2, 2], [1, 1], [1, 1])

FORWARD = [
    (aten.mm.default, (real(3, 4), real(4, 5))),
    (aten.addmm.default, (real(5), real(3, 4), real(4, 5))),
    (aten.baddbmm.default, (real(2, 3, 5), real(2, 3, 4), real(2, 4, 5))),
    (aten.convolution.default, (IMAGE, KERNEL, real(8), [1, 1], [0, 0], [1, 1], False, [0, 0], 1)),
    (aten.convolution.default, (IMAGE, KERNEL, None, [2, 1], [1, 2], [2, 1], False, [0, 0], 1)),
    (
        aten.convolution.default,
        (IMAGE, real(4, 3, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [1, 1], 2),
    ),
    (
        aten.convolution.default,
        (
            real(2, 4, 5, 6, 7),
            real(4, 1, 3, 3, 3),
            None,
            [1] * 3,
            [1] * 3,
            [1] * 3,
            False,
            [0] * 3,
            4,
        ),
    ),
    (aten.native_layer_norm.default, (X, [10], real(10), real(10), 1e-5)),
    (aten.native_layer_norm.default, (X, [6, 10], None, None, 1e-5)),
    (aten.native_group_norm.default, (X, real(8), real(8), 2, 8, 60, 4, 1e-5)),
    (aten._softmax.default, FLAT),
    (aten._log_softmax.default, FLAT),
    (aten.mse_loss.default, (ROWS, ROWS + 1, 1)),
    (aten.smooth_l1_loss.default, (ROWS, ROWS + 1, 0)),
    (aten.binary_cross_entropy.default, (ROWS / 2, ROWS / 3, None, 2)),
    (aten.native_dropout.default, (X, 0.5, True)),
    (aten.max_pool2d_with_indices.default, (*POOL, False)),
    (aten.max_pool2d_with_indices.default, (IMAGE, [2, 2], [2, 2], [0, 0], [1, 1], True)),
    (aten.avg_pool2d.default, (IMAGE, [3], [2], [1], True)),
    (aten.avg_pool3d.default, (real(2, 3, 8, 8, 8), [2, 2, 2])),
    (aten._adaptive_avg_pool2d.default, (IMAGE, [3, 5])),
    (aten.adaptive_max_pool2d.default, (IMAGE, [3, 5])),
    (aten.upsample_nearest1d.default, (real(2, 3, 5), [10], None)),
    (aten.upsample_bilinear2d.default, (IMAGE, [18, 27], False, None, None)),
    (aten.upsample_bilinear2d.vec, (IMAGE, None, False, [2.0, 1.5])),
    (aten._upsample_bicubic2d_aa.default, (IMAGE, [4, 4], False, None, None)),
    (aten.upsample_trilinear3d.default, (real(1, 2, 3, 4, 5), [6, 8, 10], True)),
    (aten.grid_sampler_2d.default, (IMAGE, real(2, 5, 7, 2), 0, 0, False)),
    (aten.im2col.default, (IMAGE, [3, 3], [1, 1], [1, 1], [2, 2])),
    (aten.col2im.default, (real(2, 36, 25), [9, 9], [3, 3], [1, 1], [1, 1], [2, 2])),
    (aten._fft_r2c.default, (ROWS, [1], 0, True)),
    (aten._fft_r2c.default, (X, [2, 3], 0, False)),
    (aten._fft_c2c.default, (real(4, 16, dtype=torch.complex64), [0, 1], 0, True)),
    (aten._fft_c2r.default, (real(4, 9, dtype=torch.complex64), [1], 0, 16)),
    (aten._cdist_forward.default, (real(5, 3), real(7, 3), 1.0, None)),
]


@pytest.mark.parametrize(("operator", "arguments"), FORWARD, ids=case_id)
def test_bytes_are_those_of_tensors(operator, arguments):
    call_work = same_work(operator, arguments)
    bytes_by_tensor = {
        id(argument): argument.nbytes
        for argument in arguments
        if isinstance(argument, torch.Tensor)
    }
    assert call_work.read_bytes == sum(bytes_by_tensor.values())
    assert call_work.written_bytes == outputs(operator(*arguments))


GRAD = real(2, 8, 7, 7)
BACKWARD = [
    # The operator, its arguments, and the places of tensors whose elements it need not read.
    (
        aten.convolution_backward.default,
        (GRAD, IMAGE, KERNEL, [8], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True]),
        (),
    ),
    (
        aten.convolution_backward.default,
        (GRAD, IMAGE, KERNEL, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [False, True, False]),
        (2,),
    ),
    (
        aten.native_layer_norm_backward.default,
        (X, X + 1, [10], real(2, 8, 6, 1), real(2, 8, 6, 1), real(10), real(10), [True] * 3),
        (6,),
    ),
    (
        aten.native_group_norm_backward.default,
        (X, X + 1, real(2, 4), real(2, 4), real(8), 2, 8, 60, 4, [True, True, True]),
        (),
    ),
    (
        aten.native_batch_norm_backward.default,
        (X, X + 1, real(8), real(8), real(8), real(8), real(8), True, 1e-5, [True, True, True]),
        (3, 4),
    ),
    (aten._softmax_backward_data.default, (ROWS, ROWS + 1, -1, 6), ()),
    (aten.mse_loss_backward.default, (real(1), ROWS, ROWS + 1, 1), ()),
    (aten.nll_loss_backward.default, (real(1), ROWS, labels(4), None, 1, -100, real(1)), (1, 6)),
    (aten.native_dropout_backward.default, (X, real(*X.shape, dtype=torch.bool), 2.0), ()),
    (
        aten.max_pool2d_with_indices_backward.default,
        (real(2, 4, 5, 5), *POOL, False, labels(2, 4, 5, 5)),
        (1,),
    ),
    (aten._adaptive_avg_pool2d_backward.default, (real(2, 4, 3, 5), IMAGE), (1,)),
    (aten.upsample_bilinear2d_backward.default, (X, [6, 10], [2, 8, 3, 5], False), ()),
]


@pytest.mark.parametrize(("operator", "arguments", "unread"), BACKWARD, ids=case_id)
def test_bytes_of_gradients_are_those_of_tensors(operator, arguments, unread):
    call_work = same_work(operator, arguments)
    assert call_work.read_bytes == sum(
        argument.nbytes
        for place, argument in enumerate(arguments)
        if isinstance(argument, torch.Tensor) and place not in unread
    )
    assert call_work.written_bytes == outputs(operator(*arguments))


CONVOLUTIONS = [
    case for case in FORWARD if case[0] is aten.convolution.default and case[1][2] is None
]
COUNTED = [
    (aten.mm.default, (real(3, 4), real(4, 5))),
    (aten.bmm.default, (real(2, 3, 4), real(2, 4, 5))),
    *CONVOLUTIONS,
    BACKWARD[1][:2],
]


@pytest.mark.parametrize(("operator", "arguments"), COUNTED, ids=case_id)
def test_operations_are_those_that_torch_counts(operator, arguments):
    with counter.FlopCounterMode(display=False) as counted:
        operator(*arguments)
    assert same_work(operator, arguments).matrix_flop == counted.get_total_flops()

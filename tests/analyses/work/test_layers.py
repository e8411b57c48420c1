"""Work of convolutions, normalisations and other layers."""

from __future__ import annotations

from pathlib import Path

import pytest

from operator_calls import call_arguments, half, single, work
from timesink.analyses.work import __file__ as formula_file
from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.formulas import work_of
from timesink.model.data_files import csv_rows


def test_a_depthwise_convolution_has_its_known_work():
    inputs = (half(64, 96, 56, 56), half(96, 1, 7, 7))
    call_work = work("aten::cudnn_convolution", *inputs, [3, 3], [1, 1], [1, 1], 96)
    assert call_work.flop / 1e9 == pytest.approx(1.888, abs=0.001)
    assert call_work.bytes == 2 * (2 * 64 * 96 * 56 * 56 + 96 * 49)
    other = work("aten::miopen_depthwise_convolution", *inputs, None, [3, 3], [1, 1], [1, 1], 96)
    third = work("aten::_conv_depthwise2d", *inputs, [7, 7], None, [1, 1], [3, 3], [1, 1])
    assert call_work == other == third


def test_a_transposed_convolution_counts_its_input():
    image, weight = half(2, 8, 16, 16), half(8, 4, 4, 4)
    call_work = work(
        "aten::cudnn_convolution_transpose", image, weight, [1, 1], [0, 0], [2, 2], [1, 1], 1
    )
    assert call_work.matrix_flop == 2 * image.elements * 4 * 4 * 4
    assert call_work.written_bytes == 2 * 2 * 4 * 32 * 32
    grad = half(2, 4, 32, 32)
    back = work(
        "aten::convolution_backward",
        *(grad, image, weight, [0], [2, 2], [1, 1], [1, 1], True, [0, 0], 1, [True, True, False]),
    )
    assert back.matrix_flop == 2 * call_work.matrix_flop


def test_what_strides_pass_over_is_not_read():
    image, weight, grad = half(64, 256, 56, 56), half(512, 256, 1, 1), half(64, 512, 28, 28)
    call_work = work("aten::cudnn_convolution", image, weight, [0, 0], [2, 2], [1, 1], 1)
    assert call_work.read_bytes == image.bytes / 4 + weight.bytes
    back = work("aten::convolution_backward", grad, image, weight)
    assert back.read_bytes == grad.bytes + weight.bytes + image.bytes / 4
    assert back.written_bytes == image.bytes + weight.bytes
    met = work("aten::cudnn_convolution", image, half(512, 256, 3, 3), [1, 1], [2, 2], [1, 1], 1)
    assert met.read_bytes == image.bytes + 9 * weight.bytes


def test_what_follows_a_convolution_at_once_counts_too():
    image, weight, more = half(1, 4, 8, 8), half(4, 4, 1, 1), half(1, 4, 8, 8)
    call_work = work(
        "aten::cudnn_convolution_add_relu",
        *(image, weight, more, 1.0, half(4), [1, 1], [0, 0], [1, 1], 1),
    )
    assert call_work.matrix_flop == 2 * 256 * 4 + 256
    assert call_work.vector_flop == 2 * 256
    assert call_work.read_bytes == image.bytes + weight.bytes + more.bytes + 4 * 2


def test_gradients_need_no_geometry_but_a_convolution_does():
    image, weight, grad = half(2, 8, 16, 16), half(16, 8, 3, 3), half(2, 16, 8, 8)
    assert work_of(call_arguments("aten::cudnn_convolution", image, weight)) is None
    back = work("aten::convolution_backward", grad, image, weight)
    assert back.matrix_flop == 2 * 2 * grad.elements * 8 * 9
    assert back.assumed == "gradients of input and weight"


def test_a_batch_normalisation_in_training_writes_its_statistics():
    image, channel = single(4, 16, 8, 8), single(16)
    parts = (image, channel, channel, channel, channel)
    training = work("aten::cudnn_batch_norm", *parts, True, 0.1, 1e-5)
    assert training.vector_flop == 5 * image.elements
    assert training.written_bytes == image.bytes + 4 * channel.bytes
    inference = work("aten::cudnn_batch_norm", *parts, False, 0.1, 1e-5)
    assert inference.vector_flop == 2 * image.elements
    assert inference.written_bytes == image.bytes
    assert inference.read_bytes == training.read_bytes
    assert work("aten::native_batch_norm", *parts).assumed == "in training"


def test_root_mean_square_normalisation_keeps_one_number_per_row():
    call_work = work("aten::_fused_rms_norm", half(4, 32, 64), [64], half(64), 1e-6)
    assert call_work.written_bytes == 4 * 32 * 64 * 2 + 4 * 32 * 4


def test_softmax_can_widen():
    logits = half(8, 1000)
    wide = work("aten::_softmax", logits, -1, True)
    assert (wide.read_bytes, wide.written_bytes) == (logits.bytes, 2 * logits.bytes)
    back = work("aten::_softmax_backward_data", single(8, 1000), single(8, 1000), -1, 15)
    assert (back.read_bytes, back.written_bytes) == (4 * logits.bytes, logits.bytes)


def test_a_loss_of_classes_reads_one_element_per_target():
    logits, target = single(2032, 8000), Tensor((2032,), "long")
    call_work = work("aten::nll_loss_forward", logits, target, None, 1, -100)
    assert call_work.read_bytes == 2032 * (4 + 8)
    assert call_work.written_bytes == 2 * 4


def test_a_transform_of_real_numbers_is_half_of_one_of_complex_numbers():
    real = work("aten::_fft_r2c", single(4, 1024), [1], 0, True)
    both = work("aten::_fft_c2c", Tensor((4, 1024), "c10::complex<float>"), [1], 0, True)
    assert both.vector_flop == 5 * 4 * 1024 * 10
    assert real.vector_flop == both.vector_flop / 2


def test_a_recurrent_layer_multiplies_all_its_matrices_each_step():
    sequence, state = single(20, 8, 64), single(1, 8, 128)
    weights = (single(512, 64), single(512, 128), single(512), single(512))
    values = ("",) * 6 + ("2", "128", "0", "1", "False", "0.", "True", "False")
    inputs = (sequence, weights, None, None, state, state) + (None,) * 8
    call_work = work_of(CallArguments("aten::_cudnn_rnn", inputs, values))
    assert call_work is not None
    assert call_work.matrix_flop == 2 * 20 * 8 * 512 * (64 + 128)
    assert call_work.written_bytes == 4 * (20 * 8 * 128 + 2 * 8 * 128)


ODD = [
    (),
    (None,),
    (half(),),
    (half(0, 0), half(0), half(0)),
    ((half(2),), (half(2),)),
    (half(3),) * 9,
]


NAMES = [row["operator"] for row in csv_rows(Path(formula_file).with_name("operators.csv"))]


@pytest.mark.parametrize("inputs", ODD)
@pytest.mark.parametrize("values", [(), ("",) * 12, ("[]",) * 12, ("[0]",) * 12, ("[7, 7]",) * 12])
def test_no_operator_fails_on_odd_arguments(inputs, values):
    for name in NAMES:
        work_of(CallArguments(name, inputs, values))

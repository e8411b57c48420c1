"""Convolutions: two operations per output element and weight that it depends on.

Weights that fall on padding count, as is usual. A transposed convolution has the input where the
plain one has the output: there each input element meets the weights of its channel.
"""

from __future__ import annotations

import math
from dataclasses import replace

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.work import Work, moved


def convolution(call: CallArguments, given: Tensor, weight: Tensor) -> Work | None:
    """`given` with `weight` and `bias`; with `added` a tensor is added, with `relu` cut at zero."""
    shape = _output_shape(call, given, weight, is_transposed=_is_transposed(call))
    if shape is None:
        return None
    out = given.sized(*shape)
    bias, added = call.tensor("bias"), call.tensor("added")
    flop = _products(given, weight, out, is_transposed=_is_transposed(call))
    after = bool(added) + ("relu" in call.name)
    read = given if _is_transposed(call) else _met(given, weight, out)
    return replace(
        moved([read, weight, bias, added], [out]),
        matrix_flop=flop + (out.elements if bias else 0),
        vector_flop=float(after * out.elements),
        precision=given.precision,
    )


def convolution_backward(
    call: CallArguments, grad: Tensor, given: Tensor, weight: Tensor
) -> Work | None:
    """Gradients of input, weight and bias as far as `mask` asks for them."""
    if not len(grad.shape) == len(given.shape) == len(weight.shape) > 2:
        return None
    flags = call.flags("mask")
    assumed = "" if flags else "gradients of input and weight"
    of_input, of_weight, of_bias, *_ = *(flags or (True, True)), False, False, False
    is_transposed = _is_transposed(call) or (
        call.flag("transposed") is None and weight.shape[0] != grad.shape[1]
    )
    flop = _products(given, weight, grad, is_transposed=is_transposed)
    channels = grad.sized(grad.shape[1])
    read = given if is_transposed else _met(given, weight, grad)
    return replace(
        moved(
            [grad, weight if of_input else None, read if of_weight else None],
            [
                given.sized(*given.shape) if of_input else None,
                weight.sized(*weight.shape) if of_weight else None,
                channels if of_bias else None,
            ],
        ),
        matrix_flop=flop * (of_input + of_weight) + grad.elements * of_bias,
        precision=given.precision,
        assumed=assumed,
    )


def _met(given: Tensor, weight: Tensor, out: Tensor) -> Tensor:
    """What the windows of a convolution see of its input: not all where strides are longer."""
    first = len(given.shape) - len(weight.shape) + 2
    sizes = given.shape[first:]
    met = [
        min(size, windows * width)
        for size, windows, width in zip(sizes, out.shape[first:], weight.shape[2:], strict=True)
    ]
    return given if met == list(sizes) else given.sized(*given.shape[:first], *met)


def _is_transposed(call: CallArguments) -> bool:
    return "_transpose" in call.name or bool(call.flag("transposed"))


def _products(given: Tensor, weight: Tensor, out: Tensor, *, is_transposed: bool) -> float:
    met = (given if is_transposed else out).elements
    return 2.0 * met * math.prod(weight.shape[1:]) * (4 if "complex" in given.type else 1)


def _output_shape(
    call: CallArguments, given: Tensor, weight: Tensor, *, is_transposed: bool
) -> tuple[int, ...] | None:
    """Shape of the output; None where strides are not recorded, or do not fit."""
    dimensions = len(weight.shape) - 2
    if dimensions < 1 or len(given.shape) not in (dimensions + 1, dimensions + 2):
        return None
    stride = call.per_dimension("stride", dimensions)
    padding = call.per_dimension("padding", dimensions)
    dilation = call.per_dimension("dilation", dimensions) or (1,) * dimensions
    extra = call.per_dimension("output_padding", dimensions) or (0,) * dimensions
    if not stride or not padding or min(stride) < 1:
        return None
    if is_transposed:
        groups = (call.integer("groups") or 1) if "groups" in call.places else 1
        channels = weight.shape[1] * groups
    else:
        channels = weight.shape[0]
    sizes = []
    for place, size in enumerate(given.shape[-dimensions:]):
        reach = dilation[place] * (weight.shape[2 + place] - 1)
        if is_transposed:
            grown = (size - 1) * stride[place] + reach + 1
            sizes.append(grown - 2 * padding[place] + extra[place])
        else:
            sizes.append((size + 2 * padding[place] - reach - 1) // stride[place] + 1)
    if min(sizes) < 0:
        return None
    return (*given.shape[: -dimensions - 1], channels, *sizes)

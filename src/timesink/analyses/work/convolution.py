"""Convolutions, and what else changes sizes of space: pooling, interpolation, sampling, windows.

A convolution is two operations per output element and weight that it depends on. Weights that fall
on padding count, as is usual. A transposed convolution has the input where the plain one has the
output: there each input element meets the weights of its channel.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.formulas import Work, memory_work, vector_work


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
        memory_work([read, weight, bias, added], [out]),
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
        memory_work(
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


def _met(image: Tensor, weight: Tensor, out: Tensor) -> Tensor:
    """What the windows of a convolution see of its input: not all where strides are longer."""
    first = len(image.shape) - len(weight.shape) + 2
    sizes = image.shape[first:]
    met = [
        min(size, windows * width)
        for size, windows, width in zip(sizes, out.shape[first:], weight.shape[2:], strict=True)
    ]
    return image if met == list(sizes) else image.sized(*image.shape[:first], *met)


def _is_transposed(call: CallArguments) -> bool:
    return "_transpose" in call.name or bool(call.flag("transposed"))


def _products(image: Tensor, weight: Tensor, out: Tensor, *, is_transposed: bool) -> float:
    met = (image if is_transposed else out).elements
    return 2.0 * met * math.prod(weight.shape[1:]) * (4 if "complex" in image.type else 1)


def _output_shape(
    call: CallArguments, image: Tensor, weight: Tensor, *, is_transposed: bool
) -> tuple[int, ...] | None:
    """Shape of the output; None where strides are not recorded, or do not fit."""
    dimensions = len(weight.shape) - 2
    if dimensions < 1 or len(image.shape) not in (dimensions + 1, dimensions + 2):
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
    for place, size in enumerate(image.shape[-dimensions:]):
        reach = dilation[place] * (weight.shape[2 + place] - 1)
        if is_transposed:
            grown = (size - 1) * stride[place] + reach + 1
            sizes.append(grown - 2 * padding[place] + extra[place])
        else:
            sizes.append((size + 2 * padding[place] - reach - 1) // stride[place] + 1)
    if min(sizes) < 0:
        return None
    return (*image.shape[: -dimensions - 1], channels, *sizes)


# -- pooling, interpolation, sampling, windows -----------------------------------------------------


_INDEX = "long"


def _dimensions(call: CallArguments) -> int:
    """How many dimensions of space an operator has, which its name tells: `2d`."""
    match = re.search(r"([123])d", call.name)
    return int(match[1]) if match else 2


def pool(call: CallArguments, given: Tensor) -> Work | None:
    """One operation per element of each window; a maximum writes where it was found too."""
    dimensions = _dimensions(call)
    kernel = call.per_dimension("kernel", dimensions)
    if not kernel or not dimensions < len(given.shape) <= dimensions + 2:
        return None
    strides = call.per_dimension("stride", dimensions) or kernel
    paddings = call.per_dimension("padding", dimensions) or (0,) * dimensions
    dilations = call.per_dimension("dilation", dimensions) or (1,) * dimensions
    if min(strides) < 1:
        return None
    sizes = []
    is_up = call.flag("ceil") is True
    for size, width, stride, padding, dilation in zip(
        given.shape[-dimensions:], kernel, strides, paddings, dilations, strict=True
    ):
        rest = size + 2 * padding - dilation * (width - 1) - 1
        steps = -(-rest // stride) if is_up else rest // stride
        # A last window that would begin beyond the input is left out.
        is_beyond = is_up and steps * stride >= size + padding
        sizes.append(steps + (0 if is_beyond else 1))
    if min(sizes) < 0:
        return None
    out = given.sized(*given.shape[:-dimensions], *sizes)
    indices = Tensor(out.shape, _INDEX) if "max" in call.name else None
    return vector_work(out.elements * math.prod(kernel), given, [given], [out, indices])


def pool_backward(call: CallArguments, grad: Tensor, given: Tensor) -> Work | None:
    """Each gradient added to the element it came from, or to all of its window."""
    indices = call.tensor("found")
    window = 1 if indices else math.prod(call.per_dimension("kernel", _dimensions(call)))
    result = Tensor(given.shape, grad.type)
    return vector_work(grad.elements * window, grad, [grad, indices], [result])


def adaptive_pool(call: CallArguments, given: Tensor) -> Work | None:
    """Windows that cover the input, as many as the size that is asked for."""
    dimensions = _dimensions(call)
    sizes = call.per_dimension("size", dimensions)
    if not sizes or len(given.shape) <= dimensions:
        return None
    out = given.sized(*given.shape[:-dimensions], *sizes)
    indices = Tensor(out.shape, _INDEX) if "max" in call.name else None
    return vector_work(given.elements, given, [given], [out, indices])


def unpool(call: CallArguments, given: Tensor, found: Tensor) -> Work | None:
    """Elements put back where they were found; all else is zero."""
    sizes = call.integers("size")
    if not sizes or len(given.shape) <= len(sizes):
        return None
    return memory_work([given, found], [given.sized(*given.shape[: -len(sizes)], *sizes)])


def interpolation(call: CallArguments, given: Tensor) -> Work | None:
    """One operation per element that is made; the nearest is a copy and has none."""
    if len(given.shape) < 3:
        return None
    before = given.shape[2:]
    sizes = call.integers("size")
    if not sizes:
        factors = _factors(call)
        if len(factors) != len(before):
            return None
        sizes = tuple(int(n * factor) for n, factor in zip(before, factors, strict=True))
    if len(sizes) != len(before):
        return None
    out = given.sized(*given.shape[:2], *sizes)
    return vector_work(
        0.0 if "nearest" in call.name else float(out.elements), given, [given], [out]
    )


def _factors(call: CallArguments) -> tuple[float, ...]:
    """The last list of numbers: how many times larger each dimension becomes."""
    lists = [text for text in call.values[1:] if text.startswith("[")]
    return tuple(float(number) for number in re.findall(r"[\d.]+", lists[-1])) if lists else ()


def interpolation_backward(call: CallArguments, grad: Tensor) -> Work | None:
    """Gradients added up at the elements that they were made of."""
    sizes = call.integers("input_size")
    if len(sizes) != len(grad.shape):
        return None
    return vector_work(grad.elements, grad, [grad], [grad.sized(*sizes)])


def grid_sample(given: Tensor, grid: Tensor) -> Work | None:
    """Elements between the corners at each point: a multiplication and an addition per corner."""
    if len(given.shape) != len(grid.shape) < 6:
        return None
    out = given.sized(*given.shape[:2], *grid.shape[1:-1])
    corners = 2 ** (len(given.shape) - 2)
    return vector_work(2.0 * corners * out.elements, given, [given, grid], [out])


def grid_sample_backward(
    call: CallArguments, grad: Tensor, given: Tensor, grid: Tensor
) -> Work | None:
    """Gradients of what was sampled and of the points."""
    wanted = call.flags("mask") or (True, True)
    results = [
        tensor.sized(*tensor.shape)
        for tensor, yes in zip((given, grid), wanted, strict=False)
        if yes
    ]
    corners = 2 ** max(len(given.shape) - 2, 0)
    flop = 2.0 * corners * grad.elements * len(results)
    return vector_work(flop, given, [grad, given, grid], [*results])


def windows_as_columns(call: CallArguments, given: Tensor) -> Work | None:
    """Each window of an image copied into a column."""
    names = ("kernel", "dilation", "padding", "stride")
    kernel, dilation, padding, stride = (call.per_dimension(name, 2) for name in names)
    if not all((kernel, dilation, padding, stride)):
        return None
    if len(given.shape) not in (3, 4) or min(stride) < 1:
        return None
    count = 1
    for axis, size in enumerate(given.shape[-2:]):
        reach = dilation[axis] * (kernel[axis] - 1)
        count *= (size + 2 * padding[axis] - reach - 1) // stride[axis] + 1
    rows = given.shape[-3] * math.prod(kernel)
    return memory_work([given], [given.sized(*given.shape[:-3], rows, max(count, 0))])


def columns_as_windows(call: CallArguments, given: Tensor) -> Work | None:
    """Columns added up where their windows lie in an image."""
    sizes = call.per_dimension("size", 2)
    kernel = call.per_dimension("kernel", 2)
    if not sizes or not kernel or len(given.shape) not in (2, 3):
        return None
    channels = given.shape[-2] // max(math.prod(kernel), 1)
    out = given.sized(*given.shape[:-2], channels, *sizes)
    return vector_work(given.elements, given, [given], [out])

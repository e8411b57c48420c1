"""Pooling, interpolation, sampling and windows of images: what changes sizes of space."""

from __future__ import annotations

import math
import re

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.work import Work, moved, vector_work

_INDEX = "long"


def _dimensions(call: CallArguments) -> int:
    """How many dimensions of space an operator has, which its name tells: `2d`."""
    found = re.search(r"([123])d", call.name)
    return int(found[1]) if found else 2


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
    found = Tensor(out.shape, _INDEX) if "max" in call.name else None
    return vector_work(out.elements * math.prod(kernel), given, [given], [out, found])


def pool_backward(call: CallArguments, grad: Tensor, given: Tensor) -> Work | None:
    """Each gradient added to the element it came from, or to all of its window."""
    found = call.tensor("found")
    window = 1 if found else math.prod(call.per_dimension("kernel", _dimensions(call)))
    made = Tensor(given.shape, grad.type)
    return vector_work(grad.elements * window, grad, [grad, found], [made])


def adaptive_pool(call: CallArguments, given: Tensor) -> Work | None:
    """Windows that cover the input, as many as the size that is asked for."""
    dimensions = _dimensions(call)
    sizes = call.per_dimension("size", dimensions)
    if not sizes or len(given.shape) <= dimensions:
        return None
    out = given.sized(*given.shape[:-dimensions], *sizes)
    found = Tensor(out.shape, _INDEX) if "max" in call.name else None
    return vector_work(given.elements, given, [given], [out, found])


def unpool(call: CallArguments, given: Tensor, found: Tensor) -> Work | None:
    """Elements put back where they were found; all else is zero."""
    sizes = call.integers("size")
    if not sizes or len(given.shape) <= len(sizes):
        return None
    return moved([given, found], [given.sized(*given.shape[: -len(sizes)], *sizes)])


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
    return tuple(float(one) for one in re.findall(r"[\d.]+", lists[-1])) if lists else ()


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
    asked = call.flags("mask") or (True, True)
    made = [one.sized(*one.shape) for one, yes in zip((given, grid), asked, strict=False) if yes]
    corners = 2 ** max(len(given.shape) - 2, 0)
    flop = 2.0 * corners * grad.elements * len(made)
    return vector_work(flop, given, [grad, given, grid], [*made])


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
    return moved([given], [given.sized(*given.shape[:-3], rows, max(count, 0))])


def columns_as_windows(call: CallArguments, given: Tensor) -> Work | None:
    """Columns added up where their windows lie in an image."""
    sizes = call.per_dimension("size", 2)
    kernel = call.per_dimension("kernel", 2)
    if not sizes or not kernel or len(given.shape) not in (2, 3):
        return None
    channels = given.shape[-2] // max(math.prod(kernel), 1)
    out = given.sized(*given.shape[:-2], channels, *sizes)
    return vector_work(given.elements, given, [given], [out])

"""Normalisations and softmax.

A normalisation counts five operations per element where it makes statistics (sum, square, sum of
squares, subtract, scale), and as many backward; two where these are given (scale, shift).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.work import Work, vector_work

_WITH_STATISTICS, _STATISTICS, _SCALE_AND_SHIFT = 5, 3, 2
_SOFTMAX, _SOFTMAX_BACKWARD = 5, 4


def _work(
    per_element: int, of: Tensor, read: Iterable[Tensor | None], written: Iterable[Tensor | None]
) -> Work:
    return vector_work(per_element * of.elements, of, read, written)


def _statistics(of: Tensor, count: float) -> Tensor:
    """Means or deviations: at least four bytes each."""
    return Tensor((int(count),), "double" if of.type == "double" else "float")


def batch_norm(call: CallArguments, given: Tensor) -> Work | None:
    """Normalisation over all but channels; in training it also writes what it found out."""
    if len(given.shape) < 2:
        return None
    weight, bias = call.tensor("weight"), call.tensor("bias")
    mean, variance = call.tensor("mean"), call.tensor("variance")
    out, found = given.sized(*given.shape), _statistics(given, given.shape[1])
    read = [given, weight, bias, mean, variance]
    # Without statistics of its own it must make them from what it is given.
    is_training = call.flag("training") if mean else True
    if is_training is False:
        return _work(_SCALE_AND_SHIFT, given, read, [out])
    work = _work(_WITH_STATISTICS, given, read, [out, found, found, mean, variance])
    is_told = is_training or "training" not in call.places
    return work if is_told else replace(work, assumed="in training")


def batch_norm_inference(call: CallArguments, given: Tensor) -> Work | None:
    """Scale and shift by statistics that are given."""
    read = [given, *(call.tensor(name) for name in ("weight", "bias", "mean", "variance"))]
    return _work(_SCALE_AND_SHIFT, given, read, [given.sized(*given.shape)])


def channel_statistics(call: CallArguments, given: Tensor) -> Work | None:
    """Two sums per channel over all else; of the product with `grad` where there is one."""
    grad = call.tensor("grad")
    if len(given.shape) < 2:
        return None
    found = _statistics(given, given.shape[1])
    read = [given, grad, call.tensor("mean"), call.tensor("variance")]
    return _work(_STATISTICS, given, read, [found, found])


def gathered_statistics(call: CallArguments, mean: Tensor) -> Work | None:
    """Statistics of several devices made one; the normalised tensor itself is not read."""
    variance = call.tensor("variance")
    if not mean.shape:
        return None
    found = _statistics(mean, mean.shape[-1])
    return _work(_WITH_STATISTICS, mean, [mean, variance, call.tensor("counts")], [found, found])


def scaled_gradient(call: CallArguments, grad: Tensor, given: Tensor) -> Work | None:
    """Gradient of the input of a batch normalisation from sums that are given."""
    names = ("mean", "variance", "weight", "sum", "product_sum")
    read = [grad, given, *(call.tensor(name) for name in names)]
    return _work(_WITH_STATISTICS, given, read, [given.sized(*given.shape)])


def row_norm(call: CallArguments, given: Tensor, *, statistics: int) -> Work | None:
    """Normalisation over the last dimensions; writes so many numbers per row.

    A layer norm has two, a mean and a deviation, scaling by the mean square only one.
    """
    if not given.shape:
        return None
    weight, sizes = call.tensor("weight"), call.integers("shape")
    width = math.prod(sizes) if sizes else weight.elements if weight else given.shape[-1]
    found = _statistics(given, statistics * given.elements / max(width, 1))
    read = [given, weight, call.tensor("bias")]
    work = _work(_WITH_STATISTICS, given, read, [given.sized(*given.shape), found])
    return work if sizes or weight else replace(work, assumed="over the last dimension")


def group_norm(call: CallArguments, given: Tensor) -> Work | None:
    """Normalisation over groups of channels; writes a mean and a deviation per group."""
    groups = call.integer("groups")
    if not given.shape:
        return None
    found = given.sized(given.shape[0] * (groups or 1))
    read = [given, call.tensor("weight"), call.tensor("bias")]
    return _work(_WITH_STATISTICS, given, read, [given.sized(*given.shape), found, found])


def normalisation_backward(call: CallArguments, grad: Tensor, given: Tensor) -> Work | None:
    """Gradients of input, weight and bias as far as `mask` asks; all where there is none."""
    weight = call.tensor("weight")
    parameters = [weight, weight] if call.tensor("mean") else [weight]
    asked = call.flags("mask") or (True,) * 3
    made = [given.sized(*given.shape), *parameters]
    written = [one for one, is_asked in zip(made, asked, strict=False) if is_asked]
    read = [grad, given, weight, call.tensor("mean"), call.tensor("deviation")]
    return _work(_WITH_STATISTICS, given, read, written)


def softmax(call: CallArguments, given: Tensor) -> Work | None:
    """Greatest, subtract, exponential, sum, divide: five per element; its logarithm likewise."""
    kind = "float" if call.flag("to_float") else given.type
    out = Tensor(given.shape, kind)
    return _work(_SOFTMAX, given, [given, call.tensor("mask")], [out])


def softmax_backward(call: CallArguments, grad: Tensor, output: Tensor) -> Work | None:
    """Multiply, sum, subtract, multiply: four per element."""
    made = Tensor(output.shape, call.type_of("type") or grad.type)
    return _work(_SOFTMAX_BACKWARD, output, [grad, output, call.tensor("mask")], [made])


def weight_norm(given: Tensor, norms: Tensor) -> Work | None:
    """A weight scaled to given norms; writes the norms it had."""
    made = [given.sized(*given.shape), _statistics(given, norms.elements)]
    return _work(_STATISTICS, given, [given, norms], made)


def weight_norm_backward(
    call: CallArguments, grad: Tensor, given: Tensor, norms: Tensor
) -> Work | None:
    """Gradients of a weight and of its norms."""
    made = [given.sized(*given.shape), norms.sized(*norms.shape)]
    return _work(_WITH_STATISTICS, given, [grad, given, norms, call.tensor("found")], made)

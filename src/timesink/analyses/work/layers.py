"""Losses, dropout, Fourier transforms, recurrent and fused layers, normalisations, softmax.

A normalisation counts five operations per element where it makes statistics (sum, square, sum of
squares, subtract, scale), and as many backward; two where these are given (scale, shift).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.formulas import Work, memory_work, vector_work

_COMPLEX = {
    "float": "c10::complex<float>",
    "double": "c10::complex<double>",
    "c10::Half": "c10::complex<c10::Half>",
}
_REAL = {both: real for real, both in _COMPLEX.items()}
_UNREDUCED = 0
"""What stands for a loss per element."""


def loss(call: CallArguments, given: Tensor, target: Tensor) -> Work | None:
    """Difference, function and sum: three per element of `given` and `target`."""
    is_reduced = call.integer("reduction") != _UNREDUCED
    out = given.sized() if is_reduced else given.sized(*given.shape)
    read = [given, target, call.tensor("weight"), call.tensor("positive_weight")]
    return vector_work(3 * given.elements, given, read, [out])


def loss_backward(call: CallArguments, grad: Tensor, given: Tensor, target: Tensor) -> Work | None:
    """Difference, derivative and scale: three per element."""
    read = [grad, given, target, call.tensor("weight")]
    return vector_work(3 * given.elements, given, read, [given.sized(*given.shape)])


def class_loss(call: CallArguments, given: Tensor, target: Tensor) -> Work | None:
    """One element of `given` read per target, weighed and added up."""
    picked = given.sized(target.elements)
    is_reduced = call.integer("reduction") != _UNREDUCED
    out = [given.sized() if is_reduced else picked, given.sized()]
    return vector_work(2 * target.elements, given, [picked, target, call.tensor("weight")], out)


def class_loss_backward(
    call: CallArguments, grad: Tensor, given: Tensor, target: Tensor
) -> Work | None:
    """A gradient like `given`, zero but for one element per target."""
    read = [grad, target, call.tensor("weight")]
    return vector_work(target.elements, given, read, [given.sized(*given.shape)])


def alignment_loss(call: CallArguments, given: Tensor, target: Tensor) -> Work | None:
    """Loss over alignments (CTC): eight operations per step and state of the labels."""
    if len(given.shape) != 3:
        return None
    steps, batch, _ = given.shape
    lengths = call.integers("target_lengths")
    longest = max(lengths) if lengths else target.shape[-1] if len(target.shape) == 2 else 0
    states = given.sized(batch, steps, 2 * longest + 1)
    results = [given.sized(batch), states]
    work = vector_work(8 * states.elements, given, [given, target], results)
    return work if longest else replace(work, assumed="labels of unknown length")


def alignment_loss_backward(
    call: CallArguments, given: Tensor, target: Tensor, states: Tensor
) -> Work | None:
    """Gradient of the loss over alignments, from the states of the way forward."""
    read = [call.tensor("grad"), given, target, states]
    return vector_work(8 * states.elements, given, read, [given.sized(*given.shape)])


def dropout(given: Tensor) -> Work | None:
    """Draw and scale: two per element; writes which elements were kept."""
    results = [given.sized(*given.shape), Tensor(given.shape, "bool")]
    return vector_work(2 * given.elements, given, [given], results)


def dropout_backward(grad: Tensor, mask: Tensor) -> Work | None:
    """Select and scale: two per element."""
    return vector_work(2 * grad.elements, grad, [grad, mask], [grad.sized(*grad.shape)])


def fourier_transform(call: CallArguments, given: Tensor) -> Work | None:
    """5 n log2(n) operations for n complex elements, half of that where one side is real."""
    axes = call.integers("axes")
    if not given.shape or not axes:
        return None
    if not all(-len(given.shape) <= axis < len(given.shape) for axis in axes):
        return None
    shape, longest, kind = list(given.shape), list(given.shape), given.type
    last, share = axes[-1], 1.0
    if given.type in _COMPLEX:
        share, kind = 0.5, _COMPLEX[given.type]
        if call.flag("one_sided") is not False:
            shape[last] = shape[last] // 2 + 1
    elif "last_size" in call.places:
        size = call.integer("last_size") or 2 * (shape[last] - 1)
        share, kind = 0.5, _REAL.get(given.type, given.type)
        shape[last] = longest[last] = size
    points = math.prod(longest[axis] for axis in axes)
    flop = share * 5 * math.prod(longest) * math.log2(points) if points > 0 else 0.0
    return vector_work(flop, given, [given], [Tensor(tuple(shape), kind)])


def recurrent(call: CallArguments, given: Tensor, hidden: Tensor) -> Work | None:
    """Each step of each sequence times all weights; what gates do element by element is left out.

    Weights are the list's matrices, or all of their one buffer where the list was not recorded.
    """
    cell = call.tensor("cell")
    weights = _weights(call)
    if weights is None or not given.shape:
        return None
    steps = given.elements // max(given.shape[-1], 1)
    directions = 2 if call.flag("both_ways") else 1
    out = given.sized(steps, directions * hidden.shape[-1] if hidden.shape else 0)
    results = [out, hidden, cell]
    return replace(
        memory_work([given, weights, hidden, cell], results),
        matrix_flop=2.0 * steps * _matrix_elements(call, weights),
        precision=given.precision,
        assumed="" if call.tensor_list("weights") else "all weights are in matrices",
    )


def recurrent_backward(call: CallArguments, given: Tensor) -> Work | None:
    """Gradients of input and weights: twice the products of the way forward."""
    weights = _weights(call)
    output, grad = call.tensor("output"), call.tensor("grad")
    if weights is None or not given.shape:
        return None
    steps = given.elements // max(given.shape[-1], 1)
    return replace(
        memory_work([given, weights, output, grad], [given.sized(*given.shape), weights]),
        matrix_flop=4.0 * steps * _matrix_elements(call, weights),
        precision=given.precision,
        assumed="" if call.tensor_list("weights") else "all weights are in matrices",
    )


def _weights(call: CallArguments) -> Tensor | None:
    """All weights as one tensor, of the type of the input."""
    source, listed = call.tensor("given"), call.tensor_list("weights")
    if source is None or not listed:
        return call.tensor("buffer")
    return source.sized(sum(tensor.elements for tensor in listed))


def _matrix_elements(call: CallArguments, weights: Tensor) -> int:
    listed = call.tensor_list("weights")
    return sum(tensor.elements for tensor in listed if len(tensor.shape) == 2) or weights.elements


def recurrent_cell(
    call: CallArguments, gates: Tensor, hidden_gates: Tensor, state: Tensor
) -> Work | None:
    """Gates of one step: three operations per gate and five per state; gates are kept."""
    is_lstm = "lstm" in call.name
    saved = state.sized(state.elements * (4 if is_lstm else 5))
    results = [state, state if is_lstm else None, saved]
    read = [gates, hidden_gates, state, call.tensor("bias"), call.tensor("hidden_bias")]
    return vector_work(3 * gates.elements + 5 * state.elements, gates, read, results)


def recurrent_cell_backward(call: CallArguments, kept: Tensor) -> Work | None:
    """Gradients of the gates of one step and of the state before it."""
    is_lstm = "lstm" in call.name
    grad, cell_grad = call.tensor("grad"), call.tensor("cell_grad")
    states = kept.elements // (4 if is_lstm else 5)
    result = kept.sized(states * (5 if is_lstm else 7))
    read = [grad, cell_grad, kept, call.tensor("state"), call.tensor("new_state")]
    return vector_work(3 * result.elements, kept, read, [result])


def distances(a: Tensor, b: Tensor) -> Work | None:
    """Subtract, power and sum for each pair of rows."""
    if len(a.shape) < 2 or len(a.shape) != len(b.shape):
        return None
    out = a.sized(*a.shape[:-1], b.shape[-2])
    return vector_work(3 * out.elements * a.shape[-1], a, [a, b], [out])


# -- norms with the layers after them, as TransformerEngine fuses them: of an autograd function only
# its tensors are recorded, in order ---------------------------------------------------------------

_EIGHT_BITS = ("e4m3", "e5m2", "fp8", "_qq", "f8")


def norm_and_linear(call: CallArguments) -> Work | None:
    """Rows, weights of a norm, and the weight (N x K) of the layer after it."""
    x, matrices = _rows_first(call)
    if x is None or not matrices or matrices[0].shape[1] != x.shape[-1]:
        return None
    return _after_norm(call, x, matrices[:1])


def norm_and_perceptron(call: CallArguments) -> Work | None:
    """Rows, weights of a norm, and those of two layers: (N or 2 N) x K, and K x N."""
    x, matrices = _rows_first(call)
    if x is None or len(matrices) < 2:
        return None
    up, down = matrices[:2]
    if up.shape[1] != x.shape[-1] or down.shape[0] != x.shape[-1]:
        return None
    if up.shape[0] not in (down.shape[1], 2 * down.shape[1]):
        return None
    return _after_norm(call, x, [up, down])


def _rows_first(call: CallArguments) -> tuple[Tensor | None, list[Tensor]]:
    tensors = [tensor for tensor in call.tensors if tensor.elements]
    if not tensors or len(tensors[0].shape) < 2 or not tensors[0].element_bytes:
        return None, []
    return tensors[0], [tensor for tensor in tensors[1:] if len(tensor.shape) == 2]


def _after_norm(call: CallArguments, x: Tensor, weights: Sequence[Tensor]) -> Work | None:
    """A norm, and products of rows with one weight after another; what lies between stays."""
    if not x.element_bytes or not all(weight.element_bytes for weight in weights):
        return None
    rows = math.prod(x.shape[:-1])
    names = " ".join(launch.kernel for launch in call.launches).lower()
    eight = any(word in names for word in _EIGHT_BITS)
    work = memory_work([x, *weights], [x.sized(*x.shape[:-1], weights[-1].shape[0])])
    return replace(
        work,
        matrix_flop=2.0 * rows * sum(weight.elements for weight in weights),
        vector_flop=2.0 * x.elements,
        precision="fp8" if eight else x.precision,
        assumed="results for the backward pass are left out",
    )


# -- normalisations and softmax -------------------------------------------------------------------


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
    out, statistics = given.sized(*given.shape), _statistics(given, given.shape[1])
    read = [given, weight, bias, mean, variance]
    # Without statistics of its own it must make them from what it is given.
    is_training = call.flag("training") if mean else True
    if is_training is False:
        return _work(_SCALE_AND_SHIFT, given, read, [out])
    work = _work(_WITH_STATISTICS, given, read, [out, statistics, statistics, mean, variance])
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
    statistics = _statistics(given, given.shape[1])
    read = [given, grad, call.tensor("mean"), call.tensor("variance")]
    return _work(_STATISTICS, given, read, [statistics, statistics])


def gathered_statistics(call: CallArguments, mean: Tensor) -> Work | None:
    """Statistics of several devices made one; the normalised tensor itself is not read."""
    variance = call.tensor("variance")
    if not mean.shape:
        return None
    statistics = _statistics(mean, mean.shape[-1])
    return _work(
        _WITH_STATISTICS, mean, [mean, variance, call.tensor("counts")], [statistics, statistics]
    )


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
    row_statistics = _statistics(given, statistics * given.elements / max(width, 1))
    read = [given, weight, call.tensor("bias")]
    work = _work(_WITH_STATISTICS, given, read, [given.sized(*given.shape), row_statistics])
    return work if sizes or weight else replace(work, assumed="over the last dimension")


def group_norm(call: CallArguments, given: Tensor) -> Work | None:
    """Normalisation over groups of channels; writes a mean and a deviation per group."""
    groups = call.integer("groups")
    if not given.shape:
        return None
    group_statistics = given.sized(given.shape[0] * (groups or 1))
    read = [given, call.tensor("weight"), call.tensor("bias")]
    return _work(
        _WITH_STATISTICS,
        given,
        read,
        [given.sized(*given.shape), group_statistics, group_statistics],
    )


def normalisation_backward(call: CallArguments, grad: Tensor, given: Tensor) -> Work | None:
    """Gradients of input, weight and bias as far as `mask` asks; all where there is none."""
    weight = call.tensor("weight")
    parameters = [weight, weight] if call.tensor("mean") else [weight]
    wanted = call.flags("mask") or (True,) * 3
    results = [given.sized(*given.shape), *parameters]
    written = [tensor for tensor, is_asked in zip(results, wanted, strict=False) if is_asked]
    read = [grad, given, weight, call.tensor("mean"), call.tensor("deviation")]
    return _work(_WITH_STATISTICS, given, read, written)


def softmax(call: CallArguments, given: Tensor) -> Work | None:
    """Greatest, subtract, exponential, sum, divide: five per element; its logarithm likewise."""
    kind = "float" if call.flag("to_float") else given.type
    out = Tensor(given.shape, kind)
    return _work(_SOFTMAX, given, [given, call.tensor("mask")], [out])


def softmax_backward(call: CallArguments, grad: Tensor, output: Tensor) -> Work | None:
    """Multiply, sum, subtract, multiply: four per element."""
    result = Tensor(output.shape, call.type_of("type") or grad.type)
    return _work(_SOFTMAX_BACKWARD, output, [grad, output, call.tensor("mask")], [result])


def weight_norm(given: Tensor, norms: Tensor) -> Work | None:
    """A weight scaled to given norms; writes the norms it had."""
    results = [given.sized(*given.shape), _statistics(given, norms.elements)]
    return _work(_STATISTICS, given, [given, norms], results)


def weight_norm_backward(
    call: CallArguments, grad: Tensor, given: Tensor, norms: Tensor
) -> Work | None:
    """Gradients of a weight and of its norms."""
    results = [given.sized(*given.shape), norms.sized(*norms.shape)]
    return _work(_WITH_STATISTICS, given, [grad, given, norms, call.tensor("found")], results)

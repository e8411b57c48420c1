"""Layers that libraries fuse: TransformerEngine's norms with the layers after them.

What these call is not recorded; of an autograd function only its tensors are, in order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.work import Formula, Work, moved

_EIGHT_BITS = ("e4m3", "e5m2", "fp8", "_qq", "f8")


def norm_and_linear(call: CallArguments) -> Work | None:
    """Rows, weights of a norm, and the weight (N x K) of the layer after it."""
    x, matrices = _rows_first(call)
    if x is None or not matrices or matrices[0].shape[1] != x.shape[-1]:
        return None
    return _layers(call, x, matrices[:1], norm=True)


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
    return _layers(call, x, [up, down], norm=True)


def _rows_first(call: CallArguments) -> tuple[Tensor | None, list[Tensor]]:
    tensors = [one for one in call.tensors if one.elements]
    if not tensors or len(tensors[0].shape) < 2 or not tensors[0].element_bytes:
        return None, []
    return tensors[0], [one for one in tensors[1:] if len(one.shape) == 2]


def _layers(
    call: CallArguments, x: Tensor, weights: Sequence[Tensor], *, norm: bool = False
) -> Work | None:
    """Products of rows with one weight after another; what lies between is not moved."""
    if not x.element_bytes or not all(one.element_bytes for one in weights):
        return None
    rows = math.prod(x.shape[:-1])
    names = " ".join(launch.kernel for launch in call.launches).lower()
    eight = any(word in names for word in _EIGHT_BITS)
    work = moved([x, *weights], [x.sized(*x.shape[:-1], weights[-1].shape[0])])
    return replace(
        work,
        matrix_flop=2.0 * rows * sum(one.elements for one in weights),
        vector_flop=2.0 * x.elements if norm else 0.0,
        precision="fp8" if eight else x.precision,
        assumed="results for the backward pass are left out",
    )


FORMULAS: Mapping[str, Formula] = {
    "norm_and_linear": norm_and_linear,
    "norm_and_perceptron": norm_and_perceptron,
}

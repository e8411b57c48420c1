"""Products with weights of fewer bits, and changing numbers to fewer bits and back."""

from __future__ import annotations

import math
from dataclasses import replace

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.work import Work, moved

_BITS = (1.9, 8.7)
"""What a weight may take; a little more than eight where rows are padded."""


def scaled_product(call: CallArguments, a: Tensor, b: Tensor, packed: int = 0) -> Work | None:
    """`a` (M x K) times `b` (K x N or N x K), both scaled: 2 M N K, M N more with a bias.

    The result is `out`, or of the type that `type` names.  With `packed` there are two numbers to a
    byte: K is twice what `a` has in a row.
    """
    out = call.tensor("out")
    if len(a.shape) < 2 or len(b.shape) != 2:
        return None
    k = a.shape[-1]
    if k not in b.shape:
        return None
    n = b.shape[1] if b.shape[0] == k else b.shape[0]
    if out is not None and out.shape and out.shape[-1] in b.shape:
        n = out.shape[-1]
    if out is not None and out.elements != math.prod(a.shape[:-1]) * n:
        return None
    # Two numbers of four bits share a byte, or an element of that type.
    packed = packed or a.precision == "fp4"
    work = _scaled(call, (a, b), (n, k * 2 if packed else k), out)
    return replace(work, precision="fp4") if packed else work


def fused_linear(call: CallArguments, x: Tensor, w: Tensor) -> Work | None:
    """`x` times `w`, given as N x K, with `bias`; rows of half that length hold four bits each."""
    if len(w.shape) != 2 or not x.shape:
        return None
    n, k = w.shape[0], x.shape[-1]
    packed = w.element_bytes == 1 and 2 * w.shape[1] == k
    if w.shape[1] != k and not packed:
        return None
    work = _scaled(call, (x, w), (n, k), x.sized(*x.shape[:-1], n))
    return replace(work, precision="fp4") if packed else work


def packed_product(call: CallArguments, x: Tensor) -> Work | None:
    """`x` times weights packed into integers: 2 M N K; computed in the type of `x`.

    Versions differ in where arguments are.  The weights are the first integers of two dimensions,
    their scales the first other tensor of two dimensions after them, with N columns.
    """
    if not x.shape or not x.shape[-1]:
        return None
    flat = [one if isinstance(one, Tensor) else None for one in call.inputs]
    places = [place for place, one in enumerate(flat) if place and one and _is_packed(one)]
    if not places:
        return None
    weights = flat[places[0]]
    after = [one for one in flat[places[0] + 1 :] if one and len(one.shape) == 2]
    scales = next((one for one in after if not _is_integer(one)), None)
    if weights is None:
        return None
    k, n = x.shape[-1], scales.shape[-1] if scales else weights.shape[-1]
    if not n or not _BITS[0] <= 8 * weights.bytes / (k * n) <= _BITS[1]:
        return None
    rows = x.elements // k
    work = moved([x, weights, *after], [x.sized(rows, n)])
    return replace(work, matrix_flop=2.0 * rows * n * k, precision=x.precision)


def codebook_product(call: CallArguments, x: Tensor, w: Tensor) -> Work | None:
    """`x` times weights of four bits (`w`), whose shape N x K is an argument: 2 M N K."""
    shape = call.integers("shape")
    if len(shape) != 2 or not x.shape or x.shape[-1] != shape[1]:
        return None
    n, k = shape
    rows = x.elements // k if k else 0
    work = moved([x, w, call.tensor("scale"), call.tensor("code")], [x.sized(rows, n)])
    return replace(work, matrix_flop=2.0 * rows * n * k, precision=x.precision)


def block_format_product(call: CallArguments, x: Tensor, w: Tensor) -> Work | None:
    """`x` times weights in blocks of some format (`w`, bytes), with N as an argument: 2 M N K."""
    n = call.integer("n")
    if not n or not x.shape:
        return None
    k = x.shape[-1]
    rows = x.elements // k if k else 0
    work = moved([x, w], [x.sized(rows, n)])
    return replace(work, matrix_flop=2.0 * rows * n * k, precision=x.precision)


# -- to fewer bits and back ------------------------------------------------------------------------


def quantisation(call: CallArguments, x: Tensor, out: Tensor, *, per_element: int) -> Work | None:
    """`x` to `out` with scales given: one operation an element.

    With scales from its largest elements (`new_scale`) two an element.
    """
    # Versions order arguments differently: a scale in the place of `x` is no such call.
    if not x.elements // 8 <= out.elements <= 2 * x.elements:
        return None
    work = moved([x, call.tensor("scale")], [out, call.tensor("new_scale")])
    return replace(work, vector_flop=float(per_element * x.elements), precision=x.precision)


def blockwise_quantisation(call: CallArguments, x: Tensor) -> Work | None:
    """`x` to bytes, or with `half` named to half bytes, and a scale for each block of them."""
    block = call.integer("block")
    share = 0.5 if "half" in call.places else 1.0
    scales = 4.0 * math.ceil(x.elements / block) if block else 0.0
    return Work(
        vector_flop=2.0 * x.elements,
        precision=x.precision,
        read_bytes=x.bytes + moved([call.tensor("code")], []).read_bytes,
        written_bytes=share * x.elements + scales,
        assumed="" if block else "scales are left out",
    )


def dequantisation(call: CallArguments, x: Tensor) -> Work | None:
    """`x` to the type that `type` names, one operation an element; as many as `shape` says."""
    told = call.type_of("type")
    written = Tensor((), told or call.facts.usual_type)
    if not written.element_bytes:
        return None
    elements = x.elements
    if "shape" in call.places:
        shape = call.integers("shape")
        if not shape:
            return None
        elements = math.prod(shape)
    return Work(
        vector_flop=float(elements),
        precision=written.precision,
        read_bytes=moved([x, call.tensor("scale"), call.tensor("code")], []).read_bytes,
        written_bytes=elements * written.element_bytes,
        assumed="" if told else f"result is {written.precision}",
    )


def unpacked_weights(call: CallArguments, x: Tensor, scale: Tensor) -> Work | None:
    """Eight numbers of each integer of `x`, scaled: to the type of their scales."""
    if x.element_bytes != 4:
        return None
    elements = x.elements * 8
    work = moved([x, scale, call.tensor("zeros")], [scale.sized(elements)])
    return replace(work, vector_flop=2.0 * elements, precision=scale.precision)


def _scaled(
    call: CallArguments, factors: tuple[Tensor, Tensor], size: tuple[int, ...], out: Tensor | None
) -> Work:
    a, b = factors
    n, k = size
    rows, assumed = math.prod(a.shape[:-1]), ""
    if out is None:
        kind = call.type_of("type")
        assumed = "" if kind else "result has 16 bits"
        out = Tensor((rows, n), kind or "c10::BFloat16")
    bias = call.tensor("bias")
    scales = [call.tensor(name) for name in ("scale_a", "scale_b")]
    work = moved([a, b, bias, *scales], [out])
    flop = 2.0 * rows * n * k + (rows * n if bias else 0)
    return replace(work, matrix_flop=flop, precision=a.precision, assumed=assumed)


def _is_integer(one: Tensor) -> bool:
    return one.precision in ("int", "int8")


def _is_packed(one: Tensor) -> bool:
    return _is_integer(one) and len(one.shape) == 2 and one.elements > 0

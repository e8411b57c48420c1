"""Products of matrices: 2 M N K operations, M N more where a bias is added.

A complex multiplication and addition counts as four real ones.  Weights of fewer bits, and numbers
changed to fewer bits and back, are below.
"""

from __future__ import annotations

import math
from dataclasses import replace

from msgspec import structs

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.formulas import Work, memory_work


def matmul(call: CallArguments, a: Tensor, b: Tensor) -> Work | None:
    """`a` (.. x M x K) times `b` (.. x K x N) plus `beta` times `bias`, as in mm, addmm and bmm.

    Vectors are matrices of one row or column. With `out_type` the product has another type.
    """
    if not a.shape or not b.shape:
        return None
    *batch, m, k = a.shape if len(a.shape) > 1 else (1, *a.shape)
    *other, rows, n = b.shape if len(b.shape) > 1 else (*b.shape, 1)
    if batch != other or k != rows:
        return None
    bias, kind = call.tensor("bias"), call.type_of("out_type")
    beta = call.places.get("beta", -1)
    if bias and kind:
        # addmm has its type before beta, but only where both factors follow as plain numbers.
        is_typed = len(call.inputs) > beta + 2 and call.tensor(beta + 2) is None
        kind, beta = (kind, beta + 1) if is_typed else (None, beta)
    if call.number(beta) == 0:
        bias = None
    return _product(a, b, Tensor((*batch, m, n), kind or a.type), k, bias)


def sum_of_products(call: CallArguments, a: Tensor, b: Tensor) -> Work | None:
    """Products of a batch added up into one matrix, as in addbmm."""
    if len(a.shape) != 3 or len(b.shape) != 3:
        return None
    (batch, m, k), n = a.shape, b.shape[2]
    return _product(a, b, a.sized(m, n), batch * k, call.tensor("bias"))


def linear(call: CallArguments, a: Tensor, b: Tensor) -> Work | None:
    """Rows `a` (.. x K) times a weight `b` that is stored as N x K."""
    if not a.shape or len(b.shape) != 2 or a.shape[-1] != b.shape[1]:
        return None
    product = a.sized(*a.shape[:-1], b.shape[0])
    return _product(a, b, product, b.shape[1], call.tensor("bias"))


def linear_backward(call: CallArguments, grad: Tensor, a: Tensor, b: Tensor) -> Work | None:
    """Gradients of rows `a`, weight `b` (N x K) and bias, as far as `mask` asks for them."""
    if len(b.shape) != 2:
        return None
    rows, (n, k) = math.prod(grad.shape[:-1]), b.shape
    wanted = call.flags("mask") or (True, True, True)
    if len(wanted) != 3:
        return None
    work = memory_work(
        [grad, a if wanted[1] else None, b if wanted[0] else None],
        [tensor for tensor, is_asked in zip((a, b, b.sized(n)), wanted, strict=True) if is_asked],
    )
    flop = 2.0 * rows * n * k * (wanted[0] + wanted[1]) + rows * n * wanted[2]
    return replace(work, matrix_flop=flop, precision=a.precision)


def scaled_matmul(call: CallArguments, a: Tensor, b: Tensor) -> Work | None:
    """`a` times `b` in eight or four bits with scales; the type of the product is `out_type`.

    Recordings of PyTorch before 2.5 have the bias in the place of the first scale.
    """
    if len(a.shape) != 2 or len(b.shape) != 2:
        return None
    is_older = call.name == "aten::_scaled_mm" and call.tensor("scale_b") is None
    bias = call.tensor("scale_a" if is_older else "bias")
    out_type = call.type_of("scale_b" if is_older else "out_type")
    scales = [scale for name in ("scale_a", "scale_b") for scale in _scales(call, name)]
    if is_older:
        scales = [scale for place in (4, 5) if (scale := call.tensor(place))]
    product = Tensor((a.shape[0], b.shape[1]), out_type or "c10::BFloat16")
    k = a.shape[1] * (2 if a.type.endswith("_x2") else 1)
    work = _product(a, b, product, k, bias)
    work = replace(work, read_bytes=work.read_bytes + sum(scale.bytes for scale in scales))
    return work if out_type else replace(work, assumed="the product has two bytes per element")


def _scales(call: CallArguments, name: str) -> tuple[Tensor, ...]:
    scale = call.tensor(name)
    # Types within a list are not recorded; such scales have one byte per block of elements.
    return (
        (scale,)
        if scale
        else tuple(structs.replace(s, type="signed char") for s in call.tensor_list(name))
    )


def grouped_matmul(call: CallArguments, a: Tensor, b: Tensor) -> Work | None:
    """One product per group, of rows (or columns, or the inner dimension) that `ends` divides."""
    if len(a.shape) not in (2, 3) or len(b.shape) not in (2, 3):
        return None
    ends = call.tensor("ends")
    groups = ends.elements if ends else 1
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    if len(a.shape) == len(b.shape):
        # Two matrices share the divided inner dimension; two stacks are one product per member.
        batch = groups if len(a.shape) == 2 else a.shape[0]
        flop = 2.0 * m * n * k * (1 if len(a.shape) == 2 else batch)
        shape: tuple[int, ...] = (batch, m, n)
    else:
        flop, shape = 2.0 * m * n * k, (m, n)
    kind = call.type_of("out_type") or ("c10::BFloat16" if a.element_bytes < 2 else a.type)
    bias = call.tensor("bias")
    scales = [*_scales(call, "scale_a"), *_scales(call, "scale_b")]
    work = memory_work([a, b, bias, ends, *scales], [Tensor(shape, kind)])
    flop *= 2 if a.type.endswith("_x2") else 1
    return replace(
        work,
        matrix_flop=flop + (math.prod(shape) if bias else 0),
        precision=a.precision,
        assumed="" if len(a.shape) == len(b.shape) == 3 else "every row belongs to a group",
    )


def int_matmul(a: Tensor, b: Tensor) -> Work | None:
    """`a` times `b` in integers of one byte; the product has four."""
    if len(a.shape) != 2 or len(b.shape) != 2:
        return None
    return _product(a, b, Tensor((a.shape[0], b.shape[1]), "int"), a.shape[1], None)


def packed_matmul(a: Tensor, b: Tensor, scales: Tensor) -> Work | None:
    """Rows `a` (M x K) times a packed weight `b`, whose N is told by its `scales`.

    Four-bit weights have scales K / group x N x 2, eight-bit ones N.
    """
    if len(a.shape) != 2 or not scales.shape:
        return None
    (m, k), n = a.shape, scales.shape[1 if len(scales.shape) == 3 else 0]
    work = memory_work([a, b, scales], [a.sized(m, n)])
    return replace(work, matrix_flop=2.0 * m * n * k, precision=a.precision)


def transformer_engine_gemm(call: CallArguments, a: Tensor, b: Tensor, out: Tensor) -> Work | None:
    """`b` times `a` into `out`, both stored by columns, each transposed or not."""
    across, along = call.flag("transpose_a"), call.flag("transpose_b")
    if len(a.shape) != 2 or len(b.shape) != 2:
        return None
    if across is None or along is None:
        # Numbers stand for flags in some recordings.
        across, along = bool(call.integer("transpose_a")), bool(call.integer("transpose_b"))
    n, k = a.shape if across else a.shape[::-1]
    m = b.shape[1] if along else b.shape[0]
    work = memory_work([a, b, call.tensor("bias")], [out])
    is_fp8 = a.type == "unsigned char"
    return replace(work, matrix_flop=2.0 * m * n * k, precision="fp8" if is_fp8 else a.precision)


def outer_product(call: CallArguments, a: Tensor, b: Tensor) -> Work | None:
    """Each element of `a` times each of `b`, added to `bias` where there is one."""
    bias = call.tensor("bias")
    product = a.sized(a.elements, b.elements)
    flop = product.elements * (2.0 if bias else 1.0)
    return replace(memory_work([a, b, bias], [product]), vector_flop=flop, precision=a.precision)


def _product(a: Tensor, b: Tensor, product: Tensor, k: int, bias: Tensor | None) -> Work:
    """Work of a product whose elements are sums of `k` terms; `bias` is spread over it."""
    flop = 2.0 * product.elements * k * (4 if "complex" in a.type else 1)
    flop += product.elements if bias else 0
    # What is computed with is the wider operand: rows of two bytes times weights of one.
    precision = max((a, b), key=lambda tensor: tensor.element_bytes).precision
    return replace(memory_work([a, b, bias], [product]), matrix_flop=flop, precision=precision)


# -- weights of fewer bits, and numbers to fewer bits and back -------------------------------------


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
    work = _scaled_product(call, (a, b), (n, k * 2 if packed else k), out)
    return replace(work, precision="fp4") if packed else work


def fused_linear(call: CallArguments, x: Tensor, w: Tensor) -> Work | None:
    """`x` times `w`, given as N x K, with `bias`; rows of half that length hold four bits each."""
    if len(w.shape) != 2 or not x.shape:
        return None
    n, k = w.shape[0], x.shape[-1]
    packed = w.element_bytes == 1 and 2 * w.shape[1] == k
    if w.shape[1] != k and not packed:
        return None
    work = _scaled_product(call, (x, w), (n, k), x.sized(*x.shape[:-1], n))
    return replace(work, precision="fp4") if packed else work


def packed_product(call: CallArguments, x: Tensor) -> Work | None:
    """`x` times weights packed into integers: 2 M N K; computed in the type of `x`.

    Versions differ in where arguments are.  The weights are the first integers of two dimensions,
    their scales the first other tensor of two dimensions after them, with N columns.
    """
    if not x.shape or not x.shape[-1]:
        return None
    flat = [entry if isinstance(entry, Tensor) else None for entry in call.inputs]
    places = [
        place
        for place, tensor in enumerate(flat)
        if place and tensor and _is_integer(tensor) and len(tensor.shape) == 2 and tensor.elements
    ]
    if not places:
        return None
    weights = flat[places[0]]
    after = [tensor for tensor in flat[places[0] + 1 :] if tensor and len(tensor.shape) == 2]
    scales = next((tensor for tensor in after if not _is_integer(tensor)), None)
    if weights is None:
        return None
    k, n = x.shape[-1], scales.shape[-1] if scales else weights.shape[-1]
    if not n or not _BITS[0] <= 8 * weights.bytes / (k * n) <= _BITS[1]:
        return None
    rows = x.elements // k
    work = memory_work([x, weights, *after], [x.sized(rows, n)])
    return replace(work, matrix_flop=2.0 * rows * n * k, precision=x.precision)


def codebook_product(call: CallArguments, x: Tensor, w: Tensor) -> Work | None:
    """`x` times weights of four bits (`w`), whose shape N x K is an argument: 2 M N K."""
    shape = call.integers("shape")
    if len(shape) != 2 or not x.shape or x.shape[-1] != shape[1]:
        return None
    n, k = shape
    rows = x.elements // k if k else 0
    work = memory_work([x, w, call.tensor("scale"), call.tensor("code")], [x.sized(rows, n)])
    return replace(work, matrix_flop=2.0 * rows * n * k, precision=x.precision)


def block_format_product(call: CallArguments, x: Tensor, w: Tensor) -> Work | None:
    """`x` times weights in blocks of some format (`w`, bytes), with N as an argument: 2 M N K."""
    n = call.integer("n")
    if not n or not x.shape:
        return None
    k = x.shape[-1]
    rows = x.elements // k if k else 0
    work = memory_work([x, w], [x.sized(rows, n)])
    return replace(work, matrix_flop=2.0 * rows * n * k, precision=x.precision)


# -- to fewer bits and back ------------------------------------------------------------------------


def quantisation(call: CallArguments, x: Tensor, out: Tensor, *, per_element: int) -> Work | None:
    """`x` to `out` with scales given: one operation an element.

    With scales from its largest elements (`new_scale`) two an element.
    """
    # Versions order arguments differently: a scale in the place of `x` is no such call.
    if not x.elements // 8 <= out.elements <= 2 * x.elements:
        return None
    work = memory_work([x, call.tensor("scale")], [out, call.tensor("new_scale")])
    return replace(work, vector_flop=float(per_element * x.elements), precision=x.precision)


def blockwise_quantisation(call: CallArguments, x: Tensor) -> Work | None:
    """`x` to bytes, or with `half` named to half bytes, and a scale for each block of them."""
    block = call.integer("block")
    share = 0.5 if "half" in call.places else 1.0
    scales = 4.0 * math.ceil(x.elements / block) if block else 0.0
    return Work(
        vector_flop=2.0 * x.elements,
        precision=x.precision,
        read_bytes=x.bytes + memory_work([call.tensor("code")], []).read_bytes,
        written_bytes=share * x.elements + scales,
        assumed="" if block else "scales are left out",
    )


def dequantisation(call: CallArguments, x: Tensor) -> Work | None:
    """`x` to the type that `type` names, one operation an element; as many as `shape` says."""
    type_name = call.type_of("type")
    written = Tensor((), type_name or call.facts.usual_type)
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
        read_bytes=memory_work([x, call.tensor("scale"), call.tensor("code")], []).read_bytes,
        written_bytes=elements * written.element_bytes,
        assumed="" if type_name else f"result is {written.precision}",
    )


def unpacked_weights(call: CallArguments, x: Tensor, scale: Tensor) -> Work | None:
    """Eight numbers of each integer of `x`, scaled: to the type of their scales."""
    if x.element_bytes != 4:
        return None
    elements = x.elements * 8
    work = memory_work([x, scale, call.tensor("zeros")], [scale.sized(elements)])
    return replace(work, vector_flop=2.0 * elements, precision=scale.precision)


def _scaled_product(
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
    work = memory_work([a, b, bias, *scales], [out])
    flop = 2.0 * rows * n * k + (rows * n if bias else 0)
    return replace(work, matrix_flop=flop, precision=a.precision, assumed=assumed)


def _is_integer(tensor: Tensor) -> bool:
    return tensor.precision in ("int", "int8")

"""Products of matrices: 2 M N K operations, M N more where a bias is added.

A complex multiplication and addition counts as four real ones.
"""

from __future__ import annotations

import math
from dataclasses import replace

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.work import Work, moved


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
    asked = call.flags("mask") or (True, True, True)
    if len(asked) != 3:
        return None
    work = moved(
        [grad, a if asked[1] else None, b if asked[0] else None],
        [one for one, is_asked in zip((a, b, b.sized(n)), asked, strict=True) if is_asked],
    )
    flop = 2.0 * rows * n * k * (asked[0] + asked[1]) + rows * n * asked[2]
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
    scales = [one for name in ("scale_a", "scale_b") for one in _scales(call, name)]
    if is_older:
        scales = [one for place in (4, 5) if (one := call.tensor(place))]
    product = Tensor((a.shape[0], b.shape[1]), out_type or "c10::BFloat16")
    k = a.shape[1] * (2 if a.type.endswith("_x2") else 1)
    work = _product(a, b, product, k, bias)
    work = replace(work, read_bytes=work.read_bytes + sum(one.bytes for one in scales))
    return work if out_type else replace(work, assumed="the product has two bytes per element")


def _scales(call: CallArguments, name: str) -> tuple[Tensor, ...]:
    one = call.tensor(name)
    # Types within a list are not recorded; such scales have one byte per block of elements.
    return (one,) if one else tuple(replace(s, type="signed char") for s in call.tensor_list(name))


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
    work = moved([a, b, bias, ends, *scales], [Tensor(shape, kind)])
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
    work = moved([a, b, scales], [a.sized(m, n)])
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
    work = moved([a, b, call.tensor("bias")], [out])
    is_fp8 = a.type == "unsigned char"
    return replace(work, matrix_flop=2.0 * m * n * k, precision="fp8" if is_fp8 else a.precision)


def outer_product(call: CallArguments, a: Tensor, b: Tensor) -> Work | None:
    """Each element of `a` times each of `b`, added to `bias` where there is one."""
    bias = call.tensor("bias")
    product = a.sized(a.elements, b.elements)
    flop = product.elements * (2.0 if bias else 1.0)
    return replace(moved([a, b, bias], [product]), vector_flop=flop, precision=a.precision)


def _product(a: Tensor, b: Tensor, product: Tensor, k: int, bias: Tensor | None) -> Work:
    """Work of a product whose elements are sums of `k` terms; `bias` is spread over it."""
    flop = 2.0 * product.elements * k * (4 if "complex" in a.type else 1)
    flop += product.elements if bias else 0
    # What is computed with is the wider operand: rows of two bytes times weights of one.
    precision = max((a, b), key=lambda one: one.element_bytes).precision
    return replace(moved([a, b, bias], [product]), matrix_flop=flop, precision=precision)

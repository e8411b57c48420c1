"""Kernels that Inductor fused, and its templates for matrix products.

A kernel's name lists the operators in it, each once however often it occurs, so operations are a
lower bound.  Its arguments are pointers, first those updated in place, then those read, then those
written, and last the extents it runs over; which pointer is of which sort is not recorded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.work import Work, formula_of, moved

_NAME = re.compile(r"triton_(?:[a-z]{3}_fused|\w+?)_(.*?)_?\d*$")
_BLOCKS = re.compile(r"\b[XYZ]BLOCK=")
_REDUCED_BLOCKS = re.compile(r"\bR\d*_?BLOCK=")
_SORTS = {
    # They compute nothing in such a kernel: views, and products that others compute.
    "moves": "view permute transpose expand squeeze unsqueeze slice select t as_strided alias "
    "split split_with_sizes cat stack contiguous repeat constant_pad_nd _unsafe_view unbind "
    "_reshape_alias detach empty empty_like lift_fresh lift_fresh_copy slice_scatter "
    "select_scatter slice_backward unfold convolution mm addmm bmm baddbmm _scaled_mm "
    "convert_element_type iota _scaled_dot_product_flash_attention "
    "_scaled_dot_product_efficient_attention",
    "fills": "zeros ones full zeros_like ones_like full_like new_zeros new_ones new_full",
    "binary": "add sub mul div where maximum minimum masked_fill lerp addcmul addcdiv",
}
_FILLS, _BINARY = (frozenset(_SORTS[sort].split()) for sort in ("fills", "binary"))
_MOVES = _FILLS.union(_SORTS["moves"].split())
_NO_WORK = frozenset(("copy", "fill", "sort_index", "random"))
_NORMALISES = ("norm", "softmax", "log_softmax")
_LONGEST = 8
"""Words of the longest name of an operator."""


@lru_cache(maxsize=4096)
def fused_operators(kernel: str) -> tuple[str, ...]:
    """The operators that a kernel's name lists.

    >>> fused_operators("triton_poi_fused__to_copy_add_threshold_backward_3")
    ('_to_copy', 'add', 'threshold_backward')
    """
    found = _NAME.match(kernel)
    words = found[1].split("_") if found else []
    operators, place = [], 0
    while place < len(words):
        for count in range(min(_LONGEST, len(words) - place), 0, -1):
            name = "_".join(words[place : place + count])
            if name and (name in _MOVES or count == 1 or formula_of(f"aten::{name}")):
                operators.append(name)
                place += count
                break
        else:
            place += 1
    return tuple(operators)


def _operations(operator: str) -> int:
    """Operations of one operator for each element; five where it normalises."""
    if operator in _MOVES:
        return 0
    row = formula_of(f"aten::{operator}")
    if row and row.family in _NO_WORK:
        return 0
    plain = row is not None and row.family == "reduction"
    return 5 if not plain and any(word in operator for word in _NORMALISES) else 1


def _extent(call: CallArguments, pointers: Sequence[Tensor]) -> int:
    """Over how many elements a kernel runs: the last plain numbers, at most its largest tensor."""
    largest = max(one.elements for one in pointers)
    settings = call.extra.get("kernel_kwargs", "")
    count = max(len(_BLOCKS.findall(settings)), 1)
    if call.name.startswith(("triton_red", "triton_per")):
        count += max(len(_REDUCED_BLOCKS.findall(settings)), 1)
    numbers = [int(text) for text in call.values if text.isdigit()]
    if not settings:
        # Which of the numbers are extents is not known: together they reach the largest tensor.
        count = next((n for n in range(count, 4) if math.prod(numbers[-n:]) >= largest), count)
    extent = math.prod(numbers[-count:]) if numbers else 0
    return min(extent, largest) if extent else largest


def _capped(one: Tensor, extent: int) -> Tensor:
    """A tensor that is read in part, as by index, at most once for each element of the kernel."""
    return one if one.elements <= extent else one.sized(extent)


def fused(call: CallArguments) -> Work | None:
    """Each pointer is read or written once, at most as many elements as the kernel runs over.

    The last is taken as the result.  A pointwise kernel has results as large as its extent: where
    the last is smaller, or an operator of two operands has but two pointers, or the last is a
    matrix seen otherwise, the first is updated in place.  What Inductor recorded goes before this.
    """
    pointers = call.tensors
    if not pointers or not all(one.element_bytes for one in pointers):
        return None
    extent, operators = _extent(call, pointers), fused_operators(call.name)
    parts = [_capped(one, extent) for one in pointers]
    pointwise = call.name.startswith("triton_poi")
    # Results of matrix products come as matrices; those of a kernel that views them otherwise.
    viewed = parts[0].shape != parts[-1].shape and any("view" in one for one in operators)
    both_read = (
        parts[0].type == parts[-1].type
        and (len(parts) == 2 or viewed)
        and not _BINARY.isdisjoint(operators)
    )
    in_place = len(parts) == 1 or (
        pointwise and parts[0].elements >= extent and (parts[-1].elements < extent or both_read)
    )
    if in_place and len(parts) == 1 and _FILLS.issuperset(operators):
        work = moved([], parts)
    elif in_place:
        work = moved(parts, parts[:1])
    else:
        work = moved(parts[:-1], parts[-1:])
    floating = [one.precision for one in pointers if one.precision not in ("int", "int8")]
    work = replace(
        work,
        vector_flop=float(extent * sum(map(_operations, operators))),
        precision=floating[0] if floating else "int",
        assumed="each fused operator once, "
        + ("first pointer updated in place" if in_place else "last pointer written"),
    )
    return _as_recorded(call, work)


def _as_recorded(call: CallArguments, work: Work) -> Work:
    """With the bytes and operations that Inductor recorded, where it did."""
    size, flop = (_number(call.extra.get(key)) for key in ("kernel_num_gb", "kernel_flop"))
    if size and work.bytes:
        scale = size * 1e9 / work.bytes
        read, written = work.read_bytes * scale, work.written_bytes * scale
        work = replace(work, read_bytes=read, written_bytes=written, assumed="")
    if flop and work.matrix_flop:
        work = replace(work, matrix_flop=flop)
    return work


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def template(call: CallArguments) -> Work | None:
    """A matrix product or convolution: the pair of inputs whose shapes give that of the result."""
    pointers = [one for one in call.tensors if one.element_bytes]
    if len(pointers) < 3:
        return None
    *inputs, out = pointers
    flop = 0.0
    for a, b in _pairs(inputs):
        flop = _convolved(a, b, out) if "convolution" in call.name else _multiplied(a, b, out)
        if flop:
            work = replace(moved(inputs, [out]), matrix_flop=flop, precision=a.precision)
            return _as_recorded(call, replace(work, assumed="last pointer written"))
    return None


def _pairs(tensors: Sequence[Tensor]) -> list[tuple[Tensor, Tensor]]:
    return [(a, b) for place, a in enumerate(tensors) for b in tensors[place + 1 :]]


def _multiplied(a: Tensor, b: Tensor, out: Tensor) -> float:
    if len(a.shape) not in (2, 3) or len(b.shape) not in (2, 3) or a.shape[-1] != b.shape[-2]:
        return 0.0
    batch = a.shape[0] if len(a.shape) == 3 and len(b.shape) == 3 else 1
    rows, columns = a.elements // max(batch * a.shape[-1], 1), b.shape[-1]
    fits = batch * rows * columns == out.elements
    return 2.0 * out.elements * a.shape[-1] if fits else 0.0


def _convolved(x: Tensor, weight: Tensor, out: Tensor) -> float:
    same_rank = len(x.shape) == len(weight.shape) == len(out.shape) > 2
    if not same_rank or out.shape[1] != weight.shape[0] or x.shape[0] != out.shape[0]:
        return 0.0
    return 2.0 * out.elements * math.prod(weight.shape[1:])

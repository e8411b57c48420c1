"""Kernels that do the work of many operators: those of Inductor, and those over lists of tensors.

The name of a kernel of Inductor lists the operators in it, each once however often it occurs, so
operations are a lower bound.  Its arguments are pointers, first those updated in place, then those
read, then those written, and last the extents it runs over; which pointer is of which sort is not
recorded.

Of operators over lists, as optimizers are, recordings leave the types of members out, and their
shapes too where a list is long.  Types stand in the names of the kernels; long lists are taken to
be the parameters of the model, as far as the number of blocks that were launched agrees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import msgspec

from timesink.analyses.work.arguments import CallArguments, KernelLaunch, Tensor
from timesink.analyses.work.formulas import Work, formula_of, memory_work
from timesink.analyses.work.pointwise import is_in_place
from timesink.patterns import regex

_NAME = regex(r"(?:triton_(?:[a-z]{3}_fused|\w+?)|(?:cpp|mps)_fused)_(.*?)_?\d*$")
_BLOCKS = regex(r"\b[XYZ]BLOCK=")
_REDUCED_BLOCKS = regex(r"\bR\d*_?BLOCK=")
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
    """The operators that a kernel's name lists, in the order of the alphabet as it does.

    Words that are no operator known here stay together, as those of operators of a program.

    >>> fused_operators("triton_poi_fused__to_copy_add_threshold_backward_3")
    ('_to_copy', 'add', 'threshold_backward')
    >>> fused_operators("triton_poi_fused_constant_pad_nd_moe_forward_0")
    ('constant_pad_nd', 'moe_forward')
    """
    match = _NAME.match(kernel)
    words = match[1].split("_") if match else []
    operators: list[str] = []
    place, unknown = 0, 0
    while place < len(words):
        count = next(
            (
                count
                for count in range(min(_LONGEST, len(words) - place), 0, -1)
                if _is_operator("_".join(words[place : place + count]))
            ),
            0,
        )
        name = "_".join(words[place : place + max(count, 1)])
        # What begins with an underscore goes on; out of order it belongs to what is before it.
        is_inside = unknown > 0 and (operators[-1] in ("", "_") or name < operators[-1])
        is_inside = is_inside or (unknown > 0 and operators[-1].startswith("_") and unknown < 3)
        if is_inside or (unknown and not count):
            operators[-1] += f"_{name}"
            unknown += 1
        else:
            operators.append(name)
            unknown = int(not count)
        if count and not is_inside:
            unknown = 0
        place += max(count, 1)
    return tuple(operator for operator in operators if operator.strip("_"))


def _is_operator(name: str) -> bool:
    return bool(name) and (name in _MOVES or formula_of(f"aten::{name}") is not None)


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
    largest = max(pointer.elements for pointer in pointers)
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


def fused(call: CallArguments) -> Work | None:
    """Each pointer is read or written once, at most as many elements as the kernel runs over.

    The last is taken as the result.  A pointwise kernel has results as large as its extent: where
    the last is smaller, or an operator of two operands has but two pointers, or the last is a
    matrix seen otherwise, the first is updated in place.  What Inductor recorded goes before this.
    """
    pointers = call.tensors
    if not pointers or not all(pointer.element_bytes for pointer in pointers):
        return None
    extent, operators = _extent(call, pointers), fused_operators(call.name)
    # What is read in part, as by index, counts at most once for each element of the kernel.
    parts = [
        pointer if pointer.elements <= extent else pointer.sized(extent) for pointer in pointers
    ]
    pointwise = call.name.startswith("triton_poi")
    # Results of matrix products come as matrices; those of a kernel that views them otherwise.
    viewed = parts[0].shape != parts[-1].shape and any("view" in operator for operator in operators)
    both_read = (
        parts[0].type == parts[-1].type
        and (len(parts) == 2 or viewed)
        and not _BINARY.isdisjoint(operators)
    )
    in_place = len(parts) == 1 or (
        pointwise and parts[0].elements >= extent and (parts[-1].elements < extent or both_read)
    )
    if in_place and len(parts) == 1 and _FILLS.issuperset(operators):
        work = memory_work([], parts)
    elif in_place:
        work = memory_work(parts, parts[:1])
    else:
        work = memory_work(parts[:-1], parts[-1:])
    floating = [
        pointer.precision for pointer in pointers if pointer.precision not in ("int", "int8")
    ]
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
    pointers = [tensor for tensor in call.tensors if tensor.element_bytes]
    if len(pointers) < 3:
        return None
    *inputs, out = pointers
    flop = 0.0
    for a, b in _pairs(inputs):
        flop = (
            _convolution_flop(a, b, out) if "convolution" in call.name else _product_flop(a, b, out)
        )
        if flop:
            work = replace(memory_work(inputs, [out]), matrix_flop=flop, precision=a.precision)
            return _as_recorded(call, replace(work, assumed="last pointer written"))
    return None


def _pairs(tensors: Sequence[Tensor]) -> list[tuple[Tensor, Tensor]]:
    return [(a, b) for place, a in enumerate(tensors) for b in tensors[place + 1 :]]


def _product_flop(a: Tensor, b: Tensor, out: Tensor) -> float:
    if len(a.shape) not in (2, 3) or len(b.shape) not in (2, 3) or a.shape[-1] != b.shape[-2]:
        return 0.0
    batch = a.shape[0] if len(a.shape) == 3 and len(b.shape) == 3 else 1
    rows, columns = a.elements // max(batch * a.shape[-1], 1), b.shape[-1]
    fits = batch * rows * columns == out.elements
    return 2.0 * out.elements * a.shape[-1] if fits else 0.0


def _convolution_flop(x: Tensor, weight: Tensor, out: Tensor) -> float:
    same_rank = len(x.shape) == len(weight.shape) == len(out.shape) > 2
    if not same_rank or out.shape[1] != weight.shape[0] or x.shape[0] != out.shape[0]:
        return 0.0
    return 2.0 * out.elements * math.prod(weight.shape[1:])


# -- operators over lists of tensors ---------------------------------------------------------------


_CHUNK = 65536
"""Elements that one block of a kernel over lists works on at most; a block never has two lists."""
_LISTS_KERNEL = "multi_tensor_apply"
_FUNCTOR_TYPES = regex(r"(?:Functor|Functor_|Copy|Identity)\w*<([\w:]+)(?:, ([\w:]+))?")
_DEPTH = regex(r"ListMetadata<\(?(?:int\)?)?(\d+)|MathFunctor<[\w:]+, \(?(?:int\)?)?(\d+)")
_OPERATIONS = {"addcmul": 3, "addcdiv": 3, "lerp": 3, "zero": 0, "copy": 0, "clone": 0}
_REDUCING = ("norm", "max", "powsum")


class _Members(msgspec.Struct, frozen=True):
    """The elements of one of a call's lists."""

    elements: float
    element_bytes: float
    precision: str
    source_bytes: float
    """Of an element of what is copied from, where that has another type."""
    assumed: str


def _kernels(call: CallArguments) -> list[KernelLaunch]:
    return [launch for launch in call.launches if _LISTS_KERNEL in launch.kernel]


def _types(call: CallArguments) -> tuple[Tensor, Tensor, str]:
    """Samples of what the kernels work on and read from, and what was taken for granted."""
    for launch in _kernels(call):
        for match in _FUNCTOR_TYPES.finditer(launch.kernel):
            first, second = (Tensor((), kind or "") for kind in match.groups())
            if first.element_bytes:
                return first, second if second.element_bytes else first, ""
    members = [tensor for tensor in call.tensors if tensor.shape and tensor.element_bytes]
    candidates = members or [
        parameter for parameter in call.facts.parameters if parameter.element_bytes
    ]
    usual = Tensor((), candidates[0].type if candidates else call.facts.usual_type)
    return usual, usual, "" if members else "type: that of the parameters"


def _members(call: CallArguments) -> _Members | None:
    kind, source, assumed = _types(call)
    lists = [entry for entry in call.inputs if isinstance(entry, tuple)]
    recorded = max((sum(tensor.elements for tensor in members) for members in lists), default=0)
    estimate = (float(recorded), "") if recorded else _from_launches(call)
    if estimate is None or not kind.element_bytes:
        return None
    elements, how = estimate
    return _Members(
        elements, kind.element_bytes, kind.precision, source.element_bytes, how or assumed
    )


def _from_launches(call: CallArguments) -> tuple[float, str] | None:
    """Elements of a list that was not recorded, from the blocks that were launched for it."""
    blocks = sum(launch.grid[0] for launch in _kernels(call) if launch.grid)
    sizes = [parameter.elements for parameter in call.facts.parameters if parameter.elements]
    if not blocks:
        return None
    if not sizes:
        return float(blocks * _CHUNK), "list not recorded: all blocks taken as full"
    chunks = sum(math.ceil(size / _CHUNK) for size in sizes)
    if blocks == chunks:
        return float(sum(sizes)), "list: the parameters"
    if blocks == len(sizes):
        return float(blocks), "list: one number for each parameter"
    # Part of the parameters, or several of their sort: as full as theirs are.
    share = min(blocks / chunks * sum(sizes), blocks * _CHUNK)
    return share, "list: like the parameters, as many as the blocks"


def over_lists(call: CallArguments) -> Work | None:
    """One operation for each element; three where a product or a quotient is added.

    All lists are read; the first is written, or one more where the operator is not in place.
    """
    members = _members(call)
    plain = call.name.rpartition("_foreach_")[2].rstrip("_")
    if members is None or plain == "mm":
        return None
    lists = sum(isinstance(entry, tuple) for entry in call.inputs) or 1
    squared = plain == "addcmul" and call.name.endswith("_")
    if squared:
        # Optimizers add the square of the gradient: both factors are the same tensors.
        lists = min(lists, 2)
    written = members.elements * members.element_bytes
    read = lists * written
    if plain == "zero":
        read = 0.0
    elif plain == "copy":
        read = members.elements * members.source_bytes
    elif plain in _REDUCING:
        written = 0.0
    return Work(
        vector_flop=_OPERATIONS.get(plain, 1) * members.elements,
        precision=members.precision,
        read_bytes=read,
        written_bytes=written,
        assumed=f"{members.assumed}; both factors are the same".lstrip("; ")
        if squared
        else members.assumed,
    )


def unscaled(call: CallArguments) -> Work | None:
    """Gradients are scaled in place and looked through for what is not a number."""
    members = _members(call)
    if members is None:
        return None
    size = members.elements * members.element_bytes
    return Work(0.0, 2 * members.elements, members.precision, size, size, assumed=members.assumed)


def fused_step(call: CallArguments, lists: int, kept: int, operations: float) -> Work | None:
    """One step of an optimizer in one kernel: parameter and states are read and written.

    `lists` counts parameters, gradients and states; `kept` those without a function where the
    options say so: their number stands in the name of the kernel where that is known.
    """
    members = _members(call)
    if members is None:
        return None
    for launch in _kernels(call):
        if depth := _DEPTH.search(launch.kernel):
            lists = int(depth[1] or depth[2])
            break
    size = members.elements * members.element_bytes
    return Work(
        vector_flop=operations * members.elements,
        precision=members.precision,
        read_bytes=lists * size,
        written_bytes=max(lists - kept, 1) * size,
        assumed=members.assumed,
    )


def scale_update(call: CallArguments) -> Work | None:
    """A few numbers for the whole model."""
    size = sum(tensor.bytes for tensor in call.tensors if not tensor.shape)
    return Work(0.0, 1.0, "fp32", size, size) if is_in_place(call.name) else None

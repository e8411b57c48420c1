"""Operators over lists of tensors: optimizers, and what scales gradients before them.

Recordings leave the types of a list's members out, and their shapes too where it is long.  Types
stand in the names of the kernels; long lists are taken to be the parameters of the model, as far
as the number of blocks that were launched agrees.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from timesink.analyses.work.arguments import CallArguments, KernelLaunch, Tensor
from timesink.analyses.work.pointwise import is_in_place
from timesink.analyses.work.work import Work

_CHUNK = 65536
"""Elements that one block of a kernel over lists works on at most; a block never has two lists."""
_LISTS_KERNEL = "multi_tensor_apply"
_FUNCTOR_TYPES = re.compile(r"(?:Functor|Functor_|Copy|Identity)\w*<([\w:]+)(?:, ([\w:]+))?")
_DEPTH = re.compile(r"ListMetadata<\(?(?:int\)?)?(\d+)|MathFunctor<[\w:]+, \(?(?:int\)?)?(\d+)")
_OPERATIONS = {"addcmul": 3, "addcdiv": 3, "lerp": 3, "zero": 0, "copy": 0, "clone": 0}
_REDUCING = ("norm", "max", "powsum")


@dataclass(frozen=True, slots=True)
class _Members:
    """The elements of one of a call's lists."""

    elements: float
    element_bytes: float
    precision: str
    source_bytes: float
    """Of an element of what is copied from, where that has another type."""
    assumed: str


def _kernels(call: CallArguments) -> list[KernelLaunch]:
    return [one for one in call.launches if _LISTS_KERNEL in one.kernel]


def _types(call: CallArguments) -> tuple[Tensor, Tensor, str]:
    """Samples of what the kernels work on and read from, and what was taken for granted."""
    for launch in _kernels(call):
        for found in _FUNCTOR_TYPES.finditer(launch.kernel):
            first, second = (Tensor((), kind or "") for kind in found.groups())
            if first.element_bytes:
                return first, second if second.element_bytes else first, ""
    members = [one for one in call.tensors if one.shape and one.element_bytes]
    known = members or [one for one in call.facts.parameters if one.element_bytes]
    usual = Tensor((), known[0].type if known else call.facts.usual_type)
    return usual, usual, "" if members else "type: that of the parameters"


def _members(call: CallArguments) -> _Members | None:
    kind, source, assumed = _types(call)
    lists = [one for one in call.inputs if isinstance(one, tuple)]
    recorded = max((sum(one.elements for one in each) for each in lists), default=0)
    found = (float(recorded), "") if recorded else _from_launches(call)
    if found is None or not kind.element_bytes:
        return None
    elements, how = found
    return _Members(
        elements, kind.element_bytes, kind.precision, source.element_bytes, how or assumed
    )


def _from_launches(call: CallArguments) -> tuple[float, str] | None:
    """Elements of a list that was not recorded, from the blocks that were launched for it."""
    blocks = sum(one.grid[0] for one in _kernels(call) if one.grid)
    sizes = [one.elements for one in call.facts.parameters if one.elements]
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
    found = _members(call)
    plain = call.name.rpartition("_foreach_")[2].rstrip("_")
    if found is None or plain == "mm":
        return None
    lists = sum(isinstance(one, tuple) for one in call.inputs) or 1
    squared = plain == "addcmul" and call.name.endswith("_")
    if squared:
        # Optimizers add the square of the gradient: both factors are the same tensors.
        lists = min(lists, 2)
    written = found.elements * found.element_bytes
    read = lists * written
    if plain == "zero":
        read = 0.0
    elif plain == "copy":
        read = found.elements * found.source_bytes
    elif plain in _REDUCING:
        written = 0.0
    return Work(
        vector_flop=_OPERATIONS.get(plain, 1) * found.elements,
        precision=found.precision,
        read_bytes=read,
        written_bytes=written,
        assumed=f"{found.assumed}; both factors are the same".lstrip("; ")
        if squared
        else found.assumed,
    )


def unscaled(call: CallArguments) -> Work | None:
    """Gradients are scaled in place and looked through for what is not a number."""
    found = _members(call)
    if found is None:
        return None
    size = found.elements * found.element_bytes
    return Work(0.0, 2 * found.elements, found.precision, size, size, assumed=found.assumed)


def fused_step(call: CallArguments, lists: int, kept: int, operations: float) -> Work | None:
    """One step of an optimizer in one kernel: parameter and states are read and written.

    `lists` counts parameters, gradients and states; `kept` those without a function where the
    options say so: their number stands in the name of the kernel where that is known.
    """
    found = _members(call)
    if found is None:
        return None
    for launch in _kernels(call):
        if depth := _DEPTH.search(launch.kernel):
            lists = int(depth[1] or depth[2])
            break
    size = found.elements * found.element_bytes
    return Work(
        vector_flop=operations * found.elements,
        precision=found.precision,
        read_bytes=lists * size,
        written_bytes=max(lists - kept, 1) * size,
        assumed=found.assumed,
    )


def scale_update(call: CallArguments) -> Work | None:
    """A few numbers for the whole model."""
    size = sum(one.bytes for one in call.tensors if not one.shape)
    return Work(0.0, 1.0, "fp32", size, size) if is_in_place(call.name) else None

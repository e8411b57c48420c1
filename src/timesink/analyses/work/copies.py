"""Copies: bytes are read and written, nothing is computed."""

from __future__ import annotations

import re
from dataclasses import replace

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.work import Work, moved

_OPAQUE = re.compile(r"OpaqueType<\(?(?:unsigned int\)?)?\s*(\d+)u?>")
_COPIED = re.compile(r"CatArrayBatchedCopy\w*<([\w:]+)")
_PLAIN = {1: "unsigned char", 2: "c10::Half", 4: "float", 8: "double", 16: "c10::complex<double>"}


def type_of_list(call: CallArguments) -> tuple[str, str]:
    """The type of members of lists, which is not recorded, and what was taken for granted.

    Kernels that copy lists say in their names how wide an element is.
    """
    for launch in call.launches:
        if found := _OPAQUE.search(launch.kernel):
            return _PLAIN.get(int(found[1]), ""), ""
        found = _COPIED.search(launch.kernel)
        if found and Tensor((), found[1]).element_bytes:
            return found[1], ""
    return call.facts.usual_type, "type of the list's members: the usual one"


def copied(source: Tensor, target: Tensor) -> Work | None:
    """`source` is read and `target` written, each at its own type and size."""
    return moved([source], [target])


def duplicated(call: CallArguments, given: Tensor) -> Work | None:
    """A tensor is read and written elsewhere, in another order or with the type of `dtype`."""
    kind = call.type_of("dtype") or given.type
    return moved([given], [Tensor(given.shape, kind)])


def looked_at(given: Tensor) -> Work | None:
    """One tensor is read, and next to nothing written."""
    return moved([given], [])


def concatenated(call: CallArguments) -> Work | None:
    """All tensors of a list are read once, and their elements written once."""
    members, out = call.tensor_list(0), call.tensor("out")
    if not members and out is not None and out.elements:
        members = (out,)
    widest = max((one for one in members if one.element_bytes), default=None, key=_width)
    untold = any(not one.element_bytes for one in members)
    kind, assumed = type_of_list(call)
    usual = kind
    if out is not None:
        kind, usual, assumed = out.type, out.type, ""
    elif widest is not None and assumed:
        # What is narrower is widened by the copy.
        kind, assumed = widest.type, "types of some members of the list: the usual one" * untold
    if not Tensor((), kind).element_bytes or not members:
        return None
    read = [one if one.element_bytes else replace(one, type=usual) for one in members]
    written = Tensor((sum(one.elements for one in members),), kind)
    return replace(moved(read, [written]), assumed=assumed)


def _width(one: Tensor) -> float:
    return one.element_bytes

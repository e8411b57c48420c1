"""Copies: bytes are read and written, nothing is computed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.pointwise import is_known
from timesink.analyses.work.work import Formula, Work, moved

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
        if found and is_known([Tensor((), found[1])]):
            return found[1], ""
    return call.facts.usual_type, "type of the list's members: the usual one"


def copied(call: CallArguments) -> Work | None:
    """`source` is read and `target` written, each at its own type and size."""
    source, target = call.tensor("source"), call.tensor("target")
    if source is None or target is None or not is_known([source, target]):
        return None
    return moved([source], [target])


def duplicated(call: CallArguments) -> Work | None:
    """A tensor is read and written elsewhere, in another order or with the type of `dtype`."""
    given = call.tensor(0)
    if given is None or not is_known([given]):
        return None
    kind = call.type_of("dtype") or given.type
    return moved([given], [Tensor(given.shape, kind)])


def looked_at(call: CallArguments) -> Work | None:
    """One tensor is read, and next to nothing written."""
    given = call.tensor(0)
    return moved([given], []) if given is not None and is_known([given]) else None


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
    if not is_known([Tensor((), kind)]) or not members:
        return None
    read = [one if one.element_bytes else replace(one, type=usual) for one in members]
    written = Tensor((sum(one.elements for one in members),), kind)
    return replace(moved(read, [written]), assumed=assumed)


def _width(one: Tensor) -> float:
    return one.element_bytes


FORMULAS: Mapping[str, Formula] = {
    "copied": copied,
    "duplicated": duplicated,
    "looked_at": looked_at,
    "concatenated": concatenated,
}

"""Reductions and scans: one operation for each element read; results of their real size."""

from __future__ import annotations

from dataclasses import replace

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.pointwise import BOOL, FLOAT, LONG, elementwise
from timesink.analyses.work.work import Work, moved

_UNTOLD = "dimensions not recorded: the result taken as small"


def reduced_elements(call: CallArguments, given: Tensor) -> tuple[int, str]:
    """How many elements remain of a tensor, and what was taken for granted.

    `dims` names the dimensions that vanish; without any, all do.
    """
    place = call.places.get("dims", -1)
    if place < 0:
        return 1, ""
    if place >= len(call.values):
        return 1, "" if len(call.inputs) <= place else _UNTOLD
    if "[" not in call.values[place] and len(call.inputs) == place + 1:
        # Overloads for whole tensors have a type or a flag in this place, and nothing after it.
        return 1, ""
    size = len(given.shape)
    gone = {dim % size for dim in call.integers(place) if size and -size <= dim < size}
    remaining = 1
    for dim, extent in enumerate(given.shape):
        remaining *= 1 if dim in gone or not gone else extent
    return remaining, ""


def _result_type(call: CallArguments, given: Tensor, gives: str) -> str:
    asked = call.type_of("dtype")
    whole = given.precision in ("int", "int8")
    kinds = {"flags": BOOL, "indices": LONG, "sum": LONG if whole else given.type}
    kinds["mean"] = FLOAT if whole else given.type
    # Of a whole tensor the type stands where dimensions would.
    if not asked and "dims" in call.places and gives in ("sum", "mean") and len(call.inputs) == 2:
        asked = call.type_of(1)
    return asked or kinds.get(gives, given.type)


def reduction(
    call: CallArguments, given: Tensor, gives: str = "same", results: int = 1
) -> Work | None:
    """A tensor is read, and what remains is written, `results` times.

    `gives` is the type of the result: the `same`, that of a `sum` (long for integers), of a
    `mean`, `flags` or `indices`; `found` is the same and indices.
    """
    remaining, assumed = reduced_elements(call, given)
    out = call.tensor("out")
    if out is not None and out.elements > remaining:
        remaining, assumed = out.elements, ""
    width = Tensor((), _result_type(call, given, gives)).element_bytes * results
    if gives == "found":
        width += 8
    return replace(
        moved([given], []),
        vector_flop=float(given.elements),
        precision=given.precision,
        written_bytes=remaining * width,
        assumed=assumed,
    )


def extremum(call: CallArguments, given: Tensor) -> Work | None:
    """`max` and the like: of a whole tensor, along a dimension with indices, or of two tensors."""
    if call.tensor(1) is not None and len(call.inputs) <= 3:
        return elementwise(call)
    return reduction(call, given, "found" if len(call.inputs) >= 3 else "same")


def scan(call: CallArguments, given: Tensor, gives: str = "sum") -> Work | None:
    """Running sums and the like: as many results as elements; with `found` also indices."""
    written = [Tensor(given.shape, _result_type(call, given, gives))]
    if gives == "found":
        written.append(Tensor(given.shape, LONG))
    return replace(
        moved([given], written), vector_flop=float(given.elements), precision=given.precision
    )

"""Elementwise operators, reductions and scans: one operation for each element, however hard it is.

Inputs are broadcast against each other and read at their own size; the result has the promoted
type, or another that the operator always gives.  Of operators whose name ends in `_` the first
input is the result.  Reductions count the elements that are read, and write what is left of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import zip_longest

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.formulas import Work, memory_work

FLOAT, LONG, BOOL = "float", "long int", "bool"
_COMPLEX = {"double": "c10::complex<double>", "c10::Half": "c10::complex<c10::Half>"}


def _rank(kind: str) -> int:
    """Flags, integers, floating, complex numbers, each above those before."""
    if "complex" in kind:
        return 3
    if kind == BOOL:
        return 0
    return 1 if Tensor((), kind).precision in ("int", "int8") else 2


def promote_types(tensors: Iterable[Tensor]) -> str:
    """The type of a result: that of the highest sort, and among those the widest.

    Tensors without dimensions only count where they are of a higher sort than all others.

    >>> promote_types([Tensor((2,), "c10::BFloat16"), Tensor((), "double")])
    'c10::BFloat16'
    >>> promote_types([Tensor((2,), "c10::BFloat16"), Tensor((2,), "c10::Half")])
    'float'
    """
    every = tuple(tensors)
    if not every:
        return ""
    sized = [tensor for tensor in every if tensor.shape] or list(every)
    highest = max(_rank(tensor.type) for tensor in sized)
    if max(_rank(tensor.type) for tensor in every) > highest:
        # A number of Python has the default type, whatever it is recorded as.
        lone = next(tensor for tensor in every if _rank(tensor.type) > highest).type
        return FLOAT if lone == "double" else lone
    kinds = {tensor.type: tensor.element_bytes for tensor in sized if _rank(tensor.type) == highest}
    widest = max(kinds.values())
    widest_kinds = [kind for kind, size in kinds.items() if size == widest]
    return FLOAT if {"c10::Half", "c10::BFloat16"} <= set(widest_kinds) else widest_kinds[0]


def broadcast(shapes: Iterable[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The shape that others are spread to; None where they do not fit.

    >>> broadcast([(8, 1, 3), (4, 1)])
    (8, 4, 3)
    """
    extents = []
    for sizes in zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1):
        apart = set(sizes) - {1}
        if len(apart) > 1:
            return None
        extents.append(apart.pop() if apart else 1)
    return tuple(extents[::-1])


def is_in_place(name: str) -> bool:
    """Whether an operator overwrites its first argument, by the `_` that ends its name."""
    plain = name.rpartition("::")[2]
    return plain.startswith("__i") if plain.endswith("__") else plain.endswith("_")


def elementwise(call: CallArguments, gives: str = "promoted", operations: float = 1) -> Work | None:
    """The tensors before `end` are read, and `operations` done for each element of the result.

    One after it is the result, and has its type.
    `gives` is the type of the result: `promoted`, `floating` also of integers, that of the `first`
    input, of the `last` two, `complex`, or `flags`.
    """
    end = call.places.get("end", len(call.inputs))
    read = [tensor for tensor in call.inputs[:end] if isinstance(tensor, Tensor)]
    destination = next((tensor for tensor in call.inputs[end:] if isinstance(tensor, Tensor)), None)
    shape = broadcast(tensor.shape for tensor in read)
    if not read or shape is None:
        return None
    kind = (
        read[0].type if gives == "first" else promote_types(read[-2:] if gives == "last" else read)
    )
    if _rank(kind) < 2 and gives == "promoted":
        # A plain value among the inputs may be a floating number.
        plain = call.values[: call.places.get("end", 9)]
        kind = FLOAT if any("." in text and "[" not in text for text in plain) else kind
    precision = Tensor((), kind).precision
    if gives == "flags":
        kind = BOOL
    elif gives == "complex":
        kind = _COMPLEX.get(kind, "c10::complex<float>")
    elif gives == "floating" and _rank(kind) < 2:
        kind, precision = FLOAT, "fp32"
    written = (
        read[0]
        if is_in_place(call.name)
        else Tensor(shape, destination.type if destination else kind)
    )
    work = memory_work(read, [written])
    return replace(work, vector_flop=operations * written.elements, precision=precision)


def gated(given: Tensor) -> Work | None:
    """Half of a tensor times a function of the other half, which is one operation more."""
    half = given.elements / 2
    work = memory_work([given], [])
    written = half * given.element_bytes
    return replace(work, vector_flop=2 * half, precision=given.precision, written_bytes=written)


def gated_backward(grad: Tensor, given: Tensor) -> Work | None:
    """Both halves of the gradient from the gradient of the product and both halves: five each."""
    work = memory_work([grad, given], [given])
    return replace(work, vector_flop=5.0 * grad.elements, precision=given.precision)


def two_results(call: CallArguments, given: Tensor) -> Work | None:
    """Of each element two results: both halves of a number, or a value and a flag for backward."""
    work = elementwise(call, "first")
    if work is None:
        return None
    flags = call.name.endswith("cachemask")
    more = given.elements * (1.0 if flags else given.element_bytes)
    return replace(work, written_bytes=work.written_bytes + more)


def generated(call: CallArguments, operations: float = 0) -> Work | None:
    """A tensor is filled, with numbers that take `operations` each; what was in it is not read."""
    # A tensor given for the result comes last.
    every = [tensor for tensor in call.inputs if isinstance(tensor, Tensor)]
    target = call.tensor(0) if is_in_place(call.name) else next(reversed(every), None)
    if target is None:
        return None
    work = memory_work([], [target])
    return replace(work, vector_flop=operations * target.elements, precision=target.precision)


def quantized(call: CallArguments, given: Tensor) -> Work | None:
    """To or from numbers of few bits: a product and a rounding for each."""
    kind = call.type_of("dtype") or (FLOAT if "q" in given.type else "c10::qint8")
    work = memory_work(call.tensors, [Tensor(given.shape, kind)])
    return replace(work, vector_flop=2.0 * given.elements, precision="fp32")


# -- reductions and scans --------------------------------------------------------------------------


_UNTOLD = "dimensions not recorded: the result taken as small"


def reduced_elements(call: CallArguments, tensor: Tensor) -> tuple[int, str]:
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
    size = len(tensor.shape)
    gone = {dim % size for dim in call.integers(place) if size and -size <= dim < size}
    remaining = 1
    for dim, extent in enumerate(tensor.shape):
        remaining *= 1 if dim in gone or not gone else extent
    return remaining, ""


def _result_type(call: CallArguments, tensor: Tensor, gives: str) -> str:
    requested = call.type_of("dtype")
    is_integer = tensor.precision in ("int", "int8")
    kinds = {"flags": BOOL, "indices": LONG, "sum": LONG if is_integer else tensor.type}
    kinds["mean"] = FLOAT if is_integer else tensor.type
    # Of a whole tensor the type stands where dimensions would.
    if (
        not requested
        and "dims" in call.places
        and gives in ("sum", "mean")
        and len(call.inputs) == 2
    ):
        requested = call.type_of(1)
    return requested or kinds.get(gives, tensor.type)


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
        memory_work([given], []),
        vector_flop=float(given.elements),
        precision=given.precision,
        written_bytes=remaining * width,
        assumed=assumed,
    )


def extremum(call: CallArguments) -> Work | None:
    """`max` and the like: of a whole tensor, along a dimension with indices, or of two tensors."""
    if call.tensor(1) is not None and len(call.inputs) <= 3:
        return elementwise(call)
    tensor, gives = call.tensor("given"), "found" if len(call.inputs) >= 3 else "same"
    return None if tensor is None else reduction(call, tensor, gives)


def scan(call: CallArguments, given: Tensor, gives: str = "sum") -> Work | None:
    """Running sums and the like: as many results as elements; with `found` also indices."""
    written = [Tensor(given.shape, _result_type(call, given, gives))]
    if gives == "found":
        written.append(Tensor(given.shape, LONG))
    return replace(
        memory_work([given], written), vector_flop=float(given.elements), precision=given.precision
    )

"""What moves and computes nothing, or next to it: copies, elements by index, sorting, collectives.

Of tables only the elements that are taken or set count, at most the whole table; indices are read
once.  Of a collective a device sends at least, by the best known way: all-reduce 2 (n - 1) / n of
its size, gathering and scattering (n - 1) / n of what all devices hold together, a broadcast or a
message its size: the shares that bus bandwidths are measured by.  Sums on the way are not counted.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from operator import attrgetter

import polars as pl
from msgspec import structs

from timesink.analyses.communication_calls import bus_share, collective_kind, element_bytes
from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.formulas import Work, memory_work
from timesink.analyses.work.pointwise import LONG, broadcast, promote_types
from timesink.patterns import regex

_OPAQUE = regex(r"OpaqueType<\(?(?:unsigned int\)?)?\s*(\d+)u?>")
_COPIED = regex(r"CatArrayBatchedCopy\w*<([\w:]+)")
_PLAIN = {1: "unsigned char", 2: "c10::Half", 4: "float", 8: "double", 16: "c10::complex<double>"}


def type_of_list(call: CallArguments) -> tuple[str, str]:
    """The type of members of lists, which is not recorded, and what was taken for granted.

    Kernels that copy lists say in their names how wide an element is.
    """
    for launch in call.launches:
        if match := _OPAQUE.search(launch.kernel):
            return _PLAIN.get(int(match[1]), ""), ""
        match = _COPIED.search(launch.kernel)
        if match and Tensor((), match[1]).element_bytes:
            return match[1], ""
    return call.facts.usual_type, "type of the list's members: the usual one"


def copied(source: Tensor, target: Tensor) -> Work | None:
    """`source` is read and `target` written, each at its own type and size."""
    return memory_work([source], [target])


def duplicated(call: CallArguments, given: Tensor) -> Work | None:
    """A tensor is read and written elsewhere, in another order or with the type of `dtype`."""
    kind = call.type_of("dtype") or given.type
    return memory_work([given], [Tensor(given.shape, kind)])


def looked_at(given: Tensor) -> Work | None:
    """One tensor is read, and next to nothing written."""
    return memory_work([given], [])


def concatenated(call: CallArguments) -> Work | None:
    """All tensors of a list are read once, and their elements written once."""
    members, out = call.tensor_list(0), call.tensor("out")
    if not members and out is not None and out.elements:
        members = (out,)
    widest = max(
        (member for member in members if member.element_bytes),
        default=None,
        key=attrgetter("element_bytes"),
    )
    untold = any(not member.element_bytes for member in members)
    kind, assumed = type_of_list(call)
    usual = kind
    if out is not None:
        kind, usual, assumed = out.type, out.type, ""
    elif widest is not None and assumed:
        # What is narrower is widened by the copy.
        kind, assumed = widest.type, "types of some members of the list: the usual one" * untold
    if not Tensor((), kind).element_bytes or not members:
        return None
    read = [
        member if member.element_bytes else structs.replace(member, type=usual)
        for member in members
    ]
    written = Tensor((sum(member.elements for member in members),), kind)
    return replace(memory_work(read, [written]), assumed=assumed)


# -- collectives -----------------------------------------------------------------------------------


_MANY = 10**9
_GATHERED, _SCATTERED = ("all_gather", "gather"), ("reduce_scatter", "scatter")
_KERNEL_TYPE = regex(r"_(?:Sum|Min|Max|Prod|PreMulSum|SumPostDiv)_(\w+?)(?:_[A-Z]|\W|$)")
_SHORT_TYPE = regex(r"(bf|f|i|u)(\d+)")
_LETTERS = {"f": "float", "bf": "bfloat", "i": "int", "u": "uint"}


@cache
def sent_share(kind: str, devices: int) -> float | None:
    """What a device sends of a collective's size; None for what moves nothing.

    >>> sent_share("all_reduce", 8)
    1.75
    """
    group = pl.DataFrame({"collective": [kind], "group_size": [devices]})
    share = group.select(bus_share()).item()
    return None if share is None else float(share)


def _kind(call: CallArguments) -> str | None:
    """Which collective it is: by what it says, by its name, by what it launched."""
    collective = call.extra.get("collective", "")
    names = (collective, call.name.rpartition(":")[2], *(launch.kernel for launch in call.launches))
    return next((kind for kind in map(collective_kind, names) if kind), None)


def _devices(call: CallArguments) -> int | None:
    group_size = call.extra.get("group_size", "")
    if group_size.isdigit():
        return int(group_size)
    return call.integer("devices") or call.facts.world_size


def _list_width(call: CallArguments) -> tuple[float, str]:
    """Bytes of an element of a list: kernels say it in their names."""
    for launch in call.launches:
        if match := _KERNEL_TYPE.search(launch.kernel):
            short = _SHORT_TYPE.match(match[1])
            spelled = _LETTERS[short[1]] + short[2] if short else match[1]
            if width := element_bytes(spelled):
                return float(width), ""
    return Tensor((), call.facts.usual_type).element_bytes, "type: the usual one"


def _size(call: CallArguments, name: str) -> tuple[float, str]:
    """Bytes of a tensor, or of a list of them, and what was taken for granted."""
    if tensor := call.tensor(name):
        return tensor.elements * tensor.element_bytes, ""
    members = call.tensor_list(name)
    if all(member.element_bytes for member in members):
        return sum(member.elements * member.element_bytes for member in members), ""
    width, assumed = _list_width(call)
    return sum(member.elements for member in members) * width, assumed


def _recorded_bytes(call: CallArguments) -> tuple[float, float]:
    """Bytes put in and taken out, from the numbers that go with a call."""
    extra = call.extra
    width = element_bytes(extra.get("dtype", "")) or 0
    counts = (extra.get(column, "") for column in ("in_elements", "out_elements"))
    sent_bytes, taken = (int(text) * width if text.isdigit() else 0 for text in counts)
    return sent_bytes, taken


def collective(call: CallArguments) -> Work | None:
    """What is put in is read, what comes out is written, and a share of it is sent."""
    kind, devices = _kind(call), _devices(call)
    share = sent_share(kind, devices or _MANY) if kind else None
    if kind is None or share is None:
        return None
    sent_bytes, taken = _recorded_bytes(call)
    notes = [] if devices else ["devices not recorded: taken as many"]
    if not sent_bytes and not taken:
        sent_bytes, assumed = _size(call, "given")
        taken, also = _size(call, "output")
        notes += [note for note in (assumed or also,) if note]
    # With one of the two sizes the other follows.
    count = devices or 1
    if kind in _GATHERED:
        taken = taken or sent_bytes * count
        sent_bytes, volume = sent_bytes or taken / count, taken
    elif kind in _SCATTERED:
        sent_bytes = sent_bytes or taken * count
        taken, volume = taken or sent_bytes / count, sent_bytes
    else:
        sent_bytes = volume = sent_bytes or taken
        taken = taken or sent_bytes
    if not volume:
        return None
    return Work(
        read_bytes=sent_bytes,
        written_bytes=taken,
        wire_bytes=volume * share,
        assumed="; ".join(notes),
    )


# -- elements by index, and sorting ----------------------------------------------------------------


_ROWS_KERNEL = "vectorized_gather_kernel"
_ELEMENTS_KERNEL = regex(r"index_elementwise_kernel<(\d+), (\d+)")
"""Threads of a block, and elements of a thread."""


def _along(call: CallArguments, tensor: Tensor) -> tuple[int, str]:
    """How long a tensor is along `dim`, and what was taken for granted."""
    size, dim = len(tensor.shape), call.integer("dim")
    if not size:
        return 1, ""
    if dim is None or not -size <= dim < size:
        first = call.places.get("usual", -1)
        is_certain = size == 1 or "dim" not in call.places
        return tensor.shape[first], "" if is_certain else "dimension not recorded"
    return tensor.shape[dim], ""


def _touched_part(table: Tensor, taken: Tensor) -> Tensor:
    """What moves of a table from which, or to which, so much is taken: no element twice."""
    return min((taken, table), key=lambda tensor: tensor.bytes)


def rows_taken(call: CallArguments, table: Tensor, index: Tensor) -> Work | None:
    """Slices of `table` along `dim` (the first where none is recorded), one for each index."""
    length, assumed = _along(structs.replace(call, places={"usual": 0, **call.places}), table)
    taken = table.sized(table.elements // length * index.elements if length else 0)
    work = memory_work([_touched_part(table, taken), index], [taken])
    out = call.tensor("out")
    return replace(work, assumed="" if out or len(table.shape) == 2 else assumed)


def elements_taken(table: Tensor, index: Tensor) -> Work | None:
    """One element of `table` for each of `index`."""
    taken = table.sized(*index.shape)
    return memory_work([_touched_part(table, taken), index], [taken])


def _indexed_elements(
    table: Tensor, indices: tuple[Tensor, ...]
) -> tuple[int, Tensor | None, str] | None:
    """How many elements a list of indices picks, those indices, and what was taken for granted."""
    used = [tensor for tensor in indices if tensor.shape]
    if not used:
        return None
    masks = [
        tensor
        for tensor in used
        if len(tensor.shape) > 1 and tensor.shape == table.shape[: len(tensor.shape)]
    ]
    if masks and len(indices) == 1:
        mask = Tensor(masks[0].shape, "bool")
        return table.elements, mask, "mask: all elements taken"
    shape = broadcast(tensor.shape for tensor in used)
    if shape is None or len(indices) > len(table.shape):
        return None
    extents = [extent for place, extent in enumerate(table.shape) if not _is_index(indices, place)]
    lists = Tensor((sum(tensor.elements for tensor in used),), LONG)
    return math.prod(shape) * math.prod(extents), lists, "indices: 64 bit, no masks"


def _is_index(indices: tuple[Tensor, ...], place: int) -> bool:
    return place < len(indices) and bool(indices[place].shape)


def _from_blocks(call: CallArguments, table: Tensor) -> tuple[int, Tensor | None, str] | None:
    """Elements that indices pick which were not recorded: as many as there were threads for.

    Whole rows of the table are taken where that is at least one.
    """
    row = table.elements // table.shape[0] if table.shape and table.shape[0] else 0
    for launch in call.launches:
        if not launch.grid:
            continue
        if _ROWS_KERNEL in launch.kernel:
            return launch.grid[0] * row, None, "indices not recorded: one block a row"
        if match := _ELEMENTS_KERNEL.search(launch.kernel):
            most = launch.grid[0] * int(match[1]) * int(match[2])
            row_elements = most // row * row if row else 0
            return row_elements or most, None, "indices not recorded: one thread an element"
    return None


def indexed(call: CallArguments, table: Tensor) -> Work | None:
    """Elements that a list of indices picks; a dimension without an index is taken whole."""
    elements_read = _indexed_elements(table, call.tensor_list(1)) or _from_blocks(call, table)
    if elements_read is None:
        return None
    elements, lists, assumed = elements_read
    taken = table.sized(elements)
    return replace(memory_work([_touched_part(table, taken), lists], [taken]), assumed=assumed)


def index_put(call: CallArguments, table: Tensor, values: Tensor) -> Work | None:
    """`values` are set where a list of indices says, or added to what is there."""
    elements_read = _indexed_elements(table, call.tensor_list(1))
    if elements_read is None and values.elements > 1:
        elements_read = values.elements, None, "indices not recorded: one for each value"
    elements_read = elements_read or _from_blocks(call, table)
    if elements_read is None:
        return None
    elements, lists, assumed = elements_read
    placed = _touched_part(table, table.sized(elements))
    adds = call.flag(3) is True
    work = memory_work([values, lists, placed if adds else None], [placed])
    added = float(elements) if adds else 0.0
    return replace(work, vector_flop=added, precision=table.precision, assumed=assumed)


def scattered(
    call: CallArguments, table: Tensor, index: Tensor, *, adds: bool = False
) -> Work | None:
    """One element is set for each of `index`; with `adds` that there is read and added to."""
    rows, source = table.sized(*index.shape), call.tensor("source")
    placed = _touched_part(table, rows)
    read = [index, _touched_part(source, rows) if source else None, placed if adds else None]
    added = float(rows.elements) if adds else 0.0
    return replace(memory_work(read, [placed]), vector_flop=added, precision=table.precision)


def rows_set(
    call: CallArguments, table: Tensor, index: Tensor, *, adds: bool = False
) -> Work | None:
    """Slices of `source` are set, or added, where `index` says; a plain value is not read."""
    source = call.tensor("source")
    assumed = ""
    if source is None or not source.shape:
        length, assumed = _along(structs.replace(call, places={"usual": 0, **call.places}), table)
        source, placed = (
            None,
            table.sized(table.elements // length * index.elements if length else 0),
        )
    else:
        placed = table.sized(*source.shape)
    added = float(placed.elements) if adds else 0.0
    placed = _touched_part(table, placed)
    work = memory_work([index, source, placed if adds else None], [placed])
    return replace(work, vector_flop=added, precision=table.precision, assumed=assumed)


def gradient_of_rows(call: CallArguments, grad: Tensor, index: Tensor) -> Work | None:
    """`grad` is added up by row, to a table of `rows`, which is written whole."""
    if not grad.shape:
        return None
    width, rows = grad.shape[-1], call.integer("rows")
    result = grad.sized(index.elements if rows is None else rows, width)
    work = memory_work([grad, index, call.tensor("bag")], [result])
    flop = float(index.elements * width)
    assumed = "rows not recorded: taken as many as indices" if rows is None else ""
    return replace(work, vector_flop=flop, precision=grad.precision, assumed=assumed)


def bags(call: CallArguments, table: Tensor, index: Tensor, starts: Tensor) -> Work | None:
    """Rows of a table, added up by bag."""
    if len(table.shape) != 2:
        return None
    width = table.shape[1]
    count = starts.elements - (1 if call.flag("last") else 0)
    taken, written = table.sized(index.elements, width), table.sized(count, width)
    work = memory_work(
        [_touched_part(table, taken), index, starts, call.tensor("weights")], [written]
    )
    return replace(work, vector_flop=float(taken.elements), precision=table.precision)


def selected(call: CallArguments) -> Work | None:
    """Elements that a mask picks, or where they are; how many is not recorded."""
    read = [tensor for tensor in call.inputs[: call.places["end"]] if isinstance(tensor, Tensor)]
    if not read:
        return None
    work = replace(
        memory_work(read, []), vector_flop=float(max(tensor.elements for tensor in read))
    )
    return replace(work, precision="int", assumed="result not recorded: taken as small")


def _logarithm(count: float) -> float:
    return max(1.0, math.log2(count)) if count > 1 else 1.0


def sorted_rows(call: CallArguments, given: Tensor) -> Work | None:
    """Values and indices in order along `dim`: n log2 n operations for each n of them."""
    # With a flag for stable sorting the dimension comes one place later.
    place = 2 if call.flag(1) is not None or len(call.inputs) in (4, 6) else 1
    length, assumed = _along(structs.replace(call, places={"dim": place}), given)
    if not call.values:
        assumed = assumed and "dimension not recorded, the last taken"
    work = memory_work([given], [given, Tensor(given.shape, LONG)])
    flop = given.elements * _logarithm(length)
    return replace(work, vector_flop=flop, precision=given.precision, assumed=assumed)


def top(
    call: CallArguments, given: Tensor, *, one: bool = False, values: bool = True
) -> Work | None:
    """`count` values along `dim` and where they are: `one`, or just where without `values`."""
    length, assumed = _along(call, given)
    count = 1 if one else call.integer("count")
    if count is None:
        count, assumed = 1, "count not recorded: the result taken as small"
    top_elements = given.elements / length * min(count, length) if length else 0
    return replace(
        memory_work([given], []),
        vector_flop=float(given.elements),
        precision=given.precision,
        written_bytes=top_elements * (8 + (given.element_bytes if values else 0)),
        assumed=assumed,
    )


def searched(call: CallArguments, borders: Tensor, values: Tensor) -> Work | None:
    """Each of `values` is looked for in `borders`, in log2 n steps."""
    length = borders.shape[-1] if borders.shape else 1
    narrow = call.flag("narrow") is True
    work = memory_work([borders, values], [Tensor(values.shape, "int" if narrow else LONG)])
    flop = values.elements * _logarithm(length)
    return replace(work, vector_flop=flop, precision=Tensor((), promote_types([values])).precision)

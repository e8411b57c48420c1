"""Taking and setting elements by index, and sorting.

Of tables only the elements that are taken or set count, at most the whole table; indices are read
once.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.pointwise import LONG, broadcast, promoted
from timesink.analyses.work.work import Work, moved

_ROWS_KERNEL = "vectorized_gather_kernel"
_ELEMENTS_KERNEL = re.compile(r"index_elementwise_kernel<(\d+), (\d+)")
"""Threads of a block, and elements of a thread."""


def _along(call: CallArguments, given: Tensor) -> tuple[int, str]:
    """How long a tensor is along `dim`, and what was taken for granted."""
    size, dim = len(given.shape), call.integer("dim")
    if not size:
        return 1, ""
    if dim is None or not -size <= dim < size:
        first = call.places.get("usual", -1)
        told = size == 1 or "dim" not in call.places
        return given.shape[first], "" if told else "dimension not recorded"
    return given.shape[dim], ""


def _touched(table: Tensor, taken: Tensor) -> Tensor:
    """What moves of a table from which, or to which, so much is taken: no element twice."""
    return min((taken, table), key=lambda one: one.bytes)


def rows_taken(call: CallArguments, table: Tensor, index: Tensor) -> Work | None:
    """Slices of `table` along `dim` (the first where none is recorded), one for each index."""
    length, assumed = _along(replace(call, places={"usual": 0, **call.places}), table)
    taken = table.sized(table.elements // length * index.elements if length else 0)
    work = moved([_touched(table, taken), index], [taken])
    out = call.tensor("out")
    return replace(work, assumed="" if out or len(table.shape) == 2 else assumed)


def elements_taken(table: Tensor, index: Tensor) -> Work | None:
    """One element of `table` for each of `index`."""
    taken = table.sized(*index.shape)
    return moved([_touched(table, taken), index], [taken])


def _indexed(table: Tensor, indices: tuple[Tensor, ...]) -> tuple[int, Tensor | None, str] | None:
    """How many elements a list of indices picks, those indices, and what was taken for granted."""
    used = [one for one in indices if one.shape]
    if not used:
        return None
    masks = [
        one for one in used if len(one.shape) > 1 and one.shape == table.shape[: len(one.shape)]
    ]
    if masks and len(indices) == 1:
        mask = Tensor(masks[0].shape, "bool")
        return table.elements, mask, "mask: all elements taken"
    shape = broadcast(one.shape for one in used)
    if shape is None or len(indices) > len(table.shape):
        return None
    kept = [extent for place, extent in enumerate(table.shape) if not _is_index(indices, place)]
    lists = Tensor((sum(one.elements for one in used),), LONG)
    return math.prod(shape) * math.prod(kept), lists, "indices: 64 bit, no masks"


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
        if found := _ELEMENTS_KERNEL.search(launch.kernel):
            most = launch.grid[0] * int(found[1]) * int(found[2])
            whole = most // row * row if row else 0
            return whole or most, None, "indices not recorded: one thread an element"
    return None


def indexed(call: CallArguments, table: Tensor) -> Work | None:
    """Elements that a list of indices picks; a dimension without an index is taken whole."""
    found = _indexed(table, call.tensor_list(1)) or _from_blocks(call, table)
    if found is None:
        return None
    elements, lists, assumed = found
    taken = table.sized(elements)
    return replace(moved([_touched(table, taken), lists], [taken]), assumed=assumed)


def index_put(call: CallArguments, table: Tensor, values: Tensor) -> Work | None:
    """`values` are set where a list of indices says, or added to what is there."""
    found = _indexed(table, call.tensor_list(1))
    if found is None and values.elements > 1:
        found = values.elements, None, "indices not recorded: one for each value"
    found = found or _from_blocks(call, table)
    if found is None:
        return None
    elements, lists, assumed = found
    placed = _touched(table, table.sized(elements))
    adds = call.flag(3) is True
    work = moved([values, lists, placed if adds else None], [placed])
    added = float(elements) if adds else 0.0
    return replace(work, vector_flop=added, precision=table.precision, assumed=assumed)


def scattered(
    call: CallArguments, table: Tensor, index: Tensor, *, adds: bool = False
) -> Work | None:
    """One element is set for each of `index`; with `adds` that there is read and added to."""
    given, source = table.sized(*index.shape), call.tensor("source")
    placed = _touched(table, given)
    read = [index, _touched(source, given) if source else None, placed if adds else None]
    added = float(given.elements) if adds else 0.0
    return replace(moved(read, [placed]), vector_flop=added, precision=table.precision)


def rows_set(
    call: CallArguments, table: Tensor, index: Tensor, *, adds: bool = False
) -> Work | None:
    """Slices of `source` are set, or added, where `index` says; a plain value is not read."""
    source = call.tensor("source")
    assumed = ""
    if source is None or not source.shape:
        length, assumed = _along(replace(call, places={"usual": 0, **call.places}), table)
        source, placed = (
            None,
            table.sized(table.elements // length * index.elements if length else 0),
        )
    else:
        placed = table.sized(*source.shape)
    added = float(placed.elements) if adds else 0.0
    placed = _touched(table, placed)
    work = moved([index, source, placed if adds else None], [placed])
    return replace(work, vector_flop=added, precision=table.precision, assumed=assumed)


def gradient_of_rows(call: CallArguments, grad: Tensor, index: Tensor) -> Work | None:
    """`grad` is added up by row, to a table of `rows`, which is written whole."""
    if not grad.shape:
        return None
    width, rows = grad.shape[-1], call.integer("rows")
    made = grad.sized(index.elements if rows is None else rows, width)
    work = moved([grad, index, call.tensor("bag")], [made])
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
    work = moved([_touched(table, taken), index, starts, call.tensor("weights")], [written])
    return replace(work, vector_flop=float(taken.elements), precision=table.precision)


def selected(call: CallArguments) -> Work | None:
    """Elements that a mask picks, or where they are; how many is not recorded."""
    read = [one for one in call.inputs[: call.places["end"]] if isinstance(one, Tensor)]
    if not read:
        return None
    work = replace(moved(read, []), vector_flop=float(max(one.elements for one in read)))
    return replace(work, precision="int", assumed="result not recorded: taken as small")


def _logarithm(count: float) -> float:
    return max(1.0, math.log2(count)) if count > 1 else 1.0


def sorted_rows(call: CallArguments, given: Tensor) -> Work | None:
    """Values and indices in order along `dim`: n log2 n operations for each n of them."""
    # With a flag for stable sorting the dimension comes one place later.
    place = 2 if call.flag(1) is not None or len(call.inputs) in (4, 6) else 1
    length, assumed = _along(replace(call, places={"dim": place}), given)
    if not call.values:
        assumed = assumed and "dimension not recorded, the last taken"
    work = moved([given], [given, Tensor(given.shape, LONG)])
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
    kept = given.elements / length * min(count, length) if length else 0
    return replace(
        moved([given], []),
        vector_flop=float(given.elements),
        precision=given.precision,
        written_bytes=kept * (8 + (given.element_bytes if values else 0)),
        assumed=assumed,
    )


def searched(call: CallArguments, borders: Tensor, values: Tensor) -> Work | None:
    """Each of `values` is looked for in `borders`, in log2 n steps."""
    length = borders.shape[-1] if borders.shape else 1
    narrow = call.flag("narrow") is True
    work = moved([borders, values], [Tensor(values.shape, "int" if narrow else LONG)])
    flop = values.elements * _logarithm(length)
    return replace(work, vector_flop=flop, precision=Tensor((), promoted([values])).precision)

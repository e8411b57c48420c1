"""Embedding tables of recommendation models: FBGEMM's operators.

An operator looks up rows in many tables at once: which rows (`indices`), where each bag of them
begins (`ends`, one more than bags), and where each table's columns begin in the result (`columns`,
one more than tables).  How often each table is asked is not recorded, nor how many rows differ.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec
from msgspec import structs

from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.formulas import Work, formula_of, memory_work

_EVEN = "tables are asked equally often"
_SIZES = "rows are as wide as the tables' mean"
_OWN_ROWS = "every index has a row of its own, until tables are read whole"
_OF_LOOKUP = "what is updated is what a lookup of the same width asked for, each row once"
_NEARLY = 0.35
"""How far the width of a lookup may be from that of a gradient, as a share: it is a mean."""
_NOT_POOLED = 2
"""How FBGEMM numbers sums, means and no pooling."""


class _Lookup(msgspec.Struct, frozen=True):
    """What is looked up by one call."""

    indices: Tensor
    bags: int
    """Bags of all tables together."""
    tables: int
    width: float
    """Elements of a row, on average."""
    weights: Tensor
    """The tables, in order."""
    assumed: str

    @property
    def looked_up(self) -> float:
        """Elements of all rows that are asked for, each as often as it is."""
        return self.indices.elements * self.width

    @property
    def table_bytes(self) -> float:
        """Of rows that are touched."""
        element = self.weights.element_bytes
        return min(self.looked_up * element, self.weights.elements * element)


def embedding_lookup(call: CallArguments) -> Work | None:
    """Rows looked up and added up by bag: an addition an element, a product too with weights.

    Without pooling rows are copied.  Written in single precision, unless `out_type` says half.
    """
    lookup = _lookup(call)
    if lookup is None:
        return None
    pooling = _NOT_POOLED if "nobag" in call.name else call.integer("pooling")
    pooled = pooling != _NOT_POOLED
    weighted = call.tensor("index_weights")
    elements = lookup.bags * lookup.width if pooled else lookup.looked_up
    kinds = {0: "float", 1: "c10::Half", 5: "c10::BFloat16"}
    kind = kinds.get(call.integer("out_type") or 0, "float")
    read = memory_work([lookup.indices, call.tensor("ends"), weighted], []).read_bytes
    return Work(
        vector_flop=lookup.looked_up * ((1.0 if pooled else 0.0) + (1.0 if weighted else 0.0)),
        precision="fp32",
        read_bytes=read + lookup.table_bytes,
        written_bytes=elements * Tensor((), kind).element_bytes,
        assumed=lookup.assumed if pooling is not None else f"{lookup.assumed}; rows are added up",
    )


def embedding_update(call: CallArguments) -> Work | None:
    """Gradient of a lookup (`gradient`) added up by row, and rows moved by it.

    Read: the gradient, the indices, the rows and the optimizer's `state`; written: rows and state.
    An addition per element that was looked up; five operations per element of a row that is moved.
    """
    lookup, gradient = _lookup(call), call.tensor("gradient")
    return None if lookup is None or gradient is None else _update(call, lookup, gradient)


def lookup_backward(call: CallArguments, gradient: Tensor) -> Work | None:
    """The same by the node of autograd, which records the gradient only.

    What was looked up is that of the lookup whose result is most nearly as wide, for as many bags.
    """
    if len(gradient.shape) != 2:
        return None
    batch, width = gradient.shape
    fitting = []
    for call_before in call.facts.lookups:
        row = formula_of(call_before.name)
        placed_call = structs.replace(call_before, places=row.places) if row else call_before
        lookup = _lookup(placed_call)
        if lookup is not None and lookup.bags == batch * lookup.tables:
            fitting.append((abs(lookup.tables * lookup.width / width - 1), placed_call, lookup))
    if not fitting:
        return None
    apart, placed_call, lookup = min(fitting, key=lambda candidate: candidate[0])
    if apart > _NEARLY:
        return None
    lookup = structs.replace(lookup, width=width / lookup.tables, assumed=_OF_LOOKUP)
    return _update(placed_call, lookup, gradient)


def _update(call: CallArguments, lookup: _Lookup, gradient: Tensor) -> Work:
    weighted, state = call.tensor("index_weights"), call.tensor("state")
    share = lookup.table_bytes / lookup.weights.bytes if lookup.weights.bytes else 0.0
    moved_rows = memory_work([lookup.weights, state], [lookup.weights, state])
    read = memory_work([gradient, lookup.indices, call.tensor("ends"), weighted], []).read_bytes
    return Work(
        vector_flop=lookup.looked_up * (2.0 if weighted else 1.0)
        + 5.0 * share * lookup.weights.elements,
        precision="fp32",
        read_bytes=read + share * moved_rows.read_bytes,
        written_bytes=share * moved_rows.written_bytes,
        assumed=lookup.assumed,
    )


def index_weight_gradient(call: CallArguments, gradient: Tensor) -> Work | None:
    """Gradient of each index's weight: its row times the gradient of its bag, 2 an element."""
    lookup = _lookup(call)
    if lookup is None:
        return None
    read = memory_work([gradient, lookup.indices, call.tensor("ends")], []).read_bytes
    return Work(
        vector_flop=2.0 * lookup.looked_up,
        precision="fp32",
        read_bytes=read + lookup.table_bytes,
        written_bytes=4.0 * lookup.indices.elements,
        assumed=lookup.assumed,
    )


def quantised_lookup(call: CallArguments) -> Work | None:
    """A lookup in tables of few bits, all of one kind: `bits2` ... `bits32` are the widest rows.

    Rows of two, four and eight bits begin with four bytes of scale and offset.
    """
    names = {"bits2": 0.25, "bits4": 0.5, "bits8": 1.0, "bits16": 2.0, "bits32": 4.0}
    used = [size for name, size in names.items() if call.integer(name)]
    lookup, width = _lookup(call), call.integer("width")
    if lookup is None or not width or len(used) != 1:
        return None
    row = lookup.width * used[0] + (4.0 if used[0] <= 1 else 0.0)
    # Tables on the device or beyond it, in bytes.
    table_bytes = sum(
        tensor.bytes for name in ("tables", "more_tables") if (tensor := call.tensor(name))
    )
    weighted = call.tensor("index_weights")
    kind = {1: 2.0, 5: 2.0}.get(call.integer("out_type") or 0, 4.0)
    read = memory_work([lookup.indices, call.tensor("ends"), weighted], []).read_bytes
    return Work(
        vector_flop=lookup.looked_up * (3.0 if weighted else 2.0),
        precision="fp32",
        read_bytes=read + min(lookup.indices.elements * row, table_bytes),
        written_bytes=lookup.bags * lookup.width * kind,
        assumed=lookup.assumed,
    )


def _lookup(call: CallArguments) -> _Lookup | None:
    indices, ends = call.tensor("indices"), call.tensor("ends")
    columns, tables = call.tensor("columns"), call.tensor("tables")
    more = call.tensor("more_tables")
    if tables is None or (more is not None and not tables.elements):
        tables = more
    if indices is None or ends is None or columns is None or tables is None:
        return None
    count, bags = columns.elements - 1, ends.elements - 1
    if count < 1 or bags < 1 or bags % count:
        return None
    total, gradient = call.integer("width"), call.tensor("gradient")
    rows = call.tensor("state") if "rowwise" in call.name else None
    if not total and gradient is not None and len(gradient.shape) == 2:
        total = gradient.shape[1]
    if total:
        width, assumed = total / count, _EVEN if count > 1 else ""
    elif rows is not None and rows.elements:
        # A state of one number per row tells how many rows all tables have.
        width = tables.elements / rows.elements
        assumed = _SIZES if count > 1 else ""
    else:
        return None
    return _Lookup(
        indices, bags, count, width, tables, "; ".join(filter(None, [assumed, _OWN_ROWS]))
    )


# -- features and what was looked up, put in another order -----------------------------------------


def permuted_features(
    call: CallArguments, order: Tensor, lengths: Tensor, values: Tensor
) -> Work | None:
    """Features put in another order: their `lengths` (features x bags), `values` and `weights`.

    Nothing is computed.  How many values the chosen features have is an argument of some versions;
    else features are taken to have equally many.
    """
    if not lengths.shape:
        return None
    features = lengths.shape[0]
    if not features:
        return None
    share, assumed = order.elements / features, ""
    chosen = call.integer("chosen")
    if chosen is not None and chosen >= 0 and values.elements:
        chosen_share = chosen / values.elements
    else:
        chosen_share = share
        assumed = "" if share == 1 else "features have equally many values"
    moving = memory_work([values, call.tensor("weights")], []).read_bytes
    return Work(
        read_bytes=order.bytes + min(1.0, share) * lengths.bytes + min(1.0, chosen_share) * moving,
        written_bytes=share * lengths.bytes + chosen_share * moving,
        assumed=assumed,
    )


def reordered(call: CallArguments) -> Work | None:
    """All tensors of floating types read and written once: columns put in another order."""
    moving = [tensor for tensor in call.tensors if tensor.precision not in ("", "int")]
    return memory_work(moving, moving) if moving else None


def checked_indices(call: CallArguments, indices: Tensor, ends: Tensor) -> Work | None:
    """Indices compared with the rows of their tables: two comparisons each."""
    work = memory_work([call.tensor("rows"), indices, ends], [])
    return replace(work, vector_flop=2.0 * indices.elements, precision="int")


def running_sum(x: Tensor) -> Work | None:
    """Sums of all before each element, and of all: one operation each."""
    if not x.shape:
        return None
    longer = x.sized(*x.shape[:-1], x.shape[-1] + 1)
    return replace(memory_work([x], [longer]), vector_flop=float(x.elements), precision=x.precision)


# -- rows of several lengths -----------------------------------------------------------------------


def padded(call: CallArguments, values: Tensor) -> Work | None:
    """Rows of several lengths (`values`) to bags of the same length (`longest`)."""
    longest = call.integer("longest")
    bags = _bags(call)
    if not values.shape or bags is None or longest is None:
        return None
    return memory_work([values], [values.sized(bags, longest, *values.shape[1:])])


def unpadded(call: CallArguments, dense: Tensor) -> Work | None:
    """Bags of the same length (`dense`) to rows of several lengths, as many as `rows` says."""
    rows = call.integer("rows")
    if rows is None or len(dense.shape) < 2:
        return None
    rows_kept = dense.sized(rows, *dense.shape[2:])
    return memory_work([rows_kept], [rows_kept])


def with_dense(values: Tensor, dense: Tensor) -> Work | None:
    """Rows and what a dense tensor has in their places, one operation an element; rows come out."""
    work = memory_work([values, dense.sized(*values.shape)], [values])
    return replace(work, vector_flop=float(values.elements), precision=values.precision)


def rows_by_bag(call: CallArguments, values: Tensor) -> Work | None:
    """Rows of each bag (`values`, n x K) times the bag's matrix (`dense`, bags x K x N): 2 n K N.

    With `other` (n x N) instead: the products of both, added up by bag.
    """
    dense, other = call.tensor("dense"), call.tensor("others")
    bags = _bags(call)
    if len(values.shape) != 2:
        return None
    rows, k = values.shape
    if dense is not None and len(dense.shape) == 3 and dense.shape[1] == k:
        n, read, out = dense.shape[2], dense, values.sized(rows, dense.shape[2])
    elif other is not None and len(other.shape) == 2 and bags and other.shape[0] == rows:
        n, read, out = other.shape[1], other, values.sized(bags, k, other.shape[1])
    else:
        return None
    work = memory_work([values, read], [out])
    return replace(work, matrix_flop=2.0 * rows * k * n, precision=values.precision)


def _bags(call: CallArguments) -> int | None:
    listed = call.tensor_list("ends")
    ends = listed[0] if len(listed) == 1 else call.tensor("ends")
    return ends.elements - 1 if ends is not None and ends.elements else None

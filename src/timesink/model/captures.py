"""What a program called while a graph was captured: calls, and the work they put into the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

from timesink.model.schema import HOST

if TYPE_CHECKING:
    from polars._typing import PolarsDataType

CALL_TEXTS = (
    *("input_dims", "input_types", "input_strides", "concrete_inputs"),
    *("call_stack", "module_hierarchy"),
)
"""What describes a captured call as in the table `host`; shapes and scalars first."""
SHAPE_TEXTS = CALL_TEXTS[:4]
"""Those that depend on the size of a batch."""
CALL_NUMBERS = ("sequence_number", "fwd_thread_id", "flop", "python_module_id")
CALL_KINDS = ("operator", "module", "annotation")
NODE_KINDS = ("kernel", "memcpy", "memset", "other")
GEOMETRY = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")

CALLS: dict[str, PolarsDataType] = {
    "parent": pl.Int64(),
    "kind": pl.String(),
    "name": pl.String(),
    **{name: pl.String() for name in CALL_TEXTS},
    **{name: HOST.schema[name] for name in CALL_NUMBERS},
}
"""One row per call, callers before their callees: `parent` is a row, -1 for none."""

NODES: dict[str, PolarsDataType] = {
    "call": pl.Int64(),
    "kind": pl.String(),
    "kernel": pl.String(),
    **dict.fromkeys(GEOMETRY, pl.Int64()),
    "stream": pl.String(),
    "node_id": pl.Int64(),
}
"""One row per piece of work, as captured: the row of the innermost call around its launch, -1 for
none; name and geometry of the kernel, stream and number of the node, where they are known."""


class Capture(msgspec.Struct, frozen=True, eq=False):
    """One captured graph."""

    source: str
    """The file it was read from."""
    label: str
    """What it is of, in words of the program: batch size and mode, where they are known."""
    calls: pl.DataFrame
    nodes: pl.DataFrame
    is_eager: bool = False
    """Whether nothing was captured: the program ran eagerly, and a replay may be any part of it."""
    batch_size: int | None = None
    """What it was captured for, where that is known."""
    memory_bytes: int | None = None
    """Device memory that the graph holds, where the recorder measured it."""


def capture_of(
    source: str,
    label: str,
    calls: dict[str, list[object]],
    nodes: dict[str, list[object]],
    *,
    is_eager: bool = False,
) -> Capture:
    """A capture from the columns that are known.

    >>> capture = capture_of("a.json", "", {"parent": [-1], "name": ["aten::mm"]}, {"call": [0]})
    >>> capture.calls["kind"].to_list(), capture.nodes["kernel"].to_list()
    (['operator'], [None])
    """
    return Capture(
        source,
        label,
        _frame(calls, CALLS, {"kind": "operator"}),
        _frame(nodes, NODES, {"kind": "kernel"}),
        is_eager=is_eager,
    )


def _frame(
    columns: dict[str, list[object]],
    schema: dict[str, PolarsDataType],
    usual: dict[str, object],
) -> pl.DataFrame:
    rows = max(map(len, columns.values()), default=0)
    return pl.DataFrame(
        {name: columns.get(name, [usual.get(name)] * rows) for name in schema}, schema=schema
    )

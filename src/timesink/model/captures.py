"""What a program called while a graph was captured: calls, and the work they put into the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import polars as pl

from timesink.model.intervals import Ints
from timesink.model.schema import CAPTURED_KINDS, HOST

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


class CapturedSpans(NamedTuple):
    """Captured calls, and from when to when the devices worked for each of them."""

    row: Ints
    """The row in `host`."""
    device_row: Ints
    """The first of its work, a row in `device`."""
    start: Ints
    end: Ints


def captured_spans(host: pl.DataFrame, device: pl.DataFrame) -> CapturedSpans:
    """When devices worked for captured calls, with all that these called; in the order of `host`.

    >>> columns = {"index": [7, 8], "captured_caller": [None, 7]}
    >>> kinds = pl.Series(["captured_module", "captured_operator"], dtype=HOST.schema["kind"])
    >>> work = pl.DataFrame({"ts_ns": [30, 10], "dur_ns": [5, 5], "captured_call": [8, 8]})
    >>> spans = captured_spans(pl.DataFrame(columns).with_columns(kind=kinds), work)
    >>> spans.row.tolist(), spans.start.tolist(), spans.end.tolist()
    ([0, 1], [10, 10], [35, 35])
    """
    row = np.flatnonzero(host["kind"].is_in(CAPTURED_KINDS).to_numpy())
    row = row[np.argsort(host["index"].to_numpy()[row], kind="stable")]
    index = host["index"].cast(pl.Int64).to_numpy()[row]
    work = np.flatnonzero(device["captured_call"].is_not_null().to_numpy())
    call = np.searchsorted(index, device["captured_call"].fill_null(-1).to_numpy()[work])
    start = np.full(len(row), np.iinfo(np.int64).max)
    end, first = np.full(len(row), -1), np.full(len(row), device.height)
    begin = device["ts_ns"].to_numpy()[work]
    np.minimum.at(start, call, begin)
    np.maximum.at(end, call, begin + device["dur_ns"].to_numpy()[work])
    np.minimum.at(first, call, work)
    caller = host["captured_caller"].fill_null(-1).to_numpy()[row]
    place = np.where(caller >= 0, np.searchsorted(index, caller), -1)
    # Callers come first: what is below a call is settled before the call.
    for number in np.flatnonzero(place >= 0)[::-1].tolist():
        above = place[number]
        start[above] = min(start[above], start[number])
        end[above] = max(end[above], end[number])
        first[above] = min(first[above], first[number])
    works = end >= 0
    return CapturedSpans(row[works], first[works], start[works], end[works])

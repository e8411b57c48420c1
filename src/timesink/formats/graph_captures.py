"""The file of graphs that a recorder saw captured: `<trace>.captures.json`, packed or not.

One file per trace, columns instead of rows, so that thousands of calls stay small.  What its fields
mean is said in docs/graphs.md; every one but `schema`, `graphs`, `calls.parent`, `calls.name` and
`nodes.call` may be missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import polars as pl

from timesink.formats.small_files import DamagedError, decode_small_json, joined_blocks
from timesink.formats.source_file import open_source
from timesink.model.captures import (
    CALL_KINDS,
    CALLS,
    GEOMETRY,
    NODE_KINDS,
    NODES,
    Capture,
)
from timesink.model.graph_facts import CaptureFailure

SCHEMA = "timesink/graph-captures/1"
ENDING = ".captures.json"
MAX_BYTES = 512 << 20
"""A graph of a large model has some thousand nodes: 1 MB; programs capture up to some hundred."""
MAX_GRAPHS = 4096
_HINT = "record again, or leave the file out: the recording is read without it"

Int = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Triple = tuple[Int, Int, Int]


class _CallColumns(msgspec.Struct, frozen=True):
    parent: list[Int]
    name: list[str]
    kind: list[str] = []
    input_dims: list[str | None] = []
    input_types: list[str | None] = []
    input_strides: list[str | None] = []
    concrete_inputs: list[str | None] = []
    call_stack: list[str | None] = []
    module_hierarchy: list[str | None] = []
    sequence_number: list[Int | None] = []
    fwd_thread_id: list[Int | None] = []
    flop: list[Int | None] = []
    python_module_id: list[Int | None] = []


class _NodeColumns(msgspec.Struct, frozen=True):
    call: list[Int]
    kind: list[str] = []
    kernel: list[str | None] = []
    grid: list[Triple | None] = []
    block: list[Triple | None] = []
    stream: list[str | None] = []
    node_id: list[Int | None] = []


class _GraphColumns(msgspec.Struct, frozen=True):
    calls: _CallColumns
    nodes: _NodeColumns
    label: str = ""
    batch_size: Int | None = None
    memory_bytes: Int | None = None


class _FailureRow(msgspec.Struct, frozen=True):
    reason: str
    place: str = ""
    times: Int = 1


class _CapturesContent(msgspec.Struct, frozen=True):
    schema: str
    graphs: list[_GraphColumns]
    failures: list[_FailureRow] = []


def read_captures(path: Path) -> tuple[list[Capture], list[CaptureFailure]]:
    """The graphs of a file in the order of their captures, and captures that failed.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "trace.captures.json"
    >>> graph = {"calls": {"parent": [-1], "name": ["aten::mm"]}, "nodes": {"call": [0, 0]}}
    >>> content = {"schema": SCHEMA, "graphs": [graph]}
    >>> _ = path.write_bytes(msgspec.json.encode(content))
    >>> captures, _ = read_captures(path)
    >>> captures[0].calls["name"].to_list(), captures[0].nodes.height
    (['aten::mm'], 2)
    """
    content = joined_blocks(open_source(path).blocks(), path, most_bytes=MAX_BYTES)
    file: _CapturesContent = decode_small_json(content, path, _HINT, _CapturesContent)
    if file.schema != SCHEMA:
        raise DamagedError(path, f"schema {file.schema!r}, and {SCHEMA} is known here", _HINT)
    if len(file.graphs) > MAX_GRAPHS:
        raise DamagedError(path, f"more than {MAX_GRAPHS} graphs", _HINT)
    captures = [_capture(graph, path, number) for number, graph in enumerate(file.graphs)]
    failures = [CaptureFailure(item.reason, item.place, item.times) for item in file.failures]
    return captures, failures


def _capture(graph: _GraphColumns, path: Path, number: int) -> Capture:
    calls, nodes, label = graph.calls, graph.nodes, graph.label
    rows, work = len(calls.parent), len(nodes.call)
    for columns, height in ((calls, rows), (nodes, work)):
        for name in columns.__struct_fields__:
            if len(getattr(columns, name)) not in {0, height} or len(calls.name) != rows:
                raise DamagedError(path, f"graph {number}: columns of different lengths", _HINT)
    # Callers come first, so nothing calls itself, however indirectly.
    if any(not -1 <= parent < place for place, parent in enumerate(calls.parent)):
        raise DamagedError(path, f"graph {number}: a call without its caller", _HINT)
    if any(not -1 <= call < rows for call in nodes.call):
        raise DamagedError(path, f"graph {number}: work without its call", _HINT)
    if set(calls.kind) - set(CALL_KINDS) or set(nodes.kind) - set(NODE_KINDS):
        raise DamagedError(path, f"graph {number}: an unknown kind", _HINT)
    grid = nodes.grid or [None] * work
    block = nodes.block or [None] * work
    sizes = [
        (*(first or (None,) * 3), *(second or (None,) * 3))
        for first, second in zip(grid, block, strict=True)
    ]
    geometry = dict(zip(GEOMETRY, zip(*sizes, strict=True), strict=True)) if sizes else {}
    return Capture(
        path.name,
        label,
        pl.DataFrame(
            {
                name: _column(getattr(calls, name), rows, "operator" if name == "kind" else None)
                for name in CALLS
            },
            schema=CALLS,
        ),
        pl.DataFrame(
            {
                name: geometry.get(name, [None] * work)
                if name in GEOMETRY
                else _column(getattr(nodes, name), work, "kernel" if name == "kind" else None)
                for name in NODES
            },
            schema=NODES,
        ),
        batch_size=graph.batch_size,
        memory_bytes=graph.memory_bytes,
    )


def _column(values: list[object], rows: int, usual: object) -> list[object]:
    return values or [usual] * rows

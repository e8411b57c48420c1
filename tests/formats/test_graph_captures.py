"""The file of captures that a recorder writes: what is read, and what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from timesink.errors import TimesinkError
from timesink.formats.graph_captures import SCHEMA, read_captures

GRAPH: dict[str, Any] = {
    "label": "batch size 8",
    "batch_size": 8,
    "memory_bytes": 4096,
    "calls": {
        "parent": [-1, 0],
        "kind": ["module", "operator"],
        "name": ["nn.Module: Net_0", "aten::mm"],
        "input_dims": [None, "[[8,16]]"],
    },
    "nodes": {
        "call": [1, 1],
        "kind": ["kernel", "memset"],
        "kernel": ["gemm", None],
        "grid": [[4, 1, 1], None],
        "block": [[128, 1, 1], None],
        "stream": ["7", "7"],
        "node_id": [11, 12],
    },
}


def write(folder: Path, *graphs: Any, **more: Any) -> Path:
    path = folder / "trace.captures.json"
    path.write_text(json.dumps({"schema": SCHEMA, "graphs": graphs, **more}))
    return path


def test_a_graph(tmp_path: Path):
    (capture,), _ = read_captures(write(tmp_path, GRAPH))
    assert (capture.label, capture.batch_size, capture.memory_bytes) == ("batch size 8", 8, 4096)
    assert capture.calls["name"].to_list() == ["nn.Module: Net_0", "aten::mm"]
    assert capture.nodes.select("kernel", "grid_x", "block_x", "node_id").rows() == [
        ("gemm", 4, 128, 11),
        (None, None, None, 12),
    ]


def test_failures(tmp_path: Path):
    failure = {"reason": "a synchronisation", "place": "model.py(12)", "times": 3}
    _, failures = read_captures(write(tmp_path, failures=[failure]))
    assert [(item.reason, item.place, item.times) for item in failures] == [
        ("a synchronisation", "model.py(12)", 3)
    ]


def test_packed(tmp_path: Path):
    plain = write(tmp_path, GRAPH)
    packed = tmp_path / "trace.captures.json.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert len(read_captures(packed)[0]) == 1


def _changed(part: str, column: str, values: Any) -> dict[str, Any]:
    return {**GRAPH, part: {**GRAPH[part], column: values}}


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (_changed("calls", "parent", [-1, 1]), "a call without its caller"),
        (_changed("calls", "parent", [-2, 0]), "a call without its caller"),
        (_changed("calls", "name", ["one"]), "columns of different lengths"),
        (_changed("calls", "kind", ["module", "sorcery"]), "an unknown kind"),
        (_changed("nodes", "call", [1, 2]), "work without its call"),
        (_changed("nodes", "stream", ["7"]), "columns of different lengths"),
        (_changed("nodes", "node_id", [2**70, 1]), "Expected"),
        (_changed("nodes", "grid", [[1, 1], None]), "Expected"),
    ],
)
def test_what_does_not_hold_together_is_refused(tmp_path: Path, graph: Any, reason: str):
    with pytest.raises(TimesinkError, match=reason):
        read_captures(write(tmp_path, graph))


def test_another_schema_is_refused(tmp_path: Path):
    path = tmp_path / "trace.captures.json"
    path.write_text('{"schema": "timesink/graph-captures/9", "graphs": []}')
    with pytest.raises(TimesinkError, match="is known here"):
        read_captures(path)

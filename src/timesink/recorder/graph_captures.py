"""Graphs that a program captured: the file beside its trace, from what its processes noted.

A node belongs to the innermost call that was open when the graph grew.  What no node needs is left
out of the file.
"""

from __future__ import annotations

import gzip
import json
import re
import struct
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from timesink.recorder.folder import (
    CAPTURES_NOTED,
    CAPTURES_TYPED,
    MODULE_MARK,
    STACK_MARK,
    ProcessNotes,
)

SCHEMA = "timesink/graph-captures/1"
MAX_GRAPHS = 4096
"""The reader takes no more."""
_MARK = struct.Struct("=IIII")
_SORTS = {0: "kernel", 1: "memcpy", 2: "memset"}
"""Of nodes that do work on a device, as the driver numbers them."""
_RANGE = re.compile(
    r"(?P<name>.*?)(?:, seq = (?P<sequence>\d+))?(?:, op_id = (?P<id>\d+))?"
    r"(?:, sizes = (?P<sizes>\[.*?\]))?(?:, input_op_ids = .*)?",
    re.DOTALL,
)
_OPERATOR = re.compile(r"\w+::|\w*Backward\d*$|autograd::|triton_")
_NOBODY = -1


@dataclass
class _Call:
    """One call, from its begin to its end."""

    name: str
    parent: int
    thread: int
    id: int | None
    sequence: int | None
    dims: list[Any] | None
    types: list[str] | None = None
    strides: list[Any] | None = None
    values: list[str] | None = None


@dataclass
class _Graph:
    """One capture, as it was noted."""

    header: Mapping[str, Any]
    calls: list[_Call] = field(default_factory=list)
    node_call: list[int] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for captures of the same calls, of another batch size, say."""
        return tuple(call.name for call in self.calls)


def collect_captures(process: ProcessNotes, place: Path, control: Path) -> str | None:
    """Write the captures of a process beside its trace; the name of the file, None for none."""
    failures = Counter(
        (str(note.get("reason", "")), str(note.get("place", "")))
        for note in process.notes
        if note["event"] == "capture_failed"
    )
    graphs = [_graph(header, marks) for header, marks in _noted(control, process.pid)]
    if not graphs and not failures:
        return None
    _add_types(graphs, control, process.pid)
    content = {
        "schema": SCHEMA,
        "graphs": [_columns(graph) for graph in graphs],
        "failures": [
            {"reason": reason, "place": line, "times": times}
            for (reason, line), times in failures.most_common()
        ],
    }
    unfinished = place.with_name(f".{place.name}.new")
    unfinished.write_bytes(gzip.compress(json.dumps(content).encode(), 6))
    unfinished.replace(place)
    return place.name


def _noted(control: Path, pid: int) -> Iterator[tuple[Mapping[str, Any], bytes]]:
    """What a process noted of each capture; a process that was killed leaves half of the last."""
    with suppress(OSError, ValueError, KeyError):
        with (control / CAPTURES_NOTED.format(pid=pid)).open("rb") as file:
            for _ in range(MAX_GRAPHS):
                line = file.readline()
                if not line:
                    return
                header = json.loads(line)
                marks = file.read(header["bytes"])
                if len(marks) == header["bytes"]:
                    yield header, marks
                file.readline()


# -- which call made which node --------------------------------------------------------------------


def _graph(header: Mapping[str, Any], marks: bytes) -> _Graph:
    graph = _Graph(header)
    open_calls: defaultdict[int, list[int]] = defaultdict(list)
    count, main = 0, int(header["thread"])
    last = main
    for thread, nodes, text in _marks(marks):
        stack = open_calls[thread]
        if nodes > count:
            # Made by this thread, unless it was in no call.
            around = stack or open_calls[last]
            graph.node_call += [around[-1] if around else _NOBODY] * (nodes - count)
            count = nodes
        if text is not None:
            stack.append(len(graph.calls))
            graph.calls.append(_call(text, stack[-2] if len(stack) > 1 else _NOBODY, thread))
        elif stack:
            stack.pop()
        last = thread
    rest = len(header["sorts"]) - count
    around = open_calls[main]
    graph.node_call += [around[-1] if around else _NOBODY] * rest
    return graph


def _marks(content: bytes) -> Iterator[tuple[int, int, str | None]]:
    """Thread, number of nodes so far, and the text of a range that begins; None where one ends."""
    at = 0
    while at + _MARK.size <= len(content):
        thread, nodes, length, is_begin = _MARK.unpack_from(content, at)
        at += _MARK.size
        text = content[at : at + length].decode(errors="replace")
        at += length
        yield thread, nodes, text if is_begin else None


def _call(text: str, parent: int, thread: int) -> _Call:
    match = _RANGE.fullmatch(text)
    if match is None:
        return _Call(text, parent, thread, None, None, None)
    dims = None
    with suppress(ValueError):
        dims = json.loads(match["sizes"]) if match["sizes"] else None
    number, sequence = (int(match[name]) if match[name] else None for name in ("id", "sequence"))
    return _Call(match["name"], parent, thread, number, sequence, dims)


# -- types -----------------------------------------------------------------------------------------


def _add_types(graphs: Sequence[_Graph], control: Path, pid: int) -> None:
    """Types as torch wrote them; of captures with the same calls those of one hold for all."""
    typed: dict[tuple[str, ...], _Graph] = {}
    for graph in graphs:
        number = graph.header["number"]
        if graph.header.get("has_types") and _read_types(
            graph, control / CAPTURES_TYPED.format(pid=pid, number=number)
        ):
            typed.setdefault(graph.key, graph)
    for graph in graphs:
        other = typed.get(graph.key)
        if other is None or graph is other or graph.header.get("has_types"):
            continue
        for call, same in zip(graph.calls, other.calls, strict=True):
            call.types = same.types
            call.dims = _regrouped(call.dims, same.dims)


def _read_types(graph: _Graph, path: Path) -> bool:
    """Add what torch wrote of one capture; whether it did."""
    try:
        nodes = json.loads(path.read_bytes())["nodes"]
    except (OSError, ValueError, KeyError, RecursionError):
        return False
    by_id: dict[tuple[int, str], Mapping[str, Any]] = {}
    for node in nodes:
        attributes = {attribute["name"]: attribute["value"] for attribute in node["attrs"]}
        by_id[attributes.get("rf_id", 0), node["name"]] = node["inputs"]
    for call in graph.calls:
        inputs = by_id.get((call.id or 0, call.name)) if call.id is not None else None
        if inputs is not None and inputs["types"]:
            parts = [
                _input(*part)
                for part in zip(
                    inputs["types"],
                    inputs["shapes"],
                    inputs.get("strides") or [[]] * len(inputs["types"]),
                    inputs["values"],
                    strict=False,
                )
            ]
            call.types, call.dims, call.strides, call.values = map(list, zip(*parts, strict=True))
    return True


def _input(kind: str, shape: Any, stride: Any, value: Any) -> tuple[str, Any, Any, str]:
    """Type, shape, stride and value of what is passed, as the profiler writes them."""
    if kind.startswith("Tensor("):
        return kind[len("Tensor(") : -1], shape, stride, ""
    if kind.startswith("GenericList[Tensor"):
        return "TensorList", shape, stride, ""
    if kind.startswith(("GenericList", "Tuple")):
        return "ScalarList", [], [], json.dumps(value).replace('"', "")
    if kind == "None":
        return "", [], [], ""
    return "Scalar", [], [], str(value)


def _regrouped(dims: list[Any] | None, other: list[Any] | None) -> list[Any] | None:
    """Shapes without their lists, with the lists of another call of the same operator."""
    if dims is None or other is None:
        return dims
    left, grouped = list(dims), []
    for shape in other:
        is_list = bool(shape) and isinstance(shape[0], list)
        many = len(shape) if is_list else 1
        taken, left = left[:many], left[many:]
        if len(taken) < many:
            return dims
        grouped.append(taken if is_list else taken[0])
    return dims if left else grouped


# -- columns of the file ---------------------------------------------------------------------------


def _columns(graph: _Graph) -> dict[str, Any]:
    header = graph.header
    works = [place for place, sort in enumerate(header["sorts"]) if sort in _SORTS]
    kept = _with_callers(graph, [graph.node_call[place] for place in works])
    place_of = {call: place for place, call in enumerate(kept)}
    calls = [graph.calls[number] for number in kept]
    names = [call.name.partition(STACK_MARK)[0] for call in calls]
    parents = [place_of.get(call.parent, _NOBODY) for call in calls]
    streams = _streams(len(header["sorts"]), header["edges"])
    grids = [header["geometry"][place] for place in works]
    forward = {
        call.sequence: call.thread for call in graph.calls if call.thread == header["thread"]
    }
    is_backward = [call.thread != header["thread"] for call in calls]
    columns: dict[str, list[Any]] = {
        "parent": parents,
        "name": names,
        "kind": [_kind(call) for call in calls],
        "input_dims": [_json(call.dims) for call in calls],
        "input_types": [_json(call.types) for call in calls],
        "input_strides": [_json(call.strides) for call in calls],
        "concrete_inputs": [_json(call.values) for call in calls],
        "call_stack": _stacks(calls, parents, header["stack"]),
        "sequence_number": [call.sequence for call in calls],
        "fwd_thread_id": [
            forward.get(call.sequence) if backward and call.sequence is not None else None
            for call, backward in zip(calls, is_backward, strict=True)
        ],
    }
    nodes: dict[str, list[Any]] = {
        "call": [place_of.get(graph.node_call[place], _NOBODY) for place in works],
        "kind": [_SORTS[header["sorts"][place]] for place in works],
        "kernel": [
            header["names"][header["kernels"][place]] if header["kernels"][place] >= 0 else None
            for place in works
        ],
        "grid": [sizes and sizes[:3] for sizes in grids],
        "block": [sizes and sizes[3:] for sizes in grids],
        "stream": [str(streams[place]) for place in works],
    }
    return {
        "label": f"captured at {header['place']}" if header["place"] else "",
        "memory_bytes": header["memory_bytes"],
        "calls": {name: column for name, column in columns.items() if _says_something(column)},
        "nodes": nodes,
    }


def _says_something(column: Sequence[Any]) -> bool:
    return not column or any(value is not None for value in column)


def _with_callers(graph: _Graph, calls: Sequence[int]) -> list[int]:
    """The calls that nodes belong to, and their callers, in their order."""
    kept: set[int] = set()
    for number in calls:
        while number >= 0 and number not in kept:
            kept.add(number)
            number = graph.calls[number].parent
    return sorted(kept)


def _kind(call: _Call) -> str:
    if call.name.startswith(MODULE_MARK):
        return "module"
    is_operator = call.dims is not None or call.types is not None
    return "operator" if is_operator or _OPERATOR.match(call.name) else "annotation"


def _stacks(calls: Sequence[_Call], parents: Sequence[int], capture: Sequence[str]) -> list[str]:
    """Functions around each call, the innermost first: those of the module, then of its callers."""
    stacks: list[str] = []
    for call, parent in zip(calls, parents, strict=True):
        around = stacks[parent] if parent >= 0 else ";".join(capture)
        _, mark, mine = call.name.partition(STACK_MARK)
        if mark:
            # The outermost module has the functions that make the capture as well.
            outer = around if parent >= 0 else ""
            around = ";".join(filter(None, (mine, outer)))
        stacks.append(around)
    return stacks


def _json(value: list[Any] | None) -> str | None:
    return None if value is None else json.dumps(value)


def _streams(count: int, edges: Sequence[int]) -> list[int]:
    """A number for each node, equal for nodes of a chain: what was captured on one stream.

    A node goes on with the chain whose end it follows, of several with the first; else with one
    that has been joined to another, or with a new one.
    """
    before: list[list[int]] = [[] for _ in range(count)]
    for first, second in zip(edges[::2], edges[1::2], strict=True):
        before[second].append(first)
    chain: list[int] = []
    ends: list[int] = []
    joined: set[int] = set()
    for node in range(count):
        follows = set(before[node])
        fitting = [number for number, end in enumerate(ends) if end in follows]
        free = [number for number, end in enumerate(ends) if end in joined and end not in follows]
        number = (fitting or free or [len(ends)])[0]
        if number == len(ends):
            ends.append(node)
        joined |= {ends[other] for other in fitting[1:]}
        ends[number] = node
        chain.append(number)
    return chain

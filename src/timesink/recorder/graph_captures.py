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
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from timesink.patterns import regex
from timesink.recorder.folder import (
    CAPTURES_NOTED,
    MODULE_MARK,
    STACK_MARK,
    ProcessNotes,
)

SCHEMA = "timesink/graph-captures/1"
MAX_GRAPHS = 4096
"""The reader takes no more."""
_TOO_MANY = f"only the first {MAX_GRAPHS} captures are described"
_MARK = struct.Struct("=IIII")
_SORTS = {0: "kernel", 1: "memcpy", 2: "memset"}
"""Of nodes that do work on a device, as the driver numbers them."""
_RANGE = regex(
    r"(?P<name>.*?)(?:, seq = (?P<sequence>\d+))?(?:, op_id = (?P<id>\d+))?"
    r"(?:, sizes = (?P<sizes>\[.*?\]))?(?:, input_op_ids = .*)?",
    re.DOTALL,
)
_OPERATOR = regex(r"\w+::|\w*Backward\d*$|autograd::|triton_")
_BACKWARD = regex(r"autograd::engine::|\w*Backward\d*$")
_FORWARD_THREAD = 1
"""A capture has one forward pass, whose thread goes by this number."""
_NOBODY = -1


@dataclass
class _CapturedCall:
    """One call, from its begin to its end."""

    name: str
    parent: int
    thread: int
    id: int | None
    sequence: int | None
    dims: list[Any] | None


@dataclass
class _NotedGraph:
    """One capture, as it was noted."""

    header: Mapping[str, Any]
    calls: list[_CapturedCall] = field(default_factory=list)
    node_call: list[int] = field(default_factory=list)


def collect_captures(process: ProcessNotes, place: Path, control: Path) -> str | None:
    """Write the captures of a process beside its trace; the name of the file, None for none."""
    failures = Counter(
        (str(note.get("reason", "")), str(note.get("place", "")))
        for note in process.notes
        if note["event"] == "capture_failed"
    )
    graphs: list[_NotedGraph] = []
    for header, marks in _noted(control, process.pid):
        if len(graphs) < MAX_GRAPHS:
            graphs.append(_graph(header, marks))
        else:
            failures[_TOO_MANY, ""] += 1
    if not graphs and not failures:
        return None
    # A backward pass is often a graph of its own: the forward calls it belongs to are in another.
    gradients = {call.sequence for graph in graphs for call in graph.calls if _is_backward(call)}
    content = {
        "schema": SCHEMA,
        # Some programs capture nothing, to have memory for graphs.
        "graphs": [_columns(graph, gradients) for graph in graphs if graph.node_call],
        "failures": [
            {"reason": reason, "place": line, "times": times}
            for (reason, line), times in failures.most_common()
        ],
    }
    unfinished = place.with_name(f".{place.name}.new")
    try:
        unfinished.write_bytes(gzip.compress(json.dumps(content).encode(), 6))
        unfinished.replace(place)
    finally:
        unfinished.unlink(missing_ok=True)
    return place.name


def _noted(control: Path, pid: int) -> Iterator[tuple[Mapping[str, Any], bytes]]:
    """What a process noted of each capture; a process that was killed leaves half of the last."""
    path = control / CAPTURES_NOTED.format(pid=pid)
    with suppress(OSError, ValueError, KeyError), path.open("rb") as file:
        while line := file.readline():
            header = json.loads(line)
            marks = file.read(header["bytes"])
            if len(marks) == header["bytes"]:
                yield header, marks
            file.readline()


# -- which call made which node --------------------------------------------------------------------


def _graph(header: Mapping[str, Any], marks: bytes) -> _NotedGraph:
    graph = _NotedGraph(header)
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
    # A program may take nodes out again before its capture ends.
    del graph.node_call[len(header["sorts"]) :]
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


def _call(text: str, parent: int, thread: int) -> _CapturedCall:
    match = _RANGE.fullmatch(text)
    if match is None:
        return _CapturedCall(text, parent, thread, None, None, None)
    dims = None
    with suppress(ValueError):
        dims = json.loads(match["sizes"]) if match["sizes"] else None
    number, sequence = (int(match[name]) if match[name] else None for name in ("id", "sequence"))
    return _CapturedCall(match["name"], parent, thread, number, sequence, dims)


# -- types -----------------------------------------------------------------------------------------

_ELEMENTS = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
    "int64": "long int", "int32": "int", "int16": "short int", "int8": "signed char",
    "uint8": "unsigned char", "bool": "bool", "float8_e4m3fn": "c10::Float8_e4m3fn",
    "float8_e5m2": "c10::Float8_e5m2", "complex64": "c10::complex<float>",
}  # fmt: skip
"""Types of elements, as torch and as the profiler call them."""
_IN_KERNELS = (
    (regex(r"bfloat16|BFloat16|_tst_"), "c10::BFloat16"),
    (regex(r"c10::Half|__half|half_t|_hsh_"), "c10::Half"),
    (regex(r"\bdouble\b"), "double"),
    (regex(r"\bfloat\b|sgemm|_sss_|s884|s1688"), "float"),
)
"""Types in names of kernels: the smallest first, as sums are kept in larger ones."""
_CONVERTS = ("copy", "aten::to", "embedding", "index", "where", "argmax", "cumsum")
"""Operators whose inputs are of several types."""
_JOINS = ("aten::cat", "aten::stack", "aten::concat")


def _types(
    call: _CapturedCall, kernel: str | None, types: Mapping[tuple[int, ...], str]
) -> list[str]:
    """The type of each input: of parameters and inputs of that shape, else as its kernel says."""
    usual = ""
    if kernel and not any(word in call.name for word in _CONVERTS):
        usual = next((name for pattern, name in _IN_KERNELS if pattern.search(kernel)), "")
    return [types.get(tuple(shape), usual) if shape else "Scalar" for shape in call.dims or ()]


def _shapes(
    call: _CapturedCall, types: list[str] | None
) -> tuple[list[Any] | None, list[str] | None]:
    """Shapes and types with the lists that ranges do not show."""
    dims = call.dims
    if dims is None or types is None or call.name not in _JOINS:
        return dims, types
    many = next((place for place, shape in enumerate(dims) if not shape), len(dims))
    return [dims[:many], *dims[many:]], ["TensorList", *types[many:]]


# -- columns of the file ---------------------------------------------------------------------------


def _columns(graph: _NotedGraph, gradients: AbstractSet[int | None]) -> dict[str, Any]:
    header = graph.header
    works = [place for place, sort in enumerate(header["sorts"]) if sort in _SORTS]
    makers = {
        call.sequence: number
        for number, call in enumerate(graph.calls)
        if call.sequence in gradients and not _is_backward(call)
    }
    owners = [graph.node_call[place] for place in works]
    kept = _with_callers(graph, [*owners, *makers.values()])
    place_of = {call: place for place, call in enumerate(kept)}
    calls = [graph.calls[number] for number in kept]
    names = [call.name.partition(STACK_MARK)[0] for call in calls]
    parents = [place_of.get(call.parent, _NOBODY) for call in calls]
    streams = _streams(len(header["sorts"]), header["edges"])
    grids = [header["geometry"][place] for place in works]
    inputs = _inputs(graph, kept)
    columns: dict[str, list[Any]] = {
        "parent": parents,
        "name": names,
        "kind": [_kind(call) for call in calls],
        "input_dims": [_json(dims) for dims, _ in inputs],
        "input_types": [_json(types) for _, types in inputs],
        "call_stack": _stacks(calls, parents, header["stack"]),
        "sequence_number": [call.sequence for call in calls],
        "fwd_thread_id": [_FORWARD_THREAD if _is_backward(call) else None for call in calls],
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


def _inputs(
    graph: _NotedGraph, kept: Sequence[int]
) -> list[tuple[list[Any] | None, list[str] | None]]:
    """Shapes and types of what calls get."""
    header = graph.header
    types = {tuple(shape): _ELEMENTS.get(name, "") for shape, name in header.get("types", ())}
    kernel_of: dict[int, str] = {}
    for owner, kernel in zip(graph.node_call, header["kernels"], strict=True):
        above = owner
        # An operator that calls another has its kernel, too.
        while above >= 0 and kernel >= 0 and above not in kernel_of:
            kernel_of[above] = header["names"][kernel]
            above = graph.calls[above].parent
    inputs = []
    for number in kept:
        call = graph.calls[number]
        typed = None if call.dims is None else _types(call, kernel_of.get(number), types)
        inputs.append(_shapes(call, typed))
    return inputs


def _says_something(column: Sequence[Any]) -> bool:
    return not column or any(value is not None for value in column)


def _with_callers(graph: _NotedGraph, calls: Sequence[int]) -> list[int]:
    """The calls that nodes belong to, and their callers, in their order."""
    kept: set[int] = set()
    for call in calls:
        above = call
        while above >= 0 and above not in kept:
            kept.add(above)
            above = graph.calls[above].parent
    return sorted(kept)


def _kind(call: _CapturedCall) -> str:
    if call.name.startswith(MODULE_MARK):
        return "module"
    return "operator" if call.dims is not None or _OPERATOR.match(call.name) else "annotation"


def _is_backward(call: _CapturedCall) -> bool:
    return call.sequence is not None and _BACKWARD.match(call.name) is not None


def _stacks(
    calls: Sequence[_CapturedCall], parents: Sequence[int], capture: Sequence[str]
) -> list[str]:
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

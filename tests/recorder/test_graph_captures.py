"""Captures of graphs: marks of the compiled part, and the file that is made of them."""

from __future__ import annotations

import ctypes
import json
import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from timesink.formats.graph_captures import read_captures
from timesink.model.captures import Capture
from timesink.model.graph_facts import CaptureFailure
from timesink.recorder.agent import graph_captures
from timesink.recorder.agent.driver_graphs import DriverGraphs
from timesink.recorder.agent.graph_captures import INJECTION, GraphCaptures, _marks_library
from timesink.recorder.folder import CAPTURES_NOTED, Notebook, ProcessNotes, read_notes
from timesink.recorder.graph_captures import collect_captures

Mark = tuple[int, int, str | None]
"""Thread, nodes so far, and the range that begins; None where one ends."""
MAIN, AUTOGRAD, PID = 10, 11, 7
FORWARD: list[Mark] = [
    (MAIN, 0, "nn.Module: Net <- net.py(3): forward;train.py(9): main"),
    (MAIN, 0, "aten::linear, seq = 4, op_id = 2, sizes = [[8, 16], [32, 16]]"),
    (MAIN, 0, "aten::addmm, seq = 5, op_id = 3, sizes = [[32], [8, 16], [16, 32]]"),
    (MAIN, 2, None),
    (MAIN, 2, None),
    (MAIN, 2, "aten::chunk, seq = 6, op_id = 4, sizes = [[8, 32], []]"),
    (MAIN, 2, None),
    (MAIN, 3, None),
]
"""Two kernels of addmm, none of chunk, and one of the module itself."""


def noted(marks: Sequence[Mark], **header: Any) -> bytes:
    """What the agent leaves of one capture."""
    content = b"".join(
        struct.pack("=IIII", thread, nodes, len(text or ""), text is not None)
        + (text or "").encode()
        for thread, nodes, text in marks
    )
    count = max((nodes for _, nodes, _ in marks), default=0)
    facts = {
        "thread": MAIN, "place": "train.py:9", "stack": ["train.py(9): main"], "types": [],
        "sorts": [0] * count, "names": ["gemm"], "kernels": [0] * count, "memory_bytes": 4096,
        "geometry": [[1, 2, 3, 128, 1, 1]] * count, "edges": [],
    }  # fmt: skip
    line = json.dumps({**facts, **header, "bytes": len(content)})
    return line.encode() + b"\n" + content + b"\n"


def collected(
    folder: Path, content: bytes, notes: Sequence[dict[str, Any]] = ()
) -> tuple[list[Capture], list[CaptureFailure]]:
    (folder / CAPTURES_NOTED.format(pid=PID)).write_bytes(content)
    place = folder / "trace.captures.json.gz"
    assert collect_captures(ProcessNotes(PID, tuple(notes)), place, folder) == place.name
    return read_captures(place)


def owners(capture: Capture) -> list[str]:
    names = [*capture.calls["name"], ""]
    return [names[call] for call in capture.nodes["call"]]


def test_nodes_belong_to_the_innermost_call(tmp_path: Path):
    (capture,), _ = collected(tmp_path, noted(FORWARD))
    assert owners(capture) == ["aten::addmm", "aten::addmm", "nn.Module: Net"]
    assert capture.calls["name"].to_list() == ["nn.Module: Net", "aten::linear", "aten::addmm"]
    assert capture.calls["kind"].to_list() == ["module", "operator", "operator"]
    assert capture.calls["call_stack"][2] == "net.py(3): forward;train.py(9): main"
    assert capture.nodes.row(0)[2:9] == ("gemm", 1, 2, 3, 128, 1, 1)
    assert (capture.label, capture.memory_bytes) == ("captured at train.py:9", 4096)


def test_a_backward_graph_keeps_the_forward_calls_it_belongs_to(tmp_path: Path):
    split = "SplitBackward0, seq = 6, op_id = 9, sizes = [[8, 16]]"
    backward: list[Mark] = [
        (AUTOGRAD, 0, split), (AUTOGRAD, 0, "aten::cat, op_id = 1, sizes = [[8, 16], [8, 16], []]"),
        (AUTOGRAD, 1, None), (AUTOGRAD, 1, None),
    ]  # fmt: skip
    (forward, gradient), _ = collected(tmp_path, noted(FORWARD) + noted(backward))
    assert "aten::chunk" in forward.calls["name"].to_list()
    assert owners(gradient) == ["aten::cat"]
    assert gradient.calls["fwd_thread_id"].to_list() == [1, None]
    assert gradient.calls["input_dims"][1] == "[[[8, 16], [8, 16]], []]"


def test_types_are_those_of_parameters_and_kernels(tmp_path: Path):
    header = {"types": [[[8, 16], "float32"]], "names": ["gemm<c10::BFloat16, float>"]}
    (capture,), _ = collected(tmp_path, noted(FORWARD, **header))
    types = json.loads(capture.calls["input_types"][2])
    assert types == ["c10::BFloat16", "float", "c10::BFloat16"]


def test_chains_are_streams(tmp_path: Path):
    marks: list[Mark] = [(MAIN, 0, "aten::add, op_id = 1"), (MAIN, 6, None)]
    # A fork after the first node, a join at the last one.
    edges = [0, 1, 1, 2, 0, 3, 3, 4, 2, 5, 4, 5]
    (capture,), _ = collected(tmp_path, noted(marks, edges=edges))
    assert capture.nodes["stream"].to_list() == ["0", "0", "0", "1", "1", "0"]


def test_what_was_cut_off_and_what_failed(tmp_path: Path):
    whole = noted(FORWARD)
    failure = {"event": "capture_failed", "reason": "a wait", "place": "train.py:9"}
    captures, failures = collected(tmp_path, whole + whole[:-20], [failure, failure])
    assert len(captures) == 1
    assert failures == [CaptureFailure("a wait", "train.py:9", 2)]


def test_without_captures_there_is_no_file(tmp_path: Path):
    place = tmp_path / "trace.captures.json.gz"
    assert collect_captures(ProcessNotes(PID, ()), place, tmp_path) is None


# The compiled part, called as NVTX and PyTorch do, with a driver that counts.


class FakeDriver:
    """A graph that grows when the test says so."""

    def __init__(self) -> None:
        self.nodes = 0
        self.is_active = True
        pointer = ctypes.c_void_p
        self.cuStreamGetCaptureInfo_v2 = ctypes.CFUNCTYPE(ctypes.c_int, *[pointer] * 6)(self._info)
        self.cuGraphGetNodes = ctypes.CFUNCTYPE(ctypes.c_int, *[pointer] * 3)(self._count)

    def _info(self, _stream: int, status: int, _id: int, graph: int, *_more: int) -> int:
        ctypes.c_int.from_address(status).value = int(self.is_active)
        ctypes.c_void_p.from_address(graph).value = 99
        return 0

    def _count(self, graph: int, _nodes: int, count: int) -> int:
        assert graph == 99
        ctypes.c_size_t.from_address(count).value = self.nodes
        return 0


@pytest.fixture
def marks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.delenv(INJECTION, raising=False)
    library = _marks_library()
    if library is None:
        pytest.skip("the compiled part is not there")
    yield library
    library.timesink_marks_end(ctypes.byref(ctypes.c_size_t()))


def _taken(library: Any) -> list[tuple[int, str]]:
    length = ctypes.c_size_t()
    address = library.timesink_marks_end(ctypes.byref(length))
    content, at, taken = ctypes.string_at(address, length.value), 0, []
    while at < len(content):
        _, nodes, size, is_begin = struct.unpack_from("=IIII", content, at)
        at += 16
        taken.append((nodes, content[at : at + size].decode() if is_begin else "end"))
        at += size
    return taken


def test_marks_say_how_far_the_graph_is(marks: Any):
    driver = FakeDriver()
    marks.timesink_range_push(b"before")
    marks.timesink_marks_begin(*DriverGraphs(driver).addresses, None)
    marks.timesink_range_pop()
    marks.timesink_range_push(b"aten::mm, op_id = 1")
    driver.nodes = 2
    marks.timesink_range_pop()
    # A capture that fails has no graph any more.
    driver.is_active, driver.nodes = False, 7
    marks.timesink_range_push(b"aten::add, op_id = 2")
    marks.timesink_range_pop()
    assert _taken(marks) == [
        (0, "aten::mm, op_id = 1"), (2, "end"), (2, "aten::add, op_id = 2"), (2, "end"),
    ]  # fmt: skip
    marks.timesink_range_push(b"after")
    marks.timesink_range_pop()


def _take_ranges(library: Any) -> list[int]:
    """As NVTX does when the first range begins; the places of the functions it is given."""
    slots = (ctypes.c_void_p * 12)()
    table = (ctypes.c_void_p * 12)(
        *(ctypes.addressof(slots) + 8 * number for number in range(len(slots)))
    )

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    def functions(_module: int, where: int, count: int) -> int:
        ctypes.c_void_p.from_address(where).value = ctypes.addressof(table)
        ctypes.c_uint.from_address(count).value = len(table)
        return 1

    callbacks = (ctypes.c_void_p * 2)(16, ctypes.cast(functions, ctypes.c_void_p).value)
    export = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(
        lambda _table: ctypes.addressof(callbacks)
    )
    assert library.InitializeInjectionNvtx2(export) == 1
    return [number for number, slot in enumerate(slots) if slot]


def test_nvtx_is_given_the_functions(marks: Any):
    assert _take_ranges(marks) == [9, 11]


def test_another_tool_keeps_its_ranges(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(INJECTION, "/of/another/tool.so")
    assert _marks_library() is None


# The agent, in a program whose graphs and operators are made up.


class Layer:
    """A module, as far as the agent looks."""

    def _call_impl(self, value: int, **_options: int) -> int:
        return self.forward(value)

    def __call__(self, value: int) -> int:
        return self._call_impl(value)

    def forward(self, value: int) -> int:
        return value

    def parameters(self) -> list[Any]:
        return []

    def named_modules(self) -> list[tuple[str, Any]]:
        return [("", self)]


class Program:
    """Captures graphs through a stand-in for torch, whose operators make nodes."""

    def __init__(self, marks: Any, driver: FakeDriver) -> None:
        self.driver, self.marks = driver, marks
        self.has_profiler = False

        class Graph:
            def capture_begin(self) -> None:
                driver.nodes = 0

            def capture_end(self) -> None:
                if not driver.is_active:
                    msg = "operation not permitted when stream is capturing"
                    raise RuntimeError(msg)

        class Range:
            def __init__(self, name: str) -> None:
                self.name = name

            def __enter__(self) -> None:
                marks.timesink_range_push(self.name.encode())

            def __exit__(self, *_reason: object) -> None:
                marks.timesink_range_pop()

        self.graph, self.range = Graph, Range

    def enable(self, *_options: object) -> None:
        self.has_profiler = True

    def disable(self) -> None:
        self.has_profiler = False

    @property
    def torch(self) -> Any:
        profiler = SimpleNamespace(
            ProfilerConfig=lambda *_: None, ProfilerState=SimpleNamespace(NVTX=1),
            _enable_profiler=self.enable, _disable_profiler=self.disable,
            _run_on_profiler_start=lambda: None, _run_on_profiler_stop=lambda: None,
        )  # fmt: skip
        return SimpleNamespace(
            __file__="/torch/__init__.py", Tensor=ctypes.Array, version=SimpleNamespace(cuda="13"),
            nn=SimpleNamespace(Module=Layer),
            autograd=SimpleNamespace(
                profiler=profiler, _profiler_enabled=lambda: self.has_profiler
            ),
            _C=SimpleNamespace(
                _cuda_memoryStats=lambda _device: {
                    "reserved_bytes": {"all": {"current": 100 * self.driver.nodes}}
                },
                _profiler=SimpleNamespace(
                    _ExperimentalConfig=lambda: None, _RecordFunctionFast=self.range
                ),
            ),
            cuda=SimpleNamespace(
                CUDAGraph=self.graph, is_initialized=lambda: True, current_device=lambda: 0,
                current_stream=lambda: SimpleNamespace(cuda_stream=5),
            ),
        )  # fmt: skip

    def capture(self) -> None:
        graph = self.graph()
        graph.capture_begin()
        Layer()(1)
        with self.range("aten::mm, op_id = 1"):
            self.driver.nodes += 1
        graph.capture_end()


@pytest.fixture
def program(marks: Any, monkeypatch: pytest.MonkeyPatch) -> Program:
    driver = FakeDriver()
    graphs = DriverGraphs(driver)
    _take_ranges(marks)
    monkeypatch.setattr(graphs, "describe", lambda _graph: {
        "sorts": [0], "names": ["gemm"], "kernels": [0], "geometry": [None], "edges": [],
    })  # fmt: skip
    monkeypatch.setattr(graph_captures, "DriverGraphs", lambda: graphs)
    monkeypatch.setattr(graph_captures, "_marks_library", lambda: marks)
    return Program(marks, driver)


def _notes(folder: Path) -> list[str]:
    return [note["event"] for process in read_notes(folder) for note in process.notes]


def test_a_capture_is_noted_and_the_program_left_as_it_was(program: Program, tmp_path: Path):
    begin = program.graph.capture_begin
    agent = GraphCaptures(program.torch, Notebook(tmp_path), is_wanted=True)
    program.capture()
    assert not program.has_profiler
    agent.leave()
    assert program.graph.capture_begin is begin
    place = tmp_path / "trace.captures.json.gz"
    collect_captures(ProcessNotes(os.getpid(), ()), place, tmp_path)
    (capture,), _ = read_captures(place)
    assert (owners(capture), capture.memory_bytes) == (["aten::mm"], 100)
    assert "test_graph_captures.py" in capture.label


def test_a_capture_that_finds_no_room_is_left_out_and_said(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    agent = GraphCaptures(program.torch, Notebook(tmp_path), is_wanted=True)
    program.capture()
    written = (tmp_path / CAPTURES_NOTED.format(pid=os.getpid())).read_bytes()
    write, said = os.write, []
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda file, content: write(file, content[: len(content) // 2]))
        full.setattr(Notebook, "add", lambda *_, text: said.append(text))
        program.capture()
    agent.leave()
    assert (tmp_path / CAPTURES_NOTED.format(pid=os.getpid())).read_bytes() == written
    assert said == ["a graph was captured unseen: OSError: [Errno 28] No space left on device"]


def test_a_capture_without_any_call_is_said(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # As the compiled part answers where calls do not fit.
    monkeypatch.setattr(graph_captures.ctypes, "string_at", lambda *_: b"")
    agent = GraphCaptures(program.torch, Notebook(tmp_path), is_wanted=True)
    program.capture()
    agent.leave()
    (process,) = read_notes(tmp_path)
    assert "more than 256 MB of calls" in (process.last("remark") or {})["text"]


def test_a_failed_capture_has_a_reason_and_a_place(program: Program, tmp_path: Path):
    agent = GraphCaptures(program.torch, Notebook(tmp_path), is_wanted=True)
    program.driver.is_active = False
    with pytest.raises(RuntimeError):
        program.capture()
    agent.leave()
    (process,) = read_notes(tmp_path)
    note = process.last("capture_failed")
    assert note is not None
    assert note["reason"].startswith("an operation that waits")
    assert "test_graph_captures.py:" in note["place"]


def test_a_profiler_of_the_program_goes_first(program: Program, tmp_path: Path):
    agent = GraphCaptures(program.torch, Notebook(tmp_path), is_wanted=True)
    program.has_profiler = True
    program.capture()
    assert _notes(tmp_path) == ["remark"]
    program.has_profiler = False
    program.graph().capture_begin()
    agent.give_up()
    assert not program.has_profiler
    agent.leave()


def test_without_graphs_nothing_is_changed(program: Program, tmp_path: Path):
    begin = program.graph.capture_begin
    GraphCaptures(program.torch, Notebook(tmp_path), is_wanted=False)
    assert program.graph.capture_begin is begin

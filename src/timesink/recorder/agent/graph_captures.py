# ruff: noqa: SLF001 - torch offers nothing public that is as cheap, or that a capture bears
"""Graphs as they are captured: which call made which node, from the start of the program.

PyTorch announces every operator as an NVTX range while a graph is captured, and compiled code of
this package counts the nodes of the graph at each (`native/graph_marks.hpp`).  The driver names the
nodes.  No profiler of the device is attached: that would make every later replay slower.
What is noted here is put together when the program is over (`recorder/graph_captures.py`).
"""

from __future__ import annotations

import ctypes
import errno
import functools
import importlib.util
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from timesink.recorder.agent.driver_graphs import DriverGraphs
from timesink.recorder.agent.module_calls import ModuleCalls
from timesink.recorder.agent.source_locations import ProgramLines
from timesink.recorder.folder import CAPTURES_NOTED, Notebook

INJECTION = "NVTX_INJECTION64_PATH"
"""Names the library that gets NVTX ranges; read when the first range begins."""
OPERATOR_NS = 5_000
"""What a call costs while it is noted: on an H200 host, torch 2.11."""
MAX_SHARE, FREE_NS = 0.02, 500_000_000
"""Of the time the program runs: more is not spent, but for the first half second."""
MAX_FAILURES = 1000
_NOT_PERMITTED = "not permitted when stream is capturing"


class _CaptureUnderWay(NamedTuple):
    """A capture under way."""

    graph: int
    """Identity of the object that captures."""
    thread: int
    stream: int
    place: str
    stack: list[str]
    reserved: int


class GraphCaptures:
    """Notes every capture of a graph; nothing in here may end or change the program."""

    def __init__(self, torch: Any, notebook: Notebook, *, is_wanted: bool) -> None:
        self._torch, self._notebook = torch, notebook
        self._begun_ns = time.monotonic_ns()
        self._spent_ns = 0
        self._open: _CaptureUnderWay | None = None
        self._failures = 0
        self._remarks: set[str] = set()
        self._undo: list[Callable[[], None]] = []
        self._driver: DriverGraphs | None = None
        kind = getattr(torch.cuda, "CUDAGraph", None)
        if not is_wanted or kind is None or torch.version.cuda is None:
            return
        with suppress(Exception):
            self._marks = _marks_library()
        if self._marks is not None:
            self._hook(kind)

    _marks: Any = None

    def _hook(self, kind: Any) -> None:
        begin, end = kind.capture_begin, kind.capture_end

        @functools.wraps(begin)
        def capture_begin(graph: Any, *args: Any, **kwargs: Any) -> Any:
            reserved = self._reserved()
            try:
                outcome = begin(graph, *args, **kwargs)
            except Exception as error:
                self._failed(error, sys._getframe(1))
                raise
            self._begun(graph, reserved, sys._getframe(1))
            return outcome

        @functools.wraps(end)
        def capture_end(graph: Any) -> Any:
            content = self._ending(graph)
            try:
                outcome = end(graph)
            except Exception as error:
                self._failed(error, sys._getframe(1))
                raise
            self._ended(content)
            return outcome

        def leave() -> None:
            if kind.capture_begin is capture_begin and kind.capture_end is capture_end:
                kind.capture_begin, kind.capture_end = begin, end

        kind.capture_begin, kind.capture_end = capture_begin, capture_end
        self._undo.append(leave)

    def leave(self) -> None:
        """Look at no further captures; one under way is noted no more."""
        self.give_up()
        undo, self._undo = self._undo, []
        for take_back in undo:
            take_back()

    def forget(self) -> None:
        """This process is a fork: a capture of the process it was made from is none of its own."""
        self._open = None

    # -- one capture -----------------------------------------------------------------------------

    def _begun(self, graph: Any, reserved: int, frame: Any) -> None:
        begun_ns = time.perf_counter_ns()
        try:
            self._begin(graph, reserved, frame)
        except Exception as error:  # noqa: BLE001 - the program must not notice
            self._remark(f"a graph was captured unseen: {_first_line(error)}")
        self._spent_ns += time.perf_counter_ns() - begun_ns

    def _begin(self, graph: Any, reserved: int, frame: Any) -> None:
        torch = self._torch
        if self._open is not None and self._open.thread != threading.get_ident():
            self._remark("a graph was captured unseen: another one was being captured")
            return
        self.give_up()
        if torch.autograd._profiler_enabled():
            self._remark("a graph was captured unseen: a profiler was running")
            return
        if not self._may_spend(MAX_SHARE):
            self._remark(
                "some graphs were captured unseen: noting them would have taken more than "
                f"{100 * MAX_SHARE:.0f} % of the time"
            )
            return
        self._driver = self._driver or DriverGraphs()
        lines = ProgramLines(torch)
        stream = int(torch.cuda.current_stream().cuda_stream)
        if self._driver.graph_of(stream) is None:
            return
        place, stack = lines.above(frame), lines.stack(frame)
        self._marks.timesink_marks_begin(*self._driver.addresses, ctypes.c_void_p(stream))
        thread = threading.get_ident()
        self._open = _CaptureUnderWay(id(graph), thread, stream, place, stack, reserved)
        self._modules = ModuleCalls(torch, lines)
        try:
            enable_ranges(torch)
            self._modules.begin()
        except Exception:
            self._open = None
            self._stop()
            raise

    _modules: ModuleCalls | None = None

    def _stop(self) -> bytes:
        """Note nothing more; what was noted so far."""
        if self._modules is not None:
            with suppress(Exception):
                self._modules.end()
        with suppress(Exception):
            disable_ranges(self._torch)
        length = ctypes.c_size_t()
        address = self._marks.timesink_marks_end(ctypes.byref(length))
        return ctypes.string_at(address, length.value) if length.value else b""

    def give_up(self) -> None:
        """Leave a capture alone that was abandoned, or in which a profiler begins."""
        capture = self._open
        if capture is not None and capture.thread == threading.get_ident():
            self._open = None
            self._stop()
            self._remark("a graph was captured unseen: its capture had no end")

    def _ending(self, graph: Any) -> dict[str, Any] | None:
        capture = self._open
        if capture is None or capture.graph != id(graph):
            return None
        begun_ns = time.perf_counter_ns()
        self._open = None
        content = None
        try:
            content = self._end(capture)
        except Exception as error:  # noqa: BLE001 - the program must not notice
            self._remark(f"a graph was captured unseen: {_first_line(error)}")
        self._spent_ns += time.perf_counter_ns() - begun_ns
        return content

    def _end(self, capture: _CaptureUnderWay) -> dict[str, Any] | None:
        if capture.thread != threading.get_ident():
            self._marks.timesink_marks_end(ctypes.byref(ctypes.c_size_t()))
            self._remark("a graph was captured unseen: another thread ended its capture")
            return None
        marks = self._stop()
        if not self._marks.timesink_marks_in_use():
            self._remark("graphs were captured unseen: another tool gets the ranges of NVTX")
            return None
        calls = marks.count(b", op_id = ")
        self._spent_ns += calls * OPERATOR_NS
        graph = self._driver.graph_of(capture.stream) if self._driver is not None else None
        if graph is None or self._driver is None:
            return None
        described = self._driver.describe(graph)
        if described["sorts"] and not marks:
            # Compiled code gives none where they do not fit: they would not hold together.
            self._remark("a graph was captured unseen: no call in it, or more than 256 MB of calls")
        return {
            "place": capture.place,
            "stack": capture.stack,
            "reserved": capture.reserved,
            "types": self._modules.types if self._modules is not None else [],
            "thread": threading.get_native_id(),
            **described,
            "marks": marks,
        }

    def _ended(self, content: dict[str, Any] | None) -> None:
        if content is None:
            return
        begun_ns = time.perf_counter_ns()
        try:
            marks = content.pop("marks")
            held = self._reserved() - content.pop("reserved")
            header = json.dumps({**content, "memory_bytes": max(0, held), "bytes": len(marks)})
            path = self._notebook.control / CAPTURES_NOTED.format(pid=os.getpid())
            end = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                _append(end, header.encode() + b"\n" + marks + b"\n")
            finally:
                os.close(end)
        except Exception as error:  # noqa: BLE001 - the program must not notice
            self._remark(f"a graph was captured unseen: {_first_line(error)}")
        self._spent_ns += time.perf_counter_ns() - begun_ns

    def _failed(self, error: Exception, frame: Any) -> None:
        """A capture failed: what the program was doing then says why."""
        with suppress(Exception):
            self._failures += 1
            if self._failures > MAX_FAILURES:
                return
            # The end of a capture only says that something before it went wrong.
            cause = sys.exc_info()[1] if error.__context__ is None else error.__context__
            lines = ProgramLines(self._torch)
            place = lines.above(frame)
            traced = getattr(cause, "__traceback__", None)
            while traced is not None:
                if lines.distance(traced.tb_frame.f_code) == 0:
                    place = lines.line(traced.tb_frame.f_code, traced.tb_lineno)
                traced = traced.tb_next
            self._notebook.add("capture_failed", reason=_reason(cause or error), place=place)

    # -- what it costs ---------------------------------------------------------------------------

    def _may_spend(self, share: float) -> bool:
        passed_ns = time.monotonic_ns() - self._begun_ns
        return self._spent_ns < FREE_NS + share * passed_ns

    def _remark(self, text: str) -> None:
        if text not in self._remarks:
            self._remarks.add(text)
            self._notebook.add("remark", text=text)

    def _reserved(self) -> int:
        """Bytes that the allocator has taken of the current device; 0 where it does not say."""
        with suppress(Exception):
            cuda = self._torch.cuda
            if cuda.is_initialized():
                stats = self._torch._C._cuda_memoryStats(cuda.current_device())
                return int(stats["reserved_bytes"]["all"]["current"])
        return 0


def _append(file: int, content: bytes) -> None:
    """Write all of it or nothing: what follows half a capture could not be read."""
    begin = os.fstat(file).st_size
    if os.write(file, content) < len(content):
        os.ftruncate(file, begin)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def enable_ranges(torch: Any) -> None:
    """Have torch announce every operator on this thread, and on those of its backward passes."""
    profiler = torch.autograd.profiler
    config = profiler.ProfilerConfig(
        profiler.ProfilerState.NVTX,
        True,
        False,
        False,
        False,
        False,
        torch._C._profiler._ExperimentalConfig(),
    )
    profiler._enable_profiler(config, set())
    with suppress(Exception):
        # Compiled code announces its kernels where this says so.
        profiler._run_on_profiler_start()


def disable_ranges(torch: Any) -> None:
    """The same no longer."""
    profiler = torch.autograd.profiler
    with suppress(Exception):
        profiler._run_on_profiler_stop()
    profiler._disable_profiler()


def _marks_library() -> Any:
    """The compiled part that gets ranges; None where there is none, or another tool gets them."""
    spec = importlib.util.find_spec("timesink.runtime")
    folders = spec.submodule_search_locations if spec is not None else None
    library = Path(next(iter(folders or ("",)))) / "_native.abi3.so"
    if not library.is_file() or os.environ.get(INJECTION, str(library)) != str(library):
        return None
    marks = ctypes.CDLL(str(library))
    marks.timesink_marks_begin.argtypes = [ctypes.c_void_p] * 3
    marks.timesink_marks_end.argtypes = [ctypes.c_void_p]
    marks.timesink_marks_end.restype = ctypes.c_void_p
    marks.timesink_marks_in_use.restype = ctypes.c_int
    os.environ[INJECTION] = str(library)
    return marks


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:200]


def _reason(error: BaseException) -> str:
    """Why a capture failed, in a few words."""
    text = str(error)
    if _NOT_PERMITTED in text or "StreamCaptureUnsupported" in text:
        return "an operation that waits for the device or is not permitted during a capture"
    return _first_line(error)

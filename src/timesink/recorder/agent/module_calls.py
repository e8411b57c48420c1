"""Modules of the network as ranges of their own while a graph is captured.

Hooks for all modules would make code compile again that was compiled without them, in the middle
of a capture.  So calls are seen from outside: by events of the one function that runs modules.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from types import CodeType, FrameType
from typing import Any

from timesink.recorder.agent.source_locations import (
    GENERATED,
    WRAPPERS,
    ModuleNames,
    ProgramLines,
)
from timesink.recorder.folder import MODULE_MARK, STACK_MARK

_TOOL_IDS = (4, 3, 2)


class ModuleCalls:
    """Ranges around the calls of modules on one thread, with the lines they are called from."""

    _names = ModuleNames()
    """Of all captures: what is captured piece by piece belongs to one network."""

    def __init__(self, torch: Any, lines: ProgramLines) -> None:
        self._lines = lines
        self._range = torch._C._profiler._RecordFunctionFast  # noqa: SLF001 - what is public is too slow
        module = torch.nn.Module
        self._code: CodeType = module._call_impl.__code__  # noqa: SLF001 - it is what hooks use
        self._thread = threading.get_ident()
        self._open: list[tuple[Any, Any, Any]] = []
        """Frame, module and range, the innermost last."""
        self._types: dict[tuple[int, ...], str | None] = {}
        self._tensor = torch.Tensor
        self._tool: int | None = None
        self._is_traced = False

    def begin(self) -> None:
        """Show modules from here on; those that are running already are shown, too."""
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - nothing public is as cheap
        running = []
        while frame is not None:
            if frame.f_code is self._code:
                running.append(frame)
            frame = frame.f_back
        for outer in reversed(running):
            self._enter(outer)
        if sys.version_info >= (3, 12):
            self._monitor()
        elif sys.getprofile() is None:
            self._is_traced = True
            sys.setprofile(self._look)

    def end(self) -> None:
        """Show nothing any more, and close what is open."""
        if self._is_traced:
            sys.setprofile(None)
        if self._tool is not None:
            self._leave_monitoring()
        while self._open:
            self._open.pop()[2].__exit__(None, None, None)

    @property
    def types(self) -> list[tuple[list[int], str]]:
        """Shapes of parameters and of what modules get, whose type is always the same."""
        return [(list(shape), kind) for shape, kind in self._types.items() if kind is not None]

    def _note_types(self, tensors: Iterable[Any]) -> None:
        for tensor in tensors:
            if isinstance(tensor, self._tensor):
                shape, kind = tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")
                # A weight is mostly used transposed.
                for seen in (shape, shape[::-1]):
                    if self._types.setdefault(seen, kind) != kind:
                        self._types[seen] = None

    # -- calls -----------------------------------------------------------------------------------

    def _enter(self, frame: Any) -> None:
        module = frame.f_locals.get("self")
        kind = type(module)
        if module is None or kind.__module__.startswith(GENERATED):
            return
        if not self._open and kind.__name__ in WRAPPERS:
            return
        if not self._open:
            self._note_types(module.parameters())
        arguments = frame.f_locals.get("kwargs", {})
        self._note_types([*frame.f_locals.get("args", ()), *arguments.values()])
        name = MODULE_MARK + self._names.name(module, outermost=not self._open)
        around = self._open[-1][0] if self._open else None
        stack = self._lines.stack(frame.f_back, around)
        stack[:0] = self._lines.function(getattr(kind.forward, "__code__", None))
        named_range = self._range(STACK_MARK.join((name, ";".join(stack))))
        named_range.__enter__()
        self._open.append((frame, module, named_range))

    def _exit(self, frame: Any) -> None:
        # What lies above was left without anybody telling.
        if any(entry[0] is frame for entry in self._open):
            while self._open:
                entry = self._open.pop()
                entry[2].__exit__(None, None, None)
                if entry[0] is frame:
                    break

    # -- from Python 3.12 on ---------------------------------------------------------------------

    def _monitor(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        free = (number for number in _TOOL_IDS if monitoring.get_tool(number) is None)
        self._tool = next(free, None)
        if self._tool is None:
            return
        events = monitoring.events
        monitoring.use_tool_id(self._tool, "timesink captures")
        for event, callback in self._callbacks(events):
            monitoring.register_callback(self._tool, event, callback)
        monitoring.set_local_events(self._tool, self._code, events.PY_START | events.PY_RETURN)
        monitoring.set_events(self._tool, events.PY_UNWIND)

    def _callbacks(self, events: Any) -> list[tuple[int, Any]]:
        return [
            (events.PY_START, lambda _code, _offset: self._on_own_thread(self._enter)),
            (events.PY_RETURN, lambda _code, _offset, _value: self._on_own_thread(self._exit)),
            (
                events.PY_UNWIND,
                lambda code, _offset, _error: (
                    self._on_own_thread(self._exit) if code is self._code else None
                ),
            ),
        ]

    def _on_own_thread(self, act: Any) -> None:
        if threading.get_ident() == self._thread:
            with suppress(Exception):
                act(sys._getframe(2))  # noqa: SLF001 - as above

    def _leave_monitoring(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        with suppress(ValueError):
            monitoring.set_events(self._tool, 0)
            monitoring.set_local_events(self._tool, self._code, 0)
            for event, _ in self._callbacks(monitoring.events):
                monitoring.register_callback(self._tool, event, None)
            monitoring.free_tool_id(self._tool)

    # -- before ----------------------------------------------------------------------------------

    def _look(self, frame: Any, event: str, _argument: object) -> None:
        if frame.f_code is self._code and event in ("call", "return"):
            with suppress(Exception):
                (self._enter if event == "call" else self._exit)(frame)

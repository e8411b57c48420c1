"""Finding calls of a function from Python 3.12 on: all other code is asked about once."""

from __future__ import annotations

import sys
from contextlib import suppress
from types import CodeType
from typing import Any

from timesink.collect.record.agent.engine import CycleEngine
from timesink.collect.record.agent.functions.calls import MarkedCalls
from timesink.collect.record.agent.functions.matching import PASSES_ON, FunctionName, functions_with

_TOOL_IDS = (3, 4, 2)
"""Free for tools such as this one; the last is that of profilers."""


def monitor_calls(engine: CycleEngine, calls: MarkedCalls, wanted: FunctionName) -> None:
    """Tell `calls` of every call of the first function that is called and wanted."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
    tool = next((number for number in _TOOL_IDS if monitoring.get_tool(number) is None), None)
    if tool is None:
        engine.remark("functions cannot be marked: other tools monitor this program")
        return
    monitoring.use_tool_id(tool, "timesink")
    monitor = _Monitor(monitoring, tool, engine, calls, wanted)
    engine.when_over(monitor.leave)
    monitor.begin()


class _Monitor:
    def __init__(
        self,
        monitoring: Any,
        tool: int,
        engine: CycleEngine,
        calls: MarkedCalls,
        wanted: FunctionName,
    ) -> None:
        self._monitoring, self._tool = monitoring, tool
        self._engine, self._calls, self._wanted = engine, calls, wanted
        # Compiled code is another object with the place of the original.
        self._found: set[tuple[str, int]] = set()
        self._followed: dict[int, CodeType] = {}
        """Code whose returns are told, by identity: other code may be equal to it."""

    def begin(self) -> None:
        for event, callback in self._callbacks():
            self._monitoring.register_callback(self._tool, event, callback)
        self._monitoring.set_events(self._tool, self._monitoring.events.PY_START)
        # What an earlier recording was not interested in may be what is wanted now.
        self._monitoring.restart_events()

    def _callbacks(self) -> list[tuple[int, Any]]:
        events = self._monitoring.events
        return [
            (events.PY_START, self._started),
            (events.PY_RETURN, lambda _code, _offset, _value: self._calls.left()),
            (events.PY_UNWIND, self._unwound),
        ]

    def _started(self, code: CodeType, _offset: int) -> Any:
        # What is raised here is raised in the function of the program.
        with self._engine.program_goes_on():
            if not self._engine.is_over and self._is_wanted(code):
                self._call(code)
                return None
        return self._monitoring.DISABLE

    def _call(self, code: CodeType) -> None:
        shown = not code.co_flags & PASSES_ON
        if shown and id(code) not in self._followed:
            self._followed[id(code)] = code
            returning = self._monitoring.events.PY_RETURN
            self._monitoring.set_local_events(self._tool, code, returning)
        self._calls.entered(shown=shown)
        if not shown:
            self._calls.left()

    def _is_wanted(self, code: CodeType) -> bool:
        place = (code.co_filename, code.co_firstlineno)
        if self._found:
            return place in self._found and self._wanted.may_be(code.co_name)
        if not self._wanted.may_be(code.co_name):
            return False
        name = code.co_qualname  # type: ignore[attr-defined, unused-ignore]
        modules = {function.__module__ for function in functions_with(code)} or {""}
        if not any(self._wanted.is_it(module or "", name) for module in modules):
            return False
        self._found.add(place)
        events = self._monitoring.events
        self._monitoring.set_events(self._tool, events.PY_START | events.PY_UNWIND)
        return True

    def _unwound(self, code: CodeType, _offset: int, _error: BaseException) -> None:
        if id(code) in self._followed:
            self._calls.left()

    def leave(self) -> None:
        """Take everything back: whoever gets the number next wants no events of ours."""
        # Older versions keep what belongs to a number when it is given back.
        with suppress(ValueError):
            self._monitoring.set_events(self._tool, 0)
            for code in self._followed.values():
                self._monitoring.set_local_events(self._tool, code, 0)
            for event, _ in self._callbacks():
                self._monitoring.register_callback(self._tool, event, None)
            self._monitoring.free_tool_id(self._tool)
        self._calls.forget()

"""Finding calls of a function from Python 3.12 on: all other code is asked about once."""

from __future__ import annotations

import inspect
import sys
from types import CodeType
from typing import Any

from timesink.collect.record.agent.engine import Engine
from timesink.collect.record.agent.functions.calls import MarkedCalls
from timesink.collect.record.agent.functions.matching import Wanted, functions_with

_TOOL_IDS = (3, 4, 2)
"""Free for tools such as this one; the last is that of profilers."""

_PASSES_ON = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
"""Functions that hand over and come back; a range would cross those of others."""


def monitor_calls(engine: Engine, calls: MarkedCalls, wanted: Wanted) -> None:
    """Tell `calls` of every call of the first function that is called and wanted."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
    tool = next((number for number in _TOOL_IDS if monitoring.get_tool(number) is None), None)
    if tool is None:
        engine.remark("functions cannot be marked: other tools monitor this program")
        return
    monitoring.use_tool_id(tool, "timesink")
    _Monitor(monitoring, tool, engine, calls, wanted).begin()


class _Monitor:
    def __init__(
        self, monitoring: Any, tool: int, engine: Engine, calls: MarkedCalls, wanted: Wanted
    ) -> None:
        self._monitoring, self._tool = monitoring, tool
        self._engine, self._calls, self._wanted = engine, calls, wanted
        # Compiled code is another object with the place of the original.
        self._found: set[tuple[str, int]] = set()

    def begin(self) -> None:
        events = self._monitoring.events
        for event, callback in (
            (events.PY_START, self._started),
            (events.PY_RETURN, self._returned),
            (events.PY_UNWIND, self._unwound),
        ):
            self._monitoring.register_callback(self._tool, event, callback)
        self._monitoring.set_events(self._tool, events.PY_START)

    def _started(self, code: CodeType, _offset: int) -> Any:
        if self._engine.is_over:
            self._leave()
            return None
        if not self._is_wanted(code):
            return self._monitoring.DISABLE
        shown = not code.co_flags & _PASSES_ON
        if shown:
            events = self._monitoring.events
            self._monitoring.set_local_events(self._tool, code, events.PY_RETURN)
        self._calls.entered(shown=shown)
        if not shown:
            self._calls.left()
        return None

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
        self._engine.remark(f"{code.co_name} was called only once")
        events = self._monitoring.events
        self._monitoring.set_events(self._tool, events.PY_START | events.PY_UNWIND)
        return True

    def _returned(self, _code: CodeType, _offset: int, _value: object) -> None:
        self._calls.left()

    def _unwound(self, code: CodeType, _offset: int, _error: BaseException) -> None:
        if self._is_wanted(code) and not code.co_flags & _PASSES_ON:
            self._calls.left()

    def _leave(self) -> None:
        self._monitoring.set_events(self._tool, 0)
        self._monitoring.free_tool_id(self._tool)

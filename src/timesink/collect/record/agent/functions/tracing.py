"""Finding calls of a function before Python 3.12: every call is looked at until one fits.

From then on the function itself tells of its calls, and the others cost nothing again.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from timesink.collect.record.agent.engine import CycleEngine
from timesink.collect.record.agent.functions.calls import MarkedCalls
from timesink.collect.record.agent.functions.matching import PASSES_ON, FunctionName, functions_with
from timesink.collect.record.agent.functions.swapping import tell_of_calls

_LOADER = "_worker_loop"
"""Where processes begin that only load data: they are not slowed down."""


def trace_until_called(
    engine: CycleEngine, calls: MarkedCalls, wanted: FunctionName, is_compiling: Callable[[], bool]
) -> None:
    """Tell `calls` of every call of the first function that is called and wanted."""
    if sys.getprofile() is not None:
        engine.remark("functions cannot be marked: another profiler watches this program")
        return
    search = _FunctionSearch(engine, calls, wanted, is_compiling)
    engine.when_over(search.leave)
    threading.setprofile(search.look)
    sys.setprofile(search.look)


class _FunctionSearch:
    def __init__(
        self,
        engine: CycleEngine,
        calls: MarkedCalls,
        wanted: FunctionName,
        is_compiling: Callable[[], bool],
    ) -> None:
        self._engine, self._calls, self._wanted = engine, calls, wanted
        self._is_compiling = is_compiling
        self._refused: set[CodeType] = set()
        self._is_over = False

    def look(self, frame: FrameType, event: str, _argument: object) -> Any:
        if event != "call":
            return
        code = frame.f_code
        if self._is_over or self._engine.is_over or code.co_name == _LOADER:
            self.leave()
        elif self._wanted.may_be(code.co_name) and code not in self._refused:
            with self._engine.program_goes_on():
                self._consider(code, frame)

    def _consider(self, code: CodeType, frame: FrameType) -> None:
        module = str(frame.f_globals.get("__name__", ""))
        functions = functions_with(code)
        if not any(self._wanted.is_it(module, function.__qualname__) for function in functions):
            self._refused.add(code)
            return
        if code.co_flags & PASSES_ON:
            self._refused.add(code)
            self._engine.remark(
                f"{code.co_name} is a generator or a coroutine, "
                "which cannot be followed before Python 3.12"
            )
            return
        self.leave()
        for function in functions:
            put_back = tell_of_calls(function, self._calls.call, self._is_compiling)
            self._engine.when_over(put_back)
        # This very call is under way, and cannot be shown any more.
        self._calls.entered(shown=False)
        self._calls.left()

    def leave(self) -> None:
        """Look no further: here, and in other threads at their next call."""
        self._is_over = True
        if sys.getprofile() == self.look:
            sys.setprofile(None)
        if threading.getprofile() == self.look:
            threading.setprofile(None)

"""Calls of one function as the beginning of a cycle, in a program nobody edited."""

from __future__ import annotations

import sys
from typing import Any

from timesink.collect.record.agent.compiling import compiling_test
from timesink.collect.record.agent.engine import CycleEngine
from timesink.collect.record.agent.functions.calls import MarkedCalls
from timesink.collect.record.agent.functions.matching import FunctionName
from timesink.collect.record.agent.functions.monitoring import monitor_calls
from timesink.collect.record.agent.functions.tracing import trace_until_called


def watch_functions(torch: Any, engine: CycleEngine, pattern: str) -> None:
    """Begin a cycle with every call of the first function that is called and fits."""
    calls = MarkedCalls(torch, engine, pattern)
    if sys.version_info >= (3, 12):
        monitor_calls(engine, calls, FunctionName(pattern))
    else:
        trace_until_called(engine, calls, FunctionName(pattern), compiling_test(torch))

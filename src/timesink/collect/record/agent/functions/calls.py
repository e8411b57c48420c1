"""What happens at every call of the function that marks cycles."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from timesink.collect.record.agent.engine import CycleEngine

_BY = "function"


class MarkedCalls:
    """Calls that begin cycles; they are shown in the timeline under the name asked for."""

    def __init__(self, torch: Any, engine: CycleEngine, name: str) -> None:
        self._torch = torch
        self._engine = engine
        self._name = name
        self._open = threading.local()

    def entered(self, *, shown: bool) -> None:
        """The function was called; one that is called from itself begins nothing."""
        ranges = self._ranges()
        is_outermost = not ranges
        ranges.append(None)
        with self._engine.program_goes_on():
            # A process that only loads data for another has no cycles.
            if is_outermost and self._torch.utils.data.get_worker_info() is None:
                self._engine.boundary(_BY, self._name, begins=True)
            if is_outermost and shown and self._engine.is_recording:
                ranges[-1] = self._torch.profiler.record_function(self._name)
                ranges[-1].__enter__()

    def left(self) -> None:
        """The function returned, or an exception left it."""
        ranges = self._ranges()
        last = ranges.pop() if ranges else None
        if last is not None:
            with self._engine.program_goes_on():
                last.__exit__(None, None, None)

    def forget(self) -> None:
        """Of the calls this thread is in, nothing more is told."""
        while self._ranges():
            self.left()

    @contextmanager
    def call(self) -> Iterator[None]:
        """One call, from its beginning to its end."""
        self.entered(shown=True)
        try:
            yield
        finally:
            self.left()

    def _ranges(self) -> list[Any]:
        """Ranges of the calls this thread is in, the outermost first."""
        if not hasattr(self._open, "ranges"):
            self._open.ranges = []
        found: list[Any] = self._open.ranges
        return found

"""Ranges that the program marks itself with `record_function`."""

from __future__ import annotations

import fnmatch
import functools
import threading
from typing import Any

from timesink.collect.record.agent.engine import CycleEngine

_BY = "annotation"


def watch_annotations(torch: Any, engine: CycleEngine, pattern: str) -> None:
    """Begin a cycle with every range whose name fits; a range within such a range begins none."""
    kind = torch.autograd.profiler.record_function
    enter, leave_range = kind.__enter__, kind.__exit__
    open_ranges = threading.local()
    fits = functools.lru_cache(maxsize=4096)(lambda name: name_fits(name, pattern))

    @functools.wraps(enter)
    def entered(self: Any) -> Any:
        if not engine.is_over:
            with engine.program_goes_on():
                begin(self.name)
        return enter(self)

    def begin(name: str) -> None:
        if fits(name):
            depth = getattr(open_ranges, "depth", 0)
            open_ranges.depth = depth + 1
            if depth == 0:
                engine.boundary(_BY, pattern, begins=True)

    @functools.wraps(leave_range)
    def left(self: Any, *reason: Any) -> Any:
        if getattr(open_ranges, "depth", 0) and fits(self.name):
            open_ranges.depth -= 1
        return leave_range(self, *reason)

    def leave() -> None:
        # Whoever has put something around this needs it to stay.
        if kind.__enter__ is entered and kind.__exit__ is left:
            kind.__enter__, kind.__exit__ = enter, leave_range

    kind.__enter__, kind.__exit__ = entered, left
    engine.when_over(leave)


def name_fits(name: str, pattern: str) -> bool:
    """Whether a name is the one asked for, as it is, with its number, or as a shell pattern."""
    return (
        name == pattern
        or fnmatch.fnmatchcase(name, pattern)
        or name.rstrip("0123456789").rstrip("#_ .:") == pattern
    )

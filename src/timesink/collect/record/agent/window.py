"""The recorded part of a run: from the profiler's start to the file it leaves."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from typing import Any

from timesink.collect.record.agent.counting import Counting
from timesink.collect.record.agent.endings import undisturbed
from timesink.collect.record.agent.facts import devices, identity
from timesink.collect.record.agent.profiling import Profiling
from timesink.collect.record.notes import Notebook


@dataclass(frozen=True)
class Clock:
    """What tells one cycle from the next, and on which thread."""

    by: str
    name: str
    thread: int
    counting: Counting

    @property
    def number(self) -> int:
        """The cycle that begins now, counted from the first of the program, 0."""
        return (self.counting.skipped or 0) + len(self.counting.recorded_ns)

    @property
    def is_here(self) -> bool:
        """Whether it is this thread that counts."""
        return threading.get_ident() == self.thread


def open_window(torch: Any, profiling: Profiling, clock: Clock, notebook: Notebook) -> None:
    """Start recording and write down since when."""
    profiling.start()
    notebook.add(
        "window",
        started_us=time.time_ns() // 1000,
        by=clock.by,
        name=clock.name,
        skipped=clock.counting.skipped or 0,
        **identity(torch),
    )


def close_window(
    torch: Any, profiling: Profiling, clock: Clock, notebook: Notebook, why: str
) -> None:
    """End recording, leave the file, and write down what is in it.

    `why` says what broke it off; then the cycle it was in has been cut.
    """
    path = notebook.control / f"trace-{os.getpid()}.json"
    facts = {
        "file": path.name,
        "cycles": len(clock.counting.recorded_ns),
        "cut": profiling.open_name if why else "",
        "why": why,
        "ended_us": time.time_ns() // 1000,
        "recorded_ns": clock.counting.recorded_ns,
    }
    with undisturbed():
        profiling.close_mark()
        profiling.stop()
        profiling.write(path)
        notebook.add("exported", **facts, clock=profiling.clock_marks, devices=devices(torch))

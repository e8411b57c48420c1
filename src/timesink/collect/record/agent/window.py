"""The recorded part of a run: from the profiler's start to the file it leaves."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from enum import Enum
from typing import Any

from timesink.collect.record.agent.counting import CycleSource
from timesink.collect.record.agent.endings import undisturbed
from timesink.collect.record.agent.facts import devices, identity
from timesink.collect.record.agent.profiling import Profiling
from timesink.collect.record.notes import Notebook


class Stage(Enum):
    """How far a window is."""

    AHEAD = "there is no profiler yet"
    PREPARED = "the profiler is ready"
    OPEN = "the profiler is on"
    WRITING = "its timeline is being written"
    CLOSED = "there is no profiler any more"


class RecordedWindow:
    """The one stretch of a program that is recorded; all of it happens on one thread."""

    def __init__(self, torch: Any, extras: tuple[str, ...], notebook: Notebook) -> None:
        self._torch = torch
        self._extras = extras
        self._notebook = notebook
        self._profiling: Profiling | None = None
        self.stage = Stage.AHEAD

    def prepare(self) -> Profiling:
        """Make the profiler ready."""
        self._profiling = Profiling(self._torch, self._extras)
        self.stage = Stage.PREPARED
        return self._profiling

    def put_off(self) -> None:
        """Give up a profiler that was only made ready."""
        profiling, self._profiling, self.stage = self._profiling, None, Stage.AHEAD
        if profiling is not None:
            profiling.cancel()

    def open(self, source: CycleSource) -> None:
        """Start recording and write down since when."""
        (self._profiling or self.prepare()).start()
        self.stage = Stage.OPEN
        self._notebook.add(
            "window",
            started_us=time.time_ns() // 1000,
            by=source.by,
            name=source.name,
            skipped=source.counting.skipped or 0,
            **identity(self._torch),
        )

    def mark(self, number: int) -> None:
        """Begin a cycle."""
        if self._profiling is not None:
            self._profiling.mark(number)

    def close(self, source: CycleSource, why: str) -> None:
        """End recording, leave the file, and write down what is in it.

        `why` says what broke it off; then the cycle it was in has been cut.
        """
        profiling, control = self._profiling, self._notebook.control
        if profiling is None:
            return
        path = control / f"trace-{os.getpid()}.json"
        cut, ended_us = profiling.open_name if why else "", time.time_ns() // 1000
        with undisturbed():
            # Not before: what a signal ends is written only while this is not under way.
            self.stage = Stage.WRITING
            profiling.close_mark()
            trouble = profiling.stop()
            profiling.write(path)
            self._notebook.add(
                "exported",
                file=path.name,
                cycles=len(source.counting.recorded_ns),
                cut=cut,
                why=why or trouble,
                ended_us=ended_us,
                recorded_ns=source.counting.recorded_ns,
                clock=profiling.clock_marks,
                devices=devices(self._torch),
            )
            self.abandon()

    def abandon(self) -> None:
        """Have no profiler any more, whatever became of it."""
        profiling, stage = self._profiling, self.stage
        self._profiling, self.stage = None, Stage.CLOSED
        with suppress(Exception):
            if profiling is not None and stage is Stage.PREPARED:
                profiling.cancel()
            elif profiling is not None and stage is Stage.OPEN:
                profiling.stop()

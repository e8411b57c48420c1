"""From cycles to a recording: the agent's one decision after another."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from timesink.collect.record.agent.counting import Counting, Due
from timesink.collect.record.agent.endings import BLOCK_ENDED, ENDED, Endings
from timesink.collect.record.agent.foreign import ForeignProfilers
from timesink.collect.record.agent.own_thread import OwnThread
from timesink.collect.record.agent.profiling import Profiling
from timesink.collect.record.agent.window import Clock, close_window, open_window
from timesink.collect.record.notes import Notebook
from timesink.collect.record.plan import Plan
from timesink.errors import TimesinkError

BY_HAND = "step()"
WHOLE = "whole program"


class Engine:
    """Records the cycles of this process as planned, and writes down what it did.

    Whatever fails in here ends the recording, not the program.
    """

    def __init__(self, plan: Plan, torch: Any, control: Path) -> None:
        self.plan = plan
        self._torch = torch
        self._notebook = Notebook(control)
        self._clock: Clock | None = None
        self._profiling: Profiling | None = None
        self._is_recording = False
        self._has_recorded = False
        self._is_over = False
        self._is_exporting = False
        self._was_in_the_way = False
        self._marks_elsewhere = 0
        self._own_thread = OwnThread(self._end_of_thread)
        self._foreign = ForeignProfilers(torch, self._give_way)
        self._endings = Endings(self.end)

    # -- what hooks call -------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to count: hooks may go."""
        return self._is_over

    @property
    def is_recording(self) -> bool:
        """Whether the profiler is on."""
        return self._is_recording

    @property
    def is_by_hand(self) -> bool:
        """Whether `step()` ends cycles."""
        return self._clock is not None and self._clock.by == BY_HAND

    @property
    def has_begun(self) -> bool:
        """Whether the profiler is on, or was."""
        return self._is_recording or self._has_recorded

    def boundary(self, by: str, name: str, *, begins: bool) -> None:
        """One cycle ends and the next begins."""
        if self._is_over or not self._counts(by, name):
            return
        now_ns = time.time_ns()
        if self._clock is None:
            counting = Counting(self.plan, begins=begins)
            self._clock = Clock(by, name, threading.get_ident(), counting)
        due = Due.NOTHING
        with self._program_goes_on():
            due = self._clock.counting.boundary(now_ns)
            if due is not Due.NOTHING:
                self._do(due, self._clock)
        if self._is_recording and self._own_thread.asked:
            self.end(self._own_thread.asked)
        if due is Due.FINISH and self.plan.stop:
            raise SystemExit(0)

    def _counts(self, by: str, name: str) -> bool:
        """Whether marks of this kind and name, on this thread, tell cycles apart."""
        clock = self._clock
        if clock is None or (clock.by, clock.name) != (by, name):
            return clock is None
        self._marks_elsewhere += not clock.is_here
        return clock.is_here

    def begin_by_hand(self) -> None:
        """A block begins in which `step()` ends cycles: whatever counted before is forgotten."""
        if self.has_begun or self._is_over:
            return
        self._drop_prepared()
        counting = Counting(self.plan, begins=False, since_ns=time.time_ns())
        self._clock = Clock(BY_HAND, "", threading.get_ident(), counting)
        if self.plan.skip == 0:
            with self._program_goes_on():
                counting.skip_nothing()
                self._do(Due.START, self._clock)

    def begin_whole(self) -> None:
        """Record from here to the end, without cycles."""
        counting = Counting(self.plan, begins=True)
        self._clock = Clock(WHOLE, "", threading.get_ident(), counting)
        with self._program_goes_on():
            self._start(self._clock, marks=False)

    def restart(self) -> None:
        """What counted has gone: begin anew with whatever comes, unless already recording."""
        if self._is_recording:
            self.end("what marked its cycles stopped doing so")
        elif self._has_recorded:
            self._forget()
        elif not self._is_over:
            self._drop_prepared()
            self._clock = None

    def remark(self, text: str) -> None:
        """Leave a sentence for whoever reads the recording."""
        self._notebook.add("remark", text=text)

    # -- what is due -----------------------------------------------------------------------------

    def _do(self, due: Due, clock: Clock) -> None:
        if due in (Due.PREPARE, Due.START) and self._foreign.is_active:
            clock.counting.wait_longer()
            self._was_in_the_way = True
        elif due is Due.PREPARE:
            self._profiling = self._prepared()
        elif due is Due.START:
            self._start(clock, marks=True)
        elif due is Due.NEXT and self._profiling is not None:
            self._profiling.mark(clock.number)
        elif due is Due.FINISH:
            self._finish("")
        elif due is Due.FORGET:
            self._forget()
        clock.counting.resume(time.time_ns())

    def _prepared(self) -> Profiling:
        with self._foreign.ours():
            return Profiling(self._torch, self.plan.extras)

    def _start(self, clock: Clock, *, marks: bool) -> None:
        if self._profiling is None:
            self._profiling = self._prepared()
        open_window(self._torch, self._profiling, clock, self._notebook)
        self._is_recording = True
        self._own_thread.begin()
        self._endings.watch()
        if marks:
            self._profiling.mark(clock.number)

    # -- the end ---------------------------------------------------------------------------------

    def end(self, why: str) -> None:
        """The program ends, or the profiler is needed for something else."""
        if self._is_elsewhere():
            self._own_thread.ask(why)
        if self._is_exporting:
            return
        with self._program_goes_on():
            self._notebook.add("ending")
            if self._is_elsewhere():
                self._notebook.add("failed", why=f"{why} while another thread was recorded")
            elif self._is_recording:
                is_all = self.plan.whole and why in (ENDED, BLOCK_ENDED)
                self._finish("" if is_all else why)
            self._forget()
            self._notebook.add("left")

    def _is_elsewhere(self) -> bool:
        """Whether another thread than this one is recorded, or writes its recording."""
        is_on = self._is_recording or self._is_exporting
        return is_on and self._clock is not None and not self._clock.is_here

    def _end_of_thread(self, why: str) -> None:
        if self._is_recording:
            self.end(why)

    def forget_in_fork(self) -> None:
        """A copy of this process records only where the process itself has not begun to."""
        if self._clock is not None or self._is_recording:
            self._is_over = True
            self._is_recording = False
            self._profiling = None
        else:
            self._endings.adopt()

    def _give_way(self) -> None:
        """The program starts a profiler of its own: two at a time break each other."""
        if self._is_recording:
            self.end("the program started torch.profiler itself")
        elif self._profiling is not None and self._clock is not None:
            self._drop_prepared()
            self._clock.counting.wait_longer()

    def _drop_prepared(self) -> None:
        if self._profiling is not None:
            self._profiling.cancel()
        self._profiling = None

    def _finish(self, why: str) -> None:
        profiling, clock = self._profiling, self._clock
        if profiling is None or clock is None:
            return
        self._is_exporting, self._has_recorded = True, True
        self._is_recording = False
        close_window(self._torch, profiling, clock, self._notebook, why)
        clock.counting.end()
        self._profiling = None
        self._is_exporting = False
        self._own_thread.ended()

    def _forget(self) -> None:
        self._is_over = True
        self._endings.leave()
        self._foreign.leave()
        if self._clock is not None:
            counting = self._clock.counting
            self._notebook.add(
                "pace",
                seen=counting.seen,
                before_ns=counting.before_ns,
                after_ns=counting.after_ns,
                elsewhere=self._marks_elsewhere,
                own_profiler=self._was_in_the_way,
            )

    @contextmanager
    def _program_goes_on(self) -> Iterator[None]:
        """Whatever fails within ends the recording and nothing else."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - nobody knows what a profiler may raise
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        was_on, profiling = self._is_recording, self._profiling
        self._is_over, self._is_recording, self._is_exporting = True, False, False
        self._own_thread.ended()
        if was_on and profiling is not None:
            with suppress(Exception):
                profiling.stop()
        with suppress(Exception):
            self._endings.leave()
            self._foreign.leave()
        is_told = isinstance(error, TimesinkError)
        self._notebook.add("failed", why=f"{'' if is_told else f'{type(error).__name__}: '}{error}")

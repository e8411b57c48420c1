"""From cycles to a recording: the agent's one decision after another."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from timesink.errors import TimesinkError
from timesink.recorder.agent.endings import (
    BLOCK_ENDED,
    ENDED,
    Endings,
    devices,
    identity,
    undisturbed,
)
from timesink.recorder.agent.profiling import ForeignProfilers, Profiling, RecordedThread
from timesink.recorder.folder import Notebook, RecordPlan

# Counting cycles, and what is due between one and the next.

_FOLLOWED_AT_MOST = 20
"""So many cycles after the recording show how fast the program is without it."""


class Due(Enum):
    """What to do between two cycles."""

    NOTHING = "nothing"
    PREPARE = "prepare the profiler"
    START = "start recording"
    NEXT = "mark the next cycle"
    FINISH = "end the recording"
    FORGET = "stop counting"


class Counting:
    """Counts the cycles of one program and says what is due after each.

    Some marks end a cycle (a step of an optimizer), some begin one (a call of a function): the
    first of those that begin one has no cycle before it.
    """

    def __init__(self, plan: RecordPlan, *, begins: bool, since_ns: int | None = None) -> None:
        self._plan = plan
        self._completed = 0 if begins else 1
        self._last_ns = since_ns
        self._is_prepared = False
        self.skipped: int | None = None
        self.before_ns: list[int] = []
        self.recorded_ns: list[int] = []
        self.after_ns: list[int] = []
        self.had_to_wait = False
        """Whether something was in the way of the recording."""
        self._is_over = False

    def boundary(self, now_ns: int, *, is_plain: bool = True) -> Due:
        """Count the cycle that ends now; how long it took tells something only if it is plain."""
        lasted_ns = now_ns - self._last_ns if self._last_ns is not None and is_plain else None
        self._last_ns = now_ns
        if self._is_over:
            if lasted_ns is not None:
                self.after_ns.append(lasted_ns)
            return Due.NOTHING if len(self.after_ns) < _FOLLOWED_AT_MOST else Due.FORGET
        if self.skipped is None:
            return self._before(lasted_ns)
        self.recorded_ns.append(lasted_ns or 0)
        if len(self.recorded_ns) < self._plan.cycles:
            return Due.NEXT
        self._is_over = True
        return Due.FINISH

    def resume(self, now_ns: int) -> None:
        """Leave the time a profiler took to start or to write out of the cycles."""
        self._last_ns = now_ns

    def skip_nothing(self) -> None:
        """Recording has begun with the very first cycle."""
        self.skipped = 0

    @property
    def seen(self) -> int:
        """Cycles that have ended before the recording, in it and after it."""
        recorded = len(self.recorded_ns) + len(self.after_ns)
        return (self._completed - 1 if self.skipped is None else self.skipped) + recorded

    def end(self) -> None:
        """The recording is over, whether it has its cycles or not."""
        self._is_over = True

    def wait_longer(self) -> None:
        """Something was in the way of the recording: what was due is due again."""
        self.skipped = None
        self._is_prepared = False
        self.had_to_wait = True

    def _before(self, lasted_ns: int | None) -> Due:
        if lasted_ns is not None and not self._is_prepared:
            self.before_ns.append(lasted_ns)
        completed, self._completed = self._completed, self._completed + 1
        if completed >= self._plan.skip:
            self.skipped = completed
            return Due.START
        if completed == self._plan.skip - 1:
            self._is_prepared = True
            return Due.PREPARE
        return Due.NOTHING


@dataclass
class CycleSource:
    """What tells one cycle from the next, and on which thread."""

    by: str
    name: str
    counting: Counting
    _thread: int = field(default_factory=threading.get_ident)
    _elsewhere: int = 0
    """Marks of the same kind that other threads made."""

    @property
    def number(self) -> int:
        """The cycle that begins now, counted from the first of the program, 0."""
        return (self.counting.skipped or 0) + len(self.counting.recorded_ns)

    @property
    def is_here(self) -> bool:
        """Whether it is this thread that counts."""
        return threading.get_ident() == self._thread

    def hears(self, by: str, name: str) -> bool:
        """Whether a mark of this kind and name, on this thread, tells cycles apart."""
        is_same = (self.by, self.name) == (by, name)
        self._elsewhere += is_same and not self.is_here
        return is_same and self.is_here

    @property
    def pace(self) -> dict[str, object]:
        """How many cycles there were, how long they took without the profiler, what disturbed."""
        return {
            "seen": self.counting.seen,
            "before_ns": self.counting.before_ns,
            "after_ns": self.counting.after_ns,
            "elsewhere": self._elsewhere,
            "own_profiler": self.counting.had_to_wait,
        }


# The recorded part of a run: from the profiler's start to the file it leaves.


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


BY_HAND = "step()"
WHOLE = "whole program"


class CycleEngine:
    """Records the cycles of this process as planned, and writes down what it did.

    Whatever fails in here ends the recording, not the program.
    """

    def __init__(self, plan: RecordPlan, torch: Any, control: Path) -> None:
        self.plan = plan
        self.is_over = False
        """Whether nothing is left to count."""
        self._notebook = Notebook(control)
        self._window = RecordedWindow(torch, plan.extras, self._notebook)
        self._source: CycleSource | None = None
        self._own_thread = RecordedThread(self._end_of_thread)
        self._foreign = ForeignProfilers(torch, self._give_way)
        self._endings = Endings(self.end)
        self._leaving = [self._endings.leave, self._foreign.leave]

    # -- what hooks call -------------------------------------------------------------------------

    @property
    def is_recording(self) -> bool:
        """Whether the profiler is on."""
        return self._window.stage is Stage.OPEN

    @property
    def is_by_hand(self) -> bool:
        """Whether `step()` ends cycles."""
        return self._source is not None and self._source.by == BY_HAND

    @property
    def has_begun(self) -> bool:
        """Whether the profiler is on, or was."""
        return self._window.stage not in (Stage.AHEAD, Stage.PREPARED)

    def when_over(self, leave: Callable[[], None]) -> None:
        """Have a hook taken back once nothing is left to count."""
        self._leaving.append(leave)

    def boundary(self, by: str, name: str, *, begins: bool) -> None:
        """One cycle ends and the next begins."""
        if self.is_over or (self._source is not None and not self._source.hears(by, name)):
            return
        now_ns = time.perf_counter_ns()
        if self._source is None:
            self._source = CycleSource(by, name, Counting(self.plan, begins=begins))
        due = Due.NOTHING
        with self.program_goes_on():
            is_plain = not self._foreign.was_active()
            due = self._source.counting.boundary(now_ns, is_plain=is_plain)
            if due is not Due.NOTHING:
                self._do(due, self._source)
        if self.is_recording and self._own_thread.asked:
            self.end(self._own_thread.asked)
        if due is Due.FINISH and self.plan.stop:
            raise SystemExit(0)

    def begin_by_hand(self) -> None:
        """A block begins in which `step()` ends cycles: whatever counted before is forgotten."""
        if self.has_begun or self.is_over:
            return
        with self.program_goes_on():
            self._window.put_off()
            counting = Counting(self.plan, begins=False, since_ns=time.perf_counter_ns())
            self._source = CycleSource(BY_HAND, "", counting)
            if self.plan.skip == 0:
                counting.skip_nothing()
                self._do(Due.START, self._source)

    def begin_whole(self) -> None:
        """Record from here to the end, without cycles."""
        self._source = CycleSource(WHOLE, "", Counting(self.plan, begins=True))
        with self.program_goes_on():
            self._start(self._source)

    def restart(self, by: str) -> None:
        """What counted has gone: begin anew with whatever comes, unless already recording.

        Where something of another kind counts, nothing has gone.
        """
        if self._source is not None and self._source.by != by:
            return
        if self.is_recording:
            self.end("what marked its cycles stopped doing so")
        elif self.has_begun:
            self._forget()
        elif not self.is_over:
            self._window.put_off()
            self._source = None

    def remark(self, text: str) -> None:
        """Leave a sentence for whoever reads the recording."""
        self._notebook.add("remark", text=text)

    @contextmanager
    def program_goes_on(self) -> Iterator[None]:
        """Whatever fails within ends the recording and nothing else."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - nobody knows what a profiler may raise
            is_told = isinstance(error, TimesinkError)
            self._fail(f"{'' if is_told else f'{type(error).__name__}: '}{error}")

    # -- what is due -----------------------------------------------------------------------------

    def _do(self, due: Due, source: CycleSource) -> None:
        if due in (Due.PREPARE, Due.START) and self._foreign.is_active:
            source.counting.wait_longer()
        elif due is Due.PREPARE:
            with self._foreign.ours():
                self._window.prepare()
        elif due is Due.START:
            self._start(source)
            self._window.mark(source.number)
        elif due is Due.NEXT:
            self._window.mark(source.number)
        elif due is Due.FINISH:
            self._finish(source, "")
        elif due is Due.FORGET:
            self._forget()
        source.counting.resume(time.perf_counter_ns())

    def _start(self, source: CycleSource) -> None:
        with self._foreign.ours():
            self._window.open(source)
        self._own_thread.begin()
        self._endings.watch()

    def _finish(self, source: CycleSource, why: str) -> None:
        self._window.close(source, why)
        source.counting.end()
        self._own_thread.ended()

    def _give_way(self) -> None:
        """The program starts a profiler of its own: two at a time break each other."""
        if self.is_recording:
            self.end("the program started torch.profiler itself")
        elif self._window.stage is Stage.PREPARED and self._source is not None:
            with self.program_goes_on():
                self._window.put_off()
                self._source.counting.wait_longer()

    # -- the end ---------------------------------------------------------------------------------

    def end(self, why: str) -> None:
        """The program ends, or the profiler is needed for something else."""
        if self._is_elsewhere():
            self._own_thread.ask(why, lambda: self._window.stage is Stage.WRITING)
        if self._window.stage is Stage.WRITING:
            return
        with self.program_goes_on():
            self._notebook.add("ending")
            if self._is_elsewhere():
                self._notebook.add("failed", why=f"{why} while another thread was recorded")
            elif self.is_recording and self._source is not None:
                is_all = self.plan.whole and why in (ENDED, BLOCK_ENDED)
                self._finish(self._source, "" if is_all else why)
            self._forget()
            self._notebook.add("left")

    def _is_elsewhere(self) -> bool:
        """Whether another thread than this one is recorded, or writes its recording."""
        is_on = self._window.stage in (Stage.OPEN, Stage.WRITING)
        return is_on and self._source is not None and not self._source.is_here

    def _end_of_thread(self, why: str) -> None:
        if self.is_recording:
            self.end(why)

    def forget_in_fork(self) -> None:
        """A copy of this process records only where the process itself has not begun to."""
        if self._source is None:
            self._endings.adopt()
        else:
            self.is_over, self._window.stage = True, Stage.CLOSED

    def _forget(self) -> None:
        self._leave()
        if self._source is not None:
            self._notebook.add("pace", **self._source.pace)

    def _leave(self) -> None:
        self.is_over = True
        leaving, self._leaving = self._leaving, []
        for leave in leaving:
            leave()

    def _fail(self, why: str) -> None:
        if self._is_elsewhere():
            # The thread that is recorded can still end it well.
            self._own_thread.asked = why
            return
        self._window.abandon()
        with suppress(Exception):
            self._leave()
        self._own_thread.ended()
        self._notebook.add("failed", why=why)

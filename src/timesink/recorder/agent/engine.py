"""From cycles to a recording: the agent's one decision after another."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from timesink.errors import TimesinkError
from timesink.recorder.agent.compiled_code import CompilerWatch
from timesink.recorder.agent.graph_captures import GraphCaptures
from timesink.recorder.agent.memory_history import MemoryHistory
from timesink.recorder.agent.plain import PlainCycles, last_plain
from timesink.recorder.agent.profiling import ForeignProfilers, RecordedWindow, Stage
from timesink.recorder.agent.shutdown import (
    BLOCK_ENDED,
    ENDED,
    UNMARKED,
    Endings,
    ProgramGuard,
    RecordedThread,
    devices,
    identity,
)
from timesink.recorder.folder import Notebook, RecordPlan

# Counting cycles, and what is due between one and the next.


class NextAction(Enum):
    """What to do between two cycles."""

    NOTHING = "nothing"
    TIME = "time plain cycles"
    PREPARE = "prepare the profiler"
    START = "start recording"
    NEXT = "mark the next cycle"
    FINISH = "end the recording"


class Counting:
    """Counts the cycles of one program, on one thread, and says what is due after each.

    Some marks end a cycle (a step of an optimizer), some begin one (a call of a function): the
    first of those that begin one has no cycle before it.
    """

    def __init__(
        self,
        plan: RecordPlan,
        by: str = "",
        name: str = "",
        *,
        begins: bool,
        since_ns: int | None = None,
        last_plain: Callable[[int, bool], int | None] = lambda now, is_long: (
            now if is_long else None
        ),
    ) -> None:
        """`last_plain` says which cycle is the last plain one, given this one and the time."""
        self._plan = plan
        self._last_plain = last_plain
        self._until: int | None = None
        self.by = by
        """What tells one cycle from the next, and what that is called."""
        self.name = name
        self._thread = threading.get_ident()
        self._elsewhere = 0
        """Marks of the same kind that other threads made."""
        self._completed = 0 if begins else 1
        self._last_ns = since_ns
        self._rests_since_ns: int | None = None
        # When the first cycle began nobody knows, where marks end cycles.
        self._warm_up = max(plan.skip, int(not begins and since_ns is None))
        self._plain_since_ns: int | None = None
        self._settled = 0
        self._is_prepared = False
        self.skipped: int | None = None
        """All cycles before the recording."""
        self.timed: list[tuple[int, bool]] = []
        """Cycles without the profiler that nobody has taken yet, and whether they are settled."""
        self.recorded_ns: list[int] = []
        self.had_to_wait = False
        """Whether something was in the way of the recording."""

    def boundary(self, now_ns: int, *, is_plain: bool = True) -> NextAction:
        """Count the cycle that ends now; how long it took tells something only if it is plain."""
        ended_ns = now_ns if self._rests_since_ns is None else self._rests_since_ns
        lasted_ns = ended_ns - self._last_ns if self._last_ns is not None and is_plain else None
        self._last_ns, self._rests_since_ns = now_ns, None
        if self.skipped is None:
            return self._before(lasted_ns, now_ns)
        self.recorded_ns.append(lasted_ns or 0)
        if len(self.recorded_ns) < self._plan.cycles:
            return NextAction.NEXT
        return NextAction.FINISH

    def rest(self, now_ns: int) -> bool:
        """The cycle is over before the next one begins; whether it is the last one recorded."""
        self._rests_since_ns = now_ns
        return self.skipped is not None and len(self.recorded_ns) + 1 >= self._plan.cycles

    def resume(self, now_ns: int) -> None:
        """Leave the time a profiler took to start or to write out of the cycles."""
        self._last_ns = now_ns

    @property
    def seen(self) -> int:
        """Cycles that have ended before the recording and in it."""
        before = self._completed - 1 if self.skipped is None else self.skipped
        return before + len(self.recorded_ns)

    def wait_longer(self) -> None:
        """Something was in the way of the recording: what was due is due again."""
        self.skipped = None
        self._is_prepared = False
        self.had_to_wait = True

    def _before(self, lasted_ns: int | None, now_ns: int) -> NextAction:
        completed, self._completed = self._completed, self._completed + 1
        # Where a profiler was on already, CUPTI stays attached.
        if lasted_ns is not None and not (self._is_prepared or self.had_to_wait):
            is_settled = completed > self._warm_up
            self._settled += is_settled
            self.timed.append((lasted_ns, is_settled))
        return self.due(completed, now_ns)

    def due(self, completed: int, now_ns: int) -> NextAction:
        """What is due after so many cycles of the program."""
        plan, is_timing = self._plan, self._plan.plain > 0 or self._plan.plain_only
        if is_timing and self._plain_since_ns is None and completed >= self._warm_up:
            self._plain_since_ns = now_ns
            return NextAction.TIME
        is_long = self._is_long(completed, now_ns)
        if plan.plain_only:
            is_enough = is_long and self._settled >= max(1, plan.plain)
            return NextAction.FINISH if plan.stop and is_enough else NextAction.NOTHING
        if is_timing and not (self._is_prepared or self.had_to_wait):
            # The profiler warms up in a cycle of its own, after the plain ones.
            self._is_prepared = is_long and completed >= self._warm_up + plan.plain
            return NextAction.PREPARE if self._is_prepared else NextAction.NOTHING
        if completed >= self._warm_up:
            self.skipped = completed
            return NextAction.START
        if completed == self._warm_up - 1:
            self._is_prepared = True
            return NextAction.PREPARE
        return NextAction.NOTHING

    def _is_long(self, completed: int, now_ns: int) -> bool:
        since_ns, plan = self._plain_since_ns, self._plan
        if not plan.plain_s or since_ns is None:
            return True
        if self._until is None and completed >= self._warm_up + plan.plain:
            self._until = self._last_plain(completed, now_ns - since_ns >= plan.plain_s * 1e9)
        return self._until is not None and completed >= self._until

    @property
    def is_timing(self) -> bool:
        """Whether warm-up is over, and unprofiled steps count."""
        return self._plain_since_ns is not None

    @property
    def number(self) -> int:
        """The cycle that begins now, counted from the first of the program, 0."""
        return (self.skipped or 0) + len(self.recorded_ns)

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
            "seen": self.seen,
            "elsewhere": self._elsewhere,
            "own_profiler": self.had_to_wait,
        }


Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""Of a call: by position, and by name."""


class MarkedCycles(Protocol):
    """Who hears of the marks that tell cycles apart: one that records, or one that watches."""

    is_over: bool

    @property
    def is_recording(self) -> bool: ...
    @property
    def has_begun(self) -> bool: ...
    def boundary(self, by: str, name: str, *, begins: bool) -> None: ...
    def restart(self, by: str) -> None: ...
    def remark(self, text: str) -> None: ...
    def when_over(self, leave: Callable[[], None]) -> None: ...
    def program_goes_on(self) -> AbstractContextManager[None]: ...


BY_HAND = "step()"
ENTIRE_PROGRAM = "whole program"


class CycleEngine:
    """Records the cycles of this process as planned, and writes down what it did.

    Whatever fails in here ends the recording, not the program.
    """

    def __init__(self, plan: RecordPlan, torch: Any, control: Path) -> None:
        self.plan = plan
        self.is_over = False
        """Whether nothing is left to count."""
        self._notebook = Notebook(control)
        self._torch = torch
        self._guard = ProgramGuard(self._failed)
        self._window = RecordedWindow(torch, plan.extras, self._notebook, where=plan.where)
        self._memory = MemoryHistory(
            torch, self._notebook, is_wanted="memory-snapshot" in plan.extras
        )
        self._compiled = CompilerWatch(torch, self._notebook, is_wanted="compiled" in plan.extras)
        self._captures = GraphCaptures(
            torch, self._notebook, is_wanted="graphs" not in plan.without and not plan.plain_only
        )
        self._plain = PlainCycles(self._notebook, torch, device_events=plan.device_events)
        self._source: Counting | None = None
        self._own_thread = RecordedThread(self._end_of_thread)
        self._foreign = ForeignProfilers(torch, self._give_way)
        self._endings = Endings(self.end)
        self._leaving = [self._endings.leave, self._foreign.leave, self._captures.leave]

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
        """Whether the profiler is on, or was; without one, whether unprofiled steps count."""
        is_timing = self.plan.plain_only and self._source is not None and self._source.is_timing
        return is_timing or self._window.stage not in (Stage.AHEAD, Stage.PREPARED)

    def when_over(self, leave: Callable[[], None]) -> None:
        """Have a hook taken back once nothing is left to count."""
        self._leaving.append(leave)

    def boundary(self, by: str, name: str, *, begins: bool) -> None:
        """One cycle ends and the next begins."""
        if self.is_over or (self._source is not None and not self._source.hears(by, name)):
            return
        now_ns = time.perf_counter_ns()
        if self._source is None:
            self._source = Counting(self.plan, by, name, begins=begins, last_plain=self._last_plain)
            with self.program_goes_on():
                self._endings.watch()
        due, is_before = NextAction.NOTHING, self._window.stage is Stage.AHEAD
        with self.program_goes_on():
            is_plain = not self._foreign.was_active()
            due = self._source.boundary(now_ns, is_plain=is_plain)
            if is_before:
                self._plain.border(self._source.timed, now_ns)
            if due is not NextAction.NOTHING:
                self._do(due, self._source)
            self._source.resume(time.perf_counter_ns())
        if self.is_recording and self._own_thread.asked:
            self.end(self._own_thread.asked)
        if due is NextAction.FINISH and self.plan.stop:
            raise SystemExit(0)

    @property
    def slows(self) -> bool:
        """Whether a profiler is ready, is on or is being written: cycles take longer."""
        return self._window.stage in (Stage.PREPARED, Stage.OPEN, Stage.WRITING)

    def rest(self, by: str, name: str) -> None:
        """A cycle ends, and the next begins later: what is between belongs to none."""
        source, now_ns = self._source, time.perf_counter_ns()
        if self.is_over or source is None or not source.is_here:
            return
        if (source.by, source.name) != (by, name):
            return
        with self.program_goes_on():
            if source.rest(now_ns) and self.is_recording:
                # The next one may be long in coming.
                self.boundary(by, name, begins=True)
            elif self.is_recording:
                self._window.unmark()

    def begin_by_hand(self) -> None:
        """A block begins in which `step()` ends cycles: whatever counted before is forgotten."""
        if self.has_begun or self.is_over:
            return
        with self.program_goes_on():
            self._window.put_off()
            self._plain.forget()
            self._endings.watch()
            now_ns = time.perf_counter_ns()
            self._source = Counting(
                self.plan, BY_HAND, begins=False, since_ns=now_ns, last_plain=self._last_plain
            )
            if self.plan.skip == 0:
                # Timing or recording begins with the very first cycle.
                self._do(self._source.due(0, now_ns), self._source)
            self._source.resume(time.perf_counter_ns())

    def begin_whole(self) -> None:
        """Record from here to the end, without cycles."""
        self._source = Counting(self.plan, ENTIRE_PROGRAM, begins=True)
        with self.program_goes_on():
            self._start(self._source)

    def restart(self, by: str) -> None:
        """What counted has gone: begin anew with whatever comes, unless already recording.

        Where something of another kind counts, nothing has gone.
        """
        if self._source is not None and self._source.by != by:
            return
        if self.is_recording or (self.has_begun and self.plan.plain_only):
            self.end(UNMARKED)
        elif self.has_begun:
            self._forget()
        elif not self.is_over:
            self._window.put_off()
            self._plain.forget()
            self._source = None

    def remark(self, text: str) -> None:
        """Leave a sentence for whoever reads the recording."""
        self._notebook.add("remark", text=text)

    def program_goes_on(self) -> AbstractContextManager[None]:
        """Whatever fails within ends the recording and nothing else."""
        return self._guard

    # -- what is due -----------------------------------------------------------------------------

    def _do(self, due: NextAction, source: Counting) -> None:
        if due in (NextAction.PREPARE, NextAction.START) and self._foreign.is_active:
            source.wait_longer()
        elif due is NextAction.TIME:
            self._begin_plain(source)
        elif due is NextAction.PREPARE:
            self._plain.end(wait=True)
            self._captures.give_up()
            with self._foreign.ours():
                self._window.prepare()
        elif due is NextAction.START:
            self._start(source)
            self._window.mark(source.number)
        elif due is NextAction.NEXT:
            self._window.mark(source.number)
        elif due is NextAction.FINISH:
            self._finish(source, "")
            self._forget()

    def _last_plain(self, completed: int, is_long: bool) -> int | None:  # noqa: FBT001
        is_alone = (identity(self._torch)["world_size"] or 1) <= 1
        control = self._notebook.control
        return last_plain(control, completed, is_long=is_long, is_alone=is_alone)

    def _begin_plain(self, source: Counting) -> None:
        facts = {"by": source.by, "name": source.name, "skipped": source.seen}
        began = {"started_us": time.time_ns() // 1000, **facts, **identity(self._torch)}
        self._notebook.add("plain", **began)
        if self.plan.plain_only:
            # Others follow a recording by its window.
            self._notebook.add("window", plain_only=True, **began)

    def _end_plain(self, why: str) -> None:
        """The end of a recording without a timeline; all of it is there where cycles suffice."""
        enough = self._plain.settled >= max(1, self.plan.plain)
        # Of several workers that stop by the clock, some wait for others until they are ended.
        is_stopped = self.plan.stop and why.endswith("SIGTERM")
        is_all = enough and (is_stopped or why in ("", ENDED, BLOCK_ENDED, UNMARKED))
        self._notebook.add(
            "exported",
            cycles=0,
            plain=self._plain.settled,
            why="" if is_all else why,
            devices=devices(self._torch),
        )

    def _start(self, source: Counting) -> None:
        self._captures.give_up()
        with self._foreign.ours():
            self._window.open(by=source.by, name=source.name, skipped=source.skipped or 0)
        self._own_thread.begin()
        self._endings.watch()

    def _finish(self, source: Counting, why: str) -> None:
        if self.plan.plain_only:
            self._end_plain(why)
        self._window.close(source.recorded_ns, why)
        self._memory.end()
        self._compiled.end()
        self._own_thread.ended()

    def _give_way(self) -> None:
        """The program starts a profiler of its own: two at a time break each other."""
        self._captures.give_up()
        if self.is_recording:
            self.end("the program started torch.profiler itself")
        elif self._window.stage is Stage.PREPARED and self._source is not None:
            with self.program_goes_on():
                self._window.put_off()
                self._source.wait_longer()

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
            elif self.has_begun and self.plan.plain_only and not self.is_over:
                self._end_plain(why)
            self._memory.end()
            self._compiled.end()
            self._forget(why)
            self._notebook.add("left")

    def end_soon(self, why: str) -> None:
        """The same where nobody may wait: a thread that is recorded ends it at its next border."""
        if self._is_elsewhere():
            self._own_thread.asked = why
            return
        if self._window.stage is Stage.PREPARED:
            with self.program_goes_on():
                self._window.put_off()
        self.end(why)

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
            self._captures.forget()
        else:
            self.is_over = True
            self._memory.forget()
            self._compiled.forget()
            self._window.forget()

    def _forget(self, why: str = "") -> None:
        self._leave()
        if self._source is not None:
            self._plain.end(wait=not why)
            self._notebook.add("pace", why=why, **self._source.pace)

    def _leave(self) -> None:
        self.is_over = True
        leaving, self._leaving = self._leaving, []
        for leave in leaving:
            leave()

    def _failed(self, error: Exception) -> None:
        is_told = isinstance(error, TimesinkError)
        why = f"{'' if is_told else f'{type(error).__name__}: '}{error}"
        if self._is_elsewhere():
            # The thread that is recorded can still end it well.
            self._own_thread.asked = why
            return
        self._window.abandon()
        with suppress(Exception):
            self._leave()
            self._plain.end()
        self._own_thread.ended()
        self._notebook.add("failed", why=why)

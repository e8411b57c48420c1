"""Watching a program: every cycle is told, with its time and workload; recordings on order."""

from __future__ import annotations

import atexit
import heapq
import itertools
import json
import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from timesink.recorder.agent.engine import Arguments, CycleEngine
from timesink.recorder.agent.shutdown import ENDED, UNMARKED, ProgramGuard, identity, versions
from timesink.recorder.agent.workloads import BatchShapes, Extractor, Values, own_extractor
from timesink.recorder.cycle_channel import CycleSender
from timesink.recorder.folder import Notebook, RecordPlan

ArgumentReader = Callable[[], Arguments]
CALL, LOOP = "call", "loop"
_LOOKS_EVERY_NS = 200_000_000
_MAX_FAILURES = 10
"""Whoever fails so often in a program leaves it."""
FUNCTION, RANGE, STEP = "function", "annotation", "optimizer step"
"""What marks cycles, as hooks call it."""
_MAX_RECORDED = 1000
_EARLY = 20
"""Cycles in which an optimizer that steps less often may take over."""


def order_file(control: Path, pid: int) -> Path:
    """Where a watched process looks for what it is to do."""
    return control / f"{pid}.order"


class WatchedCycle:
    """A cycle under way."""

    __slots__ = ("begun_ns", "is_clear", "start_us", "stream", "values")

    def __init__(self, stream: int, values: Values | None, is_clear: bool) -> None:  # noqa: FBT001
        """`values` are None where it has nothing to do, and does not count."""
        self.stream = stream
        self.values = values
        self.is_clear = is_clear
        self.start_us = time.time_ns() // 1000
        self.begun_ns = time.perf_counter_ns()


class WatchedThread:
    """A thread that makes cycles; its number is free again when it ends."""

    def __init__(self, free: list[int], new: Iterator[int]) -> None:
        """Its number is the smallest of those that are free again, or a new one."""
        self._free = free
        try:
            self.number = heapq.heappop(free)
        except IndexError:
            # Each of these is one step, whatever other threads do.
            self.number = next(new)
        self.open: WatchedCycle | None = None
        self.depth = 0

    def __del__(self) -> None:
        heapq.heappush(self._free, self.number)


@dataclass(frozen=True)
class _Order:
    """What the watcher wants."""

    number: int
    what: str
    cycles: int = 1
    plain: int = 0
    plain_s: float = 0.0
    at: int | None = None
    control: str = ""
    extras: tuple[str, ...] = ()

    @classmethod
    def of(cls, content: str) -> _Order:
        fields = json.loads(content)
        return cls(
            int(fields.get("id", 0)),
            str(fields["what"]),
            int(fields.get("cycles") or 1),
            int(fields.get("plain") or 0),
            float(fields.get("plain_s") or 0.0),
            fields.get("at"),
            str(fields.get("control") or ""),
            tuple(fields.get("extras") or ()),
        )


class WatchEngine:
    """Tells every cycle of this process, and records some when it is asked to.

    Hooks use it as they use an engine that records.  Whatever fails in here is written down, and
    the program goes on; where much fails, all hooks are taken back.
    """

    def __init__(self, plan: RecordPlan, torch: Any, control: Path) -> None:
        self.plan = plan
        self.span = plan.span or LOOP
        self.is_over = False
        self._torch, self._control = torch, control
        self._notebook = Notebook(control)
        self.source: tuple[str, str] | None = None
        """What marks cycles, and what that is called; None: nothing yet, or no more."""
        self._extract: Extractor | None = own_extractor(plan.extractor) if plan.extractor else None
        self.shapes: BatchShapes | None = None
        self._leaving: list[Callable[[], None]] = []
        self._guard = ProgramGuard(self._failed)
        self._failures = 0
        self._is_told_of: set[str] = set()
        self._channel = ""
        self._recorder: CycleEngine | None = None
        self._recorded: list[Values] = []
        """What cycles had to do that are not told, for they are being recorded."""
        self._order: _Order | None = None
        self._leaves = ""
        """Why it is to leave, as soon as no recording is under way."""
        self._begin_anew()
        atexit.register(self._at_exit)

    def _begin_anew(self) -> None:
        """What belongs to a process alone."""
        self._pid = os.getpid()
        self._here = threading.local()
        self._free, self._new = list[int](), itertools.count()
        self._turn = threading.Lock()
        """Of several threads one begins a recording."""
        self._sender = CycleSender(self._control, lambda: identity(self._torch), self._channel)
        self._order_path = str(order_file(self._control, self._pid))
        self._seen_order: tuple[int, int] | None = None
        self._done_order = 0
        self._next_look_ns = 0

    # -- what hooks call, as of every engine -----------------------------------------------------

    @property
    def is_recording(self) -> bool:
        """Whether the profiler is on, by order."""
        return self._recorder is not None and self._recorder.is_recording

    @property
    def channel(self) -> str:
        """Whom it tells cycles."""
        return self._sender.channel

    @property
    def is_by_hand(self) -> bool:
        """Nobody calls `step()` of what only watches."""
        return False

    @property
    def has_begun(self) -> bool:
        """Whether it is too late for another optimizer to take over."""
        return self._recorder is not None or self._sender.count >= _EARLY

    def when_over(self, leave: Callable[[], None]) -> None:
        """Have a hook taken back at the end."""
        self._leaving.append(leave)

    def remark(self, text: str) -> None:
        """Leave a sentence for the watcher, once."""
        if text not in self._is_told_of:
            self._is_told_of.add(text)
            self._notebook.add("remark", text=text)

    def program_goes_on(self) -> AbstractContextManager[None]:
        """Whatever fails within is written down."""
        return self._guard

    def restart(self, _by: str) -> None:
        """What marked cycles of this thread has gone."""
        self.stream().open = None
        self.source = None
        if self._recorder is not None:
            self._recorder.end_soon(UNMARKED)
        if self.shapes is not None:
            self.shapes.leave()

    def boundary(
        self, by: str, name: str, *, begins: bool, read_arguments: ArgumentReader | None = None
    ) -> None:
        """One cycle of this thread ends and the next begins."""
        if self.source != (by, name) and not self.hears(by, name):
            return
        if self.span == CALL and begins:
            self.stream().open = self.new_cycle(read_arguments)
            return
        self.next_cycle(read_arguments, is_step=not begins)

    def next_cycle(
        self,
        read_arguments: ArgumentReader | None,
        extract: Extractor | None = None,
        *,
        is_step: bool = False,
    ) -> None:
        """The same, where it is known what marks cycles."""
        now_ns = time.perf_counter_ns()
        stream = self.stream()
        cycle = stream.open
        if cycle is not None:
            if is_step and self.shapes is not None:
                cycle.values = self.shapes.take()
            self._complete(cycle, now_ns - cycle.begun_ns)
            if now_ns < self._next_look_ns and self._recorder is None and self._order is None:
                # The same object for most cycles: less to do.
                cycle.values = (
                    {} if read_arguments is None else self.workload(read_arguments, extract)
                )
                cycle.is_clear = True
                cycle.start_us = time.time_ns() // 1000
                cycle.begun_ns = time.perf_counter_ns()
                return
        stream.open = self.new_cycle(read_arguments, extract, stream)

    # -- calls as cycles -------------------------------------------------------------------------

    def hears(self, by: str, name: str, *, source: str = "", span: str = "") -> bool:
        """Whether such marks tell cycles apart: those that come first do."""
        if self.is_over:
            return False
        if self.source is None:
            self.source = (by, name)
            self._sender.source = source or f"{by} {name}".strip()
            self._sender.span = span or (LOOP if by == STEP else self.span)
            self._notebook.add(
                "watching",
                source=self._sender.source,
                span=self._sender.span,
                **identity(self._torch),
            )
        # Threads may have optimizers of their own.
        return self.source == (by, name) or by == self.source[0] == STEP

    def new_cycle(
        self,
        read_arguments: ArgumentReader | None,
        extract: Extractor | None = None,
        stream: WatchedThread | None = None,
    ) -> WatchedCycle:
        """A cycle begins on this thread."""
        now_ns = time.perf_counter_ns()
        if now_ns >= self._next_look_ns:
            self._next_look_ns = now_ns + _LOOKS_EVERY_NS
            self._look()
        if self._recorder is not None or self._order is not None or self._leaves:
            self._record()
        values = {} if read_arguments is None else self.workload(read_arguments, extract)
        is_clear = self._recorder is None or not self._recorder.slows
        return WatchedCycle((stream or self.stream()).number, values, is_clear)

    def ended(self, cycle: WatchedCycle, *, since_ns: int = 0, is_last: bool = True) -> int:
        """It is over, now: what lies before `since_ns` does not count; `is_last`: none is open."""
        now_ns = time.perf_counter_ns()
        if self._recorder is not None and is_last and self.source is not None:
            self._recorder.rest(*self.source)
        if cycle.values is not None:
            self._complete(cycle, now_ns - max(cycle.begun_ns, since_ns))
        return now_ns

    def end_open(self, by: str, name: str) -> None:
        """The call that this thread is in is over."""
        stream = self.stream()
        if stream.open is not None and self.source == (by, name):
            cycle, stream.open = stream.open, None
            with self._guard:
                self.ended(cycle)

    def stream(self) -> WatchedThread:
        """This thread, as one that makes cycles."""
        try:
            thread: WatchedThread = self._here.stream
        except AttributeError:
            thread = self._here.stream = WatchedThread(self._free, self._new)
        return thread

    def _complete(self, cycle: WatchedCycle, lasted_ns: int) -> None:
        if cycle.is_clear and (self._recorder is None or not self._recorder.slows):
            self._sender.add(cycle.stream, cycle.start_us, lasted_ns, cycle.values or {})
        else:
            self._sender.skip()
            if len(self._recorded) < _MAX_RECORDED:
                self._recorded.append(cycle.values or {})

    def workload(
        self, read_arguments: ArgumentReader | None, extract: Extractor | None = None
    ) -> Values | None:
        """What a call has to do; None: nothing, so that it does not count."""
        # What the user says goes first.
        extract = self._extract or extract
        if extract is None or read_arguments is None:
            return {}
        try:
            return extract(*read_arguments())
        except Exception as error:  # noqa: BLE001 - of the user, or of another version
            self.unknown_workload(f"{type(error).__name__}: {error}")
            return {}

    def unknown_workload(self, why: str) -> None:
        """The workload of a cycle could not be told: counted, and said once."""
        self._sender.failed += 1
        if self._sender.failed == 1:
            self.remark(f"the workload of a step could not be read ({why})")

    # -- orders ----------------------------------------------------------------------------------

    def _look(self) -> None:
        if self._sender.is_abandoned:
            self._leaves = "the watcher has ended"
        try:
            state = os.stat(self._order_path)  # noqa: PTH116 - a path costs more
        except FileNotFoundError:
            # Whoever wanted a recording wants it no more: it may take for ever otherwise.
            self._order = None
            if self._recorder is not None:
                self._recorder.end_soon("the recording is no longer wanted")
            return
        except OSError:
            return
        seen = (state.st_mtime_ns, state.st_ino)
        if seen == self._seen_order:
            return
        self._seen_order = seen
        try:
            order = _Order.of(Path(self._order_path).read_text())
        except (
            OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError
        ) as error:  # fmt: skip
            self.remark(f"an order could not be read ({type(error).__name__}: {error})")
            return
        if order.what == "leave":
            self._leaves = "the watcher has asked to leave"
        elif order.what == "record" and order.number != self._done_order:
            self._order = order

    def _record(self) -> None:
        """Pass the border of a cycle on to the recording that is under way, or due."""
        if self._leaves and self._recorder is None:
            self.end(self._leaves)
            return
        if self._recorder is None and self._turn.acquire(blocking=False):
            try:
                self._begin_if_due()
            finally:
                self._turn.release()
        recorder = self._recorder
        if recorder is None or self.source is None:
            return
        if self._leaves:
            recorder.end_soon(self._leaves)
        recorder.boundary(*self.source, begins=True)
        if recorder.is_over:
            self._recorder = None
            medians = _medians(self._recorded)
            self._notebook.add("order", id=self._done_order, state="ended", workload=medians)

    def _begin_if_due(self) -> None:
        order = self._order
        if order is None or self._recorder is not None:
            return
        if order.at is None or self._sender.count >= order.at:
            self._order, self._done_order = None, order.number
            self._sender.flush()
            self._begin_recorder(order)

    def _begin_recorder(self, order: _Order) -> None:
        try:
            control = Path(order.control)
            notebook = Notebook(control)
            notebook.add("python", version=platform.python_version(), program=sys.executable)
            notebook.add("torch", **versions(self._torch))
            plan = RecordPlan(
                cycles=max(1, order.cycles),
                skip=0,
                plain=max(0, order.plain),
                plain_s=max(0.0, order.plain_s),
                marker=self.plan.marker or self.plan.preset,
                extras=order.extras,
            )
            self._recorder = CycleEngine(plan, self._torch, control)
            self._recorded = []
            self._notebook.add("order", id=order.number, state="begun", count=self._sender.count)
        except Exception as error:  # noqa: BLE001 - the program goes on, and so does watching
            why = f"{type(error).__name__}: {error}"
            self._notebook.add("order", id=order.number, state="failed", why=why)

    # -- the end ---------------------------------------------------------------------------------

    def end(self, why: str) -> None:
        """Leave the program: all hooks are taken back."""
        if self.is_over:
            return
        recorder = self._recorder
        if recorder is not None:
            # First: another thread that is recorded ends it at a border, which hooks tell of.
            with suppress(Exception):
                recorder.end(why)
        self.is_over, self.source, self._recorder = True, None, None
        with suppress(Exception):
            atexit.unregister(self._at_exit)
        leaving, self._leaving = self._leaving, []
        for leave in leaving:
            with suppress(Exception):
                leave()
        if self.shapes is not None:
            with suppress(Exception):
                self.shapes.leave()
        with suppress(Exception):
            self._sender.close()
        self._say_farewell(why)

    def _at_exit(self) -> None:
        # A fork inherits this.
        if os.getpid() == self._pid:
            with suppress(Exception):
                self._sender.close()
                self._say_farewell(ENDED)

    def _say_farewell(self, why: str) -> None:
        sender = self._sender
        self._notebook.add("left", why=why, cycles=sender.count, dropped=sender.dropped)

    def forget_in_fork(self) -> None:
        """A copy of this process tells its own cycles, where it makes any."""
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            recorder.forget_in_fork()
        self._order = None
        before, self._channel = self._sender, self._sender.channel
        self._begin_anew()
        self._sender.source, self._sender.span = before.source, before.span
        before.discard()

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        self.remark(f"watching failed: {type(error).__name__}: {error}")
        if self._failures == _MAX_FAILURES:
            self.end(f"watching failed {_MAX_FAILURES} times")


def _medians(every: list[Values]) -> dict[str, float]:
    """What cycles usually had to do.

    >>> _medians([{"batch_size": 4.0}, {"batch_size": 8.0}, {}])
    {'batch_size': 8.0}
    """
    columns: dict[str, list[float]] = {}
    for values in every:
        for name, value in values.items():
            if value is not None:
                columns.setdefault(name, []).append(value)
    return {name: sorted(column)[len(column) // 2] for name, column in columns.items()}

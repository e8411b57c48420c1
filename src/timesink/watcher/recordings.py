"""Recordings that the watcher asks for: one at a time, never too close to each other."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from timesink.recorder.processes import is_alive
from timesink.recorder.watch_plan import WatchPlan
from timesink.watcher.agent_notes import notes_in, recorded_workload
from timesink.watcher.cycle_intake import WatchedProcess
from timesink.watcher.incidents import Incident
from timesink.watcher.recorded_cycles import (
    order_outcome,
    patience_s,
    withdraw_orders,
    write_orders,
)
from timesink.watcher.tasks import WatchTask

_TOGETHER_S = 0.6
"""Ranks get so long to tell their cycles and learn of an order before the cycle it begins with."""
_PLAIN_S = 2.0
"""Cycles without the profiler last so long at least: samplers of devices are slow."""
_RECENT_US = 60_000_000
_PACKS_S = 600.0
_NOTES_S = 1.0
"""So often it is asked whether agents could begin."""


@dataclass
class OrderedRecording:
    """One that is under way."""

    folder: Path
    phase: str
    workload: Mapping[str, float]
    cycle_us: float
    incident: Incident | None
    """The one it is made for; None of a reference."""
    pids: list[int]
    task: WatchTask
    number: int
    """Of its orders."""
    is_early: bool = False
    """Whether the program had just begun."""
    ordered: bool = False
    through_us: int | None = None
    """Until when the program was disturbed; packing is done beside it."""
    why_not: str = ""
    """Why nothing can come of it, where that is known before its task has ended."""
    noted_s: float = -math.inf
    """When notes of the agents were read last."""
    begun_s: float = field(default_factory=time.monotonic)
    begun_us: int = field(default_factory=lambda: time.time_ns() // 1000)

    @property
    def has_program(self) -> bool:
        """Whether there still is what it records."""
        return any(is_alive(pid) for pid in self.pids)


@dataclass
class Recorder:
    """Begins recordings and hears what came of them."""

    plan: WatchPlan
    control: Path
    tasks: Path
    current: OrderedRecording | None = None
    last_us: int | None = None
    why_not: str = ""
    _begun_s: float = -math.inf
    _orders: int = 0
    _has_left: bool = False

    def refusal(self) -> str:
        """Why none can be begun now; empty where one can."""
        if not self.plan.is_recording:
            return "recording is switched off (--no-record)"
        if self.current is not None:
            return "another recording is under way"
        since_s = time.monotonic() - self._begun_s
        if since_s < self.plan.gap_s:
            return f"the last recording began {since_s:.0f} s ago"
        return ""

    def begin(
        self,
        folder: Path,
        processes: Iterable[WatchedProcess],
        *,
        phase: str,
        workload: Mapping[str, float],
        cycle_us: float,
        incident: Incident | None = None,
        is_early: bool = False,
    ) -> str:
        """Start one; why that cannot be, or nothing."""
        now_us = time.time_ns() // 1000
        recent = [
            one
            for one in processes
            if now_us - one.last_us < _RECENT_US + 10 * cycle_us and is_alive(one.pid)
        ]
        if not recent:
            return "no process tells cycles"
        patience = _PLAIN_S + patience_s(self.plan.cycles + self.plan.plain, cycle_us)
        facts = {
            "folder": str(folder), "pids": [one.pid for one in recent],
            "cycles": self.plan.cycles, "plain": self.plan.plain, "marker": self.plan.marker,
            "extras": list(self.plan.extras), "counters": sorted(self.plan.counters),
            "command": list(self.plan.command), "timesink": self.plan.timesink,
            "patience_s": patience, "is_healthy": incident is None,
        }  # fmt: skip
        try:
            task = WatchTask("record", self.tasks, patience + _PACKS_S, record=facts)
        except OSError as error:
            return f"it cannot be started ({error.strerror or error})"
        self._begun_s, self.last_us, self.why_not = time.monotonic(), now_us, ""
        pids = [one.pid for one in recent]
        self.current = OrderedRecording(
            folder, phase, workload, cycle_us, incident, pids, task, self._next(), is_early
        )
        return ""

    def _next(self) -> int:
        self._orders += 1
        return self._orders

    def look(
        self, processes: Mapping[int, WatchedProcess]
    ) -> tuple[OrderedRecording, dict[str, Any]] | None:
        """Give the orders once all is prepared; what came of one that has ended."""
        one = self.current
        if one is None:
            return None
        now_s = time.monotonic()
        if not one.ordered and not self._has_left and one.task.is_ready:
            one.ordered = True
            counts = [processes[pid].cycles for pid in one.pids if pid in processes]
            margin = math.ceil(_TOGETHER_S / max(1e-6 * one.cycle_us, 1e-6)) + 2
            at = max(counts) + margin if len(counts) > 1 else None
            order = {
                "id": one.number, "what": "record", "cycles": self.plan.cycles,
                "plain": self.plan.plain, "plain_s": _PLAIN_S if self.plan.plain else 0.0,
                "at": at, "extras": list(self.plan.extras),
                "control": str(one.folder / self.control.name),
            }  # fmt: skip
            self._give_up(one, write_orders(self.control, dict.fromkeys(one.pids, order)))
        elif one.ordered and not one.why_not and now_s - one.noted_s >= _NOTES_S:
            one.noted_s = now_s
            is_over, why = order_outcome(self.control, one.pids, one.number)
            if is_over and one.through_us is None:
                one.through_us = time.time_ns() // 1000
            self._give_up(one, why)
        answer = one.task.answer()
        if answer is None:
            return None
        self._withdraw(one)
        one.workload = recorded_workload(notes_in(self.control), one.number) or one.workload
        self.current = None
        if one.why_not and "error" in answer:
            answer["error"] = one.why_not
        if one.has_program or one.incident is not None:
            self.why_not = answer.get("error", "")
        return one, answer

    def _give_up(self, one: OrderedRecording, why: str) -> None:
        """Do not wait for what nobody does."""
        if why:
            self.why_not = one.why_not = why
            self._withdraw(one)
            one.task.end_soon()

    def _withdraw(self, one: OrderedRecording) -> None:
        # An order to leave is the last one.
        if not self._has_left:
            withdraw_orders(self.control, one.pids)

    def leave(self, pids: Iterable[int]) -> None:
        """Have the agents take all their hooks back: nothing is recorded any more."""
        self._has_left = True
        if self.current is not None and not self.current.ordered:
            self.current.task.end_soon()
        order = {"id": self._next(), "what": "leave"}
        self.why_not = write_orders(self.control, dict.fromkeys(pids, order)) or self.why_not

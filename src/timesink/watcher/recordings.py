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
from timesink.watcher.recorded_cycles import patience_s, withdraw_orders, write_orders
from timesink.watcher.tasks import WatchTask

_TOGETHER_S = 0.3
"""Ranks get so long to learn of an order before the cycle it begins with."""
_PLAIN_S = 2.0
"""Cycles without the profiler last so long at least: samplers of devices are slow."""
_RECENT_US = 60_000_000
_PACKS_S = 600.0


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
    is_early: bool = False
    """Whether the program had just begun."""
    ordered: bool = False
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
    _orders: int = field(default=0)

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
            "patience_s": patience,
        }  # fmt: skip
        try:
            task = WatchTask("record", self.tasks, patience + _PACKS_S, record=facts)
        except OSError as error:
            return f"it cannot be started ({error.strerror or error})"
        self._begun_s, self.last_us, self.why_not = time.monotonic(), now_us, ""
        pids = [one.pid for one in recent]
        self.current = OrderedRecording(
            folder, phase, workload, cycle_us, incident, pids, task, is_early
        )
        return ""

    def forgive(self) -> None:
        """The last recording is of no use: the next need not wait for it."""
        self._begun_s = -math.inf

    def look(
        self, processes: Mapping[int, WatchedProcess]
    ) -> tuple[OrderedRecording, dict[str, Any]] | None:
        """Give the orders once all is prepared; what came of one that has ended."""
        one = self.current
        if one is None:
            return None
        if not one.ordered and one.task.is_ready:
            one.ordered = True
            self._orders += 1
            counts = [processes[pid].cycles for pid in one.pids if pid in processes]
            margin = math.ceil(_TOGETHER_S / max(1e-6 * one.cycle_us, 1e-6)) + 2
            at = max(counts) + margin if len(counts) > 1 else None
            order = {
                "id": self._orders, "what": "record", "cycles": self.plan.cycles,
                "plain": self.plan.plain, "plain_s": _PLAIN_S if self.plan.plain else 0.0,
                "at": at, "extras": list(self.plan.extras),
                "control": str(one.folder / self.control.name),
            }  # fmt: skip
            write_orders(self.control, dict.fromkeys(one.pids, order))
        answer = one.task.answer()
        if answer is None:
            return None
        withdraw_orders(self.control, one.pids)
        one.workload = recorded_workload(notes_in(self.control), self._orders) or one.workload
        self.current = None
        if one.has_program or one.incident is not None:
            self.why_not = answer.get("error", "")
        return one, answer

    def leave(self, pids: Iterable[int]) -> None:
        """Have the agents take all their hooks back."""
        self._orders += 1
        write_orders(self.control, {pid: {"id": self._orders, "what": "leave"} for pid in pids})

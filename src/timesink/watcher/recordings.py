"""Recordings that the watcher asks for: one at a time, never too close to each other."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from timesink.errors import reason_of
from timesink.recorder.agent.watched import order_file
from timesink.recorder.folder import ProcessNotes, read_notes
from timesink.recorder.places import write_whole
from timesink.recorder.processes import is_alive
from timesink.recorder.watch_plan import WatchPlan
from timesink.watcher.cycles import WatchedProcess
from timesink.watcher.incidents import Incident
from timesink.watcher.tasks import WatchTask, patience_s
from timesink.watcher.thresholds import RecordingsLimits

_RECENT_US = 60_000_000
_PACKS_S = 600.0
_NOTES_S = 1.0
"""So often it is asked whether agents could begin."""


class OrderedRecording(msgspec.Struct):
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
    begun_s: float = msgspec.field(default_factory=time.monotonic)
    begun_us: int = msgspec.field(default_factory=lambda: time.time_ns() // 1000)

    @property
    def has_program(self) -> bool:
        """Whether there still is what it records."""
        return any(is_alive(pid) for pid in self.pids)


class Recorder(msgspec.Struct):
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
            return "another recording is being made"
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
            process
            for process in processes
            if now_us - process.last_us < _RECENT_US + 10 * cycle_us and is_alive(process.pid)
        ]
        if not recent:
            return "no process sends steps"
        patience = RecordingsLimits.plain_s + patience_s(
            self.plan.cycles + self.plan.plain, cycle_us
        )
        facts = {
            "folder": str(folder), "pids": [process.pid for process in recent],
            "cycles": self.plan.cycles, "plain": self.plan.plain, "marker": self.plan.marker,
            "extras": list(self.plan.extras), "counters": sorted(self.plan.counters),
            "command": list(self.plan.command), "timesink": self.plan.timesink,
            "patience_s": patience, "is_healthy": incident is None,
        }  # fmt: skip
        try:
            task = WatchTask("record", self.tasks, patience + _PACKS_S, record=facts)
        except OSError as error:
            return f"it cannot be started ({reason_of(error)})"
        self._begun_s, self.last_us, self.why_not = time.monotonic(), now_us, ""
        pids = [process.pid for process in recent]
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
        capture = self.current
        if capture is None:
            return None
        now_s = time.monotonic()
        if not capture.ordered and not self._has_left and capture.task.is_ready:
            capture.ordered = True
            counts = [processes[pid].cycles for pid in capture.pids if pid in processes]
            margin = math.ceil(RecordingsLimits.together_s / max(1e-6 * capture.cycle_us, 1e-6)) + 2
            at = max(counts) + margin if len(counts) > 1 else None
            order = {
                "id": capture.number, "what": "record", "cycles": self.plan.cycles,
                "plain": self.plan.plain,
                "plain_s": RecordingsLimits.plain_s if self.plan.plain else 0.0,
                "at": at, "extras": list(self.plan.extras),
                "control": str(capture.folder / self.control.name),
            }  # fmt: skip
            self._give_up(capture, write_orders(self.control, dict.fromkeys(capture.pids, order)))
        elif capture.ordered and not capture.why_not and now_s - capture.noted_s >= _NOTES_S:
            capture.noted_s = now_s
            is_over, why = order_outcome(self.control, capture.pids, capture.number)
            if is_over and capture.through_us is None:
                capture.through_us = time.time_ns() // 1000
            self._give_up(capture, why)
        answer = capture.task.answer()
        if answer is None:
            return None
        self._withdraw(capture)
        capture.workload = (
            recorded_workload(notes_in(self.control), capture.number) or capture.workload
        )
        self.current = None
        if capture.why_not and "error" in answer:
            answer["error"] = capture.why_not
        if capture.has_program or capture.incident is not None:
            self.why_not = answer.get("error", "")
        return capture, answer

    def _give_up(self, capture: OrderedRecording, why: str) -> None:
        """Do not wait for what nobody does."""
        if why:
            self.why_not = capture.why_not = why
            self._withdraw(capture)
            capture.task.end_soon()

    def _withdraw(self, capture: OrderedRecording) -> None:
        # An order to leave is the last one.
        if not self._has_left:
            withdraw_orders(self.control, capture.pids)

    def leave(self, pids: Iterable[int]) -> None:
        """Have the agents take all their hooks back: nothing is recorded any more."""
        self._has_left = True
        if self.current is not None and not self.current.ordered:
            self.current.task.end_soon()
        order = {"id": self._next(), "what": "leave"}
        self.why_not = write_orders(self.control, dict.fromkeys(pids, order)) or self.why_not


# What agents in the program have written down: why no cycle comes, and what else to know.

UNTOLD = "the workload of a step could not be read"
"""The agent says it of the first; how many there are is known here."""
_MAX_PROCESSES = 200
_NO_PYTHON = "no Python process loaded the agent (python -E or -I, or another PYTHONPATH?)"


def notes_in(control: Path) -> list[ProcessNotes]:
    """Of every process; none where they cannot be read.

    Of very many, those of processes that have ended are read for the last time.
    """
    try:
        notes = read_notes(control)
    except OSError:
        return []
    for process_notes in notes if len(notes) > _MAX_PROCESSES else ():
        if not is_alive(process_notes.pid):
            with suppress(OSError):
                (control / f"{process_notes.pid}.jsonl").unlink()
    return notes


def agent_remarks(notes: Sequence[ProcessNotes]) -> list[str]:
    """What agents remark, and what has failed in them, each once.

    >>> agent_remarks([ProcessNotes(1, ({"event": "remark", "text": "odd"},) * 2)])
    ['odd']
    """
    keys = {"remark": "text", "failed": "why"}
    every = (
        note for process_notes in notes for note in process_notes.notes if note["event"] in keys
    )
    return list(dict.fromkeys(str(note.get(keys[note["event"]], "")) for note in every))


def recorded_workload(notes: Sequence[ProcessNotes], order: int) -> dict[str, float]:
    """What the cycles had to do that were recorded by order, as one of the agents tells.

    >>> done = {"event": "order", "id": 2, "state": "ended", "workload": {"batch_size": 8.0}}
    >>> recorded_workload([ProcessNotes(1, (done,))], 2)
    {'batch_size': 8.0}
    """
    for process_notes in notes:
        note = process_notes.last("order") or {}
        if (
            note.get("id") == order
            and isinstance(workload := note.get("workload"), dict)
            and workload
        ):
            return {str(name): float(value) for name, value in workload.items()}
    return {}


def why_no_cycle(notes: Sequence[ProcessNotes], plan: WatchPlan) -> str:
    """The reason why none was seen, for people.

    >>> why_no_cycle([ProcessNotes(1, ({"event": "python"},))], WatchPlan(Path("watch")))
    'torch was never imported'
    """
    remarks = agent_remarks(notes)
    if not any(process_notes.last("torch") for process_notes in notes):
        remarks.append("torch was never imported" if notes else _NO_PYTHON)
    if remarks:
        return remarks[0]
    watch_note = next(
        (note for process_notes in notes if (note := process_notes.last("watching"))), None
    )
    if watch_note is not None:
        return f"{watch_note.get('source')} came only once"
    if plan.marker:
        return f"{plan.marker} was never called"
    if plan.preset:
        return f"no function of --preset {plan.preset} was called"
    return "no optimizer made a step; name what marks a step with --marker, or --preset"


# Orders: what the watcher asks of the agents.


def write_orders(control: Path, orders: Mapping[int, Mapping[str, Any]]) -> str:
    """An order for each process, each of which appears whole; why one could not be written."""
    why = ""
    for pid, order in orders.items():
        try:
            write_whole(order_file(control, pid), json.dumps(order).encode())
        except OSError as error:  # noqa: PERF203
            why = f"process {pid} could not be asked ({reason_of(error)})"
    return why


def order_outcome(control: Path, pids: Iterable[int], number: int) -> tuple[bool, str]:
    """Whether all processes are through with what they were asked, and why one could not."""
    try:
        notes = {
            process_notes.pid: process_notes.last("order") or {}
            for process_notes in read_notes(control)
        }
    except OSError:
        return False, ""
    order_notes = [notes.get(pid, {}) for pid in pids if is_alive(pid)]
    matching_notes = [note for note in order_notes if note.get("id") == number]
    failed = [str(note.get("why")) for note in matching_notes if note.get("state") == "failed"]
    is_over = 0 < len(matching_notes) == len(order_notes) and all(
        note.get("state") != "begun" for note in matching_notes
    )
    return is_over, failed[0] if failed and is_over else ""


def withdraw_orders(control: Path, pids: Iterable[int]) -> None:
    """Take back what nobody has begun."""
    for pid in pids:
        with suppress(OSError):
            order_file(control, pid).unlink()

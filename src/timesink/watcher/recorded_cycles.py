"""A recording of some cycles of a program that runs on, in a process of its own.

It samples counters, waits until the agents have written their timelines, and packs them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from timesink.recorder.folder import RecordingFolder, RecordPlan, read_notes, write_plan
from timesink.recorder.processes import is_alive
from timesink.recorder.recording import conclude
from timesink.recorder.run_file import ProgramRun
from timesink.recorder.watch import Watch
from timesink.watcher.tasks import TaskFiles, be_nice

_TICK_S = 0.05
_INTERVAL_MS = 50.0
_LEAST_S = 60.0
_ENDS = ("exported", "failed", "left")
_WRITES_S = 10.0
"""A program that ends gets so long to write what it has."""


def patience_s(cycles: int, cycle_us: float) -> float:
    """How long so many cycles may take to be recorded; the profiler makes them longer."""
    return max(_LEAST_S, 30.0 + 5e-6 * cycles * cycle_us)


def record_cycles(files: TaskFiles) -> dict[str, Any]:
    """Make room, wait for the agents, pack; what came of it."""
    told = files.facts["record"]
    if told["is_healthy"]:
        be_nice()
    place = RecordingFolder(Path(told["folder"]))
    plan = RecordPlan(
        cycles=told["cycles"], skip=0, plain=told["plain"], marker=told["marker"],
        extras=tuple(told["extras"]),
    )  # fmt: skip
    place.prepare()
    write_plan(plan, place.control)
    started_us = time.time_ns() // 1000
    watch = Watch(
        place.control,
        place.counters,
        told["pids"][0],
        wanted=frozenset(told["counters"]),
        interval_ms=_INTERVAL_MS,
    )
    files.say_ready()
    why = _waited(files, watch, place.control, told["pids"], told["patience_s"])
    watched = watch.watched()
    if not told["is_healthy"]:
        be_nice()
    notes = read_notes(place.control)
    if not any(one.last("window") for one in notes):
        place.discard()
        failures = (str(failed["why"]) for one in notes if (failed := one.last("failed")))
        return {"error": why or next(failures, "no cycle was recorded")}
    program = ProgramRun(
        told["timesink"], tuple(told["command"]), plan, started_us, time.time_ns() // 1000, None
    )
    run, _ = conclude(program, watched, place)
    recorded = run["cycles"]["recorded"]
    if not any(one["trace"] for one in run["processes"]):
        return {"error": run["why_partial"] or why or "no timeline was written"}
    return {
        "cycles": recorded, "plain": run["cycles"]["plain"], "complete": run["complete"],
        "why_partial": run["why_partial"], "started_us": started_us,
        "ended_us": program.ended_us, "processes": len(run["processes"]),
        "profiler_pct": run["overhead"]["profiler_pct"],
    }  # fmt: skip


def _waited(
    files: TaskFiles, watch: Watch, control: Path, pids: Iterable[int], patience: float
) -> str:
    """Until every process has written its timeline; why not, where one did not."""
    until, asked_at = time.monotonic() + patience, None
    while True:
        watch.look()
        notes = {one.pid: one for one in read_notes(control)}
        waiting = [
            pid
            for pid in pids
            if is_alive(pid)
            and not (pid in notes and any(notes[pid].last(event) for event in _ENDS))
        ]
        if not waiting:
            return ""
        now = time.monotonic()
        if asked_at is None and files.is_to_end():
            asked_at = now
        if asked_at is not None and now - asked_at > _WRITES_S:
            return "the watcher ended"
        if now > until:
            return f"not finished after {patience:.0f} s"
        time.sleep(_TICK_S)


# Orders: what the watcher asks of the agents.


def write_orders(control: Path, orders: Mapping[int, Mapping[str, Any]]) -> str:
    """An order for each process, each of which appears whole; why one could not be written."""
    why = ""
    for pid, order in orders.items():
        unfinished = control / f"{pid}.order.unfinished"
        try:
            unfinished.write_text(json.dumps(order))
            unfinished.replace(control / f"{pid}.order")
        except OSError as error:
            with suppress(OSError):
                unfinished.unlink()
            why = f"process {pid} could not be asked ({error.strerror or error})"
    return why


def order_outcome(control: Path, pids: Iterable[int], number: int) -> tuple[bool, str]:
    """Whether all processes are through with what they were asked, and why one could not."""
    try:
        notes = {one.pid: one.last("order") or {} for one in read_notes(control)}
    except OSError:
        return False, ""
    told = [notes.get(pid, {}) for pid in pids if is_alive(pid)]
    own = [note for note in told if note.get("id") == number]
    failed = [str(note.get("why")) for note in own if note.get("state") == "failed"]
    is_over = 0 < len(own) == len(told) and all(note.get("state") != "begun" for note in own)
    return is_over, failed[0] if failed and is_over else ""


def withdraw_orders(control: Path, pids: Iterable[int]) -> None:
    """Take back what nobody has begun."""
    for pid in pids:
        with suppress(OSError):
            (control / f"{pid}.order").unlink()

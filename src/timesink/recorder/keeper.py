"""The recorder's side of a recording that a program makes of itself: a process of its own.

It samples counters without a share of the program's time, and finishes the recording when the
program says so, or is gone.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from timesink.errors import TimesinkError
from timesink.recorder.counter_probes import wanted
from timesink.recorder.folder import RecordingFolder, read_notes, read_plan
from timesink.recorder.processes import is_alive
from timesink.recorder.recording import conclude
from timesink.recorder.run_file import ProgramRun
from timesink.recorder.watch import Watch

READY = b"ready\n"
KEEPER_FILE = "keeper.json"
_TICK_S = 0.1
_WRITE_S = 60.0
"""Other workers get so long to write what they recorded."""
_COME_S = 5.0
"""Those that have not begun by then, after the first has ended, take no part."""


@dataclass(frozen=True)
class Task:
    """What a keeper is told when it starts."""

    pid: int
    command: tuple[str, ...]
    counters: str
    interval_ms: float
    timesink: str
    workers: int
    """Processes on this machine that take part."""


def main() -> None:
    """Keep the recording whose folder is the only argument, until the program ends it."""
    try:
        _keep(Path(sys.argv[1]))
    except TimesinkError as error:
        sys.exit(f"timesink: {error}")


def _keep(control: Path) -> None:
    told = json.loads((control / KEEPER_FILE).read_text())
    task = Task(**{**told, "command": tuple(told["command"])})
    place = RecordingFolder(control.parent)
    started_us = time.time_ns() // 1000
    counters = wanted(task.counters)
    watch = Watch(control, place.counters, task.pid, wanted=counters, interval_ms=task.interval_ms)
    # The program waits for this: what it does next is to be sampled.
    os.write(sys.stdout.fileno(), READY)
    while not _is_told_to_end(task.pid):
        watch.look()
    _wait_for_others(control, task.workers)
    program = ProgramRun(
        task.timesink,
        task.command,
        read_plan(control),
        started_us,
        time.time_ns() // 1000,
        None,
    )
    conclude(program, watch.watched(), place)


def _is_told_to_end(program: int) -> bool:
    """Whether the program wants the recording, or is no more.

    Processes it has left behind may hold our input open.
    """
    ready, _, _ = select.select([sys.stdin], [], [], _TICK_S)
    return bool(ready) or os.getppid() != program


def _wait_for_others(control: Path, workers: int) -> None:
    ended_at = time.monotonic()
    while (waited_s := time.monotonic() - ended_at) < _WRITE_S:
        processes = [process for process in read_notes(control) if process.last("torch")]
        # Without torch there is nothing to wait for.
        is_everyone_here = len(processes) >= workers or not processes or waited_s >= _COME_S
        if is_everyone_here and all(
            process.last("left") or process.last("failed") or not is_alive(process.pid)
            for process in processes
        ):
            return
        time.sleep(_TICK_S)

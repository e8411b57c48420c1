"""Making one recording."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from timesink.lab import gate
from timesink.lab.driving.ending import end
from timesink.lab.driving.loads import beside
from timesink.lab.driving.order import Run
from timesink.lab.driving.places import TRACE, Places
from timesink.lab.workloads.switches import VARIABLE, as_text

_POLL_S = 0.02
SPARE_CYCLES = 3
"""The program goes on for so many after the last one that is recorded."""


class RunFailedError(Exception):
    """A recording that was not made; the others are not concerned."""


@dataclass(frozen=True)
class How:
    """How recordings are made."""

    cycles: int
    skip: int
    device: str
    size: str
    interval_ms: float = 50.0
    most_s: float = 400.0
    """A run that takes longer is given up."""


def recorder_command(run: Run, how: How, folder: Path) -> list[str]:
    """The command that records a run."""
    marker = ["--marker", run.workload.marker] if run.workload.marker else []
    cycles = how.skip + how.cycles + SPARE_CYCLES
    return [
        *(sys.executable, "-m", "timesink", "record", "-o", str(folder), "--force"),
        *("--cycles", str(how.cycles), "--skip", str(how.skip)),
        *("--interval", f"{how.interval_ms:g}", *marker, "--"),
        *(sys.executable, "-m", run.workload.module, "--device", how.device),
        *("--size", how.size, "--cycles", str(cycles)),
    ]


def make(run: Run, how: How, places: Places, stopped: Sequence[int]) -> None:
    """Record a run; it is given up when `stopped` gets an entry."""
    folder, log_path = places.of(run), places.log_of(run)
    for path in (folder, log_path):
        path.parent.mkdir(parents=True, exist_ok=True)
    fault = run.fault
    with ExitStack() as stack:
        words = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="timesink-lab-")))
        log = stack.enter_context(log_path.open("w", encoding="utf-8"))
        environment = {**os.environ, gate.FOLDER: str(words), gate.STARTER: str(os.getpid())}
        switches = as_text(fault.switches) if fault else ""
        program = subprocess.Popen(  # noqa: S603 - our own modules
            recorder_command(run, how, folder), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            text=True, env=environment | {VARIABLE: switches},
        )  # fmt: skip
        stack.callback(end, program)
        load = stack.enter_context(
            beside(fault.load if fault else (), places.root, environment, log)
        )
        _Starting(words, program, load, _watch(how.most_s, stopped)).start()
        watch = _watch(how.most_s, stopped)
        while program.poll() is None:
            watch()
        _check(program, folder, log_path)


@dataclass(frozen=True)
class _Starting:
    """The program waits until the load runs, and the load until the program is there."""

    words: Path
    program: subprocess.Popen[str]
    load: subprocess.Popen[str] | None
    watch: Callable[[], None]

    def start(self) -> None:
        self._hear("workload.ready")
        if self.load is not None:
            self._hear("load.ready")
            (self.words / "load.go").touch()
            self._hear("load.works")
        (self.words / "workload.go").touch()

    def _hear(self, word: str) -> None:
        while not (self.words / word).exists():
            self.watch()
            if self.program.poll() is not None:
                raise RunFailedError(f"the program ended early (exit {self.program.returncode})")
            if self.load is not None and self.load.poll() is not None:
                raise RunFailedError(f"the load ended early (exit {self.load.returncode})")


def _watch(most_s: float, stopped: Sequence[int]) -> Callable[[], None]:
    until = time.monotonic() + most_s

    def look() -> None:
        if stopped:
            raise RunFailedError("interrupted")
        if time.monotonic() > until:
            raise RunFailedError(f"it took longer than {most_s:g} s")
        time.sleep(_POLL_S)

    return look


def _check(program: subprocess.Popen[str], folder: Path, log: Path) -> None:
    if program.returncode:
        raise RunFailedError(f"exit {program.returncode}, see {log}")
    if not (folder / TRACE).is_file():
        raise RunFailedError(f"no {TRACE} was written, see {log}")

"""Making one recording."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from timesink.lab import words
from timesink.lab.driving.lab_folder import RUN_FILE, TRACE, LabFolder
from timesink.lab.driving.loads import beside, end
from timesink.lab.driving.order import LabRun
from timesink.lab.workloads.switches import VARIABLE, as_text

_POLL_S = 0.02
SPARE_CYCLES = 3
"""The program goes on for so many after the last one that is recorded."""

Patience = Callable[[], None]
"""Called while a run goes on: waits a moment, and fails when it is to be given up."""


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
    deadline_s: float = 300.0
    """A run that takes longer is given up."""


def recorder_command(run: LabRun, how: How, folder: Path) -> list[str]:
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


def make(run: LabRun, how: How, lab: LabFolder, patience: Patience) -> None:
    """Record a run; whatever it started has ended afterwards."""
    folder, log_path = lab.of(run), lab.log_of(run)
    for path in (folder, log_path):
        path.parent.mkdir(parents=True, exist_ok=True)
    fault = run.fault
    with ExitStack() as stack:
        said = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="timesink-lab-")))
        log = stack.enter_context(log_path.open("w", encoding="utf-8"))
        environment = {**os.environ, words.FOLDER: str(said), words.STARTER: str(os.getpid())}
        switches = as_text(fault.switches) if fault else ""
        program = subprocess.Popen(  # noqa: S603 - our own modules
            recorder_command(run, how, folder), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            text=True, env=environment | {VARIABLE: switches},
        )  # fmt: skip
        stack.callback(end, program)
        load = stack.enter_context(beside(fault.load if fault else (), lab.root, environment, log))
        _follow(said, program, load, patience)
        _check(program, folder, log_path)


def _follow(
    said: Path,
    program: subprocess.Popen[str],
    load: subprocess.Popen[str] | None,
    patience: Patience,
) -> None:
    """The program waits until the load runs, and the load until the program is there."""

    def check_load() -> None:
        # One that ends by itself leaves cycles without the fault.
        if load is not None and load.poll() is not None:
            raise RunFailedError(f"the load ended early (exit {load.returncode})")

    def hear(word: str) -> None:
        while not (said / word).exists():
            patience()
            if program.poll() is not None:
                raise RunFailedError(f"the program ended early (exit {program.returncode})")
            check_load()

    hear("workload.ready")
    if load is not None:
        hear("load.ready")
        (said / "load.go").touch()
        hear("load.works")
    (said / "workload.go").touch()
    is_over = False
    while program.poll() is None and not is_over:
        patience()
        check_load()
        is_over = (said / "workload.done").exists()
    check_load()
    if load is not None:
        # It lasts until the last cycle.
        end(load)
    # The recorder still has to pack what there is.
    while program.poll() is None:
        patience()


def patience_of(most_s: float, stopped: Sequence[int]) -> Patience:
    """One that gives up after so long, or when `stopped` gets an entry."""
    until = time.monotonic() + most_s

    def look() -> None:
        if stopped:
            raise RunFailedError("interrupted")
        if time.monotonic() > until:
            raise RunFailedError(f"it took longer than {most_s:.0f} s")
        time.sleep(_POLL_S)

    return look


def _check(program: subprocess.Popen[str], folder: Path, log: Path) -> None:
    if program.returncode:
        raise RunFailedError(f"exit {program.returncode}, see {log}")
    if not (folder / TRACE).is_file():
        raise RunFailedError(f"no {TRACE} was written, see {log}")
    try:
        told = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
        is_complete, why = told["complete"], told.get("why_partial")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunFailedError(f"{RUN_FILE} cannot be read ({error}), see {log}") from None
    if not is_complete:
        raise RunFailedError(f"the recording is partial: {why}, see {log}")

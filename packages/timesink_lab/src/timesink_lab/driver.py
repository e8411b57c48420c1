"""All recordings of a lab, in order."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from timesink.errors import CollectError, UnreadableError
from timesink.formats.small_files import read_small_json
from timesink.recorder.host_counters import describe_host
from timesink.recorder.processes import (
    collect_signals,
    end_family,
    family,
    interruption,
    signal_family,
)
from timesink_lab.faults import CODE, NORMAL, SCRATCH
from timesink_lab.order import (
    FAULT,
    RUN_FILE,
    TRACE,
    LabFolder,
    LabRun,
    PackedParts,
    TimeLeft,
    gone_on_with,
    write_json,
)
from timesink_lab.workloads.switches import FOLDER, STARTER, VARIABLE, as_text

# What the workloads will find on this machine.

_PATIENCE_S = 300


@dataclass(frozen=True)
class Bench:
    """Where the lab runs."""

    torch: str
    gpu: str | None
    """Name of the device; None: workloads run on the CPU."""
    cores: float | None

    @property
    def words(self) -> str:
        """In a few words."""
        cores = f"{self.cores:g} cores" if self.cores else "cores unknown"
        return f"{self.gpu or 'no GPU'}, {cores}, PyTorch {self.torch}"


def this_bench(device: str) -> Bench:
    """This machine; PyTorch is asked in a process of its own, which takes its memory with it."""
    command = [sys.executable, "-m", "timesink_lab.workloads.setting"]
    try:
        process = subprocess.run(  # noqa: S603 - our own module
            command, capture_output=True, text=True, timeout=_PATIENCE_S, check=True
        )
        setting = json.loads(process.stdout.splitlines()[-1])
    except (subprocess.SubprocessError, ValueError, IndexError) as error:
        lines = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise CollectError(
            f"the workloads of the lab need PyTorch ({lines[-1] if lines else 'no answer'})",
            f"install torch for {sys.executable}",
        ) from None
    if device == "cuda" and setting["gpu"] is None:
        raise CollectError("PyTorch finds no GPU", "leave out --device cuda")
    gpu = None if device == "cpu" else setting["gpu"]
    return Bench(setting["torch"], gpu, describe_host()["cores"])


# A load beside a program: started with it, held until the word, ended after it.

_GRACE_S = 20.0


@contextmanager
def beside(
    load: Sequence[str], scratch: Path, environment: Mapping[str, str], log: IO[str]
) -> Iterator[subprocess.Popen[str] | None]:
    """Run a load, if there is one; `scratch` is where it may write."""
    if not load:
        yield None
        return
    words = [word.replace(SCRATCH, str(scratch)) for word in load]
    command = [sys.executable, "-m", "timesink_lab.loads", *words]
    # No session of its own: Linux shares processors out by session first, and all processes of a
    # load would together get no more than the program.
    process = subprocess.Popen(  # noqa: S603 - our own module
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, text=True,
        env=dict(environment),
    )  # fmt: skip
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[str]) -> None:
    """Ask it and all it started to end, then end them; one that ended by itself is left alone."""
    if process.poll() is not None:
        return
    members = family(process.pid)
    signal_family(members, signal.SIGTERM)
    end_family(members, _GRACE_S)
    # A process that hangs in a driver survives even that, and must not hold up the others.
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)


# Making one recording.

_POLL_S = 0.02
SPARE_CYCLES = 3
"""The program goes on for so many after the last one that is recorded."""

Patience = Callable[[], None]
"""Called while a run goes on: waits a moment, and fails when it is to be given up."""


class RunFailedError(Exception):
    """A recording that was not made; the others are not concerned."""


@dataclass(frozen=True)
class RunSpec:
    """How recordings are made."""

    cycles: int
    skip: int
    device: str
    size: str
    interval_ms: float = 50.0
    deadline_s: float = 300.0
    """A run that takes longer is given up."""


def recorder_command(run: LabRun, how: RunSpec, folder: Path) -> list[str]:
    """The command that records a run."""
    marker = ["--marker", run.workload.marker] if run.workload.marker else []
    cycles = how.skip + how.cycles + SPARE_CYCLES
    # Of those before the recording two warm up, and the profiler gets ready in the last.
    plain = max(0, how.skip - 3)
    return [
        *(sys.executable, "-m", "timesink", "record", "-o", str(folder), "--force"),
        *("--cycles", str(how.cycles), "--skip", str(2 if plain else how.skip)),
        *("--plain", str(plain)),
        *("--interval", f"{how.interval_ms:g}", *marker, "--"),
        *(sys.executable, "-m", run.workload.module, "--device", how.device),
        *("--size", how.size, "--cycles", str(cycles)),
    ]


def make(run: LabRun, how: RunSpec, lab: LabFolder, patience: Patience) -> None:
    """Record a run; whatever it started has ended afterwards."""
    folder, log_path = lab.of(run), lab.log_of(run)
    for path in (folder, log_path):
        path.parent.mkdir(parents=True, exist_ok=True)
    fault = run.fault
    with ExitStack() as stack:
        signal_folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="timesink-lab-"))
        )
        log = stack.enter_context(log_path.open("w", encoding="utf-8"))
        environment = {**os.environ, FOLDER: str(signal_folder), STARTER: str(os.getpid())}
        switches = as_text(fault.switches) if fault else ""
        program = subprocess.Popen(  # noqa: S603 - our own modules
            recorder_command(run, how, folder), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            text=True, env=environment | {VARIABLE: switches},
        )  # fmt: skip
        stack.callback(end, program)
        load = stack.enter_context(beside(fault.load if fault else (), lab.root, environment, log))
        _follow(signal_folder, program, load, patience)
        _check(program, folder, log_path)


def _follow(
    signal_folder: Path,
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
        while not (signal_folder / word).exists():
            patience()
            if program.poll() is not None:
                raise RunFailedError(f"the program ended early (exit {program.returncode})")
            check_load()

    hear("workload.ready")
    if load is not None:
        hear("load.ready")
        (signal_folder / "load.go").touch()
        hear("load.works")
    (signal_folder / "workload.go").touch()
    is_over = False
    while program.poll() is None and not is_over:
        patience()
        check_load()
        is_over = (signal_folder / "workload.done").exists()
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
        run_fields = read_small_json(folder / RUN_FILE)
        is_complete, why = run_fields["complete"], run_fields.get("why_partial")
    except (OSError, UnreadableError, KeyError) as error:
        raise RunFailedError(f"{RUN_FILE} cannot be read ({error}), see {log}") from None
    if not is_complete:
        raise RunFailedError(f"the recording is partial: {why}, see {log}")


SCHEMA = "timesink/lab-recordings/1"
Say = Callable[[str], None]
Record = Callable[[LabRun, RunSpec, LabFolder, Patience], None]


@dataclass(frozen=True)
class Outcome:
    """What became of the plan."""

    recorded: tuple[LabRun, ...]
    failed: tuple[LabRun, ...]
    left: tuple[LabRun, ...]
    """For which no time was left."""


def conduct(
    runs: Sequence[LabRun],
    how: RunSpec,
    lab: LabFolder,
    *,
    time_left: TimeLeft,
    bench: Bench,
    say: Say,
    parts: PackedParts | None = None,
    record: Record = make,
) -> Outcome:
    """Make every run that is not there yet; one that fails does not stop the others."""
    # Those of one folder are all made alike.
    options = {name: value for name, value in asdict(how).items() if name != "deadline_s"}
    lab.claim({"schema": SCHEMA, **options, **asdict(bench)})
    runs = gone_on_with(runs, lab.has)
    missing = [run for run in runs if not lab.has(run)]
    say(plan_in_words(runs, missing, time_left, bench))
    _pack(parts, lab, [lab.about], say)
    recorded: list[LabRun] = []
    failed: list[LabRun] = []
    with collect_signals() as stopped:
        waiting = deque(missing)
        while waiting and time_left.has_room:
            run = waiting.popleft()
            begun_us = time.time_ns() // 1000
            try:
                record(run, how, lab, patience_of(min(how.deadline_s, time_left.left_s), stopped))
                # From now on the recording is there.
                fault = about(run, how, baseline(run, runs, lab), begun_us)
                write_json(lab.of(run) / FAULT, fault)
            except (RunFailedError, OSError) as error:
                interrupted = interruption(stopped)
                if interrupted is not None:
                    raise interrupted from None
                if time_left.left_s <= 0:
                    break
                if run.fault is None and run not in failed:
                    # Once more: others are compared with it.
                    waiting.appendleft(run)
                failed.append(run)
                say(f"{run.folder}: failed, {error}")
            else:
                recorded.append(run)
                time_left.took(time.time_ns() / 1e9 - begun_us / 1e6)
                to_come = len(missing) - 1 - missing.index(run)
                say(f"{run.folder}: recorded, {time_left.words(to_come)} left")
            _pack(parts, lab, lab.files_of(run), say)
    lost = tuple(run for run in missing if run in failed and run not in recorded)
    left = tuple(run for run in missing if run not in failed and run not in recorded)
    return Outcome(tuple(recorded), lost, left)


def _pack(parts: PackedParts | None, lab: LabFolder, files: Sequence[Path], say: Say) -> None:
    if parts is None:
        return
    try:
        parts.add(lab.root, files)
    except (OSError, ImportError) as error:
        say(f"not packed: {error}")


def plan_in_words(
    runs: Sequence[LabRun], missing: Sequence[LabRun], time_left: TimeLeft, bench: Bench
) -> str:
    """How many runs will be made, where, and how long that takes."""
    before = len(runs) - len(missing)
    there = f", {before} recorded before" if before else ""
    planned = f"{len(missing)} of {len(runs)} runs to make{there}, {time_left.words(len(missing))}"
    return f"{bench.words}: {planned}"


def baseline(run: LabRun, runs: Sequence[LabRun], lab: LabFolder) -> str:
    """The last run without a fault before this one; one without any before it is its own."""
    if run.is_fresh_start:
        return run.name
    workload_runs = [other for other in runs if other.workload == run.workload]
    before = workload_runs[: workload_runs.index(run)]
    normal = [other.name for other in before if other.fault is None and lab.has(other)]
    return normal[-1] if normal else f"{NORMAL}-1"


def about(run: LabRun, how: RunSpec, base: str, begun_us: int) -> Mapping[str, Any]:
    """What stands in `fault.json`."""
    document: dict[str, Any] = {
        "fault": run.fault_name,
        "workload": run.workload.name,
        "cycles": how.cycles,
        "started_us": begun_us,
        "baseline": base,
    }
    if run.fault is not None:
        document |= {"kind": run.fault.kind, "strength": run.fault.strength}
        document |= {"switches": dict(run.fault.switches)} if run.fault.kind == CODE else {}
        document |= run.fault.expected
    return document

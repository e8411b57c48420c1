"""The folder of a recording: what belongs to it, and making room for a new one."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from timesink.errors import OutputError
from timesink.recorder.places import CONTROL_FOLDER, COUNTERS_FILE, write_whole
from timesink.recorder.processes import birth, is_running

_PARTS = (
    "trace.json.gz",
    "trace.rank*.json.gz",
    "trace.pid*.json.gz",
    "trace.captures.json.gz",
    "trace.*.captures.json.gz",
    "memory.pickle",
    "memory.rank*.pickle",
    "memory.pid*.pickle",
    "trace.compiled.json.gz",
    "trace.rank*.compiled.json.gz",
    "trace.pid*.compiled.json.gz",
    COUNTERS_FILE,
    f".{COUNTERS_FILE}.new",
    "run.json",
    ".run.json.new",
)
_MIN_FREE_BYTES = 64 * 1024**2
"""Bytes without which even the recording of a small program does not fit."""


def check_room(path: Path, around: Path, called: str) -> None:
    """Refuse what cannot be written to the folder `around`, or has no room there."""
    if not os.access(around, os.W_OK):
        raise OutputError.unwritable(path, f"no permission to write to {called}")
    free = shutil.disk_usage(around).free
    if free < _MIN_FREE_BYTES:
        raise OutputError.unwritable(path, f"only {free // 1024**2} MB left on its disk")


@dataclass(frozen=True)
class RecordingFolder:
    """Where a recording goes; absolute, for the program may change its folder."""

    folder: Path

    @property
    def control(self) -> Path:
        """Where the program and the recorder leave notes, and what is not finished."""
        return self.folder / CONTROL_FOLDER

    @property
    def counters(self) -> Path:
        return self.folder / COUNTERS_FILE

    @property
    def run_file(self) -> Path:
        return self.folder / "run.json"

    def trace(self, worker: str = "") -> Path:
        """The timeline of a process."""
        return self.folder / f"trace{f'.{worker}' if worker else ''}.json.gz"

    def memory(self, worker: str = "") -> Path:
        """The memory snapshot of a process."""
        return self.folder / f"memory{f'.{worker}' if worker else ''}.pickle"

    def captures(self, worker: str = "") -> Path:
        """The graphs that a process captured."""
        return self.folder / f"trace{f'.{worker}' if worker else ''}.captures.json.gz"

    def compiled(self, worker: str = "") -> Path:
        """What was compiled in a process."""
        return self.folder / f"trace{f'.{worker}' if worker else ''}.compiled.json.gz"

    def check(self, *, force: bool) -> None:
        """Refuse before the program runs what cannot work after it."""
        if self.folder.exists() and not self.folder.is_dir():
            raise OutputError.unwritable(self.folder, "it is a file, not a folder")
        self._check_unused()
        if self.folder.exists() and not force and any(self.folder.iterdir()):
            raise OutputError.exists(self.folder)
        around = next(place for place in (self.folder, *self.folder.parents) if place.exists())
        check_room(self.folder, around, str(around))

    def prepare(self) -> None:
        """An empty place: what an earlier recording left is removed, and nothing else."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._check_unused()
            self._clear()
            self.control.mkdir()
            self._owner.write_text(f"{os.getpid()} {birth(os.getpid())}")
        except OSError as error:
            raise OutputError.unwritable(self.folder, error) from None

    @property
    def _owner(self) -> Path:
        """Says which process records here, and when that started: its number is used again."""
        return self.control / "recorder.pid"

    def recorder(self) -> int | None:
        """The process that records here; None where none does."""
        with suppress(OSError, ValueError):
            number, _, born = self._owner.read_text().partition(" ")
            if is_running(int(number), born):
                return int(number)
        return None

    def release(self) -> None:
        """This process records here no longer, whatever is left."""
        with suppress(OSError):
            self._owner.unlink()

    def _check_unused(self) -> None:
        """Two recordings in one folder would be mixed."""
        pid = self.recorder()
        if pid is not None:
            raise OutputError.unwritable(self.folder, f"process {pid} is recording there")

    def clear_control(self) -> None:
        """Remove the notes; all that matters of them is in the recording."""
        shutil.rmtree(self.control, ignore_errors=True)

    def discard(self) -> None:
        """Leave no trace of a recording that never began."""
        with suppress(OSError):
            self._clear()
            self.folder.rmdir()

    def _clear(self) -> None:
        self.clear_control()
        # Also links to files that are not there.
        for path in list(self.folder.iterdir()):
            if any(fnmatchcase(path.name, pattern) for pattern in _PARTS):
                path.unlink()


# What to record: decided once, and read by every process that takes part.

PLAN_FILE = "plan.json"
CONTROL_VARIABLE = "TIMESINK_RECORD"
"""Names the control folder to the processes of a recorded program."""

EXTRAS = ("stack", "shapes", "memory", "modules", "flops", "memory-snapshot", "compiled")
"""What can be added to a timeline, at a price: by torch.profiler, and beside it."""
MEMORY_SNAPSHOT = "memory-{pid}.{kind}pickle"
"""What a process leaves of its allocator, until the recording is put together."""
COMPILED_CODE = "compiled-{pid}.json.gz"
"""The same of what torch.compile generated in it."""
CAPTURES_NOTED = "graphs-{pid}.noted"
"""What a process leaves of the graphs it captures: a line of JSON each, and its marks."""
DEFAULT_ON = ("graphs",)
"""What is noted beside a timeline unless it is left out."""

DEFAULT_CYCLES = 20
DEFAULT_SKIP = 5
"""Programs compile, load kernels and fill caches in these."""
DEFAULT_PLAIN = 20
"""Cycles without the profiler: they say how fast the program is by itself."""
DEFAULT_INTERVAL_MS = 50.0
SHORTEST_INTERVAL_MS, LONGEST_INTERVAL_MS = 1.0, 60_000.0


INTERVALS = f"from {SHORTEST_INTERVAL_MS:g} to {LONGEST_INTERVAL_MS:g} ms"


def is_interval(value_ms: float) -> bool:
    """Whether counters can be sampled that often."""
    return SHORTEST_INTERVAL_MS <= value_ms <= LONGEST_INTERVAL_MS


@dataclass(frozen=True)
class RecordPlan:
    """What to record of a program."""

    cycles: int = DEFAULT_CYCLES
    skip: int = DEFAULT_SKIP
    marker: str = ""
    whole: bool = False
    stop: bool = False
    extras: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    """What of `DEFAULT_ON` is left out."""
    where: bool = False
    """Modules and lines that calls come from are shown."""
    by_hand: bool = False
    """Only `step()` of the context manager tells one cycle from the next."""
    plain: int = DEFAULT_PLAIN
    """Cycles timed without the profiler, after those skipped."""
    plain_s: float = 0.0
    """So many seconds of them at least."""
    plain_only: bool = False
    """No timeline: plain cycles to the end of the program, or with `stop` until they suffice."""
    device_events: bool = False
    """Events of the device at the borders of unprofiled steps."""
    watch: bool = False
    """No recording: every cycle is told to a watcher, who may order recordings."""
    preset: str = ""
    """Which program is watched, by a name in recorder/agent/presets.csv; empty: as it turns out."""
    span: str = ""
    """Of watched cycles: `call`, from a call to its return, or `loop`, to the next call."""
    extractor: str = ""
    """Tells the workload of a cycle: a function of the program, as `package.module:function`."""


def write_plan(plan: RecordPlan, control: Path) -> None:
    """Leave a plan where the agents look for it, some at this very moment."""
    write_whole(control / PLAN_FILE, json.dumps(asdict(plan)).encode())


def read_plan(control: Path) -> RecordPlan:
    """The plan of a control folder."""
    fields = json.loads((control / PLAN_FILE).read_text())
    lists = {name: tuple(fields.get(name, ())) for name in ("extras", "without")}
    return RecordPlan(**{**fields, **lists})


# Notes a process leaves in the control folder: one line each, whole whatever happens next.

Note = Mapping[str, Any]


@dataclass(frozen=True)
class Notebook:
    """Where this process writes its notes; a fork of it writes its own."""

    control: Path

    def add(self, event: str, **facts: object) -> None:
        """Write down that something happened; a full disk must not stop the program."""
        line = json.dumps({"event": event, **facts}) + "\n"
        with suppress(OSError):
            path = self.control / f"{os.getpid()}.jsonl"
            end = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(end, line.encode())
            finally:
                os.close(end)


@dataclass(frozen=True)
class ProcessNotes:
    """What one process wrote down, in order."""

    pid: int
    notes: tuple[Note, ...]

    def last(self, event: str) -> Note | None:
        """The latest note of an event."""
        return next((note for note in reversed(self.notes) if note["event"] == event), None)


def read_notes(control: Path) -> list[ProcessNotes]:
    """The notes of every process, in the order of their numbers."""
    processes = [
        ProcessNotes(int(path.stem), tuple(_notes_in(path)))
        for path in control.glob("*.jsonl")
        if path.stem.isdigit()
    ]
    return sorted(processes, key=lambda process: process.pid)


def is_ending(control: Path) -> bool:
    """Whether a process is writing what it has because the program ends."""
    with suppress(OSError):
        return any(process.last("ending") for process in read_notes(control))
    return False


def _notes_in(path: Path) -> list[Note]:
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    notes = []
    for line in lines:
        # A process that was killed while it wrote leaves half a line.
        with suppress(ValueError, RecursionError):
            notes.append(json.loads(line))
    return [note for note in notes if isinstance(note, dict) and "event" in note]


# Cycles without the profiler, one line each: how long, the probe after it, whether it is settled.

MAX_PLAIN = 200_000
"""So many of a program that runs for long are kept, the last ones."""


def plain_files(control: Path, pid: int) -> tuple[Path, Path]:
    """Where a process keeps its unprofiled steps, the older ones first."""
    return control / f"{pid}.cycles.old", control / f"{pid}.cycles"


@dataclass(frozen=True)
class PlainTimes:
    """The unprofiled steps of one process, in order, warm-up first."""

    cycles_ns: tuple[int, ...] = ()
    probe_ns: tuple[int | None, ...] = ()
    device_us: tuple[float | None, ...] = ()
    """Empty where no events of the device were asked for."""
    settled: int = 0
    """The last so many of them count."""
    started_us: int | None = None
    dropped: int = 0
    """Earlier ones that are not kept."""


def read_plain(control: Path, process: ProcessNotes) -> PlainTimes:
    """What a process has left of its unprofiled steps."""
    rows: list[tuple[int, int | None, bool]] = []
    for path in plain_files(control, process.pid):
        with suppress(OSError):
            for line in path.read_text(errors="replace").splitlines():
                # A process that was killed while it wrote leaves half a line.
                with suppress(ValueError):
                    lasted, probe, settled = line.split(" ")
                    rows.append((int(lasted), None if probe == "-" else int(probe), settled == "1"))
    last_rows = rows[-MAX_PLAIN:]
    device_us = (
        ((process.last("device") or {}).get("cycles_us") or ())[-len(last_rows) :]
        if last_rows
        else ()
    )
    plain_note = process.last("plain") or {}
    return PlainTimes(
        tuple(row[0] for row in last_rows),
        tuple(row[1] for row in last_rows),
        (None,) * (len(last_rows) - len(device_us)) + tuple(device_us) if device_us else (),
        sum(row[2] for row in last_rows),
        plain_note.get("started_us"),
        (process.last("dropped") or {}).get("cycles", 0) + len(rows) - len(last_rows),
    )


# Names of what the recorder puts into a timeline.

STEP_MARK = "timesink cycle "
"""One per cycle, while the program runs: a profiler of its own may mark steps too."""

SHOWN_STEP_MARK = "ProfilerStep#"
"""What it becomes in the recording: what torch.profiler calls its steps."""

OTHER_STEP_MARK = "own profiler step "
"""What steps become that the program's own profiler has marked."""

CLOCK_MARK = "timesink clock "
"""Short marks whose time is known on the counters' clock too; taken out of the recording."""

CUT_MARK = "unfinished cycle"
"""What the mark of a cycle becomes that the recording broke off in."""

MODULE_MARK = "nn.Module: "
"""Around each call of a module, with its path: what torch.profiler calls modules."""

STACK_MARK = " <- "
"""Between a module and the functions that call it, where a graph is captured."""

LINE_MARK = "called at "
"""Around calls whose line in the program is known: `called at train.py:88`."""

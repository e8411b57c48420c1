"""Which runs are made, and in which order."""

from __future__ import annotations

import gzip
import io
import json
import math
import random
import tarfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from timesink.errors import OutputError, UnreadableError
from timesink.formats.small_files import read_small_json
from timesink.recorder.places import write_whole
from timesink_lab.faults import GPU, LOADER, NORMAL, Fault
from timesink_lab.workloads.switches import LabWorkload

_AT_ONCE = 3
"""Faults that share the run without a fault before them."""


@dataclass(frozen=True)
class LabRun:
    """One recording to make."""

    workload: LabWorkload
    fault: Fault | None
    """None: a run without a fault."""
    number: int
    """Which of its kind, from 1."""
    is_fresh_start: bool = False
    """The first one after a pause: there is none before it to compare it with."""

    @property
    def fault_name(self) -> str:
        """The fault, or `normal`."""
        return NORMAL if self.fault is None else self.fault.name

    @property
    def folder(self) -> str:
        """Its place below the folder of all recordings."""
        return f"{self.workload.name}/{self.name}"

    @property
    def name(self) -> str:
        """What it is called among the runs of its workload."""
        return f"{self.fault_name}-{self.number}"


def order_runs(
    workloads: Sequence[LabWorkload], faults: Sequence[Fault], repeat: int, *, has_gpu: bool
) -> tuple[LabRun, ...]:
    """All runs, round by round.

    Workloads take turns, a few faults at a time with a run without a fault right before them: a
    machine that drifts then does not look like a fault, and what is there when time runs out is
    whole.  Each fault comes early with one of the workloads that can have it, and later with the
    others, so half of a round has them all.  Rounds have orders of their own.
    """
    healthy = {workload.name: count(1) for workload in workloads}
    runs: list[LabRun] = []
    for number in range(1, repeat + 1):
        for workload, some in _turns(workloads, faults, number, has_gpu=has_gpu):
            runs.append(LabRun(workload, None, next(healthy[workload.name])))
            runs += (LabRun(workload, fault, number) for fault in some)
    return tuple(runs)


def _turns(
    workloads: Sequence[LabWorkload], faults: Sequence[Fault], number: int, *, has_gpu: bool
) -> Iterator[tuple[LabWorkload, list[Fault]]]:
    """A workload and the faults it runs with before it is the turn of the next one."""
    early: dict[str, list[Fault]] = {workload.name: [] for workload in workloads}
    late: dict[str, list[Fault]] = {workload.name: [] for workload in workloads}
    # The same order every time, so that a plan that was begun can be gone on with.
    mixed = random.Random(number).sample(faults, len(faults))  # noqa: S311 - no secret
    for fault in mixed:
        names = [
            workload.name
            for workload in workloads
            if applicable(workload, [fault], has_gpu=has_gpu)
        ]
        first = min(names, key=lambda name: len(early[name]), default=None)
        for name in names:
            (early if name == first else late)[name].append(fault)
    queues = [(workload, early[workload.name] + late[workload.name]) for workload in workloads]
    for place in range(0, max((len(queue) for _, queue in queues), default=0), _AT_ONCE):
        for workload, queue in queues:
            if queue[place:]:
                yield workload, queue[place : place + _AT_ONCE]


def gone_on_with(runs: Sequence[LabRun], is_there: Callable[[LabRun], bool]) -> tuple[LabRun, ...]:
    """The plan after a pause: faults are not compared with a run from before it.

    Where such faults come first, one more run without a fault is put in front of them.
    """
    plan: list[LabRun] = []
    old: set[str] = set()
    for run in runs:
        if is_there(run) and run.fault is None:
            old.add(run.workload.name)
        elif not is_there(run):
            if run.fault is not None and run.workload.name in old:
                planned = sum(
                    other_run.workload == run.workload and other_run.fault is None
                    for other_run in runs
                )
                fresh = (
                    LabRun(run.workload, None, number, is_fresh_start=True)
                    for number in count(planned + 1)
                )
                plan.append(next(candidate for candidate in fresh if not is_there(candidate)))
            old.discard(run.workload.name)
        plan.append(run)
    return tuple(plan)


def applicable(workload: LabWorkload, faults: Sequence[Fault], *, has_gpu: bool) -> list[Fault]:
    """The faults that can be put into a workload here."""
    there = [name for name, yes in ((GPU, has_gpu), (LOADER, workload.has_loader)) if yes]
    return [fault for fault in faults if not fault.lacks(there)]


def left_out(
    workloads: Sequence[LabWorkload], faults: Sequence[Fault], *, has_gpu: bool
) -> list[Fault]:
    """The faults that can be put into none of the workloads here."""
    possible = [
        fault for workload in workloads for fault in applicable(workload, faults, has_gpu=has_gpu)
    ]
    return [fault for fault in faults if fault not in possible]


# Where recordings of the lab lie, and which of them are there already.

ABOUT = "lab.json"
"""In the folder of all recordings: how they were made."""
FAULT = "fault.json"
"""In the folder of a recording, once it is whole: what was wrong on purpose."""
TRACE = "trace.json.gz"
RUN_FILE = "run.json"


@dataclass(frozen=True)
class LabFolder:
    """A folder of recordings."""

    root: Path

    @property
    def about(self) -> Path:
        """How the recordings are made."""
        return self.root / ABOUT

    def of(self, run: LabRun) -> Path:
        """The folder of a recording."""
        return self.root / run.folder

    def log_of(self, run: LabRun) -> Path:
        """What the recorder and the program said."""
        return self.root / "logs" / f"{run.workload.name}-{run.name}.log"

    def files_of(self, run: LabRun) -> list[Path]:
        """All there is of a run."""
        return [*sorted(self.of(run).glob("*")), self.log_of(run)]

    def has(self, run: LabRun) -> bool:
        """Whether it was recorded before."""
        return (self.of(run) / FAULT).is_file()

    def claim(self, how: Mapping[str, Any]) -> None:
        """Take the folder, or go on with one that was begun in the same way."""
        if not self.root.exists() or (self.root.is_dir() and not any(self.root.iterdir())):
            self.root.mkdir(parents=True, exist_ok=True)
            write_json(self.about, how)
            return
        if not self.about.is_file():
            raise OutputError(f"{self.root}: is there and is no folder of the lab", "name a new -o")
        earlier_plan = read_about(self.root)
        unlike = [
            f"{name} {earlier_plan.get(name)} and not {value}"
            for name, value in how.items()
            if earlier_plan.get(name) != value
        ]
        if unlike:
            raise OutputError(
                f"{self.root}: was begun with {', '.join(unlike)}",
                "go on with the same options on the same machine, or name a new -o",
            )


def read_about(root: Path) -> dict[str, Any]:
    """How the recordings of a folder were made; empty where nothing says so."""
    path = root / ABOUT
    if not path.is_file():
        return {}
    about = read_json(path, "name a new -o")
    return about if isinstance(about, dict) else {}


def read_json(path: Path, remedy: str) -> Any:
    """What a small file holds."""
    try:
        return read_small_json(path, remedy, shape=object)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read ({error})", remedy) from None


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a small file; it is there whole or not at all."""
    write_whole(path, (json.dumps(content, indent=1) + "\n").encode())


# How long runs take, a guess at first and then as measured, and what time is left for them.

_START_S = 11.0
"""Starting Python and PyTorch, building the model, writing the recording."""
_CYCLE_S = 0.08
"""A cycle with the profiler and, for some of the runs, a load beside it."""
_LATEST = 5
_SHORT_S = 100
"""Less is told in seconds."""


class TimeLeft:
    """What is left of the time that was given, from now on."""

    def __init__(self, cycles: int, limit_s: float | None = None) -> None:
        self._cycles = cycles
        self._until_s = time.monotonic() + (math.inf if limit_s is None else limit_s)
        self._took_s: list[float] = []

    def took(self, seconds: float) -> None:
        """A run took so long."""
        self._took_s.append(seconds)

    def words(self, runs: int) -> str:
        """How long so many runs take."""
        seconds = runs * self._mean_s
        return f"about {seconds:.0f} s" if seconds < _SHORT_S else f"about {seconds / 60:.0f} min"

    @property
    def left_s(self) -> float:
        """Seconds until all is to be over; infinite without a limit."""
        return self._until_s - time.monotonic()

    @property
    def has_room(self) -> bool:
        """Whether one more run fits."""
        return max(self._took_s[-_LATEST:], default=self._mean_s) <= self.left_s

    @property
    def _mean_s(self) -> float:
        if not self._took_s:
            return _START_S + _CYCLE_S * self._cycles
        return sum(self._took_s) / len(self._took_s)


# Recordings packed as they come, for a machine that may be taken away before the last of them.
#
# A part is a `.tar.xz` that grows by one recording at a time and is readable at any moment: what is
# added is an archive of its own, so `xz -dc PARTS/*.tar.xz | tar -xi` unpacks them all.

_QUICK = 1
"""A second for a recording; the best presets take twenty for a tenth less."""
_STORED = 0


@dataclass(frozen=True)
class PackedParts:
    """A folder of parts."""

    folder: Path
    most_bytes: int = 15_000_000

    def add(self, root: Path, paths: Iterable[Path]) -> None:
        """Pack files below `root`, those that are there, under their place in it."""
        import lzma  # noqa: PLC0415 - some builds of Python lack it

        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for path in filter(Path.is_file, paths):
                content = _loose(path)
                entry = archive.gettarinfo(path, arcname=str(path.relative_to(root)))
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        packed = lzma.compress(buffer.getvalue(), preset=_QUICK)
        self.folder.mkdir(parents=True, exist_ok=True)
        there = len(list(self.folder.glob("part-*.tar.xz")))
        last, fresh = (self.folder / f"part-{at:02}.tar.xz" for at in (max(1, there), there + 1))
        is_full = last.exists() and last.stat().st_size + len(packed) > self.most_bytes
        with (fresh if is_full else last).open("ab") as file:
            file.write(packed)


def _loose(path: Path) -> bytes:
    """The content; gzip only wraps what it packed before, so that xz makes it a third smaller."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        # One that was cut off is taken as it is.
        with suppress(EOFError, OSError, zlib.error):
            return gzip.compress(gzip.decompress(content), _STORED)
    return content

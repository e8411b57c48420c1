"""What a recorded event is: the function it counts for, and the class of that function."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from operator import itemgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.columns import (
    Texts,
    device_columns,
    host_columns,
    host_names,
    once_per_trace,
)
from timesink.analyses.cycles.cycles import family_name
from timesink.analyses.steps import is_communication
from timesink.errors import UsageError, own_text
from timesink.model import vendors
from timesink.model.schema import BUSY_KINDS, HOST_KINDS
from timesink.model.trace import Trace
from timesink.model.vendors import CALL_PREFIXES

# Which counters matter to which functions, as data that users can replace: ``classes.csv``.

PART_OF_CLASS = {
    "gpu_compute": "device_compute",
    "gpu_comm": "exposed_communication",
    "gpu_memcpy_h2d": "copies",
    "gpu_memcpy_d2h": "copies",
    "gpu_memcpy_d2d": "copies",
    "oncpu": "host_cpu",
    "runq": "run_queue",
    "cpu_sync": "synchronisation",
    "cpu_os_syscall_mem": "io",
    "disk_read_and_write": "io",
    "cpu_operator": "host_cpu",
    "cpu_launch": "launch_gap",
    "cpu_copy": "launch_gap",
    "cpu_python": "host_cpu",
    "cpu_annotation": "host_cpu",
    "cpu_other": "host_cpu",
}
"""What the own time of a class of functions counts for, of the parts of a cycle (`anatomy`); other
classes say nothing about it."""
FUNCTION_CLASSES = (*PART_OF_CLASS, "cpu_untraced", "cpu_waiting")
"""What a function is, told by what it is waiting for or working on."""

UNTRACED = "cpu_untraced"
"""Class of both functions that stand for the time in no recorded call."""
SIDE_WAIT = "cpu_waiting"
"""Class of calls that do nothing but wait, on threads beside those that mark cycles."""
STEP_MARK = "ProfilerStep"
"""The profiler's mark of a step, as a function: the part of it in no other call."""
STEP_MARK_TOLD = "time between recorded calls"
"""The same to a reader: code of Python, mostly, or a wait for the thread of the backward pass."""
NO_CALL = "(no recorded call)"
"""Function of the time in which the thread of a cycle is in no recorded call, and nor is one that
it waits for: the program's own code, a sleep, a lock, the interpreter."""
WAITING = "(waiting for other threads)"
"""Function of the time in which it is in none, while threads it waits for are in some."""

DATA = Path(__file__).with_name("classes.csv")
"""The map that comes with timesink, with its form in the first lines."""
_COLUMNS = ("class", "metric")
_HINT = "expected a CSV with columns class,metric; docs/behaviour.md shows one"


@dataclass(frozen=True, slots=True)
class Classes:
    """Patterns of the counters that matter to each class."""

    metrics: Mapping[str, tuple[str, ...]]

    def counters_of(self, function_class: str, counters: Iterable[str]) -> list[str]:
        """Which of the counters matter to a class, sorted by name."""
        patterns = self.metrics.get(function_class, ())
        return sorted(
            {name for name in counters if any(fnmatchcase(name, each) for each in patterns)}
        )

    def most_telling(self, function_class: str, counters: Iterable[str]) -> list[str]:
        """Counters of a class in the order of the map, then by name."""
        patterns = self.metrics.get(function_class, ())
        place = {
            name: next(
                (n for n, each in enumerate(patterns) if fnmatchcase(name, each)), len(patterns)
            )
            for name in counters
        }
        return sorted(place, key=lambda name: (place[name], name))


def load_classes(path: str | Path | None = None) -> Classes:
    """The map that comes with timesink; classes a file of one's own names are taken from there."""
    if path is None:
        return _own()
    return Classes({**_own().metrics, **_read(Path(path))})


@lru_cache(maxsize=1)
def _own() -> Classes:
    return Classes(_read(DATA))


def _read(path: Path) -> dict[str, tuple[str, ...]]:
    # The comment lines would shift what the parser takes for the header.
    text = own_text(path, "--map", _HINT)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    rows = csv.DictReader(lines, skipinitialspace=True)
    rows.fieldnames = [name.strip() for name in rows.fieldnames or []]
    if not set(_COLUMNS) <= set(rows.fieldnames):
        raise UsageError(f"--map: {path} is no map of classes to metrics", _HINT)
    found: dict[str, list[str]] = {}
    for row in filter(itemgetter("class"), rows):
        function_class, metric = ((row[name] or "").strip() for name in _COLUMNS)
        if function_class not in FUNCTION_CLASSES:
            raise UsageError(
                f"--map: {path} names the class {function_class!r}, which no function has",
                f"classes are {', '.join(FUNCTION_CLASSES)}",
            )
        metrics = found.setdefault(function_class, [])
        if metric:
            metrics.append(metric)
    if not found:
        raise UsageError(f"--map: {path} names no class", _HINT)
    return {function_class: tuple(metrics) for function_class, metrics in found.items()}


NOT_COUNTED = -1
"""Class of events that are no work: marks, spans of the recording, the profiler's own time."""
ON_CPU, RUN_QUEUE = FUNCTION_CLASSES.index("oncpu"), FUNCTION_CLASSES.index("runq")
SCHEDULED = (ON_CPU, RUN_QUEUE)
"""What the scheduler tells of a thread; such events lie across calls and not inside of them."""

_STEP_NUMBER = re.compile(rf"^{STEP_MARK}#(?:\d+|#)$")
_SYSTEM_CLASSES: Mapping[str, str] = {
    "runq": "runq",
    **dict.fromkeys(("mmap", "munmap", "mprotect"), "cpu_os_syscall_mem"),
    **dict.fromkeys(("read", "readv", "write"), "disk_read_and_write"),
}
_CLASS_OF_KIND: Mapping[str, str] = {
    "operator": "cpu_operator",
    "collective": "cpu_operator",
    "annotation": "cpu_annotation",
    "python_function": "cpu_python",
    "module": "cpu_python",
    "runtime": "cpu_launch",
    "driver": "cpu_launch",
    "sync": "cpu_sync",
    "other": "cpu_other",
}
_OF_RUNTIME = ("runtime", "driver", "other")
_COPY_CALL = re.compile(
    rf"^(?:\w+@)?(?:{CALL_PREFIXES})(?!\w*Graph)\w*?"
    r"(?:Memcpy|Memset|MemoryCopy|MemoryFill|MemBufferCopy|MemBufferFill|USMFill)"
)
"""Calls that copy or fill memory, whether they wait for it or not: makers differ in that."""
_COPY_CLASSES: Mapping[str, str] = {
    "HtoD": "gpu_memcpy_h2d",
    "DtoH": "gpu_memcpy_d2h",
    "DtoD": "gpu_memcpy_d2d",
    "PtoP": "gpu_memcpy_d2d",
}
_OTHER_COPIES = "gpu_memcpy_h2d"
"""Copies of unknown direction and memsets, as in published tables."""


def function_name(name: str) -> str:
    """The function an event counts for: its name without what changes from cycle to cycle."""
    if name.startswith("oncpu"):
        return "oncpu"
    return STEP_MARK if _STEP_NUMBER.match(name) else name


def host_class(kind: str, name: str) -> str | None:
    """The class of a host event; None for one that is no work."""
    system = "oncpu" if name.startswith("oncpu") else _SYSTEM_CLASSES.get(name)
    if kind == "other" and system is not None:
        return system
    if kind in _OF_RUNTIME and _COPY_CALL.match(name) is not None:
        return "cpu_copy"
    if kind in _OF_RUNTIME and vendors.waits_for_device(name):
        return "cpu_sync"
    return _CLASS_OF_KIND.get(kind)


@once_per_trace
def host_classes(trace: Trace) -> NDArray[np.int8]:
    """Class of every row of `trace.host`, as a place in `FUNCTION_CLASSES`."""
    named = host_names(trace)
    kind = host_columns(trace)["kind"].to_physical().to_numpy()
    table = np.full((len(HOST_KINDS), len(named.texts) or 1), NOT_COUNTED, dtype=np.int8)
    for place, each in enumerate(HOST_KINDS):
        table[place, : len(named.texts)] = [_place(host_class(each, text)) for text in named.texts]
    return np.asarray(table[kind, named.codes])


def _place(function_class: str | None) -> int:
    return NOT_COUNTED if function_class is None else FUNCTION_CLASSES.index(function_class)


@once_per_trace
def device_classes(trace: Trace) -> NDArray[np.int8]:
    """Class of every row of `trace.device`, as a place in `FUNCTION_CLASSES`."""
    kind = device_columns(trace)["kind"]
    classes = np.full(len(kind), NOT_COUNTED, dtype=np.int8)
    classes[kind.is_in(BUSY_KINDS).to_numpy()] = _place("gpu_compute")
    classes[kind.is_in(["memcpy", "memset"]).to_numpy()] = _place(_OTHER_COPIES)
    direction = trace.lazy("device").select("copy_direction").collect().to_series()
    for name, function_class in _COPY_CLASSES.items():
        copies = (kind == "memcpy") & (direction == name).fill_null(value=False)
        classes[copies.to_numpy()] = _place(function_class)
    classes[is_communication(trace)] = _place("gpu_comm")
    return classes


def functions_of(named: Texts, marks: frozenset[str] = frozenset()) -> Texts:
    """The same events by the function they count for.

    Marks of cycles that are numbered, each its own name, are one function.
    """
    numbered = marks if len(marks) > 1 else frozenset()
    return named.renamed(
        lambda text: function_name(family_name(text) if text in numbered else text) or "(no name)"
    )

"""Which counters matter to which functions, as data that users can replace: ``classes.csv``."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from timesink.errors import UsageError
from timesink.model.own_files import own_text

FUNCTION_CLASSES = (
    "gpu_compute",
    "gpu_comm",
    "gpu_memcpy_h2d",
    "gpu_memcpy_d2h",
    "gpu_memcpy_d2d",
    "oncpu",
    "runq",
    "cpu_sync",
    "cpu_os_syscall_mem",
    "disk_read_and_write",
    "cpu_operator",
    "cpu_launch",
    "cpu_copy",
    "cpu_python",
    "cpu_annotation",
    "cpu_other",
    "cpu_untraced",
    "cpu_waiting",
)
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
    found: dict[str, list[str]] = {}
    for function_class, metric in _lines(path):
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


def _lines(path: Path) -> list[tuple[str, str]]:
    # The comment lines would shift what the parser takes for the header.
    lines = [
        line
        for line in own_text(path, "--map", _HINT).splitlines()
        if not line.lstrip().startswith("#")
    ]
    rows = csv.DictReader(lines, skipinitialspace=True)
    header = [name.strip() for name in rows.fieldnames or []]
    if not set(_COLUMNS) <= set(header):
        raise UsageError(f"--map: {path} is no map of classes to metrics", _HINT)
    rows.fieldnames = header
    return [
        ((row["class"] or "").strip(), (row["metric"] or "").strip())
        for row in rows
        if row["class"]
    ]

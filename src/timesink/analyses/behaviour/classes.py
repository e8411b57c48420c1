"""Classes of functions, and which counters matter to each."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from operator import itemgetter
from pathlib import Path

import msgspec

from timesink.errors import UsageError
from timesink.formats.small_files import option_text

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

DATA = Path(__file__).with_name("classes.csv")
"""The map that comes with timesink, with its form in the first lines."""
_COLUMNS = ("class", "metric")
_HINT = "expected a CSV with columns class,metric; docs/functions.md shows one"


class Classes(msgspec.Struct, frozen=True):
    """Patterns of the counters that matter to each class."""

    metrics: Mapping[str, tuple[str, ...]]

    def counters_of(self, function_class: str, counters: Iterable[str]) -> list[str]:
        """Which of the counters matter to a class, sorted by name."""
        patterns = self.metrics.get(function_class, ())
        return sorted(
            {name for name in counters if any(fnmatchcase(name, pattern) for pattern in patterns)}
        )

    def most_telling(self, function_class: str, counters: Iterable[str]) -> list[str]:
        """Counters of a class in the order of the map, then by name."""
        patterns = self.metrics.get(function_class, ())
        place = {
            name: next(
                (n for n, pattern in enumerate(patterns) if fnmatchcase(name, pattern)),
                len(patterns),
            )
            for name in counters
        }
        return sorted(place, key=lambda name: (place[name], name))


def load_classes(path: str | Path | None = None) -> Classes:
    """The map that comes with timesink; classes a file of one's own names are taken from there."""
    if path is None:
        return _default_classes()
    return Classes({**_default_classes().metrics, **_read(Path(path))})


@lru_cache(maxsize=1)
def _default_classes() -> Classes:
    return Classes(_read(DATA))


def _read(path: Path) -> dict[str, tuple[str, ...]]:
    # The comment lines would shift what the parser takes for the header.
    text = option_text(path, "--map", _HINT)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    rows = csv.DictReader(lines, skipinitialspace=True)
    rows.fieldnames = [name.strip() for name in rows.fieldnames or []]
    if not set(_COLUMNS) <= set(rows.fieldnames):
        raise UsageError(f"--map: {path} is no map of classes to metrics", _HINT)
    metrics_by_class: dict[str, list[str]] = {}
    for row in filter(itemgetter("class"), rows):
        function_class, metric = ((row[name] or "").strip() for name in _COLUMNS)
        if function_class not in FUNCTION_CLASSES:
            raise UsageError(
                f"--map: {path} names the class {function_class!r}, which no function has",
                f"classes are {', '.join(FUNCTION_CLASSES)}",
            )
        metrics = metrics_by_class.setdefault(function_class, [])
        if metric:
            metrics.append(metric)
    if not metrics_by_class:
        raise UsageError(f"--map: {path} names no class", _HINT)
    return {function_class: tuple(metrics) for function_class, metrics in metrics_by_class.items()}

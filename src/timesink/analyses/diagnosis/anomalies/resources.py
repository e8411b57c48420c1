"""What counters say about shared resources, as data: ``resources.csv`` beside this file."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from timesink.model.counter_units import quantity, unit_of
from timesink.model.vendors import DEVICE_WORDS, every

_FLOOR = 0.1
ROLES = ("exogenous", "context", "symptom", "ignored")
_DATA = Path(__file__).with_name("resources.csv")
_MAKERS = rf"(?:{DEVICE_WORDS}|device|accelerator)"
_DEVICE = re.compile(
    rf"^(?:{'|'.join(every('sampler_prefixes'))})?"
    rf"(?:{'|'.join(every('counter_prefixes'))}|{_MAKERS}_)"
)
_OF_A_PROCESS = re.compile(rf"^(process|container)_{_MAKERS}_")
_PID = re.compile(r"^((?:process|container)_.*?)_(\d+)$")
_UNIT = re.compile(r"\s*[\[(][^\])]*[\])]$")
_BETWEEN_WORDS = re.compile(r"[\s.:/-]+")
_WORDS = {
    "traffic": (
        *("rx", "tx", "recv", "receive", "sent", "send", "transmit", "xmit", "read", "writ"),
        *("bytes", "bandw", "throughput", "traffic", "rate", "bps"),
    ),
    "share": ("usage", "util", "percent", "pct", "share"),
}
"""What patterns of the table write in braces."""
_RATES = dict.fromkeys(("pcie", "link", "memory_bandwidth", "network", "disk"), ("B/s",))
_UNITS = {
    "percent": ("%",),
    "flag": ("%",),
    "ratio": ("MHz", "%", "B", "W"),
    "cycle_share": ("ns",),
    "process_memory": ("B",),
    "fixed": ("per s",),
    **_RATES,
}
"""Units a scale can make something of; a counter whose unit nobody knows is taken by its name."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One line of the table."""

    pattern: str
    resource: str
    """What is measured; several counters may measure the same: `device_clock`, `pcie`, ..."""
    cause: str
    """One of `diagnosis.CAUSES`, for exogenous ones."""
    role: str
    harm: str = ""
    """`up` or `down`: the direction that hurts."""
    scale: str = ""
    """How a change becomes a share of the capacity: a key of `severity.SCALES`."""
    own: str = ""
    """How the load of the process itself is taken off: a key of `own_load.TAKEN_OFF`."""
    floor: float = _FLOOR
    """Least share of the capacity that is worth an entry."""
    hurts_from: float | None = None
    """Level below which there is enough left for all, in the unit of the counter."""
    capacity: float | None = None


UNKNOWN = Resource("*", "", "", "symptom")
"""What is said about counters no line fits."""


def resource_of(counter: str, unit: str | None = None) -> Resource:
    """What a counter says; the first line that fits decides, if its scale knows the unit.

    `unit` is a base unit as of `counter_units.quantity`; without, the name tells.

    >>> resource_of("gpu_sm_frequency").cause, resource_of("DCGM_FI_DEV_SM_CLOCK").cause
    ('gpu_clock', 'gpu_clock')
    >>> resource_of("disk_usage").role, resource_of("process_cpu_usage_944615").resource
    ('ignored', 'own_cpu_use')
    >>> resource_of("process_runq_wait_pct").cause, resource_of("process_runq_wait_us").role
    ('cpu_contention', 'symptom')
    """
    found = _resource_of(plain_name(counter))
    known = quantity(1.0, unit_of(counter))[1] if unit is None else unit
    fits = not known or found.role != "exogenous" or known in _UNITS[found.scale]
    return found if fits else UNKNOWN


@lru_cache(maxsize=1024)
def _resource_of(name: str) -> Resource:
    return next((line for line in load_resources() if fits(name, line.pattern)), UNKNOWN)


def fits(name: str, pattern: str) -> bool:
    """Whether a name is as the pattern says, in which * is anything.

    `fnmatch` compiles a regular expression for each of hundreds of patterns, which takes longer
    than all tests of the counters.

    >>> [fits("device_sm_clock", each) for each in ("*clock", "device_*clock*", "sm*", "*_sm")]
    [True, True, False, False]
    """
    first, *others = pattern.split("*")
    if not others:
        return name == pattern
    *between, last = others
    at = len(first)
    end = len(name) - len(last)
    if end < at or not (name.startswith(first) and name.endswith(last)):
        return False
    for piece in between:
        found = name.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def plain_name(counter: str) -> str:
    """A counter's name as the table writes it.

    >>> plain_name("utilization.gpu [%]"), plain_name("mlu_usage"), plain_name("NVML:gpu-temp")
    ('utilization_gpu', 'device_usage', 'device_temp')
    >>> plain_name("process_gpu_usage_944615")
    'process_device_usage'
    """
    name = _BETWEEN_WORDS.sub("_", _UNIT.sub("", counter.strip()).lower()).strip("_")
    name = without_pid(name)
    return _OF_A_PROCESS.sub(r"\1_device_", _DEVICE.sub("device_", name))


def without_pid(counter: str) -> str:
    """The name of a counter of a process without the number of the process.

    >>> without_pid("process_cpu_usage_944615"), without_pid("psi_cpu_avg_10")
    ('process_cpu_usage', 'psi_cpu_avg_10')
    """
    return _PID.sub(r"\1", counter)


def pid_of(counter: str) -> str | None:
    """The number of the process a counter names; None for all others.

    >>> pid_of("process_cpu_usage_944615"), pid_of("process_cpu_usage")
    ('944615', None)
    """
    found = _PID.match(counter)
    return None if found is None else found[2]


@lru_cache(maxsize=1)
def load_resources() -> tuple[Resource, ...]:
    """All lines of the table."""
    return tuple(_resource(each) for row in table(_DATA) for each in _with_words(row))


def _with_words(row: dict[str, str]) -> Iterator[dict[str, str]]:
    """A row for each of the words that a name in braces stands for."""
    for name, words in _WORDS.items():
        if f"{{{name}}}" in row["pattern"]:
            for word in words:
                yield row | {"pattern": row["pattern"].replace(f"{{{name}}}", word)}
            return
    yield row


def table(path: Path) -> list[dict[str, str]]:
    """Rows of a table of this package, without its remarks."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def _resource(row: dict[str, str]) -> Resource:
    return Resource(
        **{name: row[name] for name in ("pattern", "resource", "cause", "role")},
        **{name: row[name] for name in ("harm", "scale", "own")},
        floor=float(row["floor"] or _FLOOR),
        hurts_from=float(row["from"]) if row["from"] else None,
        capacity=float(row["capacity"]) if row["capacity"] else None,
    )

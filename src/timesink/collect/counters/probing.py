"""What a source of counters gives to those who sample."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from timesink.collect.counters.counter import HOST, Wanted
from timesink.collect.counters.missing import MissingBook
from timesink.collect.counters.own_processes import OwnProcesses


class Sample(NamedTuple):
    """One value of a counter."""

    counter: str
    device: str
    value: float
    at_us: int | None = None
    """When it held, where that is known better than when it was read: Unix time."""


Values = Callable[[], Sequence[float] | None]
"""Reads one value for each of some counters; None where there is nothing to say yet."""

HOST_LANE = "host"
GPU_LANE = "gpu"
SLOW_LANE = "host slow"


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """One thing to read, which gives values of one or several counters."""

    counters: tuple[str, ...]
    read: Callable[[float], Iterable[Sample]]
    """Called with seconds of a clock that never goes back; may raise, which names its counters."""
    device: str = HOST
    lane: str = HOST_LANE
    """Probes of one lane take turns: what is slow has a lane of its own."""
    least_ms: float = 0.0
    """Not more often than that."""
    otherwise: str = ""
    """Why it may never give a value, without an error."""
    looks_back: bool = False
    """It gives all that happened since it was read before, so it is read once more at the end."""


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """Where a source looks, and for what."""

    wanted: Wanted
    own: OwnProcesses
    missing: MissingBook = field(default_factory=MissingBook)
    root: Path = Path("/")
    """Above `proc` and `sys`."""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    cpu_time_s: Callable[[int], float] = field(default_factory=lambda: cpu_time_s)

    def wants(self, *counters: str) -> bool:
        """Whether any of the counters was asked for."""
        return any(self.wanted.has(counter) for counter in counters)

    def miss(self, counters: Collection[str], why: str, device: str = "") -> None:
        """Name those of the counters that were asked for."""
        asked = (counter for counter in counters if self.wanted.has(counter))
        self.missing.name_all(asked, why, device)


def labelled(
    names: Sequence[str], values: Values, labels: Sequence[str]
) -> Callable[[float], Iterable[Sample]]:
    """What a probe reads where one value of each counter holds for all labels of a device.

    >>> found = labelled(["gpu_temp"], lambda: [40.0], ["GPU 0", "GPU 1"])(0.0)
    >>> [(sample.device, sample.value) for sample in found]
    [('GPU 0', 40.0), ('GPU 1', 40.0)]
    """

    def read(_now_s: float) -> Iterable[Sample]:
        found = values()
        if found is None:
            return []
        pairs = zip(names, found, strict=True)
        return [Sample(name, label, value) for name, value in pairs for label in labels]

    return read


def cpu_time_s(pid: int) -> float:
    """Processor time of a process with all its threads, to the nanosecond.

    >>> import os
    >>> cpu_time_s(os.getpid()) > 0
    True
    """
    # How Linux numbers the clock of another process: clock_getcpuclockid(3).
    return time.clock_gettime((~pid << 3) | 2)


class Rate:
    """How fast totals grow: the difference to the reading before, per second.

    >>> rate = Rate()
    >>> rate.of("bytes", 1.0, 500), rate.of("bytes", 3.0, 1500), rate.of("bytes", 4.0, 900)
    (None, 500.0, None)
    """

    def __init__(self) -> None:
        self._before: dict[str, tuple[float, float]] = {}

    def of(self, name: str, now_s: float, total: float) -> float | None:
        """None for the first reading, and where a total began anew."""
        before = self._before.get(name)
        self._before[name] = now_s, total
        if before is None or now_s <= before[0] or total < before[1]:
            return None
        return (total - before[1]) / (now_s - before[0])

    def forget(self, name: str) -> None:
        """What had this name has ended; another may have it from now on.

        >>> rate = Rate()
        >>> rate.of("7", 1.0, 500)
        >>> rate.forget("7")
        >>> rate.of("7", 3.0, 1500)
        """
        self._before.pop(name, None)

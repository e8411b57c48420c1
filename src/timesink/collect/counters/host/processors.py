"""How busy the processors are: /proc/stat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from timesink.collect.counters.counter import HOST, Counter
from timesink.collect.counters.files import KeptFile
from timesink.collect.counters.missing import reason
from timesink.collect.counters.probing import Probe, Sample, Setting

_SOURCE = "/proc/stat"
_MISSING = "not on Linux"

COUNTERS = (
    Counter(
        "host_cpu_usage", "cpu", "%", _SOURCE, "share of all cores of the host in use, by anybody",
        _MISSING,
    ),
    Counter(
        "host_cpu_steal", "cpu", "%", _SOURCE,
        "share of all cores that other virtual machines took from this one", _MISSING,
    ),
    Counter(
        "host_cpu_iowait", "cpu", "%", _SOURCE,
        "share of all cores that are idle while something waits for a disk", _MISSING,
    ),
)  # fmt: skip
_NAMES = tuple(each.name for each in COUNTERS)
_IDLE, _IOWAIT, _STEAL = 3, 4, 7
_FIELDS = 8
"""Columns after these repeat time of guests that the first ones hold already."""


def probes(setting: Setting) -> Iterator[Probe]:
    """Use of all cores between two readings."""
    if not setting.wants(*_NAMES):
        return
    try:
        usage = _Usage(KeptFile(setting.root / "proc/stat"))
    except OSError as error:
        setting.miss(_NAMES, reason(error))
        return
    yield Probe(_NAMES, usage.read)


class _Usage:
    def __init__(self, file: KeptFile) -> None:
        self._file = file
        self._before: Sequence[int] = ()

    def read(self, _now_s: float) -> Iterable[Sample]:
        ticks = times_of(self._file.read().split("\n", 1)[0])
        if not self._before:
            self._before = ticks
            return ()
        passed = [max(now - before, 0) for now, before in zip(ticks, self._before, strict=True)]
        total = sum(passed)
        if total <= 0:
            # The kernel counts in hundredths of a second: nothing was counted yet.
            return ()
        self._before = ticks
        part = [100.0 * each / total for each in passed]
        usage = 100.0 - part[_IDLE] - part[_IOWAIT]
        values = (max(usage, 0.0), part[_STEAL], part[_IOWAIT])
        return [Sample(name, HOST, value) for name, value in zip(_NAMES, values, strict=True)]


def times_of(line: str) -> list[int]:
    """Ticks a core spent in each way, of a line of /proc/stat.

    >>> times_of("cpu  10 0 5 80 3 0 1 1 7 7")
    [10, 0, 5, 80, 3, 0, 1, 1]
    """
    found = [int(each) for each in line.split()[1 : 1 + _FIELDS]]
    return found + [0] * (_FIELDS - len(found))

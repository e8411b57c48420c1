"""Memory of the host: what is available, what is swapped, what is read back from disks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from timesink.collect.counters.counter import HOST, Counter
from timesink.collect.counters.files import KeptFile
from timesink.collect.counters.missing import reason
from timesink.collect.counters.probing import SLOW_LANE, Probe, Rate, Sample, Setting

_AVAILABLE = "host_mem_available"
_OF_VMSTAT = {
    "pswpin": "host_swap_in_per_s",
    "pswpout": "host_swap_out_per_s",
    "pgmajfault": "host_major_faults_per_s",
}
_MISSING = "not on Linux"
COUNTERS = (
    Counter(
        _AVAILABLE, "memory", "KiB", "/proc/meminfo",
        "memory that programs can still have without swapping", _MISSING,
    ),
    Counter(
        "host_swap_in_per_s", "memory", "per s", "/proc/vmstat", "pages read back from swap",
        _MISSING,
    ),
    Counter(
        "host_swap_out_per_s", "memory", "per s", "/proc/vmstat", "pages put into swap", _MISSING
    ),
    Counter(
        "host_major_faults_per_s", "memory", "per s", "/proc/vmstat",
        "accesses to memory of any process that had to wait for a disk", _MISSING,
    ),
)  # fmt: skip
_LEAST_MS = 100.0
"""The kernel adds these up over all cores when asked."""
_MEM_AVAILABLE = re.compile(r"^MemAvailable:\s*(\d+) kB", re.MULTILINE)


def probes(setting: Setting) -> Iterator[Probe]:
    """Memory that is left, and pages that move per second."""
    if setting.wants(_AVAILABLE):
        yield from _probe(setting, "proc/meminfo", (_AVAILABLE,), _Available)
    if setting.wants(*_OF_VMSTAT.values()):
        yield from _probe(setting, "proc/vmstat", tuple(_OF_VMSTAT.values()), _Pages)


class _Available:
    def __init__(self, file: KeptFile) -> None:
        self._file = file

    def read(self, _now_s: float) -> Iterable[Sample]:
        found = _MEM_AVAILABLE.search(self._file.read())
        if found is None:
            raise KeyError("MemAvailable")
        return (Sample(_AVAILABLE, HOST, int(found[1])),)


class _Pages:
    def __init__(self, file: KeptFile) -> None:
        self._file = file
        self._rate = Rate()

    def read(self, now_s: float) -> Iterable[Sample]:
        found = []
        for line in self._file.read().splitlines():
            name, _, value = line.partition(" ")
            if name in _OF_VMSTAT:
                rate = self._rate.of(name, now_s, int(value))
                if rate is not None:
                    found.append(Sample(_OF_VMSTAT[name], HOST, rate))
        return found


def _probe(
    setting: Setting, path: str, names: tuple[str, ...], kind: type[_Available | _Pages]
) -> Iterator[Probe]:
    try:
        source = kind(KeptFile(setting.root / path))
    except OSError as error:
        setting.miss(names, reason(error))
        return
    yield Probe(names, source.read, lane=SLOW_LANE, least_ms=_LEAST_MS)

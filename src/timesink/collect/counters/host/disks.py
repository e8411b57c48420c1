"""What disks read and write: /proc/diskstats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from timesink.collect.counters.counter import HOST, Counter
from timesink.collect.counters.files import KeptFile
from timesink.collect.counters.missing import reason
from timesink.collect.counters.probing import Probe, Rate, Sample, Setting

_READ, _WRITE, _BUSY = "disk_read_bytes_per_s", "disk_write_bytes_per_s", "disk_util_pct"
_NAMES = (_READ, _WRITE, _BUSY)
_SOURCE = "/proc/diskstats"
_MISSING = "not on Linux; no disk of its own, as in many containers and on network file systems"
COUNTERS = (
    Counter(_READ, "disk", "B/s", _SOURCE, "what all disks of the host read", _MISSING),
    Counter(_WRITE, "disk", "B/s", _SOURCE, "what all disks of the host write", _MISSING),
    Counter(
        _BUSY, "disk", "%", _SOURCE,
        "share of time in which the busiest disk had a request under way", _MISSING,
    ),
)  # fmt: skip
_SECTOR_BYTES = 512
_IN_MEMORY = ("loop", "ram", "zram")
_PCT_PER_MS_PER_S = 0.1
Totals = tuple[int, int, int]
"""Bytes read, bytes written, milliseconds busy."""


def probes(setting: Setting) -> Iterator[Probe]:
    """Rates over all disks between two readings."""
    if not setting.wants(*_NAMES):
        return
    disks = _disks(setting.root / "sys/block")
    try:
        file = KeptFile(setting.root / "proc/diskstats")
        known = disks & totals(file.read()).keys()
    except OSError as error:
        setting.miss(_NAMES, reason(error))
        return
    if not known:
        setting.miss(_NAMES, "the system has no disk of its own")
        return
    yield Probe(_NAMES, _Traffic(file, frozenset(known)).read)


def _disks(block: Path) -> set[str]:
    """Whole disks: no parts of them, none in memory and none made of others."""
    if not block.is_dir():
        return set()
    return {
        entry.name
        for entry in block.iterdir()
        if not entry.name.startswith(_IN_MEMORY) and not _is_made_of_others(entry)
    }


def _is_made_of_others(disk: Path) -> bool:
    below = disk / "slaves"
    return below.is_dir() and any(below.iterdir())


class _Traffic:
    def __init__(self, file: KeptFile, disks: frozenset[str]) -> None:
        self._file = file
        self._disks = disks
        self._rate = Rate()

    def read(self, now_s: float) -> Iterable[Sample]:
        per_s: list[tuple[float, float, float]] = []
        for disk, sums in totals(self._file.read()).items():
            if disk in self._disks:
                rates = [
                    self._rate.of(f"{disk} {place}", now_s, each) for place, each in enumerate(sums)
                ]
                if None not in rates:
                    read, write, busy = (each or 0.0 for each in rates)
                    per_s.append((read, write, busy))
        if not per_s:
            return ()
        busiest = min(max(busy for _, _, busy in per_s) * _PCT_PER_MS_PER_S, 100.0)
        sums_per_s = (sum(read for read, _, _ in per_s), sum(write for _, write, _ in per_s))
        return [
            Sample(name, HOST, value)
            for name, value in zip(_NAMES, (*sums_per_s, busiest), strict=True)
        ]


def totals(text: str) -> Mapping[str, Totals]:
    """Totals of each disk since the system was started.

    >>> totals("259 0 nvme0n1 10 0 80 4 20 0 160 8 0 12 12")
    {'nvme0n1': (40960, 81920, 12)}
    """
    found = {}
    for line in text.splitlines():
        cells = line.split()
        if len(cells) > 12:
            read, written = int(cells[5]) * _SECTOR_BYTES, int(cells[9]) * _SECTOR_BYTES
            found[cells[2]] = read, written, int(cells[12])
    return found

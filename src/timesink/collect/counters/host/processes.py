"""The processes of the program: processor time, memory, faults."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from timesink.collect.counters.counter import Counter
from timesink.collect.counters.files import read_text
from timesink.collect.counters.probing import SLOW_LANE, Probe, Rate, Sample, Setting

_CPU, _RSS = "process_cpu_usage", "process_mem_rss"
_SWAP, _FAULTS = "process_mem_swap", "process_major_faults_per_s"
_MISSING = "not on Linux"
COUNTERS = (
    Counter(
        _CPU, "process", "% of a core", "the processor clock of each process",
        "processor time of a process and of those it started; 100 is one core in full use",
        _MISSING,
    ),
    Counter(
        _RSS, "process", "B", "/proc/PID/statm", "memory of the process that is in use", _MISSING
    ),
    Counter(
        _SWAP, "process", "B", "/proc/PID/status", "memory of the process that lies in swap",
        f"{_MISSING}; a kernel without swap",
    ),
    Counter(
        _FAULTS, "process", "per s", "/proc/PID/stat",
        "accesses to memory of the process that had to wait for a disk", _MISSING,
    ),
)  # fmt: skip
_MEMORY_LEAST_MS = 500.0
_LOOK_LEAST_MS = 200.0
_PCT = 100.0
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_VM_SWAP = re.compile(r"^VmSwap:\s*(\d+) kB", re.MULTILINE)
_MAJOR_FAULTS = 9
"""Column of /proc/PID/stat, counted from behind the name of the program."""


def probes(setting: Setting) -> Iterator[Probe]:
    """Counters of each process that the recorder knows, under its number."""
    names = tuple(each.name for each in COUNTERS)
    if not (setting.root / "proc/self").exists():
        setting.miss(names, "the system has no /proc")
        return
    # Others look at the children too: they are looked for whatever was asked for.
    yield Probe((), _looking(setting), lane=SLOW_LANE, least_ms=_LOOK_LEAST_MS)
    if setting.wants(_CPU):
        yield Probe((_CPU,), _CpuTime(setting).read)
    for name, kind in ((_RSS, _Resident), (_SWAP, _Swapped), (_FAULTS, _Faults)):
        if setting.wants(name):
            yield Probe((name,), kind(setting).read, lane=SLOW_LANE, least_ms=_MEMORY_LEAST_MS)


def label(pid: int) -> str:
    """The device under which counters of a process stand."""
    return f"pid {pid}"


def _looking(setting: Setting) -> Callable[[float], Iterable[Sample]]:
    def look(now_s: float) -> Iterable[Sample]:
        setting.own.look(now_s)
        return ()

    return look


class _CpuTime:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._rate = Rate()

    def read(self, now_s: float) -> Iterator[Sample]:
        families = self._setting.own.families()
        # Families hold each other: every process is asked once.
        members = dict.fromkeys(pid for family in families.values() for pid in family)
        rates = {pid: rate for pid in members if (rate := self._share(pid, now_s)) is not None}
        for root, family in families.items():
            known = [rates[pid] for pid in family if pid in rates]
            if known:
                yield Sample(_CPU, label(root), _PCT * sum(known))

    def _share(self, pid: int, now_s: float) -> float | None:
        try:
            total_s = self._setting.cpu_time_s(pid)
        except OSError:
            # It has ended; what it did until then was counted before.
            self._rate.forget(str(pid))
            return None
        return self._rate.of(str(pid), now_s, total_s)


class _Resident:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def read(self, _now_s: float) -> Iterator[Sample]:
        for pid in self._setting.own.roots():
            with suppress(FileNotFoundError, ProcessLookupError):
                pages = read_text(self._setting.root / f"proc/{pid}/statm").split()[1]
                yield Sample(_RSS, label(pid), int(pages) * _PAGE_BYTES)


class _Swapped:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def read(self, _now_s: float) -> Iterator[Sample]:
        for pid in self._setting.own.roots():
            with suppress(FileNotFoundError, ProcessLookupError):
                found = _VM_SWAP.search(read_text(self._setting.root / f"proc/{pid}/status"))
                if found is not None:
                    yield Sample(_SWAP, label(pid), int(found[1]) * 1024)


class _Faults:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._rate = Rate()

    def read(self, now_s: float) -> Iterator[Sample]:
        for pid in self._setting.own.roots():
            with suppress(FileNotFoundError, ProcessLookupError):
                fields = read_text(self._setting.root / f"proc/{pid}/stat").rpartition(")")[2]
                rate = self._rate.of(str(pid), now_s, int(fields.split()[_MAJOR_FAULTS]))
                if rate is not None:
                    yield Sample(_FAULTS, label(pid), rate)

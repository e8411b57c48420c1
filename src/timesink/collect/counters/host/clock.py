"""The clock of the processors: cpufreq, or what /proc/cpuinfo measures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from timesink.collect.counters.counter import HOST, Counter
from timesink.collect.counters.files import KeptFile, read_text, try_text
from timesink.collect.counters.host.processors import times_of
from timesink.collect.counters.probing import SLOW_LANE, Probe, Sample, Setting

_NAME = "cpu_frequency"
COUNTERS = (
    Counter(
        _NAME, "cpu", "MHz", "cpufreq in /sys, else /proc/cpuinfo",
        "clock of the cores, each weighted by how busy it was since the last reading: cores that "
        "sleep do not pull it down",
        "not on Linux; in most virtual machines, which do not see the clock",
    ),
)  # fmt: skip
_LEAST_MS = 250.0
"""Some kernels measure the clock of every core for milliseconds when asked."""
_CPU = re.compile(r"cpu(\d+)")
_IDLE, _IOWAIT = 3, 4
_NO_CLOCK = "the system does not tell the clock of its cores, as in most virtual machines"

Clocks = Callable[[], Mapping[int, float]]


def probes(setting: Setting) -> Iterator[Probe]:
    """The mean clock of cores that work."""
    if not setting.wants(_NAME):
        return
    clocks = _from_cpufreq(setting.root) or _from_cpuinfo(setting.root)
    if clocks is None or try_text(setting.root / "proc/stat") is None:
        setting.miss((_NAME,), _NO_CLOCK)
        return
    clock = _Clock(clocks, KeptFile(setting.root / "proc/stat"))
    yield Probe((_NAME,), clock.read, lane=SLOW_LANE, least_ms=_LEAST_MS)


class _Clock:
    def __init__(self, clocks: Clocks, stat: KeptFile) -> None:
        self._clocks = clocks
        self._stat = stat
        self._before: Mapping[int, int] = {}

    def read(self, _now_s: float) -> Iterable[Sample]:
        busy = _busy_ticks(self._stat.read())
        before, self._before = self._before, busy
        if not before:
            return ()
        weights = {core: ticks - before.get(core, ticks) for core, ticks in busy.items()}
        known = self._clocks()
        total = sum(max(weights.get(core, 0), 0) for core in known)
        if total <= 0:
            return ()
        mean = sum(mhz * max(weights.get(core, 0), 0) for core, mhz in known.items()) / total
        return (Sample(_NAME, HOST, mean),)


def _busy_ticks(stat: str) -> dict[int, int]:
    """Ticks in which each core worked."""
    busy = {}
    for line in stat.splitlines():
        found = _CPU.match(line)
        if found is not None:
            times = times_of(line)
            busy[int(found[1])] = sum(times) - times[_IDLE] - times[_IOWAIT]
    return busy


def _from_cpufreq(root: Path) -> Clocks | None:
    files = {}
    for path in (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_cur_freq"):
        with suppress(OSError):
            files[int(path.parent.parent.name.removeprefix("cpu"))] = KeptFile(path)
    if not files:
        return None
    return lambda: {core: float(file.read()) / 1000 for core, file in files.items()}


def _from_cpuinfo(root: Path) -> Clocks | None:
    """Only where the processor counts its cycles; else the figure is the nominal one."""
    path = root / "proc/cpuinfo"
    text = try_text(path) or ""
    if not re.search(r"^flags\s*:.*\baperfmperf\b", text, re.MULTILINE):
        return None
    return lambda: _cpuinfo_clocks(read_text(path))


def _cpuinfo_clocks(text: str) -> dict[int, float]:
    r"""Clock by core.

    >>> _cpuinfo_clocks("processor : 0\ncpu MHz : 2100.5\n\nprocessor : 1\ncpu MHz : 900.0\n")
    {0: 2100.5, 1: 900.0}
    """
    cores = re.findall(r"^processor\s*:\s*(\d+)", text, re.MULTILINE)
    clocks = re.findall(r"^cpu MHz\s*:\s*([0-9.]+)", text, re.MULTILINE)
    return {int(core): float(mhz) for core, mhz in zip(cores, clocks, strict=False)}

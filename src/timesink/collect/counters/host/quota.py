"""Processor time that a quota of the container takes: cpu.stat of its control group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from timesink.collect.counters.counter import HOST, Counter
from timesink.collect.counters.files import read_text
from timesink.collect.counters.host.cgroups import cpu_groups, quota_cores
from timesink.collect.counters.probing import Probe, Sample, Setting

_NAME = "container_cpu_throttled_pct"
COUNTERS = (
    Counter(
        _NAME, "cpu", "%", "cpu.stat of the control group (version 1 or 2)",
        "share of periods (of 100 ms, mostly) in which the quota of the container stopped it",
        "not on Linux; no quota is set",
    ),
)  # fmt: skip
_LEAST_MS = 50.0


def probes(setting: Setting) -> Iterator[Probe]:
    """Of the tightest of all groups that the program is in."""
    if not setting.wants(_NAME):
        return
    if not (setting.root / "proc/self").exists():
        setting.miss((_NAME,), "the system has no control groups")
        return
    pid = next(iter(setting.own.roots()), "self")
    groups = [each for each in dict.fromkeys(cpu_groups(setting.root, pid)) if quota_cores(each)]
    if not groups:
        setting.miss((_NAME,), "no quota is set on the processor time of the program")
        return
    yield Probe((_NAME,), _Throttled(groups).read, least_ms=_LEAST_MS)


class _Throttled:
    def __init__(self, groups: list[Path]) -> None:
        self._groups = groups
        self._before: dict[Path, tuple[int, int]] = {}

    def read(self, _now_s: float) -> Iterable[Sample]:
        shares = [share for group in self._groups if (share := self._share(group)) is not None]
        return [Sample(_NAME, HOST, max(shares))] if shares else ()

    def _share(self, group: Path) -> float | None:
        periods, throttled = _periods(read_text(group / "cpu.stat"))
        before = self._before.setdefault(group, (periods, throttled))
        if periods == before[0]:
            # No period has ended since: what was said last still holds.
            return None
        self._before[group] = periods, throttled
        return min(100.0 * (throttled - before[1]) / (periods - before[0]), 100.0)


def _periods(stat: str) -> tuple[int, int]:
    r"""Periods there were, and those in which the group was stopped.

    >>> _periods("usage_usec 9\nnr_periods 20\nnr_throttled 5\nthrottled_usec 77\n")
    (20, 5)
    """
    values = dict(line.split(None, 1) for line in stat.splitlines() if " " in line)
    return int(values["nr_periods"]), int(values["nr_throttled"])

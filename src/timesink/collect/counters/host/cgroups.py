"""Control groups of a process, of both versions: where a quota of processor time stands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from timesink.collect.counters.files import try_text


def cpu_groups(root: Path, pid: int | str) -> Iterator[Path]:
    """Folders of the groups that limit the processor time of a process, the innermost first."""
    text = try_text(root / "proc" / str(pid) / "cgroup") or ""
    mount = root / "sys/fs/cgroup"
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            yield from _upwards(mount, path)
            yield from _upwards(mount / "unified", path)
        elif "cpu" in controllers.split(","):
            yield from _upwards(mount / controllers, path)
            yield from _upwards(mount / "cpu", path)


def _upwards(mount: Path, path: str) -> Iterator[Path]:
    """A group and those above it.

    In a container the path may be that of the host, of which only the end of it is mounted.
    """
    group = mount / path.lstrip("/")
    while group != mount:
        if (group / "cpu.stat").is_file():
            yield group
        group = group.parent
    if (mount / "cpu.stat").is_file():
        yield mount


def quota_cores(group: Path) -> float | None:
    """Cores' worth of time a group may have; None without a limit."""
    text = try_text(group / "cpu.max")
    if text is not None:
        quota, _, period = text.partition(" ")
        return None if quota == "max" or not period.strip() else int(quota) / int(period)
    quota_us, period_us = (try_text(group / f"cpu.cfs_{each}_us") for each in ("quota", "period"))
    if quota_us is None or period_us is None or int(quota_us) <= 0 or int(period_us) <= 0:
        return None
    return int(quota_us) / int(period_us)

"""Counters of accelerators, from the management library that knows the devices of this machine."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from timesink.recorder import amd_counters, nvidia_counters
from timesink.recorder.counter_probes import (
    GPU_COUNTERS,
    CounterSource,
    Probe,
    ProbeContext,
    UnavailableError,
    try_text,
)

_MAKERS = (nvidia_counters, amd_counters)


def _probes(context: ProbeContext) -> Iterator[Probe]:
    """Counters of all devices the program can see, of the first maker that has some."""
    reasons = []
    for maker in _MAKERS:
        try:
            yield from maker.probes(context)
        except UnavailableError as error:  # noqa: PERF203
            reasons.append(str(error))
        else:
            return
    raise UnavailableError("; ".join(reasons))


GPU_SOURCE = CounterSource(tuple(each.name for each in GPU_COUNTERS), _probes)
"""Opened in a thread: a management library may take seconds to start."""


def describe_devices(environment: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Every device the program can see, under the label its counters have."""
    for maker in _MAKERS:
        try:
            told = os.environ if environment is None else environment
            return list(maker.describe(told))
        except UnavailableError:  # noqa: PERF203
            continue
    return []


# The host, as it stands in the description of a run: cores, quotas, processor, memory.

_MODEL = re.compile(r"^(?:model name|Model|cpu model|Processor)\s*:\s*(.+)$", re.MULTILINE)
_TOTAL = re.compile(r"^MemTotal:\s*(\d+) kB", re.MULTILINE)


def describe_host(root: Path = Path("/"), pid: int | str = "self") -> dict[str, Any]:
    """Cores, processor, memory and system; None for what is not known.

    `cores` is what the program may use, by affinity and quota; `machine_cores` what the host has,
    which is what `host_cpu_usage` is a share of.
    """
    model = _MODEL.search(try_text(root / "proc/cpuinfo") or "")
    memory = _TOTAL.search(try_text(root / "proc/meminfo") or "")
    return {
        "cores": _cores(root, pid),
        "machine_cores": os.cpu_count(),
        "cpu": model[1].strip() if model else platform.processor() or None,
        "memory_bytes": int(memory[1]) * 1024 if memory else None,
        "system": f"{platform.system()} {platform.release()}".strip() or None,
    }


def _cores(root: Path, pid: int | str) -> float | None:
    allowed = os.cpu_count()
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0 if pid == "self" else int(pid)))
    quotas = [cores for group in cpu_groups(root, pid) if (cores := quota_cores(group))]
    if allowed is None or not quotas:
        return allowed
    # A quota may be one and a half cores.
    quota = round(min(quotas), 2)
    return allowed if quota >= allowed else int(quota) if quota == int(quota) else quota


def cpu_groups(root: Path, pid: int | str) -> Iterator[Path]:
    """Folders of the groups that limit the processor time of a process, the innermost first."""
    mount = root / "sys/fs/cgroup"
    for line in (try_text(root / "proc" / str(pid) / "cgroup") or "").splitlines():
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if number == "0" and not controllers:
            mounts = mount, mount / "unified"
        elif "cpu" in controllers.split(","):
            mounts = mount / controllers, mount / "cpu"
        else:
            continue
        for top in mounts:
            # A group and those above it.  In a container the path may be that of the host, of which
            # only the end of it is mounted.
            group = top / path.lstrip("/")
            inner = [group, *group.parents][: len(group.parts) - len(top.parts)]
            yield from (each for each in (*inner, top) if (each / "cpu.stat").is_file())


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

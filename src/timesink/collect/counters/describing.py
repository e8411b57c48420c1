"""The host and its devices, as they stand in the description of a run."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from timesink.collect.counters import gpu
from timesink.collect.counters.files import try_text
from timesink.collect.counters.host.cgroups import cpu_groups, quota_cores

_MODEL = re.compile(r"^(?:model name|Model|cpu model|Processor)\s*:\s*(.+)$", re.MULTILINE)
_TOTAL = re.compile(r"^MemTotal:\s*(\d+) kB", re.MULTILINE)


def describe_host(root: Path = Path("/"), pid: int | str = "self") -> dict[str, Any]:
    """Cores, processor, memory and system; None for what is not known.

    `cores` is what the program may use, by affinity and quota; `machine_cores` what the host has,
    which is what `host_cpu_usage` is a share of.

    >>> sorted(describe_host())
    ['cores', 'cpu', 'machine_cores', 'memory_bytes', 'system']
    """
    return {
        "cores": _cores(root, pid),
        "machine_cores": os.cpu_count(),
        "cpu": _processor(root),
        "memory_bytes": _memory_bytes(root),
        "system": f"{platform.system()} {platform.release()}".strip() or None,
    }


def describe_devices(environment: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Every device the program can see, under the label its counters have.

    >>> all(device["device"].startswith("GPU ") for device in describe_devices())
    True
    """
    return gpu.describe(os.environ if environment is None else environment)


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


def _processor(root: Path) -> str | None:
    found = _MODEL.search(try_text(root / "proc/cpuinfo") or "")
    return found[1].strip() if found else platform.processor() or None


def _memory_bytes(root: Path) -> int | None:
    found = _TOTAL.search(try_text(root / "proc/meminfo") or "")
    return int(found[1]) * 1024 if found else None

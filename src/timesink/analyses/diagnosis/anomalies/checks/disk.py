"""Bytes to and from disks say little about what these can do; waiting for them does.

Calls that take longer are about disks only where the processor is not what slows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from timesink.analyses.diagnosis.anomalies.context import Context
from timesink.analyses.diagnosis.anomalies.suspect import Suspect

_WAITS = ("io_wait", "io_pressure", "disk_busy")
_LONGER = 1.1
_HOST = ("cpu_contention", "cpu_clock")


def check(suspects: Sequence[Suspect], context: Context) -> list[Suspect]:
    """Believes a rate of bytes only where somebody waits, and slow calls only on a healthy host."""
    believed = {one.resource for one in suspects if one.refuted is None}
    waits = bool(believed & set(_WAITS)) or _process_waits(context)
    slow_host = any(one.cause in _HOST and one.refuted is None for one in suspects)
    refuted = {
        **({} if waits else {"disk_rate": "nobody waits for a disk"}),
        **({"file_calls": "the processor is slower for all calls"} if slow_host else {}),
    }
    return [
        replace(one, refuted=refuted[one.resource]) if one.resource in refuted else one
        for one in suspects
    ]


def _process_waits(context: Context) -> bool:
    base, new = context.part_ns("io", "data_loading")
    ratio = context.host_ratio("disk_read_and_write")
    return new > _LONGER * base or (ratio is not None and ratio > _LONGER)

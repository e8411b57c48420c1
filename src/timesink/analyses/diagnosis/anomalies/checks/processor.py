"""Load of others on the processor hurts where threads wait for cores.

Where nothing tells how long they wait, it hurts where cores run out or the host slows down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from timesink.analyses.diagnosis.anomalies.context import Context
from timesink.analyses.diagnosis.anomalies.suspect import Suspect

_HALF = 50.0
"""Beyond this share of all logical cores, threads share the units of a core."""
_LONGER = 1.05
_SHORT_WAIT = 5.0
"""Waits that grew by less, in percent of the time, take nothing from a process."""
_MEASURED = ("run_queue", "cpu_pressure")
_WAITS = (*_MEASURED, "steal")
_HOST = ("host_cpu", "launch_gap", "run_queue", "idle", "synchronisation", "io", "data_loading")


def check(suspects: Sequence[Suspect], context: Context) -> list[Suspect]:
    """Refutes a processor that is busy beside a process that neither waits nor slows down."""
    if any(one.resource in _WAITS and one.refuted is None for one in suspects):
        return list(suspects)
    waits = _longest_wait(context)
    return [
        _checked(one, waits, context) if one.resource == "host_cpu" else one for one in suspects
    ]


def _longest_wait(context: Context) -> float | None:
    """By how much the share of time spent waiting for a core grew; None where nobody measured."""
    return max(
        (one.rise for one in context.readings if one.resource.resource in _MEASURED), default=None
    )


def _checked(one: Suspect, waits: float | None, context: Context) -> Suspect:
    if waits is not None and waits < _SHORT_WAIT:
        return replace(one, refuted="no thread waits longer for a core")
    if _hurts(one, context):
        return one
    return replace(one, refuted="there are cores to spare, and the process does not wait for one")


def _hurts(one: Suspect, context: Context) -> bool:
    if one.reading.new_mean >= _HALF:
        return True
    if context.cycle_ratio is None:
        return True
    base, new = context.part_ns(*_HOST)
    return base > 0 and new >= _LONGER * base

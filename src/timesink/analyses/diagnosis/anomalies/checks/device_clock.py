"""A lower clock makes kernels longer; one that does not is of a device that had nothing to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from timesink.analyses.diagnosis.anomalies.context import Context
from timesink.analyses.diagnosis.anomalies.evidence import kernel_evidence
from timesink.analyses.diagnosis.anomalies.suspect import Suspect

CLOCKS = ("device_clock", "memory_clock")
_PART = 0.2
"""Kernels grow by this part of what the clock alone would do, however much memory bounds them."""
_LEAST = 0.02
_HALF = 0.5


def check(suspects: Sequence[Suspect], context: Context) -> list[Suspect]:
    """Believes a lower clock only where own kernels did not stay as they were."""
    return [
        _checked(one, context) if one.resource in CLOCKS and one.refuted is None else one
        for one in suspects
    ]


def _checked(one: Suspect, context: Context) -> Suspect:
    ratio = context.kernel_ratio(one.device)
    slower = one.reading.base_mean / max(one.reading.new_mean, 1e-9)
    if ratio is not None and ratio - 1 < max(_LEAST, _PART * min(slower - 1, 1.0)):
        return replace(one, refuted="own kernels take as long as before")
    if (ratio is None or one.severity < _HALF) and _is_idle(one.device, context):
        return replace(one, refuted="the device has less to do")
    if ratio is None:
        return one
    return replace(one, evidence=(*one.evidence, kernel_evidence(one.device, ratio)))


def _is_idle(device: str, context: Context) -> bool:
    """Whether a device is used far less than before: such ones lower their clock by themselves.

    By less than half, that is, while kernels run: these would not take longer otherwise.
    """
    use = context.reading("device_use", device)
    if use is not None:
        return use.new_mean < _HALF * use.base_mean
    busy = context.busy(device)
    return busy is not None and busy[1] < _HALF * busy[0]

"""A device that says it slows down, where no counter tells its clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from timesink.analyses.diagnosis.anomalies.context import Context
from timesink.analyses.diagnosis.anomalies.evidence import kernel_evidence
from timesink.analyses.diagnosis.anomalies.suspect import Suspect

_FLAGS = ("power_throttle", "thermal_throttle")
_MOST = 0.5
"""Part of the time in which a device gives a reason, after it hardly ever did."""
_SLOWER = 1.05
"""Own kernels that take this many times as long show it."""
_LOAD = ("gpu_contention", "hbm_contention")


def check(suspects: Sequence[Suspect], context: Context) -> list[Suspect]:
    """Believes a reason where own kernels take longer; a clock tells more than its reasons do."""
    return [
        _checked(one, context) if one.resource in _FLAGS and one.refuted is None else one
        for one in suspects
        if one.resource not in _FLAGS or context.reading("device_clock", one.device) is None
    ]


def _checked(one: Suspect, context: Context) -> Suspect:
    ratio = context.kernel_ratio(one.device)
    if one.severity < _MOST:
        return replace(one, refuted="the device slows down now and then only")
    if ratio is None:
        return replace(one, refuted="no kernel shows whether it does")
    if ratio < _SLOWER:
        return replace(one, refuted="own kernels take as long as before")
    proofs = (*one.evidence, kernel_evidence(one.device, ratio))
    # What is lost is the time kernels take longer, and not the time in which it is said.
    lost = min(one.severity, 1.0 - 1.0 / ratio)
    return replace(one, severity=lost, evidence=proofs, after=(*one.after, *_LOAD))

"""Use of multiprocessors varies with what the process itself launches, more than its time tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from timesink.analyses.diagnosis.anomalies.context import Context
from timesink.analyses.diagnosis.anomalies.suspect import Suspect

_SLOWER = 1.05
"""Own kernels that take this many times as long share the multiprocessors."""


def check(suspects: Sequence[Suspect], context: Context) -> list[Suspect]:
    """Believes it beside others' use of the device; where unknown, beside slower kernels."""
    shared = {one.device for one in suspects if one.resource == "device_use" and not one.refuted}
    return [
        replace(one, refuted="others do not use the device for longer")
        if one.resource == "sm_busy" and one.device not in shared and not _slower(one, context)
        else one
        for one in suspects
    ]


def _slower(one: Suspect, context: Context) -> bool:
    if context.reading("device_use", one.device) is not None:
        return False
    ratio = context.kernel_ratio(one.device)
    return ratio is not None and ratio >= _SLOWER

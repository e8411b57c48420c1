"""Memory of a device that others use tells more than that they are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from timesink.analyses.diagnosis.anomalies.context import Context
from timesink.analyses.diagnosis.anomalies.suspect import Suspect

_MOSTLY = 0.5
"""Work that keeps memory busy for this part of its own time is about memory."""


def check(suspects: Sequence[Suspect], context: Context) -> list[Suspect]:
    """Tells use of memory before use of the device, where it is most of it."""
    del context
    strongest: dict[str, float] = {}
    for one in suspects:
        if one.cause == "hbm_contention" and one.refuted is None:
            strongest[one.device] = max(one.severity, strongest.get(one.device, 0.0))
    return [
        replace(one, after=(*one.after, "hbm_contention"))
        if one.cause == "gpu_contention"
        and strongest.get(one.device, 0.0) >= _MOSTLY * one.severity
        else one
        for one in suspects
    ]

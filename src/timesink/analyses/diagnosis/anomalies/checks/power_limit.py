"""A lower power limit matters to a device that would draw more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from timesink.analyses.diagnosis.anomalies.checks.power_and_heat import at_power_limit
from timesink.analyses.diagnosis.anomalies.context import Context
from timesink.analyses.diagnosis.anomalies.suspect import Suspect


def check(suspects: Sequence[Suspect], context: Context) -> list[Suspect]:
    """Refutes a limit that is never reached."""
    capped = {
        one.device
        for one in suspects
        if one.resource == "device_clock" and one.cause == "gpu_power_cap" and not one.refuted
    }
    return [
        replace(one, refuted="the device draws less than that")
        if one.resource == "power_limit" and not _reached(one.device, capped, context)
        else one
        for one in suspects
    ]


def _reached(device: str, capped: set[str], context: Context) -> bool:
    unknown = context.reading("power", device) is None
    return unknown or device in capped or at_power_limit(device, context) is not None

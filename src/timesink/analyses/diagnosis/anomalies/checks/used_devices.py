"""A device the process does nothing on cannot hold it up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from timesink.analyses.diagnosis.anomalies.context import Context
from timesink.analyses.diagnosis.anomalies.suspect import Suspect
from timesink.model.schema import HOST_DEVICE


def check(suspects: Sequence[Suspect], context: Context) -> list[Suspect]:
    """Refutes what happens on devices of others, where it is known which are the process's own."""
    used = context.own_devices | {HOST_DEVICE}
    if len(used) == 1:
        return list(suspects)
    return [
        one if one.device in used else replace(one, refuted="the process does not use this device")
        for one in suspects
    ]

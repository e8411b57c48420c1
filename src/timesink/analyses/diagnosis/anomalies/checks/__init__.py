"""Counters checked against each other and against the trace, before one is believed.

One rule per file: it gets all suspects and returns them, some with a word against them, some under
the name of what is behind them, some with more evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from timesink.analyses.diagnosis.anomalies.checks import (
    device_clock,
    device_memory,
    device_use,
    disk,
    multiprocessors,
    network,
    power_and_heat,
    power_limit,
    processor,
    processor_clock,
    throttling,
    used_devices,
)
from timesink.analyses.diagnosis.anomalies.context import Context
from timesink.analyses.diagnosis.anomalies.suspect import Suspect

Check = Callable[[Sequence[Suspect], Context], list[Suspect]]

CHECKS: tuple[Check, ...] = (
    used_devices.check,
    device_use.check,
    multiprocessors.check,
    device_memory.check,
    device_clock.check,
    power_and_heat.check,
    throttling.check,
    power_limit.check,
    processor.check,
    processor_clock.check,
    disk.check,
    network.check,
)
"""In this order: later ones see what earlier ones refuted."""


def checked(suspects: Sequence[Suspect], context: Context) -> list[Suspect]:
    """Suspects after every check."""
    found = list(suspects)
    for check in CHECKS:
        found = check(found, context)
    return found

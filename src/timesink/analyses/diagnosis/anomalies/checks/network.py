"""Traffic on a network of unknown speed counts where it is much, or where the process waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from timesink.analyses.diagnosis.anomalies.context import Context
from timesink.analyses.diagnosis.anomalies.suspect import Suspect

_LONGER = 1.1
_MUCH = 0.15
"""A network this full holds others up now and then, whoever they are."""


def check(suspects: Sequence[Suspect], context: Context) -> list[Suspect]:
    """Refutes a little traffic beside a process that does not wait for the network."""
    return [
        one
        if one.resource != "network_rate" or one.severity >= _MUCH or _waits(context)
        else replace(one, refuted="the process does not wait for the network")
        for one in suspects
    ]


def _waits(context: Context) -> bool:
    base, new = context.part_ns("exposed_communication", "io", "data_loading")
    return new > _LONGER * base

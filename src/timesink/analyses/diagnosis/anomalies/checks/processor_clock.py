"""A lower clock of the processor makes the host slower; an idle one saves power."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from timesink.analyses.diagnosis.anomalies.context import Context
from timesink.analyses.diagnosis.anomalies.suspect import Suspect

_LEAST = 1.02
_CALLS = ("cpu_operator", "cpu_launch", "cpu_python", "cpu_annotation", "cpu_other")


def check(suspects: Sequence[Suspect], context: Context) -> list[Suspect]:
    """Refutes a lower clock under which neither cycles nor functions of the host take longer."""
    if not any(one.resource == "host_clock" for one in suspects) or _slower(context):
        return list(suspects)
    return [
        replace(one, refuted="nothing on the host takes longer")
        if one.resource == "host_clock"
        else one
        for one in suspects
    ]


def _slower(context: Context) -> bool:
    """Whether anything shows it, or nothing could."""
    ratios = [context.cycle_ratio]
    if context.cycle_ratio is not None:
        ratios += [context.host_ratio("oncpu"), context.host_ratio(*_CALLS)]
    known = [ratio for ratio in ratios if ratio is not None]
    return not known or max(known) >= _LEAST

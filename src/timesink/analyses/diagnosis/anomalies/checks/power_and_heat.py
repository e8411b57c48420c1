"""Why a clock fell: heat, the power limit, or neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from timesink.analyses.diagnosis.anomalies.checks.device_clock import CLOCKS
from timesink.analyses.diagnosis.anomalies.context import Context
from timesink.analyses.diagnosis.anomalies.evidence import counter_evidence
from timesink.analyses.diagnosis.anomalies.readings import Reading
from timesink.analyses.diagnosis.anomalies.suspect import Suspect

_HOT_C = 85.0
"""Devices slow down at a temperature of their own, as tools of their makers print it: a P100 at
92 C, memory of a V100 at 85 C.  A cooler one is not slow for its heat."""
_AT_LIMIT = 0.93
"""Power regulation keeps the mean this close below the limit."""
_LOAD = ("gpu_contention", "hbm_contention")


def check(suspects: Sequence[Suspect], context: Context) -> list[Suspect]:
    """Names the reason of a lower clock, which comes after the load that led to it."""
    return [
        _named(one, context) if one.resource in CLOCKS and one.refuted is None else one
        for one in suspects
    ]


def _named(one: Suspect, context: Context) -> Suspect:
    for cause, proof in (
        ("gpu_thermal", _flag("thermal_throttle", one.device, context)),
        ("gpu_power_cap", _flag("power_throttle", one.device, context)),
        ("gpu_thermal", _hot(one.device, context)),
        ("gpu_power_cap", at_power_limit(one.device, context)),
    ):
        if proof is not None:
            proofs = (*one.evidence, counter_evidence(proof))
            return replace(one, cause=cause, evidence=proofs, after=(*one.after, *_LOAD))
    return one


def _flag(reason: str, device: str, context: Context) -> Reading | None:
    """A reason the device itself gives more often than before."""
    found = context.reading(reason, device)
    most = 100.0 if found is not None and found.unit == "%" else 1.0
    return found if found is not None and found.rise >= 0.1 * most else None


def _hot(device: str, context: Context) -> Reading | None:
    found = context.reading("temperature", device)
    return found if found is not None and found.rise > 0 and found.new_mean >= _HOT_C else None


def at_power_limit(device: str, context: Context) -> Reading | None:
    """The power of a device that draws all it may."""
    power, limit = (context.reading(name, device) for name in ("power", "power_limit"))
    hardware = context.hardware(device)
    published = hardware.power_w if hardware else None
    most = limit.new_mean if limit is not None else published
    return power if power is not None and most and power.new_mean >= _AT_LIMIT * most else None

"""A busy device: kernels of others slow the own ones or draw power, copies of others do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from timesink.analyses.diagnosis.anomalies.comparing_levels import chance
from timesink.analyses.diagnosis.anomalies.context import Context
from timesink.analyses.diagnosis.anomalies.evidence import counter_evidence, kernel_evidence
from timesink.analyses.diagnosis.anomalies.own_load import of_others
from timesink.analyses.diagnosis.anomalies.suspect import Suspect
from timesink.analyses.diagnosis.diagnosis import Evidence
from timesink.analyses.statistics.discovery import ALPHA

_POWER_OF_LIMIT = 0.05
"""A device whose power rose by this part of its limit does more than before ..."""
_POWER_OF_BASE = 0.2
"""... or by this part of what it was, where the limit is not known."""
_SLOWER = 1.05
"""Own kernels that take this many times as long share the device."""
_SM_RISE = 10.0
_COPIES = ("pcie", "link")
_USES = ("device_use", "others_device_use")


def check(suspects: Sequence[Suspect], context: Context) -> list[Suspect]:
    """Believes others' use of a device only where power, multiprocessors or own kernels show it."""
    copied = {one.device for one in suspects if one.resource in _COPIES and one.refuted is None}
    return [
        _checked(one, context, others_copy=one.device in copied)
        if one.resource in _USES and one.refuted is None
        else one
        for one in suspects
    ]


def _checked(one: Suspect, context: Context, *, others_copy: bool) -> Suspect:
    answers = [_power(one.device, context), _multiprocessors(one.device, context)]
    if not others_copy:
        # Copies slow kernels as well: beside them, slower kernels prove nothing.
        answers.append(_kernels(one.device, context))
    elif all(answer is None for answer in answers):
        return replace(one, refuted="others copy to or from the device, which keeps it busy")
    asked = [answer for answer in answers if answer is not None]
    proofs = [proof for answer in asked for proof in answer]
    if asked and not proofs:
        return replace(
            one,
            refuted="neither power nor the time of own kernels rose: "
            "others copy, or the device waits, and nobody computes",
        )
    return replace(one, evidence=(*one.evidence, *proofs))


def _power(device: str, context: Context) -> list[Evidence] | None:
    power = context.reading("power", device)
    if power is None:
        return None
    hardware = context.hardware(device)
    limit = hardware.power_w if hardware else None
    least = _POWER_OF_LIMIT * limit if limit else _POWER_OF_BASE * power.base_mean
    return [counter_evidence(power)] if power.rise >= least else []


def _multiprocessors(device: str, context: Context) -> list[Evidence] | None:
    found = context.reading("sm_busy", device)
    if found is None:
        return None
    others = of_others(found, context)
    rose = others.rise >= _SM_RISE and chance(others.base, others.new) < ALPHA
    return [counter_evidence(found)] if rose else []


def _kernels(device: str, context: Context) -> list[Evidence] | None:
    ratio = context.kernel_ratio(device)
    if ratio is None:
        return None
    return [kernel_evidence(device, ratio)] if ratio >= _SLOWER else []

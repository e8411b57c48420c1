"""A host or a device that takes longer, or less, for everything alike: no place is to blame."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from timesink.analyses.behaviour.functions import NO_CALL
from timesink.comparison.causes.case import (
    HOST_PARTS,
    DiagnosisCase,
    computes_on_host,
    slowdown,
)
from timesink.comparison.causes.conditions import is_named, is_program, on_host, text_is
from timesink.comparison.thresholds import EvenPaceLimits
from timesink.model import units
from timesink.model.diagnosis import EvenPace, ProgramChange
from timesink.model.findings import Cause
from timesink.model.intervals import Floats
from timesink.model.schema import HOST_DEVICE
from timesink.rules.register import catalogue

_MIN_MOVING_SHARE, _MIN_FUNCTION_SHARE = 2 / 3, 0.001
"""Part of the functions that have to move the same way, and which part of the host's time each of
them has at least: "everywhere" is not a few long ones."""
_HOST_CODE = "host_code"


def even_paces(
    case: DiagnosisCase,
    causes: Sequence[Cause],
    program: ProgramChange | None,
) -> Iterator[EvenPace]:
    """The host and devices whose work all takes longer or less alike, for the same recorded calls.

    Where a place on the host, a counter or an edit explains most of the change, there is none.
    """
    if program is None:
        return
    yield from _host_pace(case, causes, program)
    if not program.same:
        return
    if program.uneven:
        return  # most kernels take as long as before
    for device in case.functions.table["device"].unique().sort().to_list():
        if device != HOST_DEVICE:
            yield from _device_pace(case, causes, device)


def _host_pace(
    case: DiagnosisCase, causes: Sequence[Cause], program: ProgramChange
) -> Iterator[EvenPace]:
    functions = case.functions
    # Without calls of the host its pace is not known; where operators are the work, nothing else
    # tells whether they were given as much.
    if not program.certain or computes_on_host(functions):
        return
    is_host_work = functions.where(is_program(), ~text_is("part", "data_loading"))
    is_host_work |= functions.where(on_host(), is_named([NO_CALL]))
    is_host_work &= functions.called_equally | functions.where(is_named([NO_CALL]))
    factor = slowdown(functions.base, functions.new, is_host_work)
    parts = [part for part in case.attribution if part.part in HOST_PARTS]
    # What calls take that came or went has no pace.
    edited = {edit.cause for edit in program.edits}
    change = sum(part.delta_ns for part in parts) - _on_host(causes, edited - {_HOST_CODE})
    explained = _on_host(causes, {_HOST_CODE})
    if any(cause.id not in {_HOST_CODE, *edited} for cause in causes):
        return
    if explained * change > 0 and abs(explained) >= EvenPaceLimits.min_share_at_pace * abs(change):
        return
    base, new = (side[is_host_work] for side in functions.times)
    large = np.maximum(base, new) > _MIN_FUNCTION_SHARE * max(base.sum(), new.sum())
    is_even = (
        abs(factor - 1) >= EvenPaceLimits.min_pace
        and _share_near(functions.times, is_host_work, factor) >= EvenPaceLimits.min_share_at_pace
    )
    if not is_even:
        # By all sorts of factors, and yet nearly everywhere, with no place that stands out.
        factor = float(new.sum() / max(base.sum(), 1.0))
        if causes or abs(factor - 1) < EvenPaceLimits.min_pace:
            return
    moving = ((new - base) * (factor - 1) > 0)[large]
    if not moving.size or float(moving.mean()) < _MIN_MOVING_SHARE:
        return
    # Beside the device the host's work did not show; where it now decides, all of it does.
    even = (factor - 1) * float(base.sum())
    if even * change <= 0 or min(abs(even), abs(change)) < max(
        EvenPaceLimits.min_share_at_pace * abs(change), case.least_ns
    ):
        return
    texts = catalogue()["paces"]["host_slower" if factor > 1 else "host_faster"]
    moved = int(((new - base) * (factor - 1) > 0).sum())
    told_by = f"{_changed_by(factor)}{'' if is_even else ' overall'}"
    sentence = texts["sentence"].format(by=told_by, moved=moved, calls=int(is_host_work.sum()))
    yield EvenPace(HOST_DEVICE, factor, sentence, texts["advice"])


def _on_host(causes: Sequence[Cause], names: Collection[str]) -> float:
    """What causes of some names explain in the parts of a cycle in which the host works."""
    return sum(
        ns
        for cause in causes
        if cause.id in names
        for part, ns in cause.claims
        if part in HOST_PARTS
    )


def _device_pace(case: DiagnosisCase, causes: Sequence[Cause], device: str) -> Iterator[EvenPace]:
    functions = case.functions
    computing = functions.where(text_is("part", "device_compute"), text_is("device", device))
    kernels = computing & functions.called_equally
    base, new = functions.times
    factor = slowdown(functions.base, functions.new, kernels)
    change = float((new - base)[kernels].sum())
    explained = sum(
        ns
        for cause in causes
        for name, ns in cause.claims
        if name.partition("/")[0] == "device_compute"
    )
    if abs(factor - 1) < EvenPaceLimits.min_device_pace or abs(change) < case.least_ns:
        return
    if int(kernels.sum()) < EvenPaceLimits.min_kernels:
        return
    if explained * change > 0 and abs(explained) >= EvenPaceLimits.min_share_at_pace * abs(change):
        return
    if float(base[kernels].sum()) < EvenPaceLimits.min_share_at_pace * float(base[computing].sum()):
        return
    # Of all but a tenth of the time, each kernel moved the same way by a good part of the factor.
    if _share_near(functions.times, kernels, factor, beyond=True) < EvenPaceLimits.nearly_all:
        return
    texts = catalogue()["paces"]["device_slower" if factor > 1 else "device_faster"]
    by = f"{factor:.2f} times as long" if factor > 1 else f"{_changed_by(factor)}"
    yield EvenPace(
        device,
        factor,
        texts["sentence"].format(device=device, by=by),
        texts["advice"],
    )


def _share_near(
    times: tuple[Floats, Floats], which: np.ndarray, factor: float, *, beyond: bool = False
) -> float:
    """Part of the time that changed by about the factor; or also by more, where that counts."""
    base, new = (side[which] for side in times)
    ratios = np.divide(new, base, out=np.ones_like(base), where=base > 0)
    moved = (ratios - 1) / (factor - 1)
    near = (moved >= 1 - EvenPaceLimits.near) & (beyond | (moved <= 1 + EvenPaceLimits.near))
    total = float(base.sum())
    return float(base[near].sum()) / total if total > 0 else 0.0


def _changed_by(factor: float) -> str:
    """By how much something takes longer or less, in words."""
    return f"{units.share(abs(factor - 1), 1.0)} {'longer' if factor > 1 else 'less'}"

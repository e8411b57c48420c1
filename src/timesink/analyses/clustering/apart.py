"""What sets one group of roles apart from another, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose

import numpy as np

from timesink.analyses.clustering.distances import sure_differences
from timesink.analyses.clustering.exploration import Difference
from timesink.analyses.clustering.features import (
    CALLS,
    COLLECTIVE,
    CYCLE,
    METRIC,
    Feature,
    Measures,
)
from timesink.analyses.clustering.levels import Levels
from timesink.analyses.clustering.work import times_the_work, unlike_work
from timesink.analyses.comparison.role import Role
from timesink.model.amounts import amounts
from timesink.model.arrays import Floats
from timesink.model.units import brief_ns, count

SHOWN = 3
"""Differences in a sentence."""
_ALIKE = 0.05
"""Numbers that differ by less tell the same."""
_SPECK = 1e-9
"""Keeps the logarithm of nothing finite."""
_UNLIKE_WORK = 1.5
"""Ratio of calls per cycle from which differently marked cycles are another unit of work."""


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """All roles with what was measured of them."""

    roles: tuple[Role, ...]
    measures: Measures
    levels: Levels
    allowed: Floats
    """What parts of one role differ by, per feature (`threshold.allowances`)."""
    means: Floats
    """Plain means over the cycles, one row per role."""
    calls: Floats
    """Exact calls per cycle (`work.exact_calls`)."""


def differences(setting: Setting, base: int, own: int, threshold: float) -> tuple[Difference, ...]:
    """Features in which two roles differ by the threshold or more, largest first."""
    levels = setting.levels
    sure = sure_differences(
        Levels(levels.mean[[base]], levels.error[[base]]),
        Levels(levels.mean[[own]], levels.error[[own]]),
        setting.allowed,
    )[0]
    unit = other_unit(setting, base, own)
    features = setting.measures.features
    # Times and calls of unlike units of work cannot be set against each other; the floor of a time
    # moves with the length of the cycle, so its plain ratio counts as well.
    seen = np.log2(np.maximum(setting.means[[base, own]], _SPECK))
    plain = np.abs(seen[1] - seen[0])
    kept = [
        int(at)
        for at in np.flatnonzero(np.nan_to_num(sure) >= threshold)
        if (not unit and plain[at] >= threshold) or features[at].kind == METRIC
    ]
    # Of two counters of one quantity the one with the longer name says more: gpu_sm_frequency.
    kept.sort(key=lambda at: (-round(float(sure[at]), 9), -len(features[at].name), features[at]))
    return tuple(_difference(setting, at, (base, own), float(sure[at])) for at in kept)


def _difference(setting: Setting, at: int, roles: tuple[int, int], sure: float) -> Difference:
    feature = setting.measures.features[at]
    base, own = (float(setting.means[role, at]) for role in roles)
    what = {CYCLE: "length of the cycle", METRIC: feature.name}.get(
        feature.kind, f"{feature.kind} of {feature.name}"
    )
    return Difference(
        what=f"{what} ({feature.phase})" if feature.phase else what,
        device="" if feature.kind == CYCLE else _device(setting, feature, roles),
        base=base,
        own=own,
        unit=feature.unit,
        distance=sure,
    )


def _device(setting: Setting, feature: Feature, roles: tuple[int, int]) -> str:
    """What the second role calls the place, or the first where only that one has it."""
    base, own = (setting.measures.devices[role] for role in roles)
    return (own if feature.place < len(own) else base)[feature.place]


def other_unit(setting: Setting, base: int, own: int) -> str:
    """A sentence where two roles' cycles are not the same unit of work, else nothing.

    That is so where one has prefill cycles only and the other none, and where cycles are marked by
    another call and have another number of calls in them.
    """
    texts = [_unit_text(setting, role) for role in (own, base)]
    told = f"another unit of work: {texts[0]}, not {texts[1]}"
    phases = [_phases(setting, role) for role in (base, own)]
    if phases[0].isdisjoint(phases[1]):
        return told
    # Calls per cycle that are the program's own work; on the device where all have some there.
    calls = np.nan_to_num(setting.means[[base, own]])
    counted = [
        (at, feature.place > 0)
        for at, feature in enumerate(setting.measures.features)
        if feature.kind == CALLS and feature.name != COLLECTIVE
    ]
    on_device = calls[:, [at for at, device in counted if device]].sum(axis=1)
    everywhere = calls[:, [at for at, _ in counted]].sum(axis=1)
    work: list[float] = (on_device if on_device.min() > 0 else everywhere).tolist()
    unlike = min(work) > 0 and max(work) / min(work) >= _UNLIKE_WORK
    marks = {setting.roles[role].anchor for role in (base, own)}
    return told if unlike and len(marks) > 1 else ""


def _phases(setting: Setting, role: int) -> set[str]:
    return {
        feature.phase
        for at, feature in enumerate(setting.measures.features)
        if not np.isnan(setting.means[role, at])
    }


def _unit_text(setting: Setting, role: int) -> str:
    """How many cycles of which length, of what sort and marked by what."""
    cycles = int((setting.measures.owners == role).sum())
    at = min(
        place
        for place, feature in enumerate(setting.measures.features)
        if feature.kind == CYCLE and feature.phase in _phases(setting, role)
    )
    sort = f"{setting.measures.features[at].phase} cycles".strip()
    mark = setting.roles[role].anchor or "not marked"
    return f"{count(cycles)} {sort} of {brief_ns(float(setting.means[role, at]))} ({mark})"


def sentence(setting: Setting, base: int, own: int, found: tuple[Difference, ...]) -> str:
    """What sets a role apart: its unit of work if that is another, then what differs most."""
    unit = other_unit(setting, base, own)
    parts = [unit] if unit else list(_other_amount(setting, base, own))
    told: list[Difference] = []
    for difference in found:
        if len(parts) < SHOWN and not any(_same_fact(difference, before) for before in told):
            told.append(difference)
            place = f" on {difference.device}" if difference.device else ""
            levels = amounts(difference.base, difference.own, difference.unit)
            parts.append(f"{difference.what}{place}: {levels}")
    return "; ".join(parts) or "some of its members differ from some of the largest cluster"


def _other_amount(setting: Setting, base: int, own: int) -> Iterator[str]:
    """How much more or less work a cycle is."""
    if unlike_work(setting.calls[[base, own]])[0, 1]:
        many = times_the_work(setting.calls, base, own)
        yield f"another amount of work: {many:.3g} times the calls in a cycle"


def _same_fact(one: Difference, other: Difference) -> bool:
    """Two counters of one thing, as gpu_frequency and gpu_sm_frequency, or both ways of a link."""
    return (
        (one.unit, one.device) == (other.unit, other.device)
        and isclose(one.base, other.base, rel_tol=_ALIKE, abs_tol=_ALIKE)
        and isclose(one.own, other.own, rel_tol=_ALIKE, abs_tol=_ALIKE)
    )

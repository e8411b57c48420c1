"""Which of many roles behave alike, who stands for each group, and how the groups differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.clustering.distances import (
    THRESHOLD,
    Cluster,
    Difference,
    Exploration,
    allowances,
    distances,
    exact_calls,
    linked,
    sure_differences,
    threshold_reason,
    times_the_work,
    unlike_work,
)
from timesink.analyses.clustering.features import (
    CALLS,
    COLLECTIVE,
    CYCLE,
    METRIC,
    Feature,
    Levels,
    Measures,
    doublings,
    least_scatter,
    means_of,
    measure,
    null_levels,
    role_levels,
    role_starts,
)
from timesink.analyses.comparison.pair import Pair, Role
from timesink.analyses.comparison.verdict import compare_roles
from timesink.analyses.statistics.means import QUIETLY
from timesink.errors import UsageError
from timesink.model.arrays import Floats
from timesink.model.units import amounts, brief_ns, count

# What sets one group of roles apart from another, in a sentence.

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


MOST_PAIRS = 10
"""Pairs of clusters that are compared in full: all of five clusters."""
_TIE = 1e-6
"""Weight of plain differences: they only decide between equal distances."""


@QUIETLY
def explore(roles: Sequence[Role], *, most_pairs: int = MOST_PAIRS) -> Exploration:
    """Clusters of roles that behave alike, their representatives, and comparisons of these.

    The result does not depend on the order of the roles: they are sorted by label.
    """
    ordered = tuple(
        sorted(roles, key=lambda role: (role.label, role.source, role.host or "", role.pid))
    )
    if len(ordered) < 2:
        raise UsageError(
            f"{len(ordered)} process to explore: clusters need at least two",
            "give several recordings, or a folder that holds several",
        )
    for role in ordered:
        if role.behaviour.is_empty():
            raise UsageError(f"{role.label}: no cycle was recorded", "leave it out")
    measures = measure(ordered)
    logs = doublings(measures)
    given = logs, measures.owners, least_scatter(measures.features)
    levels = role_levels(*given)
    null = np.stack([sure_differences(*parts) for parts in null_levels(*given)])
    allowed = allowances(null)
    apart, plain = distances(levels, allowed)
    calls = exact_calls(measures)
    apart = np.maximum(apart, THRESHOLD * unlike_work(calls))
    means = means_of(measures.values, role_starts(measures.owners))
    setting = Setting(ordered, measures, levels, allowed, means, calls)
    clusters = _clusters(setting, apart + _TIE * plain)
    reason = threshold_reason(null, measures.features, [role.label for role in ordered])
    pairs, left_out = _pairs(setting.roles, clusters, apart, most_pairs)
    return Exploration(ordered, apart, THRESHOLD, reason, clusters, pairs, left_out)


def _clusters(setting: Setting, apart: Floats) -> tuple[Cluster, ...]:
    group = linked(apart, THRESHOLD)
    members = [np.flatnonzero(group == number) for number in np.unique(group)]
    found = [(_medoid(own, apart), own) for own in members]
    found.sort(key=lambda pair: (-len(pair[1]), pair[0]))
    largest = found[0][0]
    clusters = []
    for representative, own in found:
        told = differences(setting, largest, representative, THRESHOLD)
        text = "" if representative == largest else sentence(setting, largest, representative, told)
        clusters.append(Cluster(representative, tuple(map(int, own)), text, told))
    return tuple(clusters)


def _medoid(members: NDArray[np.intp], apart: Floats) -> int:
    """The member nearest to all others; the first of equals."""
    return int(members[apart[np.ix_(members, members)].sum(axis=1).round(12).argmin()])


def _pairs(
    roles: Sequence[Role], clusters: Sequence[Cluster], apart: Floats, most: int
) -> tuple[tuple[Pair, ...], int]:
    """Representatives in full beside each other, largest distance first.

    Where there are too many clusters, those against the largest one come before all others.
    """
    # With more clusters than that, only pairs with the largest one can be taken.
    first = range(len(clusters) if len(clusters) <= most else 1)
    every = [
        (
            place > 0,
            -float(apart[clusters[place].representative, other.representative]),
            place,
            other,
        )
        for place in first
        for other in clusters[place + 1 :]
    ]
    taken = sorted(every, key=lambda pair: pair[:2])[:most]
    taken.sort(key=lambda pair: pair[1])
    pairs = tuple(
        compare_roles(roles[clusters[place].representative], roles[other.representative], "peers")
        for *_, place, other in taken
    )
    return pairs, len(clusters) * (len(clusters) - 1) // 2 - len(pairs)

"""Which of many roles behave alike, who stands for each group, and how the groups differ.

The distance of two roles is that of the feature in which they differ most, and the distance in a
feature is what is sure of the ratio of the two levels: the difference of the levels less
`CERTAINTY` times its error and less what parts of one role differ by in that feature
(`allowances`), never below zero.  So **1.0 means: in something they differ by at least a factor of
two**, beyond what their cycles scatter, and 0 that nothing can be distinguished.  The
largest and not the mean, because a fault shows in few features: a clock at a fifth of its frequency
is one among fifty.  Symmetric by its making; a feature that one role does not know is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from math import isclose

import msgspec
import numpy as np

from timesink.analyses.statistics.moments import QUIETLY
from timesink.comparison.exploration.features import (
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
from timesink.comparison.pairing import VERSUS, safe
from timesink.comparison.results import Cluster, Difference, Exploration, Pair, Process
from timesink.comparison.steps.verdict import compare_roles
from timesink.comparison.thresholds import GroupsLimits
from timesink.errors import UsageError
from timesink.model.intervals import Flags, Floats, Ints
from timesink.model.units import amounts, brief_ns, count, count_noun, join_names


def sure_differences(left: Levels, right: Levels, allowed: Floats | float = 0.0) -> Floats:
    """What is sure of the difference in each feature, zero where nothing is; NaN where unknown."""
    noise = GroupsLimits.certainty * np.sqrt(left.error**2 + right.error**2) + allowed
    return np.maximum(np.abs(left.mean - right.mean) - noise, 0.0)


def distances(levels: Levels, allowed: Floats | float = 0.0) -> tuple[Floats, Floats]:
    """Distances of all pairs of roles, and, to break ties, the plain differences of their levels.

    The second is the root mean square over the features both know, errors not considered.
    """
    count = len(levels.mean)
    sure, plain = np.zeros((count, count)), np.zeros((count, count))
    variances = levels.error**2
    for row in range(count - 1):
        apart = np.abs(levels.mean[row] - levels.mean[row + 1 :])
        noise = GroupsLimits.certainty * np.sqrt(variances[row] + variances[row + 1 :]) + allowed
        sure[row, row + 1 :] = np.fmax.reduce(apart - noise, axis=1)
        shared: Flags = ~np.isnan(apart)
        squares = np.where(shared, apart, 0.0) ** 2
        root: Floats = np.sqrt(squares.sum(axis=1) / np.maximum(shared.sum(axis=1), 1))
        plain[row, row + 1 :] = root
    sure = np.where(np.isnan(sure), GroupsLimits.nothing_shared, np.maximum(sure, 0.0))
    return sure + sure.T, plain + plain.T


# Whether two roles do another amount of work per cycle, told by calls that are the same in each.
#
# How often a program calls its kernels in a cycle is an exact count and has no error, however few
# the cycles are: a model of twelve layers is not one of eight.

_MIN_COUNT_LOG_RATIO = float(np.log2(1.25))
"""Counts differ by this factor or more, as in the check of the workload of two runs."""


def exact_calls(measures: Measures) -> Floats:
    """Doublings of the calls per cycle of each role and kind of device work; NaN if not constant.

    Of roles without device work, or beside one without, nothing is said.
    """
    chosen = [
        column
        for column, feature in enumerate(measures.features)
        if feature.kind == CALLS and feature.place > 0 and feature.name != COLLECTIVE
    ]
    values, starts = measures.values[:, chosen], role_starts(measures.owners)
    counts = np.add.reduceat(~np.isnan(values), starts, axis=0, dtype=np.int64)
    # The middle one of the known values of each column, the lower of two.
    middle, columns = np.maximum(counts - 1, 0) // 2, np.arange(len(chosen))
    parts = np.split(values, starts[1:])
    usual = np.stack(
        [np.sort(part, axis=0)[place, columns] for part, place in zip(parts, middle, strict=True)]
    )
    same_as_usual = np.where(np.isnan(values), np.nan, values == usual[measures.owners])
    exact = (means_of(same_as_usual, starts) >= GroupsLimits.same) & (counts > 1) & (usual >= 1)
    return np.where(exact, np.log2(np.maximum(usual, 1.0)), np.nan)


def unlike_work(calls: Floats) -> Floats:
    """Which pairs of roles do another amount of work per cycle: 1 where they do, else 0."""
    unlike = np.zeros((len(calls), len(calls)))
    for row in range(len(calls)):
        counted = np.fmax(calls[row], calls) >= np.log2(GroupsLimits.min_calls)
        apart = np.where(counted, calls - calls[row], np.nan)
        kinds = (~np.isnan(apart)).sum(axis=1)
        most = np.maximum(
            (apart >= _MIN_COUNT_LOG_RATIO).sum(axis=1),
            (apart <= -_MIN_COUNT_LOG_RATIO).sum(axis=1),
        )
        unlike[row] = (kinds > 0) & (most >= GroupsLimits.max_kinds * kinds)
    return unlike


def times_the_work(calls: Floats, base: int, second: int) -> float:
    """How many times the work of one role another does per cycle, in the middle of the kinds."""
    counted = np.fmax(calls[base], calls[second]) >= np.log2(GroupsLimits.min_calls)
    return float(2 ** np.nanmedian((calls[second] - calls[base])[counted]))


def complete_linkage(apart: Floats, threshold: float) -> Ints:
    """The group of each member: the nearest groups join while all of their members stay near.

    Complete linkage: no two members of a group are `threshold` or more apart.  Groups carry the
    number of their first member.  Chains of nearest neighbours, so the cost is that of the matrix.
    """
    far = apart.copy()
    np.fill_diagonal(far, np.inf)
    group = np.arange(len(far))
    left = np.ones(len(far), dtype=np.bool_)
    chain: list[int] = []
    while left.any():
        if not chain:
            chain.append(int(np.argmax(left)))
        tip = chain[-1]
        nearest = int(far[tip].argmin())
        if len(chain) > 1 and far[tip, chain[-2]] <= far[tip, nearest]:
            # Of equals the one the chain came from, so that it comes to an end.
            nearest = chain[-2]
        if far[tip, nearest] >= threshold:
            # Nobody is near the end of the chain any more: it is whole, and nothing changes for it.
            left[tip] = False
            far[tip, :] = far[:, tip] = np.inf
            chain.pop()
        elif len(chain) > 1 and nearest == chain[-2]:
            survivor, gone = min(tip, nearest), max(tip, nearest)
            far[survivor] = far[:, survivor] = np.maximum(far[survivor], far[gone])
            far[survivor, survivor] = np.inf
            far[gone, :] = far[:, gone] = np.inf
            left[gone] = False
            group[group == gone] = survivor
            del chain[-2:]
        else:
            chain.append(nearest)
    return group


# From which distance on roles are told apart: no role may differ from itself.
#
# Every role is parted twice, into even and odd cycles and into halves.  What these null pairs still
# differ by in a feature after all errors, samples of a slow counter that many cycles share for
# instance, is taken off every difference in that feature.

THRESHOLD = float(np.log2(1.5))
"""Less than a factor of 1.5 is no behaviour of its own, however sure it is."""
MAX = 1.0
"""What may be taken off at most: a role that changed half-way must not hide what others do."""
_MAX_LABELS = 3


def allowances(null: Floats) -> Floats:
    """What to take off in each feature, from differences of null pairs (pairs, roles, features)."""
    pairs = null.reshape(-1, null.shape[-1])
    taken = np.zeros(pairs.shape[1])
    has_pairs = ~np.isnan(pairs).all(axis=0)
    taken[has_pairs] = np.nanpercentile(
        pairs[:, has_pairs], GroupsLimits.share_pct, axis=0, method="higher"
    )
    return np.minimum(taken, MAX)


def threshold_reason(null: Floats, features: Sequence[Feature], labels: Sequence[str]) -> str:
    """What the threshold comes to and what the null pairs said."""
    is_compared = ~np.isnan(null).all(axis=2)
    if not is_compared.any():
        return "a factor of 1.5; no process has enough steps to be compared with itself"
    allowed = allowances(null)
    most = int(allowed.argmax())
    basis = count_noun(int(is_compared.sum()), "pairs")
    if allowed[most] > 0:
        basis += f"; {features[most].name} up to {2 ** allowed[most]:.3g} x"
    reason = f"a factor of 1.5 beyond the differences within one process ({basis})"
    # Who differs from himself by more than others may differ from each other.
    self_difference = np.fmax.reduce(np.fmax.reduce(null - allowed, axis=2), axis=0)
    unsteady = [
        label for label, far in zip(labels, self_difference, strict=True) if far >= THRESHOLD
    ]
    if unsteady:
        reason += f"; {join_names(unsteady, _MAX_LABELS)} changed during the recording"
    return reason


MAX_PARTS = 3
"""Differences in a sentence."""
_SPECK = 1e-9
"""Keeps the logarithm of nothing finite."""


class Setting(msgspec.Struct, frozen=True, eq=False):
    """All roles with what was measured of them."""

    roles: tuple[Process, ...]
    measures: Measures
    levels: Levels
    allowed: Floats
    """What parts of one role differ by, per feature (`allowances`)."""
    means: Floats
    """Plain means over the cycles, one row per role."""
    calls: Floats
    """Exact calls per cycle (`exact_calls`)."""


def differences(
    setting: Setting, base: int, second: int, threshold: float
) -> tuple[Difference, ...]:
    """Features in which two roles differ by the threshold or more, largest first."""
    levels, means, measures = setting.levels, setting.means, setting.measures
    base_levels, other = (
        Levels(levels.mean[[role]], levels.error[[role]]) for role in (base, second)
    )
    sure = sure_differences(base_levels, other, setting.allowed)[0]
    unit = other_unit(setting, base, second)
    features = measures.features
    # Times and calls of unlike units of work cannot be set against each other; the floor of a time
    # moves with the length of the cycle, so its plain ratio counts as well.
    seen = np.log2(np.maximum(means[[base, second]], _SPECK))
    plain = np.abs(seen[1] - seen[0])
    chosen = [
        int(at)
        for at in np.flatnonzero(np.nan_to_num(sure) >= threshold)
        if (not unit and plain[at] >= threshold) or features[at].kind == METRIC
    ]
    # Of two counters of one quantity the one with the longer name says more: gpu_sm_frequency.
    chosen.sort(key=lambda at: (-round(float(sure[at]), 9), -len(features[at].name), features[at]))
    entries = []
    for at in chosen:
        kind, name, place, base_unit, phase = astuple(features[at])
        what = {CYCLE: "length of the cycle", METRIC: name}.get(kind, f"{kind} of {name}")
        # What the second role calls the place, or the first where only that one has it.
        here, there = (measures.devices[role] for role in (second, base))
        device = (here if place < len(here) else there)[place]
        entries.append(
            Difference(
                what=f"{what} ({phase})" if phase else what,
                device="" if kind == CYCLE else device,
                base=float(means[base, at]),
                own=float(means[second, at]),
                unit=base_unit,
                distance=float(sure[at]),
            )
        )
    return tuple(entries)


def other_unit(setting: Setting, base: int, second: int) -> str:
    """A sentence where two roles' cycles are not the same unit of work, else nothing.

    That is so where one has prefill cycles only and the other none, and where cycles are marked by
    another call and have another number of calls in them.
    """
    texts = [_unit_text(setting, role) for role in (second, base)]
    text = f"different steps: {texts[0]}, not {texts[1]}"
    phases = [_phases(setting, role) for role in (base, second)]
    if phases[0].isdisjoint(phases[1]):
        return text
    # Calls per cycle that are the program's own work; on the device where all have some there.
    calls = np.nan_to_num(setting.means[[base, second]])
    counted = [
        (at, feature.place > 0)
        for at, feature in enumerate(setting.measures.features)
        if feature.kind == CALLS and feature.name != COLLECTIVE
    ]
    on_device = calls[:, [at for at, device in counted if device]].sum(axis=1)
    everywhere = calls[:, [at for at, _ in counted]].sum(axis=1)
    work: list[float] = (on_device if on_device.min() > 0 else everywhere).tolist()
    unlike = min(work) > 0 and max(work) / min(work) >= GroupsLimits.unlike_work
    marks = {setting.roles[role].anchor for role in (base, second)}
    return text if unlike and len(marks) > 1 else ""


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
    sort = f"{setting.measures.features[at].phase} steps".strip()
    mark = setting.roles[role].anchor or "not marked"
    return f"{count(cycles)} {sort} of {brief_ns(float(setting.means[role, at]))} ({mark})"


def sentence(setting: Setting, base: int, second: int, candidates: tuple[Difference, ...]) -> str:
    """What sets a role apart: its unit of work if that is another, then what differs most."""
    unit = other_unit(setting, base, second)
    parts = [unit] if unit else []
    if not unit and unlike_work(setting.calls[[base, second]])[0, 1]:
        many = times_the_work(setting.calls, base, second)
        parts.append(f"different amount of work: {many:.3g} times the calls per step")
    mentioned: list[Difference] = []
    for difference in candidates:
        # Two counters of one thing, as gpu_frequency and gpu_sm_frequency, or both ways of a link.
        again = any(
            (difference.unit, difference.device) == (other.unit, other.device)
            and isclose(
                difference.base,
                other.base,
                rel_tol=GroupsLimits.max_difference,
                abs_tol=GroupsLimits.max_difference,
            )
            and isclose(
                difference.own,
                other.own,
                rel_tol=GroupsLimits.max_difference,
                abs_tol=GroupsLimits.max_difference,
            )
            for other in mentioned
        )
        if len(parts) < MAX_PARTS and not again:
            mentioned.append(difference)
            place = f" on {difference.device}" if difference.device else ""
            parts.append(
                f"{difference.what}{place}: "
                f"{amounts(difference.base, difference.own, difference.unit)}"
            )
    return "; ".join(parts) or "some of its processes differ from some of the largest group"


_TIE = 1e-6
"""Weight of plain differences: they only decide between equal distances."""


@QUIETLY
def explore(roles: Sequence[Process], *, most_pairs: int = GroupsLimits.max_pairs) -> Exploration:
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
            raise UsageError(f"{role.label}: no step was recorded", "leave it out")
    measures = measure(ordered)
    logs = doublings(measures)
    arguments = logs, measures.owners, least_scatter(measures.features)
    levels = role_levels(*arguments)
    null = np.stack([sure_differences(*parts) for parts in null_levels(*arguments)])
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
    group = complete_linkage(apart, THRESHOLD)
    groups = []
    for number in np.unique(group):
        members = np.flatnonzero(group == number)
        # The member nearest to all others; the first of equals.
        from_others = apart[np.ix_(members, members)].sum(axis=1).round(12)
        groups.append((int(members[from_others.argmin()]), members))
    groups.sort(key=lambda pair: (-len(pair[1]), pair[0]))
    largest = groups[0][0]
    clusters = []
    for representative, cluster_members in groups:
        cluster_differences = differences(setting, largest, representative, THRESHOLD)
        text = (
            ""
            if representative == largest
            else sentence(setting, largest, representative, cluster_differences)
        )
        clusters.append(
            Cluster(representative, tuple(map(int, cluster_members)), text, cluster_differences)
        )
    return tuple(clusters)


def _pairs(
    roles: Sequence[Process], clusters: Sequence[Cluster], apart: Floats, most: int
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
        compare_peers(roles[clusters[place].representative], roles[other.representative])
        for *_, place, other in taken
    )
    return pairs, len(clusters) * (len(clusters) - 1) // 2 - len(pairs)


def compare_peers(base: Process, new: Process) -> Pair:
    """Two processes that stand for their groups; files have one name, whichever comes first."""
    first, second = sorted((base.label, new.label))
    return replace(
        compare_roles(base, new, "peers"),
        identifier=f"{base.label}{VERSUS}{new.label}",
        file_stem=safe(f"exploratory_compare_{first}{VERSUS}{second}"),
    )

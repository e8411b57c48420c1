"""Which of many roles behave alike, who stands for each group, and how the groups differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.clustering.apart import Setting, differences, sentence
from timesink.analyses.clustering.distances import distances, sure_differences
from timesink.analyses.clustering.exploration import Cluster, Exploration
from timesink.analyses.clustering.features import measure, role_starts
from timesink.analyses.clustering.levels import (
    doublings,
    least_scatter,
    means_of,
    null_levels,
    role_levels,
)
from timesink.analyses.clustering.linkage import linked
from timesink.analyses.clustering.threshold import THRESHOLD, allowances, threshold_reason
from timesink.analyses.clustering.work import exact_calls, unlike_work
from timesink.analyses.comparison.comparing import compare_roles
from timesink.analyses.comparison.pair import Pair
from timesink.analyses.comparison.role import Role
from timesink.analyses.statistics.moments import QUIETLY
from timesink.errors import UsageError
from timesink.model.arrays import Floats

MOST_PAIRS = 10
"""Pairs of clusters that are compared in full: all of five clusters."""
_TIE = 1e-6
"""Weight of plain differences: they only decide between equal distances."""


@QUIETLY
def explore(roles: Sequence[Role], *, most_pairs: int = MOST_PAIRS) -> Exploration:
    """Clusters of roles that behave alike, their representatives, and comparisons of these.

    The result does not depend on the order of the roles: they are sorted by label.
    """
    ordered = tuple(sorted(roles, key=_key))
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


def _key(role: Role) -> tuple[str, str, str, str]:
    return role.label, role.source, role.host or "", role.pid


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

"""How far apart the behaviour of two roles is, in doublings.

The distance of two roles is that of the feature in which they differ most, and the distance in a
feature is what is sure of the ratio of the two levels: the difference of the levels less
`CERTAINTY` times its error and less what parts of one role differ by in that feature (`threshold`),
never below zero.  So **1.0 means: in something they differ by at least
a factor of two**, beyond what their cycles scatter, and 0 that nothing can be told apart.  The
largest and not the mean, because a fault shows in few features: a clock at a fifth of its frequency
is one among fifty.  Symmetric by its making; a feature that one role does not know is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from timesink.analyses.clustering.features import (
    CALLS,
    COLLECTIVE,
    Feature,
    Levels,
    Measures,
    means_of,
    role_starts,
)
from timesink.analyses.comparison.pair import Pair, Role
from timesink.model.arrays import Flags, Floats, Ints
from timesink.model.units import counted, listed

CERTAINTY = 3.0
"""Errors that are taken off a difference."""
NOTHING_SHARED = 16.0
"""Distance of roles that have no feature in common: a factor of 65 536."""


def sure_differences(left: Levels, right: Levels, allowed: Floats | float = 0.0) -> Floats:
    """What is sure of the difference in each feature, zero where nothing is; NaN where unknown."""
    noise = CERTAINTY * np.sqrt(left.error**2 + right.error**2) + allowed
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
        noise = CERTAINTY * np.sqrt(variances[row] + variances[row + 1 :]) + allowed
        sure[row, row + 1 :] = np.fmax.reduce(apart - noise, axis=1)
        shared: Flags = ~np.isnan(apart)
        squares = np.where(shared, apart, 0.0) ** 2
        root: Floats = np.sqrt(squares.sum(axis=1) / np.maximum(shared.sum(axis=1), 1))
        plain[row, row + 1 :] = root
    sure = np.where(np.isnan(sure), NOTHING_SHARED, np.maximum(sure, 0.0))
    return sure + sure.T, plain + plain.T


# What a comparison of many roles comes to, as plain data.


@dataclass(frozen=True, slots=True)
class Difference:
    """Something in which the representative of a cluster differs from that of the largest one."""

    what: str
    """`gpu_sm_frequency`, `time of gemm`, `calls of cpu_sync`, `length of the cycle`."""
    device: str
    """`Host`, `GPU 7`; empty for the cycle as a whole."""
    base: float
    """Mean over the cycles of the largest cluster's representative."""
    own: float
    """Mean over the cycles of this cluster's representative."""
    unit: str
    """`ns` for times, empty for calls."""
    distance: float
    """What is sure of the ratio, in doublings."""


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """Roles that behave alike."""

    representative: int
    """Its most typical role, as a place in `Exploration.roles`."""
    members: tuple[int, ...]
    apart: str = ""
    """What sets it apart from the largest cluster, in a sentence; empty for the largest itself."""
    differences: tuple[Difference, ...] = ()
    """Everything that differs from the largest cluster by the threshold or more, largest first."""


@dataclass(frozen=True, slots=True, eq=False)
class Exploration:
    """Which of many roles behave alike, and how the groups differ."""

    roles: tuple[Role, ...]
    """Sorted by label, whatever the order they were given in."""
    distances: Floats
    """Symmetric, one row and column per role, in doublings (`clustering.distances`)."""
    threshold: float
    """Distance from which roles are told apart."""
    threshold_reason: str
    clusters: tuple[Cluster, ...]
    """Largest first, then by the label of the representative."""
    pairs: tuple[Pair, ...]
    """Comparisons (`peers`) of the representatives, largest distance first."""
    pairs_left_out: int = 0
    """Pairs of clusters that were not compared in full because there are too many."""


# Whether two roles do another amount of work per cycle, told by calls that are the same in each.
#
# How often a program calls its kernels in a cycle is an exact count and has no error, however few
# the
# cycles are: a model of twelve layers is not one of eight.

_SAME = 0.75
"""Share of the cycles that must have one and the same count."""
_FEWEST_CALLS = 4
"""Kinds of work that are called less say nothing about how much there is of it."""
_UNLIKE = float(np.log2(1.25))
"""Counts differ by this factor or more, as in the check of the workload of two runs."""
_MOST_KINDS = 0.75
"""Share of the kinds that must differ, all in the same direction."""


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
    usual = np.stack([_medians(part) for part in np.split(values, starts[1:])])
    alike = np.where(np.isnan(values), np.nan, values == usual[measures.owners])
    known = np.add.reduceat(~np.isnan(values), starts, axis=0, dtype=np.int64)
    exact = (means_of(alike, starts) >= _SAME) & (known > 1) & (usual >= 1)
    return np.where(exact, np.log2(np.maximum(usual, 1.0)), np.nan)


def _medians(values: Floats) -> Floats:
    """The middle one of the known values of each column, the lower of two; NaN without any."""
    ordered = np.sort(values, axis=0)
    known = (~np.isnan(values)).sum(axis=0)
    return np.asarray(ordered[np.maximum(known - 1, 0) // 2, np.arange(values.shape[1])])


def unlike_work(calls: Floats) -> Floats:
    """Which pairs of roles do another amount of work per cycle: 1 where they do, else 0."""
    unlike = np.zeros((len(calls), len(calls)))
    for row in range(len(calls)):
        counted = np.fmax(calls[row], calls) >= np.log2(_FEWEST_CALLS)
        apart = np.where(counted, calls - calls[row], np.nan)
        kinds = (~np.isnan(apart)).sum(axis=1)
        most = np.maximum((apart >= _UNLIKE).sum(axis=1), (apart <= -_UNLIKE).sum(axis=1))
        unlike[row] = (kinds > 0) & (most >= _MOST_KINDS * kinds)
    return unlike


def times_the_work(calls: Floats, base: int, own: int) -> float:
    """How many times the work of one role another does per cycle, in the middle of the kinds."""
    counted = np.fmax(calls[base], calls[own]) >= np.log2(_FEWEST_CALLS)
    return float(2 ** np.nanmedian((calls[own] - calls[base])[counted]))


# Groups in which every two members are near each other (complete linkage).


def linked(apart: Floats, threshold: float) -> Ints:
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
        nearest = _nearest(far[tip], chain[-2] if len(chain) > 1 else None)
        if far[tip, nearest] >= threshold:
            # Nobody is near the end of the chain any more: it is whole, and nothing changes for it.
            left[tip] = False
            far[tip, :] = far[:, tip] = np.inf
            chain.pop()
        elif len(chain) > 1 and nearest == chain[-2]:
            kept, gone = min(tip, nearest), max(tip, nearest)
            far[kept] = far[:, kept] = np.maximum(far[kept], far[gone])
            far[kept, kept] = np.inf
            far[gone, :] = far[:, gone] = np.inf
            left[gone] = False
            group[group == gone] = kept
            del chain[-2:]
        else:
            chain.append(nearest)
    return group


def _nearest(row: Floats, before: int | None) -> int:
    """The nearest one; of equals the one the chain came from, so that it comes to an end."""
    nearest = int(row.argmin())
    return before if before is not None and row[before] <= row[nearest] else nearest


# From which distance on roles are told apart: no role may differ from itself.
#
# Every role is parted twice, into even and odd cycles and into halves.  What these null pairs
# still
# differ by in a feature after all errors, samples of a slow counter that many cycles share for
# instance, is taken off every difference in that feature.

THRESHOLD = float(np.log2(1.5))
"""Less than a factor of 1.5 is no behaviour of its own, however sure it is."""
MOST = 1.0
"""What may be taken off at most: a role that changed half-way must not hide what others do."""
_SHARE_PCT = 99.0
"""Share of the null pairs that must stay together."""
_SHOWN = 3


def allowances(null: Floats) -> Floats:
    """What to take off in each feature, from differences of null pairs (pairs, roles, features)."""
    pairs = null.reshape(-1, null.shape[-1])
    taken = np.zeros(pairs.shape[1])
    known = ~np.isnan(pairs).all(axis=0)
    taken[known] = np.nanpercentile(pairs[:, known], _SHARE_PCT, axis=0, method="higher")
    return np.minimum(taken, MOST)


def threshold_reason(null: Floats, features: Sequence[Feature], labels: Sequence[str]) -> str:
    """What the threshold comes to and what the null pairs said."""
    known = ~np.isnan(null).all(axis=2)
    if not known.any():
        return "a factor of 1.5; no role has enough cycles to be compared with itself"
    allowed = allowances(null)
    most = int(allowed.argmax())
    found = counted(int(known.sum()), "pairs")
    if allowed[most] > 0:
        found += f"; {features[most].name} up to {2 ** allowed[most]:.3g} x"
    reason = f"a factor of 1.5 more than parts of one role differ by ({found})"
    unsteady = _unsteady(null - allowed, labels)
    return f"{reason}; {unsteady}" if unsteady else reason


def _unsteady(left: Floats, labels: Sequence[str]) -> str:
    """Who differs from himself by more than others may differ from each other."""
    most = np.fmax.reduce(np.fmax.reduce(left, axis=2), axis=0)
    names = [label for label, own in zip(labels, most, strict=True) if own >= THRESHOLD]
    if not names:
        return ""
    return f"{listed(names, _SHOWN)} changed during the recording"

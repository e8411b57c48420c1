"""Whether levels of counters differ by more than noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from timesink.analyses.diagnosis.anomalies.readings import Reading
from timesink.analyses.statistics.discovery import false_discovery
from timesink.analyses.statistics.drifting import mean_changes
from timesink.analyses.statistics.moments import QUIETLY, Floats
from timesink.analyses.statistics.student import two_sided_p

_SIDES = ("base", "new")
_ENOUGH = 3
"""Values whose spread can be held against a single one."""
_FLOOR = 0.01
"""Part of its level by which a counter differs from one run to the next anyway."""
_STEADY = 0.02
"""Part of its level by which a counter with a level of its own strays at most ..."""
_MOSTLY = 0.8
"""... in this part of the cycles at least."""
_FEWEST_STEADY = 5
_OFTEN = 0.25
"""Part of the cycles in which such a counter is elsewhere, where that is no accident."""
_HAVE_A_LEVEL = "ratio"
"""Scale of counters that stay where they are set, as clocks do, whatever the load."""


def chances(found: Sequence[Reading]) -> Floats:
    """p-value of each counter: cycles share few samples, so levels count and not cycles.

    NaN where a side has no value, or none of them more than one.
    """
    p = np.full(len(found), np.nan)
    alike: dict[tuple[int, int], list[int]] = {}
    for place, one in enumerate(found):
        alike.setdefault((len(one.base), len(one.new)), []).append(place)
    for places in alike.values():
        sides = [np.column_stack([getattr(found[n], side) for n in places]) for side in _SIDES]
        p[places] = _chances(*sides)
    return p


def harmful_chances(found: Sequence[Reading], grounds: Sequence[float]) -> Floats:
    """p-value of each counter, as far as it moved in the direction that hurts.

    `grounds` are added to both sides: what is little beside them is no difference.
    """
    lifted = [
        replace(one, base=one.base + ground, new=one.new + ground)
        for one, ground in zip(found, grounds, strict=True)
    ]
    both = chances(lifted)
    hurts = np.array([_hurts(one) for one in found], dtype=bool)
    p = np.where(hurts, both / 2, 1 - both / 2)
    unsteady = np.array([_chance_of_unsteady(one) for one in found])
    return np.where(np.isnan(p), p, np.minimum(p, unsteady))


def _hurts(one: Reading) -> bool:
    return one.rise < 0 if one.resource.harm == "down" else one.rise > 0


def _chance_of_unsteady(one: Reading) -> float:
    """p-value of a level that never moved in BASE and comes and goes in NEW; 1 for any other.

    What it does in NEW is no measure of how far it strays by itself.
    """
    if one.resource.scale != _HAVE_A_LEVEL or len(one.base) < _FEWEST_STEADY:
        return 1.0
    level = float(np.median(one.base))
    near = np.abs(one.base - level) <= _STEADY * level
    if level <= 0 or near.mean() < _MOSTLY or not _has_left(one, level):
        return 1.0
    calm = one.base[near]
    spread = float(np.hypot(calm.std(ddof=1), _FLOOR * level))
    error = spread * np.sqrt(1 / len(calm) + 1 / len(one.new))
    apart = np.array([(one.new_mean - level) / error])
    return float(two_sided_p(apart, np.array([len(calm) - 1.0]))[0]) / 2


def _has_left(one: Reading, level: float) -> bool:
    """Whether a level is left in the direction that hurts, by enough to matter, in many cycles."""
    sign = -1.0 if one.resource.harm == "down" else 1.0
    gone = int((sign * (one.new - level) > one.resource.floor * level).sum())
    return gone >= max(_ENOUGH, _OFTEN * len(one.new))


def corrected(p: Floats) -> Floats:
    """p-values for as many counters as were tested; 1 for those that could not be."""
    return np.asarray(np.nan_to_num(false_discovery(p), nan=1.0))


def chance(base: Floats, new: Floats) -> float:
    """How probable a difference as large would be without a reason.

    >>> steady = np.full(8, 1980.0)
    >>> chance(steady, steady), chance(steady, np.full(8, 345.0)) < 0.001
    (1.0, True)
    """
    return float(_chances(base[:, None], new[:, None])[0])


@QUIETLY
def _chances(base: Floats, new: Floats) -> Floats:
    """p-values of many counters that have as many values each; columns are counters."""
    fewer, more = sorted((len(base), len(new)))
    if fewer >= 2:
        # A counter that rises a thousandfold may do so in steps, which neighbouring cycles share.
        return mean_changes(base, new, floor=_FLOOR, neighbours=False).p
    if fewer == 1 and more >= _ENOUGH:
        return _chances_of_one(*sorted((base, new), key=len))
    return np.full(base.shape[1], np.nan)


def _chances_of_one(one: Floats, several: Floats) -> Floats:
    """Single values against the spread of the others."""
    level = several.mean(axis=0)
    spread = np.hypot(several.std(axis=0, ddof=1), _FLOOR * level)
    error = spread * np.sqrt(1 + 1 / len(several))
    apart = one[0] - level
    freedom = np.full(len(level), len(several) - 1.0)
    return np.where(apart == 0, 1.0, two_sided_p(apart / error, freedom))

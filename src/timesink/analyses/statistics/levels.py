"""Levels that measurements stay at for a while, and how they begin."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np

from timesink.analyses.statistics.means import NORMAL, QUIETLY, two_sided_p
from timesink.model.arrays import Flags, Floats

_LEAST_NOISE = 0.005
"""Part of the median that is noise, however alike neighbours are."""
_CRITICAL = 4.0
"""Standard errors between two levels; the largest of all places to cut is far out by chance."""
_SHORTEST = 2
"""Measurements of a level: one alone is an outlier."""
_WARM = 1.2
"""Measurements of a warm-up are this many times as large as later ones ..."""
_OFTEN = 0.9
"""... of which nine in ten are smaller than this one ..."""
_FAR = 5.0
"""... and this many spreads away from what is usual later."""
_MOST_WARM = 0.2
"""What lasts longer than this part of a run is a level of its own."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Measurements beside each other that are at one level: from `start` up to `end`."""

    start: int
    end: int
    level: float
    """Their mean."""

    @property
    def length(self) -> int:
        """How many they are."""
        return self.end - self.start


def segments(values: Floats) -> list[Segment]:
    """The levels measurements go through, in order; one where they stay at it.

    Cut in two where the levels on both sides are farthest apart, in units of the noise between
    neighbours, and again, as long as they are apart.
    """
    ends = [0, *sorted(_cuts(values, _noise(values))), len(values)]
    return [
        Segment(start, end, float(values[start:end].mean()))
        for start, end in pairwise(ends)
        if end > start
    ]


def _noise(values: Floats) -> float:
    """Standard deviation of the noise, from steps between neighbours: few of them change level."""
    if len(values) < 2:
        return 0.0
    steps = NORMAL * float(np.median(np.abs(np.diff(values)))) / sqrt(2)
    return max(steps, _LEAST_NOISE * abs(float(np.median(values))))


def _cuts(values: Floats, noise: float) -> list[int]:
    """Where levels begin but the first, in no order."""
    found, open_stretches = [], [(0, len(values))]
    while open_stretches:
        start, end = open_stretches.pop()
        cut = _best_cut(values[start:end], noise)
        if cut:
            found.append(start + cut)
            open_stretches += [(start, start + cut), (start + cut, end)]
    return found


def _best_cut(values: Floats, noise: float) -> int:
    """Where levels are farthest apart; 0 where they are not apart."""
    number = len(values)
    if number < 2 * _SHORTEST or not noise:
        return 0
    before = np.arange(_SHORTEST, number - _SHORTEST + 1)
    after = number - before
    sums = np.cumsum(values)
    gap = np.abs(sums[before - 1] / before - (sums[-1] - sums[before - 1]) / after)
    apart = gap / np.sqrt(1 / before + 1 / after)
    best = int(np.argmax(apart))
    return int(before[best]) if apart[best] > _CRITICAL * noise else 0


def regime_p(values: Floats, is_new: Flags) -> float | None:
    """Chance that levels of one run, each counted once, are as far apart on two parts of it.

    `values` are in the order they were measured, whichever part they belong to.  Where a level
    begins is no choice of the parts: two levels, one in each half, are two measurements and tell
    nothing.  None where all values are at one level.
    """
    found = segments(values)
    if len(found) < 2:
        return None
    levels = np.array([one.level for one in found])
    weights = np.array([one.length for one in found]) / len(values)
    parts = [_shares(found, side) for side in (is_new, ~is_new)]
    change = abs(float((levels * (parts[0] - parts[1])).sum()))
    spread = float((weights * (levels - (weights * levels).sum()) ** 2).sum())
    variance = spread / (1 - float((weights**2).sum()))
    error = np.sqrt(variance * sum(float((part**2).sum()) for part in parts))
    freedom = np.array([len(found) - 1.0])
    return float(two_sided_p(np.array([change / error]), freedom)[0]) if error else 1.0


def _shares(found: list[Segment], side: Flags) -> Floats:
    """Which part of one side is at each level."""
    counts = np.array([side[one.start : one.end].sum() for one in found], dtype=np.float64)
    return np.asarray(counts / max(1.0, float(counts.sum())))


def warm_up(values: Floats) -> int:
    """How many of the first measurements are a warm-up, each larger than what is usual later."""
    most = int(_MOST_WARM * len(values))
    if not most:
        return 0
    later = values[most:]
    usual = float(np.median(later))
    spread = NORMAL * float(np.median(np.abs(later - usual)))
    # What happens again and again later on is no warm-up either.
    often = float(np.quantile(later, _OFTEN))
    is_usual = values <= max(_WARM * often, usual + _FAR * spread)
    first = int(np.argmax(is_usual))
    return first if first <= most else 0


# Whether two sets of measurements lie so far apart that no wandering of their levels explains it.
#
# What a few measurements that resemble their neighbours tell about the error of their mean is so
# little that any change may seem to be noise, an eightfold one with half the cycles at one level
# and
# half at another.  The measurements themselves bound how far levels wander: where even the
# nearest
# two of both sides are farther apart than both sides span together, that is a change.
#
# Of 4000 pairs of made-up runs without one this many percent are apart, by measurements of each
# run
# and the correlation of neighbours; most of them have p < 0.05 anyway:
#
# correlation     8     12     30
# 0.6       0.0    0.0    0.0
# 0.9       0.8    0.1    0.0
# 0.97     11.7    4.2    0.1

ENOUGH = 8
"""Measurements a side needs: fewer do not show how far they wander."""


@QUIETLY
def apart(base: Floats, new: Floats, least: Floats) -> tuple[np.ndarray, Floats, Floats]:
    """Per column: whether sides are apart, and the change between the nearest and farthest two.

    Noise grows with what is measured, so positive columns are judged by ratios.  The nearest two
    must differ by `least` as well.
    """
    lows, highs = ([end(side, axis=0) for side in (base, new)] for end in (np.min, np.max))
    rises = np.asarray(lows[1] > highs[0])
    near = np.where(rises, lows[1] - highs[0], highs[1] - lows[0])
    far = np.where(rises, highs[1] - lows[0], lows[1] - highs[0])
    is_ratio = np.minimum(*lows) > 0
    ends = [np.where(is_ratio, np.log(each), each) for each in (*lows, *highs)]
    gap = np.maximum(ends[1] - ends[2], ends[0] - ends[3])
    spans = (ends[2] - ends[0]) + (ends[3] - ends[1])
    enough = min(len(base), len(new)) >= ENOUGH
    return enough & (gap > spans) & (np.abs(near) > least), near, far

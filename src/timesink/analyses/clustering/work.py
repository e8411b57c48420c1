"""Whether two roles do another amount of work per cycle, told by calls that are the same in each.

How often a program calls its kernels in a cycle is an exact count and has no error, however few the
cycles are: a model of twelve layers is not one of eight.
"""

from __future__ import annotations

import numpy as np

from timesink.analyses.clustering.features import CALLS, COLLECTIVE, Measures, role_starts
from timesink.analyses.clustering.levels import means_of
from timesink.model.arrays import Floats

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

"""Ways to cut a kernel sequence: where kernels come evenly, and every so many places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timesink.analyses.cycles.kernels.pattern import Pattern, pattern
from timesink.analyses.cycles.kernels.spectrum import best_lags
from timesink.analyses.cycles.reading import MIN_REPEATS
from timesink.model.arrays import Floats, Ints

LIKE_ITSELF = 0.5
"""A lag after which this share of the symbols is met again may be the period."""
_ROWS = (1, 2, 4, 8)
"""Kernels in a row that may mark a cycle together."""
_UNEVEN = 0.6
"""Marks whose distances spread more than this, relative to their mean, are not tried."""


@dataclass(frozen=True, eq=False)
class Cut:
    """One way to cut a sequence, and where it comes from."""

    found: Pattern
    row: int
    """Kernels in a row that mark a cut; 0 where cuts are a fixed lag apart."""


def possible_cuts(symbol: Ints, weight: Floats, likeness: Floats) -> list[Cut]:
    """Every way to cut that is worth a look; `weight` by symbol, `likeness` by lag."""
    # Cut every so many places, as the spectrum says; from the first place that keeps to it.
    cuts: list[Cut] = []
    for lag in best_lags(likeness, LIKE_ITSELF):
        agrees = symbol[:-lag] == symbol[lag:]
        settled = np.flatnonzero(~agrees)
        calm = settled[settled < len(symbol) // 4]
        first = int(calm[-1]) + 1 if len(calm) else 0
        places = np.arange(first, len(symbol) + 1, lag)
        if len(places) > MIN_REPEATS:
            cuts.append(Cut(pattern(symbol, weight, places), 0))
    return [*_by_marks(symbol, weight), *cuts]


def _by_marks(symbol: Ints, weight: Floats) -> list[Cut]:
    """Cut where a kernel, or a few in a row, come: one try per number of times and distance."""
    tried: set[tuple[int, int, int]] = set()
    cuts: list[Cut] = []
    for row in _ROWS:
        code = _in_a_row(symbol, row)
        counts = np.bincount(code)
        order = np.argsort(code, kind="stable")
        ends = np.cumsum(counts)
        for mark in np.flatnonzero((counts >= MIN_REPEATS) & (counts <= len(symbol) // 2)):
            places = order[ends[mark] - counts[mark] : ends[mark]]
            apart = np.diff(places)
            key = (len(places), int(places[0]), int(places[-1]))
            if key in tried or apart.std() > _UNEVEN * apart.mean():
                continue
            tried.add(key)
            cuts.append(Cut(pattern(symbol, weight, places), row))
    return cuts


def _in_a_row(symbol: Ints, row: int) -> Ints:
    """A number for each place that stands for the symbols from there on."""
    code = symbol
    for step in range(row.bit_length() - 1):
        ahead = 1 << step
        if len(code) <= ahead:
            return code[:0]
        pair = code[:-ahead] * (int(code.max()) + 1) + code[ahead:]
        code = np.unique(pair, return_inverse=True)[1]
    return code

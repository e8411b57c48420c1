"""Cycles of a few kinds in no fixed order, as a server's prefills and decodes are.

Such a sequence has no period.  But cut at the right kernel, nearly every part is the same as some
other part, kernel for kernel, and there are only a few different ones.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from timesink.model.arrays import Ints

FEWEST_PARTS, MOST_KINDS = 6, 4
NEARLY_ALL = 0.9
"""Share of the parts that must be like another one."""
_SEED = 20240229


def kinds_of_parts(symbol: Ints, cuts: Ints) -> Ints:
    """A number for each part between cuts; parts with the same symbols, as often, share it."""
    size = int(symbol.max()) + 1
    marks = np.random.default_rng(_SEED).integers(1, 2**62, size=size, dtype=np.int64)
    with np.errstate(over="ignore"):
        sums = np.add.reduceat(marks[symbol], cuts[:-1]) if len(cuts) > 1 else marks[:0]
        if len(cuts) > 1 and cuts[-1] < len(symbol):
            sums[-1] = marks[symbol[cuts[-2] : cuts[-1]]].sum()
    _, first, kind = np.unique(sums, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[kind]


def is_mixture(symbol: Ints, cuts: Ints, kinds: Ints) -> bool:
    """Whether a few kinds make up nearly all parts, each of them seen more than once.

    A kind with all the symbols of another and more is that other with something behind it, such
    as a layer and what comes after the last one: such parts are no whole cycles.
    """
    counts = np.bincount(kinds)
    shared = np.flatnonzero(counts > 1)
    if (
        len(kinds) < FEWEST_PARTS
        or not 1 < len(shared) <= MOST_KINDS
        or int(counts[shared].sum()) < NEARLY_ALL * len(kinds)
    ):
        return False
    parts = [int(np.argmax(kinds == kind)) for kind in shared.tolist()]
    held = [frozenset(symbol[cuts[part] : cuts[part + 1]].tolist()) for part in parts]
    return not any(one <= other for one, other in permutations(held, 2))

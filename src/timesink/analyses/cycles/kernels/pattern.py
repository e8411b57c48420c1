"""Whether a sequence, cut at given places, repeats: symbols as often, and in the same order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timesink.analyses.kernel_join.alignment import common_lengths
from timesink.model.arrays import Flags, Floats, Ints

_LONGEST_PART = 4_000
_WEIGHT_OF_TIME = 0.5
"""Half of a symbol's weight is its share of the time, half is that it is one symbol of many."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """How a sequence repeats between cuts."""

    cuts: Ints
    sameness: float
    """0 to 1: how equally often symbols come in neighbouring parts, by their weight."""
    order: float
    """0 to 1: how many pairs of successive symbols neighbouring parts share."""
    regular: Flags
    """For each symbol: whether it comes, about as often, in nearly every part."""
    coverage: float
    """Share of the sequence between the first and the last cut."""

    @property
    def parts(self) -> int:
        return len(self.cuts) - 1

    @property
    def score(self) -> float:
        return self.sameness * self.order * self.coverage


def pattern(symbol: Ints, weight: Floats, cuts: Ints) -> Pattern:
    """Compare each part of a sequence with the next; `weight` is one number per symbol."""
    inside = symbol[cuts[0] : cuts[-1]]
    part = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    alike = _alike(inside, part, len(weight), len(cuts) - 1)
    present = np.bincount(inside, minlength=len(weight)) > 0
    known = weight * present
    sameness = float((alike * known).sum() / max(known.sum(), 1e-12))
    order = _order(inside, part, len(weight))
    coverage = len(inside) / max(len(symbol), 1)
    return Pattern(cuts, sameness, order, alike >= 0.8, coverage)


def symbol_weights(symbol: Ints, length: Ints) -> Floats:
    """Weights that add up to 1; rare symbols count, and so do those that take time."""
    size = int(symbol.max()) + 1
    counts = np.bincount(symbol, minlength=size)
    time = np.bincount(symbol, weights=length, minlength=size)
    each = (counts > 0) / max(int((counts > 0).sum()), 1)
    share = time / max(float(time.sum()), 1.0)
    return _WEIGHT_OF_TIME * share + (1 - _WEIGHT_OF_TIME) * each


def _alike(symbol: Ints, part: Ints, size: int, parts: int) -> Floats:
    """For each symbol: how equally often it comes in neighbouring parts, on average."""
    key, count = np.unique(part * size + symbol, return_counts=True)
    follows = np.minimum(np.searchsorted(key, key + size), len(key) - 1)
    both = key[follows] == key + size
    fewer, more = np.minimum(count, count[follows]), np.maximum(count, count[follows])
    alike = np.bincount((key % size)[both], weights=(fewer / more)[both], minlength=size)
    return alike / max(parts - 1, 1)


def _order(symbol: Ints, part: Ints, size: int) -> float:
    """Pairs of successive symbols that neighbouring parts have in common."""
    together = part[:-1] == part[1:]
    pairs, inside = (symbol[:-1] * size + symbol[1:])[together], part[:-1][together]
    if not len(pairs):
        return 0.0
    _, pair = np.unique(pairs, return_inverse=True)
    width = int(pair.max()) + 1
    key, count = np.unique(inside * width + pair, return_counts=True)
    follows = np.minimum(np.searchsorted(key, key + width), len(key) - 1)
    shared = np.where(key[follows] == key + width, np.minimum(count, count[follows]), 0).sum()
    sizes = np.bincount(inside)
    possible = np.maximum(sizes[:-1], sizes[1:]).sum()
    return float(shared / possible) if possible else 0.0


# -- the order, place by place ---------------------------------------------------------------------


def in_order(symbol: Ints, cuts: Ints, compared: int = 8) -> float:
    """The longest run of symbols, with gaps, that neighbouring parts share; a share of the longer.

    Chance gives 0.8 for two symbols and less for more; a loop gives nearly 1.  A few pairs of
    neighbours are compared, all over the sequence.
    """
    pairs = np.unique(np.linspace(0, len(cuts) - 3, compared).round().astype(int))
    shares = []
    for pair in pairs.tolist():
        one = symbol[cuts[pair] : cuts[pair + 1]][:_LONGEST_PART]
        other = symbol[cuts[pair + 1] : cuts[pair + 2]][:_LONGEST_PART]
        shares.append(common_lengths(one, other)[-1] / max(len(one), len(other), 1))
    return float(np.mean(shares)) if shares else 0.0

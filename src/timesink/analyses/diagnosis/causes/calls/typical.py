"""How much slower everything became alike, and what became slower than that.

A host on which all calls take half as long again has no place that is to blame.  What is to blame
grew by more than its neighbours, and in nearly every cycle: a level that wanders during a run, a
slower machine or a busier device move all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timesink.analyses.statistics.moments import QUIETLY, Floats, Integers

_MOST_WEIGHT = 0.1
"""No function has more than this part of the say, so that a large one does not judge itself."""
_NEARLY_ALWAYS = 0.8
CLEARLY = 0.25
"""Part by which something is slower than all else before it stands out."""
_PART_OF_MEAN = 0.25
"""Part of the usual excess that a cycle must have to count as one that has it."""
_USUAL = 0.9
"""Quantile of the base's own scatter that counts as usual."""


@dataclass(frozen=True, slots=True, eq=False)
class Excess:
    """What each column has beyond its share of the common slowdown."""

    base: Floats
    """Per cycle and column; scatters around zero."""
    new: Floats
    stands_out: np.ndarray
    """Which columns have clearly more than that, in nearly every cycle."""
    slowdown: Floats
    """Factor by which the others of each column grew; what shrank with them is no excess."""


@QUIETLY
def excess(
    base: Floats, new: Floats, comparable: np.ndarray, owner: Integers | None = None
) -> Excess:
    """What each column took beyond what the slowdown of the others lets expect.

    `comparable` are the columns that tell the slowdown: what runs equally often on both sides, and
    works rather than waits.  Columns of one `owner` are of one thing, and do not judge each other.

    >>> base = np.array([[10.0, 20, 5], [11, 22, 5.5], [10, 20, 5]])
    >>> new = base * 2 + np.array([0, 0, 30])
    >>> excess(base, new, np.array([True, True, True])).stands_out.tolist()
    [False, False, True]
    """
    typical = np.median(base, axis=0) if len(base) else np.zeros(base.shape[1])
    speeds = [_speeds(side, typical, comparable) for side in (base, new)]
    means = [_means(side) for side in (base, new)]
    owners = np.arange(len(typical)) if owner is None else owner
    others = _without_each(means[0], means[1], comparable, owners)
    usual = base - speeds[0][:, None] * means[0]
    # The mean of the others counts too: pauses that hit at random miss short functions, and then
    # the typical function is not slower while a long one always is.
    factor = np.maximum(speeds[1][:, None], others)
    # What only did not get faster as all others did is not to blame for anything.
    at_least = np.maximum(factor, 1.0)
    beyond = new - at_least * means[0]
    expected = _means(at_least) * means[0]
    return Excess(usual, beyond, _stands_out(usual, beyond, expected), _means(factor))


@QUIETLY
def slowdown(base: Floats, new: Floats, comparable: np.ndarray) -> float:
    """Factor by which the usual column grew, of those that are comparable; 1 where there is none.

    >>> slowdown(np.array([[1.0, 2.0, 9.0]]), np.array([[2.0, 4.0, 9.0]]), np.array([True] * 3))
    2.0
    """
    before, after = _means(base), _means(new)
    return float(_middle(after[None, :], before, comparable & (before > 0))[0])


def _speeds(side: Floats, typical: Floats, comparable: np.ndarray) -> Floats:
    """How slow each cycle is: weighted median over functions of their time against the usual."""
    return _middle(side, typical, comparable & (typical > 0))


def _middle(side: Floats, typical: Floats, told: np.ndarray) -> Floats:
    if not told.any():
        return np.ones(len(side))
    weights = np.minimum(typical[told], _MOST_WEIGHT * typical[told].sum())
    ratios = side[:, told] / typical[told]
    order = np.argsort(ratios, axis=1)
    reached = np.cumsum(weights[order], axis=1) >= weights.sum() / 2
    middle = np.take_along_axis(order, reached.argmax(axis=1)[:, None], axis=1)
    return np.take_along_axis(ratios, middle, axis=1)[:, 0]


def _without_each(base: Floats, new: Floats, comparable: np.ndarray, owner: Integers) -> Floats:
    """Growth of all comparable functions together but that of the owner that is judged."""
    before, after = (
        np.bincount(owner, np.where(comparable, side, 0.0))[owner] if len(owner) else side
        for side in (base, new)
    )
    others = base[comparable].sum() - before
    growth = (new[comparable].sum() - after) / np.where(others > 0, others, 1.0)
    return np.where(others > 0, growth, 1.0)


def _stands_out(usual: Floats, beyond: Floats, expected: Floats) -> np.ndarray:
    if not len(beyond) or not len(usual):
        return np.zeros(len(expected), dtype=bool)
    scatter = np.quantile(usual, _USUAL, axis=0)
    mean = _means(beyond)
    # Pauses at random are long in few cycles and next to nothing in the others.
    often = (beyond > np.maximum(scatter, _PART_OF_MEAN * mean)).mean(axis=0) >= _NEARLY_ALWAYS
    return np.asarray(often & (mean > 0) & (mean >= CLEARLY * expected))


def _means(values: Floats) -> Floats:
    return np.asarray(values.mean(axis=0) if len(values) else np.zeros(values.shape[1]))

"""How much slower everything became alike, and what became slower than that.

A host on which all calls take half as long again has no place that is to blame.  What is to blame
grew by more than its neighbours, and in nearly every cycle: a level that wanders during a run, a
slower machine or a busier device move all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timesink.analyses.statistics.means import QUIETLY
from timesink.model.arrays import Floats, Ints
from timesink.rules.case_functions import CaseFunctions, column_means, on_host, waits

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
class PaceExcess:
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
    base: Floats, new: Floats, comparable: np.ndarray, owner: Ints | None = None
) -> PaceExcess:
    """What each column took beyond what the slowdown of the others lets expect.

    `comparable` are the columns that tell the slowdown: what runs equally often on both sides, and
    works rather than waits.  Columns of one `owner` are of one thing, and do not judge each other.
    """
    typical = np.median(base, axis=0) if len(base) else np.zeros(base.shape[1])
    speeds = [_middle(side, typical, comparable) for side in (base, new)]
    means = [column_means(side) for side in (base, new)]
    owners = np.arange(len(typical)) if owner is None else owner
    others = _without_each(means[0], means[1], comparable, owners)
    usual = base - speeds[0][:, None] * means[0]
    # The mean of the others counts too: pauses that hit at random miss short functions, and then
    # the typical function is not slower while a long one always is.
    factor = np.maximum(speeds[1][:, None], others)
    # What only did not get faster as all others did is not to blame for anything.
    at_least = np.maximum(factor, 1.0)
    beyond = new - at_least * means[0]
    expected = column_means(at_least) * means[0]
    return PaceExcess(usual, beyond, _stands_out(usual, beyond, expected), column_means(factor))


@QUIETLY
def slowdown(base: Floats, new: Floats, comparable: np.ndarray) -> float:
    """Factor by which the usual column grew, of comparable ones; 1 where there is none."""
    before, after = column_means(base), column_means(new)
    return float(_middle(after[None, :], before, comparable)[0])


def _middle(side: Floats, typical: Floats, comparable: np.ndarray) -> Floats:
    """How slow each cycle is: weighted median over columns of their time against the typical."""
    told = comparable & (typical > 0)
    if not told.any():
        return np.ones(len(side))
    weights = np.minimum(typical[told], _MOST_WEIGHT * typical[told].sum())
    ratios = side[:, told] / typical[told]
    order = np.argsort(ratios, axis=1)
    reached = np.cumsum(weights[order], axis=1) >= weights.sum() / 2
    middle = np.take_along_axis(order, reached.argmax(axis=1)[:, None], axis=1)
    return np.take_along_axis(ratios, middle, axis=1)[:, 0]


def _without_each(base: Floats, new: Floats, comparable: np.ndarray, owner: Ints) -> Floats:
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
    mean = column_means(beyond)
    # Pauses at random are long in few cycles and next to nothing in the others.
    often = (beyond > np.maximum(scatter, _PART_OF_MEAN * mean)).mean(axis=0) >= _NEARLY_ALWAYS
    return np.asarray(often & (mean > 0) & (mean >= CLEARLY * expected))


# -- what more or fewer calls add ------------------------------------------------------------------


@QUIETLY
def added_calls(functions: CaseFunctions, which: np.ndarray) -> Floats:
    """What each of the functions gained by more calls, or lost by fewer; mean per cycle.

    That calls take longer now is no part of it, and nor is what one of many calls takes that was
    there before: of the pace of a function itself and that of the others, the one counts by which
    less was added.  Calls that wait have no pace.
    """
    base, new = functions.base[:, which], functions.new[:, which]
    often = [side[which] for side in functions.calls]
    before, after = (column_means(side) for side in (base, new))
    both = (before > 0) & (after > 0) & (often[0] > 0) & (often[1] > 0)
    same_calls = new * np.where(both, often[0] / np.where(often[1] > 0, often[1], 1.0), 1.0)
    own = np.where(both, column_means(same_calls) / np.where(before > 0, before, 1.0), 1.0)
    own[functions.where(waits())[which]] = 1.0
    common = _common_pace(functions, which, (base, same_calls), both)
    grown = after / np.where(before > 0, before, 1.0)
    pace = np.where(
        often[1] >= often[0],
        np.minimum(np.maximum(own, common), grown),
        np.maximum(np.minimum(own, common), grown),
    )
    return np.asarray(after - np.where(both, pace, 1.0) * before)


def added_in_cycles(
    functions: CaseFunctions, which: np.ndarray, added: Floats
) -> tuple[Floats, Floats]:
    """The same of all of them in each cycle of both sides: where the calls are that are more.

    How the pace of a host wanders tells nothing about how many calls there are.
    """
    sides = []
    for times, sign in ((functions.base[:, which], -1.0), (functions.new[:, which], 1.0)):
        mean = column_means(times)
        share = np.where(mean > 0, np.maximum(sign * added, 0.0) / np.where(mean > 0, mean, 1.0), 0)
        sides.append(times @ share)
    return sides[0], sides[1]


def _common_pace(
    functions: CaseFunctions, which: np.ndarray, sides: tuple[Floats, Floats], told: np.ndarray
) -> Floats:
    """Pace of calls of the host, and of those of the device; of those that wait 1."""
    waiting, on_the_host = (functions.where(sort)[which] for sort in (waits(), on_host()))
    pace = np.ones(len(told))
    for place in (on_the_host & ~waiting, ~on_the_host):
        pace[place] = slowdown(*sides, told & place)
    return pace

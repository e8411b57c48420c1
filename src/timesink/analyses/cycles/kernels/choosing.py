"""Which way to cut a kernel sequence is the right one."""

from __future__ import annotations

import numpy as np

from timesink.analyses.cycles.kernels.cuts import Cut
from timesink.analyses.cycles.kernels.pattern import Pattern, in_order
from timesink.analyses.cycles.kernels.sequence import KernelSequence
from timesink.model.arrays import Floats, Ints

HOLDS, COVERS = 0.75, 0.5
"""A pattern that holds less well, or for less of the sequence, is not one."""
IN_ORDER = 0.87
"""Share of the kernels of a cycle that come in the same order in the next; chance gives 0.8."""
_NEARLY = 0.9
"""A way to cut whose score is this share of another's is about as good."""
_EXTRA_SYMBOLS, _EXTRA_TIME = 2, 0.005
"""Kinds of kernels, or share of the time, that a longer period must account for to be taken."""
_WASTE = 0.2
"""Cycles that leave out more than this share of one at the beginning are begun elsewhere."""


def that_hold(cuts: list[Cut], symbol: Ints) -> list[Cut]:
    """Ways to cut under which the sequence repeats, kernel by kernel and in order."""
    return _in_order([cut for cut in cuts if _repeats(cut.found)], symbol)


def right_cut(sequence: KernelSequence, holding: list[Cut], time: Floats) -> Cut:
    """The right period, begun at the right place; `time` is each symbol's share."""
    chosen = _widest_needed(holding, time)
    return best_phase(sequence, [cut for cut in holding if _same_period(cut, chosen)])


def _repeats(found: Pattern) -> bool:
    return found.sameness * found.order >= HOLDS and found.coverage >= COVERS


def _in_order(cuts: list[Cut], symbol: Ints) -> list[Cut]:
    """Those whose parts follow the same order, place by place; looked at once per period."""
    order: dict[int, float] = {}
    for cut in sorted(cuts, key=lambda cut: -cut.found.score):
        if cut.found.parts not in order:
            order[cut.found.parts] = in_order(symbol, cut.found.cuts)
    return [cut for cut in cuts if order[cut.found.parts] >= IN_ORDER]


def _widest_needed(cuts: list[Cut], time: Floats) -> Cut:
    """The shortest period, unless a longer one accounts for more kinds of kernels.

    Layers repeat inside of a step, but embedding, sampling and copies come once per step only.
    """
    best = max(cut.found.score for cut in cuts)
    good = [cut for cut in cuts if cut.found.score >= _NEARLY * best]
    good.sort(key=lambda cut: (-cut.found.parts, -cut.found.score))
    chosen = good[0]
    for cut in good[1:]:
        extra = cut.found.regular & ~chosen.found.regular
        lost = chosen.found.regular & ~cut.found.regular
        gained = int(extra.sum()) - int(lost.sum())
        more = gained >= _EXTRA_SYMBOLS or time[extra].sum() - time[lost].sum() >= _EXTRA_TIME
        if more and gained >= 0:
            chosen = cut
    return chosen


def _same_period(one: Cut, other: Cut) -> bool:
    return abs(one.found.parts - other.found.parts) <= 1 and _nearly_as_good(one, other)


def _nearly_as_good(one: Cut, other: Cut) -> bool:
    return one.found.score >= _NEARLY * other.found.score


def best_phase(sequence: KernelSequence, cuts: list[Cut]) -> Cut:
    """A cycle begins where the device has waited longest, and the recording with a cycle."""

    def waited(cut: Cut) -> tuple[bool, float, int]:
        first = int(cut.found.cuts[0])
        places = cut.found.cuts[(cut.found.cuts > 0) & (cut.found.cuts < len(sequence))]
        idle = sequence.start[places] - sequence.end[places - 1]
        wastes = first > _WASTE * len(sequence) / cut.found.parts
        return (not wastes, float(np.median(idle)) if len(idle) else 0.0, -first)

    return max(cuts, key=waited)

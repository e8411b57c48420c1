"""Which of the calls on top of a program's loop marks its cycles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timesink.analyses.cycles.python.calls import PythonCalls
from timesink.analyses.cycles.ranking import best_first
from timesink.analyses.cycles.reading import MIN_REPEATS
from timesink.analyses.cycles.types import type_of_name
from timesink.analyses.nesting import Nodes


@dataclass(frozen=True, slots=True)
class _Named:
    """All calls of a name on top of threads where it repeats."""

    code: int
    """Place in `PythonCalls.names`."""
    name: str
    count: int
    total_ns: int


def main_call(calls: PythonCalls, top: Nodes) -> int | None:
    """The name with the largest total on top, as its place in `names`; None where none repeats.

    Where that is a prefill by its name, the best of the decodes beside it.
    """
    # Names that repeat on top of a thread.
    lanes = len(calls.lanes)
    pair = calls.name[top] * lanes + calls.lane[top]
    size = len(calls.names) * lanes
    counts = np.bincount(pair, minlength=size).reshape(-1, lanes)
    totals = np.bincount(pair, weights=calls.length[top], minlength=size).reshape(-1, lanes)
    enough = (counts >= MIN_REPEATS) & ~calls.barred[:, None]
    count, total = (counts * enough).sum(axis=1), (totals * enough).sum(axis=1)
    repeating = [
        _Named(code, calls.names[code], int(count[code]), int(total[code]))
        for code in np.flatnonzero(count).tolist()
    ]
    if not repeating:
        return None
    ranked = best_first(repeating)
    best = next(ranked)
    if type_of_name(best.name) != "prefill":
        return best.code
    decode = (other for other in ranked if type_of_name(other.name) == "decode")
    return next(decode, best).code

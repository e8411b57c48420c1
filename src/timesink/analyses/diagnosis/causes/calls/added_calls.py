"""What more or fewer calls add to or take from the time of functions."""

from __future__ import annotations

import numpy as np

from timesink.analyses.diagnosis.causes.calls.functions import Functions, on_host, waits
from timesink.analyses.diagnosis.causes.calls.typical import slowdown
from timesink.analyses.statistics.moments import QUIETLY, Floats


@QUIETLY
def added_calls(functions: Functions, which: np.ndarray) -> Floats:
    """What each of the functions gained by more calls, or lost by fewer; mean per cycle.

    That calls take longer now is no part of it, and nor is what one of many calls takes that was
    there before: of the pace of a function itself and that of the others, the one counts by which
    less was added.  Calls that wait have no pace.
    """
    base, new = functions.base[:, which], functions.new[:, which]
    often = [side[which] for side in functions.calls]
    before, after = (_means(side) for side in (base, new))
    both = (before > 0) & (after > 0) & (often[0] > 0) & (often[1] > 0)
    same_calls = new * np.where(both, often[0] / np.where(often[1] > 0, often[1], 1.0), 1.0)
    own = np.where(both, _means(same_calls) / np.where(before > 0, before, 1.0), 1.0)
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
    functions: Functions, which: np.ndarray, added: Floats
) -> tuple[Floats, Floats]:
    """The same of all of them in each cycle of both sides: where the calls are that are more.

    How the pace of a host wanders tells nothing about how many calls there are.
    """
    sides = []
    for times, sign in ((functions.base[:, which], -1.0), (functions.new[:, which], 1.0)):
        mean = _means(times)
        share = np.where(mean > 0, np.maximum(sign * added, 0.0) / np.where(mean > 0, mean, 1.0), 0)
        sides.append(times @ share)
    return sides[0], sides[1]


def _common_pace(
    functions: Functions, which: np.ndarray, sides: tuple[Floats, Floats], told: np.ndarray
) -> Floats:
    """Pace of calls of the host, and of those of the device; of those that wait 1."""
    waiting, on_the_host = (functions.where(sort)[which] for sort in (waits(), on_host()))
    pace = np.ones(len(told))
    for place in (on_the_host & ~waiting, ~on_the_host):
        pace[place] = slowdown(*sides, told & place)
    return pace


def _means(side: Floats) -> Floats:
    return np.asarray(side.mean(axis=0) if len(side) else np.zeros(side.shape[1]))

"""Launches between two that found their places: replaced kernels, or the same in another order."""

from __future__ import annotations

import numpy as np

from timesink.analyses.kernel_join.alignment import common_subsequence
from timesink.analyses.kernel_join.launches import Launches
from timesink.model.arrays import Ints

_LONGEST = 16
"""Launches between two sure ones; more are another piece of program, not replaced kernels."""
_REACH = 32
"""So far from where it is expected a launch is looked for that was made in another order."""


def fill_by_order(place: Ints, launches: Launches, window: Launches) -> Ints:
    """Places of launches whose kind stands nearby, free, but not in the same order.

    Streams that run side by side are filled in one order here and in another there.
    """
    filled = place.copy()
    known = np.flatnonzero(place >= 0)
    for row in np.flatnonzero(place < 0).tolist():
        behind = int(np.searchsorted(known, row))
        sure = known[max(0, behind - 1) : behind + 1]
        nearest = int(sure[np.abs(sure - row).argmin()]) if len(sure) else row + _REACH
        if abs(row - nearest) >= _REACH:
            continue
        expected = int(place[nearest]) + row - nearest
        low = max(0, expected - _REACH)
        near = low + np.flatnonzero(window.kind[low : expected + _REACH] == launches.kind[row])
        around = filled[max(0, row - 2 * _REACH) : row + 2 * _REACH]
        free = near[~np.isin(near, around)]
        if len(free):
            filled[row] = free[np.abs(free - expected).argmin()]
    return filled


def fill_by_name(place: Ints, launches: Launches, window: Launches, stride: float) -> Ints:
    """Places of launches in short gaps, as long on both sides: by name, then by family.

    A kernel that another run replaced stands between two that it did not.  Names alone are found
    everywhere, so they count nowhere else.
    """
    by_name = _filled(place, launches.function, window.function, slack=2 * stride)
    return _filled(by_name, launches.family, window.family, slack=stride)


def _filled(place: Ints, left: Ints, right: Ints, slack: float) -> Ints:
    filled = place.copy()
    for gap, places in _gaps(place, slack):
        wanted, there = left[gap], right[places]
        rows = np.flatnonzero(wanted >= 0)
        ours, theirs = common_subsequence(wanted[rows], there)
        filled[gap.start + rows[ours]] = places.start + theirs
    return filled


def _gaps(place: Ints, slack: float) -> list[tuple[range, range]]:
    """Launches without a place, and the places between those around them.

    At least one of each, and not too many of either.
    """
    known = np.flatnonzero(place >= 0)
    rows, places = np.diff(known) - 1, np.diff(place[known]) - 1
    fits = (rows > 0) & (rows <= _LONGEST) & (places > 0) & (places <= slack * rows)
    return [
        (range(at + 1, at + 1 + count), range(start + 1, start + 1 + length))
        for at, count, start, length in zip(
            known[:-1][fits].tolist(),
            rows[fits].tolist(),
            place[known[:-1]][fits].tolist(),
            places[fits].tolist(),
            strict=True,
        )
    ]

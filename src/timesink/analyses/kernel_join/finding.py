"""Measured launches found in windows of a timeline, such as its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from timesink.analyses.kernel_calls.sampling import Sampling
from timesink.analyses.kernel_join.alignment import common_subsequence
from timesink.analyses.kernel_join.counting import Placed, place_by_count
from timesink.analyses.kernel_join.gaps import fill_by_name, fill_by_order
from timesink.analyses.kernel_join.launches import Launches
from timesink.analyses.kernel_join.placing import Path, place_launches
from timesink.analyses.kernel_join.windows import Window
from timesink.model.arrays import Flags, Ints

_MOST_ROUNDS = 4
_WINDOWS_TRIED, _LONG = 3, 8192
"""So many windows are tried, but for long recordings only the one that knows most of it."""
_SHORTEST_STRETCH = 16
"""Launches in a row without a place that are worth a look at other windows."""
_WORTHWHILE = 0.02
"""Share of them that must find places there."""
_NEIGHBOURS = 8
_SURE = 0.5
"""Share of the launches around one that must have places, for its own place to count."""
_COUNTED = 0.8
"""Share of the launches known to the window that must be where counting puts them."""
_BACK_AND_FORTH = 0.1
"""Share of the launches that may stand before the one they follow, when places are counted."""
_GLANCE = 512
"""Launches at which a glance is taken first, at three places of a long recording."""
_HOPELESS = 0.2
"""Share of them that must find places, for it to be worth looking at the rest."""
_BEYOND_DOUBT = 0.9
"""Share of the launches with places, and of what these are worth, from which on it is no chance."""
_BETTER_THAN_CHANCE = 1.15
"""How much better it must run through the window than backwards, when in doubt."""
_MOST_PAIRS = 100_000_000
"""Pairs of equal launches beyond which a path takes too long; a common subsequence does not."""


@dataclass(frozen=True, eq=False)
class Found:
    """For each launch its row in the timeline, -1 for none, and whether its kind stands there."""

    row: Ints
    exact: Flags
    windows: list[Window] = field(default_factory=list)
    """Windows of the timeline that were used."""

    @classmethod
    def nothing(cls, launches: int) -> Found:
        return cls(np.full(launches, -1), np.zeros(launches, dtype=np.bool_))


def find_launches(
    counters: Launches,
    timed: Launches,
    windows: Sequence[Window],
    rest: Window,
    sampling: Sampling | None,
) -> Found:
    """Look for launches in the window that fits best, and for what is left in others.

    What lies outside of all windows (`rest`) is looked at last.
    """
    found = Found.nothing(len(counters))
    for turn in range(_MOST_ROUNDS):
        rows = _long_stretches(found.row < 0) if turn else np.arange(len(counters))
        if not len(rows):
            break
        offered = [*windows, rest] if turn and len(rest.rows) else windows
        window, part = _in_best_window(counters[rows], timed, offered, sampling)
        gained = part.place >= 0
        if gained.mean() < _WORTHWHILE:
            break
        found.row[rows[gained]] = window.rows[part.place[gained]]
        found.exact[rows[gained]] = part.exact[gained]
        found.windows.append(window)
    return found


def _long_stretches(is_open: Flags) -> Ints:
    """Rows of stretches that are long enough for a look at other windows."""
    borders = np.flatnonzero(np.diff(np.concatenate([[False], is_open, [False]])))
    starts, ends = borders[::2], borders[1::2]
    long = ends - starts >= min(_SHORTEST_STRETCH, len(is_open))
    spans = [np.arange(*span) for span in zip(starts[long], ends[long], strict=True)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *spans])


# -- in one window ---------------------------------------------------------------------------------


def _in_best_window(
    counters: Launches, timed: Launches, windows: Sequence[Window], sampling: Sampling | None
) -> tuple[Window, Placed]:
    """Of the windows that know most of the launches the one through which they run best."""
    distinct: dict[bytes, Window] = {}
    for window in windows:
        distinct.setdefault(timed.kind[window.rows].tobytes(), window)

    def known(window: Window) -> int:
        return int(np.isin(counters.kind, timed.kind[window.rows]).sum())

    most = _WINDOWS_TRIED if len(counters) <= _LONG else 1
    tried: list[tuple[Window, Placed]] = []
    for window in sorted(distinct.values(), key=known, reverse=True)[:most]:
        tried.append((window, _in_window(counters, timed[window.rows], sampling)))
        if tried[-1][1].exact.all():
            break
    return max(tried, key=lambda one: (one[1].exact.sum(), one[1].score))


def _in_window(counters: Launches, window: Launches, sampling: Sampling | None) -> Placed:
    stride = _stride(counters, window, sampling)
    found = _by_count(counters, window, sampling) or _by_path(counters, window, stride)
    sure = _sure(found.exact)
    place, exact = np.where(sure, found.place, -1), found.exact & sure
    if exact.mean() >= _SURE:
        if stride <= 1:
            place = fill_by_order(place, counters, window)
            exact = place >= 0
        place = fill_by_name(place, counters, window, stride)
    return Placed(place, exact, found.score)


def _stride(counters: Launches, window: Launches, sampling: Sampling | None) -> float:
    """How many launches one stands for; by how few follow one another where nobody says."""
    if sampling is not None:
        return float(sampling.every)
    if 2 * len(counters) > len(window) or len(counters) < 2:
        return 1.0
    most = int(max(counters.kind.max(), window.kind.max())) + 1
    ours, theirs = (one.kind[:-1] * most + one.kind[1:] for one in (counters, window))
    neighbours = float(np.isin(ours, theirs).mean())
    return 1.0 if neighbours >= _SURE else float(round(len(window) / len(counters)))


def _by_count(counters: Launches, window: Launches, sampling: Sampling | None) -> Placed | None:
    """Places by count; None where they are few or go back and forth."""
    if sampling is None or sampling.per != "kernel":
        return None
    found = place_by_count(counters, window, sampling.every)
    known = int(np.isin(counters.kind, window.kind).sum())
    rounds = int((np.diff(found.place[found.exact]) <= 0).sum())
    likely = len(counters) * sampling.every / len(window)
    few = found.exact.sum() < _COUNTED * known
    if few or rounds > 2 * likely + _BACK_AND_FORTH * len(counters):
        return None
    return found


def _sure(exact: Flags) -> Flags:
    """Launches most of whose neighbours have places as well; single ones are chance."""
    before = np.append(0, np.cumsum(exact))
    at = np.arange(len(exact))
    first = np.maximum(at - _NEIGHBOURS, 0)
    beyond = np.minimum(at + _NEIGHBOURS + 1, len(exact))
    return np.asarray(before[beyond] - before[first] >= _SURE * (beyond - first))


# -- by path ---------------------------------------------------------------------------------------


def _by_path(counters: Launches, window: Launches, stride: float) -> Placed:
    path = _path(counters.kind, window.kind, stride)
    place = np.full(len(counters), -1)
    place[path.row] = path.place
    return Placed(place, place >= 0, path.score)


def _path(launches: Ints, window: Ints, stride: float) -> Path:
    """The best path; an empty one for launches that have too little to do with the window."""
    ordered = np.sort(window)
    first, beyond = (np.searchsorted(ordered, launches, side) for side in ("left", "right"))
    if int((beyond - first).sum()) > _MOST_PAIRS:
        rows, places = common_subsequence(launches, window)
        return Path(rows, places, len(rows))
    if len(launches) > 6 * _GLANCE:
        starts = (np.array([1, 3, 5]) * len(launches) // 6 - _GLANCE // 2).tolist()
        glances = [launches[start : start + _GLANCE] for start in starts]
        hopeless = all(_is_hopeless(glance, window, stride) for glance in glances)
        return Path.nowhere() if hopeless else place_launches(launches, window, stride)
    path = place_launches(launches, window, stride)
    return Path.nowhere() if _is_chance(path, launches, window, stride) else path


def _is_hopeless(launches: Ints, window: Ints, stride: float) -> bool:
    path = place_launches(launches, window, stride)
    few = _sure_share(path, launches) < _HOPELESS
    return few or _is_chance(path, launches, window, stride)


def _is_chance(path: Path, launches: Ints, window: Ints, stride: float) -> bool:
    """Whether a path with gaps is hardly better than one for the launches backwards.

    A window with few kinds of kernels, or places far apart, fits many a sequence by chance.
    """
    if min(path.straightness, _sure_share(path, launches)) > _BEYOND_DOUBT:
        return False
    backwards = place_launches(launches[::-1], window, stride)
    return path.score < _BETTER_THAN_CHANCE * backwards.score


def _sure_share(path: Path, launches: Ints) -> float:
    met = np.zeros(len(launches), dtype=np.bool_)
    met[path.row] = True
    return float((met & _sure(met)).mean())

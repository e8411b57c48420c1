"""Interval algebra: union, intersection, difference, coverage and sums of time intervals.

An interval set is an int64 array of shape ``(n, 2)``; each row is a half-open ``[start, end)`` in
nanoseconds.  Rows may come in any order, overlap, or be empty (``start == end``).  What
:func:`merge`, :func:`intersect` and :func:`subtract` return is sorted, disjoint and free of empty
rows.  Everything is vectorised and takes O(n log n).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Arrays as signatures name them: one entry per event, call, node, cycle or whatever it is.
Ints: TypeAlias = NDArray[np.int64]
"""Times in nanoseconds, counts, numbers and places."""
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]

IntervalSet: TypeAlias = NDArray[np.int64]

_NOTHING: IntervalSet = np.zeros((0, 2), dtype=np.int64)
_IN_CACHE = 4096
"""So many ranges are searched as fast in any order."""
_AT_ONCE = 1 << 16
"""So many windows are looked up at a time."""
_BEGINNING_OF_TIME = np.iinfo(np.int64).min
_END_OF_TIME = np.iinfo(np.int64).max


def merge(intervals: ArrayLike) -> IntervalSet:
    """Join what overlaps or touches; drop what is empty; sort the rest."""
    rows = _as_interval_set(intervals)
    starts, ends = rows[:, 0], rows[:, 1]
    if (starts < ends).all() and (ends[:-1] < starts[1:]).all():
        return rows  # far cheaper to see than to merge again
    nonempty = starts < ends
    starts, ends = np.sort(starts[nonempty]), np.sort(ends[nonempty])
    # The i-th start opens a new piece exactly when i intervals have ended before it, so starts
    # and ends can be sorted without keeping them together, which is much the cheaper sort.
    gap = starts[1:] > ends[:-1]
    border = np.full(min(1, len(starts)), True)
    return _pair(
        starts[np.concatenate([border, gap])],
        ends[np.concatenate([gap, border])],
    )


def intersect(a: ArrayLike, b: ArrayLike) -> IntervalSet:
    """What both sets cover."""
    return _intersect_merged(merge(a), merge(b))


def subtract(a: ArrayLike, b: ArrayLike) -> IntervalSet:
    """What the first set covers and the second does not."""
    merged, taken = merge(a), merge(b)
    if not len(taken):
        return merged
    starts = np.append(_BEGINNING_OF_TIME, taken[:, 1])
    gaps = _pair(starts, np.append(taken[:, 0], _END_OF_TIME))
    return _intersect_merged(merged, gaps[gaps[:, 0] < gaps[:, 1]])


def clip(intervals: ArrayLike, start: int, end: int) -> IntervalSet:
    """The parts inside ``[start, end)``, row by row; rows with nothing inside are dropped."""
    if end < start:
        msg = f"the window ends before it starts: [{start}, {end})"
        raise ValueError(msg)
    clipped = np.clip(_as_interval_set(intervals), start, end)
    return clipped[clipped[:, 0] < clipped[:, 1]]


def coverage(intervals: ArrayLike) -> int:
    """Length of the union: time covered at least once."""
    merged = merge(intervals)
    return int((merged[:, 1] - merged[:, 0]).sum())


def coverage_within(intervals: ArrayLike, windows: ArrayLike) -> Ints:
    """Length of the union inside each window; windows may overlap each other."""
    merged = merge(intervals)
    frames = _as_interval_set(windows)
    covered = np.empty(len(frames), dtype=np.int64)
    # Some at a time: what is needed for a while stays small.
    for first in range(0, len(frames), _AT_ONCE):
        start, end = frames[first : first + _AT_ONCE].T
        covered[first : first + _AT_ONCE] = _covered_before(merged, end)
        covered[first : first + _AT_ONCE] -= _covered_before(merged, start)
    return covered


def waterfall(
    layers: Mapping[str, IntervalSet], windows: ArrayLike
) -> tuple[dict[str, Ints], Ints]:
    """Give each moment of the windows to the first layer that covers it.

    Returns how much of each window every layer has, and how much is left to none.
    """
    frames = _as_interval_set(windows)
    taken, covered = _NOTHING, np.zeros(len(frames), dtype=np.int64)
    parts: dict[str, Ints] = {}
    for name, ranges in layers.items():
        reached = covered
        if len(ranges):
            taken = merge(np.concatenate([taken, ranges]))
            reached = coverage_within(taken, frames)
        # What this layer adds to those before it: a moment counts once.
        parts[name], covered = reached - covered, reached
    return parts, frames[:, 1] - frames[:, 0] - covered


def resolve_overlaps(intervals: ArrayLike) -> tuple[NDArray[np.intp], IntervalSet]:
    """Rows that have time of their own, each moment being that of the row that started first."""
    spans = _as_interval_set(intervals)
    order = np.argsort(spans[:, 0], kind="stable")
    start, end = spans[order, 0], spans[order, 1]
    begin = start.copy()
    begin[1:] = np.maximum(start[1:], np.maximum.accumulate(end)[:-1])
    some = begin < end
    return order[some], _pair(begin[some], end[some])


def enclosing_interval(moments: Ints, starts: Ints, ends: Ints) -> NDArray[np.intp]:
    """The last range begun by each moment, where that still goes on; else -1.

    Ranges are given in the order of their starts.
    """
    latest = np.searchsorted(starts, moments, side="right") - 1
    if not len(starts):
        return latest
    return np.where((latest >= 0) & (moments < ends[latest]), latest, -1)


def union_starts(starts: Ints, ends: Ints, *, joins_touching: bool = False) -> Flags:
    """Which intervals begin when all before them have ended, and so a new piece of the union.

    In the order of their starts.  Those that only touch are apart, unless asked otherwise.

    >>> union_starts(np.array([0, 2, 5, 9]), np.array([5, 3, 8, 10])).tolist()
    [True, False, True, True]
    """
    result = np.ones(len(starts), dtype=np.bool_)
    if len(starts):
        latest = np.maximum.accumulate(ends)[:-1]
        result[1:] = starts[1:] > latest if joins_touching else starts[1:] >= latest
    return result


def sweep(starts: ArrayLike, ends: ArrayLike, values: ArrayLike) -> tuple[Ints, NDArray[Any]]:
    """Sum of the values of all active intervals, as a step function of time.

    Returns ``n + 1`` boundaries and ``n`` sums: the i-th sum holds from boundary ``i`` to
    boundary ``i + 1``.  Gaps in the middle are part of it, with sum zero.  Without any non-empty
    interval both arrays are empty.

    Whole numbers are summed exactly.  Sums of floats are rounded, but start afresh after every
    gap, so that errors do not pile up over a long trace and gaps are exactly zero.
    """
    intervals = _as_interval_set(_pair(_times(starts), _times(ends)))
    amounts = _amounts(values, len(intervals))
    nonempty = intervals[:, 0] < intervals[:, 1]
    intervals, amounts = intervals[nonempty], amounts[nonempty]
    by_start, by_end = np.argsort(intervals[:, 0]), np.argsort(intervals[:, 1])
    # Ends come first: at equal times the old leaves before the new arrives.
    times = np.concatenate([intervals[by_end, 1], intervals[by_start, 0]])
    changes = np.concatenate([-amounts[by_end], amounts[by_start]])
    # Two sorted runs: the stable sort only merges them, in linear time.
    order = np.argsort(times, kind="stable")
    times, sums = times[order], np.cumsum(changes[order])
    if sums.dtype.kind == "f":
        # Take off what rounding left over at the latest moment with nothing active.
        active = np.cumsum(np.where(order >= len(intervals), 1, -1))
        idle = np.where(active == 0, np.arange(len(sums)), -1)
        latest_idle = np.maximum.accumulate(idle)
        residue = np.where(latest_idle < 0, 0.0, sums[np.maximum(latest_idle, 0)])
        sums = sums - residue
    last_at_its_time = np.append(times[1:] != times[:-1], np.full(min(1, len(times)), True))
    return times[last_at_its_time], sums[last_at_its_time][:-1]


def partially_overlapping(intervals: ArrayLike) -> NDArray[np.bool_]:
    """Which intervals have another one start inside them and end after them.

    Intervals that are disjoint, touch or lie inside one another do not cross.
    """
    rows = _as_interval_set(intervals)
    order, starts = _outer_first(rows)
    ends = rows[order, 1]
    # Those that start inside it stand behind it; what starts with it and ends later stands before.
    first = np.arange(1, len(rows) + 1)
    last = np.searchsorted(starts, ends) - 1
    entered = np.flatnonzero(first <= last)
    latest_end = _range_max(ends, first[entered], last[entered])
    result = np.zeros(len(rows), dtype=np.bool_)
    result[order[entered]] = latest_end > ends[entered]
    return result


def _times(values: ArrayLike) -> Ints:
    array = np.asarray(values)
    if array.ndim != 1:
        msg = f"expected a flat array of times, got shape {array.shape}"
        raise ValueError(msg)
    return _as_integers(array)


def _as_interval_set(intervals: ArrayLike) -> IntervalSet:
    array = np.asarray(intervals)
    if array.size == 0:
        array = array.reshape(0, 2)
    if array.ndim != 2 or array.shape[1] != 2:
        msg = f"expected intervals of shape (n, 2), got {array.shape}"
        raise ValueError(msg)
    array = _as_integers(array)
    if (array[:, 1] < array[:, 0]).any():
        msg = "an interval ends before it starts"
        raise ValueError(msg)
    return array


def _as_integers(array: NDArray[Any]) -> NDArray[np.int64]:
    if array.size and array.dtype.kind not in "iu":
        msg = f"times are whole nanoseconds, got {array.dtype}"
        raise ValueError(msg)
    return array.astype(np.int64, copy=False)


def _amounts(values: ArrayLike, length: int) -> NDArray[Any]:
    array = np.asarray(values)
    if array.shape != (length,):
        msg = f"expected {length} values, got shape {array.shape}"
        raise ValueError(msg)
    if array.dtype.kind in "biu":
        return array.astype(np.int64, copy=False)
    amounts = array.astype(np.float64, copy=False)
    if not np.isfinite(amounts).all():
        msg = "values to sum must be finite"
        raise ValueError(msg)
    return amounts


def _pair(starts: Ints, ends: Ints) -> IntervalSet:
    # Column by column in memory: nearly every step here works on starts or ends alone.
    return np.stack([starts, ends]).T


def _intersect_merged(a: IntervalSet, b: IntervalSet) -> IntervalSet:
    if not len(a) or not len(b):
        return _NOTHING
    starts = np.sort(np.concatenate([a[:, 0], b[:, 0]]), kind="stable")
    ends = np.sort(np.concatenate([a[:, 1], b[:, 1]]), kind="stable")
    # No more than two are open at once, one of each side.  Both are, exactly when a start comes
    # before the end of the one that started before it.
    both = starts[1:] < ends[:-1]
    return _pair(starts[1:][both], ends[:-1][both])


def _covered_before(merged: IntervalSet, times: Ints) -> Ints:
    """Length covered before each of the times."""
    if not len(merged):
        return np.zeros(len(times), dtype=np.int64)
    starts, ends = merged[:, 0].copy(), merged[:, 1].copy()
    covered_at_start = np.cumsum(ends - starts) - (ends - starts)
    if len(starts) <= _IN_CACHE or (times[1:] >= times[:-1]).all():
        latest = np.searchsorted(starts, times, side="right") - 1
    else:
        # Looking up in time order keeps the search in cache: ten times faster on unsorted windows.
        order = np.argsort(times)
        latest = np.empty(len(times), dtype=np.intp)
        latest[order] = np.searchsorted(starts, times[order], side="right") - 1
    reached = np.maximum(latest, 0)
    covered = covered_at_start[reached] + np.minimum(times, ends[reached]) - starts[reached]
    return np.where(latest < 0, 0, covered)


def _outer_first(intervals: IntervalSet) -> tuple[NDArray[np.intp], Ints]:
    """Order by start, of those that start together the longest first; and the starts so ordered."""
    order = np.argsort(intervals[:, 0])
    starts = intervals[order, 0]
    repeated = np.flatnonzero(starts[1:] == starts[:-1])
    # Ties are few: sorting them again is far cheaper than sorting everything by two keys.
    tied = np.zeros(len(starts), dtype=np.bool_)
    tied[repeated] = tied[repeated + 1] = True
    rows = order[tied]
    order[tied] = rows[np.lexsort((-intervals[rows, 1], intervals[rows, 0]))]
    return order, starts


def _range_max(values: Ints, first: NDArray[np.intp], last: NDArray[np.intp]) -> Ints:
    """Largest of ``values[first..last]``, both included, for every pair of positions."""
    result = np.empty(len(first), dtype=np.int64)
    level = np.frexp(last - first + 1)[1] - 1
    maxima = values
    for exponent in range(int(level.max(initial=-1)) + 1):
        # Entry i of `maxima` is the largest of the `width` values from i on; two such stretches,
        # one from the left and one from the right, make up any range of this level.
        width = 1 << exponent
        pairs = np.flatnonzero(level == exponent)
        result[pairs] = np.maximum(maxima[first[pairs]], maxima[last[pairs] - width + 1])
        maxima = np.maximum(maxima[:-width], maxima[width:])
    return result

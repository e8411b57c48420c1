"""Primitives of arrays: runs of equal values, groups, running values, ragged ranges and codes.

A run is rows beside each other that are equal; `first` is where each run begins.  A group is all
rows with one number, wherever they are.  Groups as arrays are far faster than windows of Polars
where they are small.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from timesink.model.intervals import Flags, Ints

# -- places in 32 bits -----------------------------------------------------------------------------

Places: TypeAlias = NDArray[Any]
"""Positions, depths, sizes of groups, or codes; of 32 bits where all are below `MAX_NARROW`.

They add up and multiply as what they are: whoever multiplies widens first.
"""
MAX_NARROW = 1 << 30
"""Numbers up to this fit into 32 bits, and so does the sum of two of them."""


def narrow(places: Places, many: int) -> Places:
    """Whole numbers from -1 to `many` in 32 bits, if that is few enough: half the memory.

    >>> narrow(np.array([0, 7]), 8).dtype, narrow(np.array([0, 7]), MAX_NARROW + 1).dtype
    (dtype('int32'), dtype('int64'))
    """
    return places if many > MAX_NARROW else places.astype(np.int32, copy=False)


def wide(places: Places) -> Ints:
    """The same in 64 bits, to multiply them.

    >>> wide(np.array([1 << 20], dtype=np.int32)) * (1 << 20) == 1 << 40
    array([ True])
    """
    return places.astype(np.int64, copy=False)


# -- runs ------------------------------------------------------------------------------------------


def is_run_start(*columns: NDArray[Any]) -> Flags:
    """Which rows differ from the one before in any of the columns; the first row does.

    >>> is_run_start(np.array([4, 4, 7, 7]), np.array([1, 2, 2, 2])).tolist()
    [True, True, True, False]
    """
    starts = np.ones(len(columns[0]), dtype=np.bool_)
    if len(starts):
        starts[1:] = columns[0][1:] != columns[0][:-1]
        for column in columns[1:]:
            starts[1:] |= column[1:] != column[:-1]
    return starts


def run_starts(*columns: NDArray[Any]) -> NDArray[np.intp]:
    """Where runs of equal rows begin.

    >>> run_starts(np.array([4, 4, 7, 7, 4])).tolist()
    [0, 2, 4]
    """
    return np.flatnonzero(is_run_start(*columns))


def run_slices(column: NDArray[Any]) -> Iterator[slice]:
    """Where each run of equal values lies.

    >>> list(run_slices(np.array([4, 4, 7])))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    for first, last in pairwise([*run_starts(column).tolist(), len(column)]):
        yield slice(first, last)


def run_places(first: NDArray[np.integer[Any]], length: int) -> Ints:
    """The place of each of so many rows in its run, from 0.

    >>> run_places(np.array([0, 2]), 5).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(length) - np.repeat(first, np.diff(first, append=length))


def true_runs(flags: Flags) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each run of true ones begins, and the place after its last one.

    >>> [places.tolist() for places in true_runs(np.array([True, True, False, True]))]
    [[0, 3], [2, 4]]
    """
    padded = np.concatenate([[False], flags, [False]])
    changes = np.flatnonzero(padded[1:] != padded[:-1])
    return changes[::2], changes[1::2]


# -- running values --------------------------------------------------------------------------------


def is_among(values: Ints, wanted: Ints) -> Flags:
    """Which values are among some others; far faster than `np.isin` where these are few or ids.

    >>> is_among(np.array([7, 3, 9]), np.array([9, 7, 7])).tolist()
    [True, False, True]
    """
    if not len(values) or not len(wanted):
        return np.zeros(len(values), dtype=np.bool_)
    least, most = int(wanted.min()), int(wanted.max())
    if most - least < _TABLE:
        is_wanted = np.zeros(most - least + 3, dtype=np.bool_)
        is_wanted[wanted - least + 1] = True
        return np.asarray(is_wanted[np.clip(values, least - 1, most + 1) - least + 1])
    ordered = np.sort(wanted)
    place = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[place] == values)


def prefix_sums(values: NDArray[Any]) -> NDArray[Any]:
    """Sum of the values before each place, and of all: one entry more than values.

    >>> prefix_sums(np.array([3, 1, 2])).tolist()
    [0, 3, 4, 6]
    """
    sums = np.cumsum(values)
    return np.append(np.zeros(1, dtype=sums.dtype), sums)


def exclusive_cumsum(values: NDArray[Any]) -> NDArray[Any]:
    """Sum of the values before each place.  Counts become the places where groups begin.

    >>> exclusive_cumsum(np.array([3, 1, 2])).tolist()
    [0, 3, 4]
    """
    return np.asarray(np.cumsum(values) - values)


def latest_true(flags: Flags) -> Ints:
    """The last place up to each one that is true; -1 before the first.

    >>> latest_true(np.array([False, True, False, True])).tolist()
    [-1, 1, 1, 3]
    """
    return np.maximum.accumulate(np.where(flags, np.arange(len(flags)), -1))


def running_argmax(values: NDArray[Any]) -> Ints:
    """The place of the largest value so far, the last of equals.

    >>> running_argmax(np.array([5, 3, 5, 9, 1])).tolist()
    [0, 0, 2, 3, 3]
    """
    return latest_true(values >= np.maximum.accumulate(values))


_MAX_EXACT = 2.0**62


def grouped_cumsum(values: Ints, first: NDArray[np.integer[Any]]) -> Ints:
    """The sum so far, anew in each run; of whole numbers.

    >>> grouped_cumsum(np.array([1, 2, 3, 4]), np.array([0, 2])).tolist()
    [1, 3, 3, 7]
    """
    sums = np.cumsum(values)
    lengths = np.diff(first, append=len(values))
    return np.asarray(sums - np.repeat(sums[first] - values[first], lengths))


def grouped_cummax(values: Ints, first: NDArray[np.integer[Any]]) -> Ints:
    """The largest value so far, anew in each run.

    >>> grouped_cummax(np.array([5, 3, 1, 2]), np.array([0, 2])).tolist()
    [5, 5, 1, 2]
    """
    if not len(values):
        return values
    least = np.minimum.reduceat(values, first)
    extent = np.maximum.reduceat(values, first) - least + 1
    if float(extent.astype(np.float64).sum()) > _MAX_EXACT:
        parts = np.split(values, first[1:])
        return np.concatenate([np.maximum.accumulate(part) for part in parts])
    # Runs are lifted above one another, so that one pass over all of them is enough.
    lift = np.repeat(exclusive_cumsum(extent) - least, np.diff(first, append=len(values)))
    return np.asarray(np.maximum.accumulate(values + lift) - lift)


def new_coverage(start: Ints, end: Ints, first: NDArray[np.integer[Any]]) -> Ints:
    """What each interval adds to the union of those before it in its run.

    Intervals of a run lie together, in the order of their starts.

    >>> new_coverage(np.array([0, 2, 1]), np.array([5, 7, 4]), np.array([0, 2])).tolist()
    [5, 2, 3]
    """
    if not len(start):
        return start
    before = np.append(start[:1], grouped_cummax(end, first)[:-1])
    before[first] = start[first]
    return np.asarray(np.maximum(end - np.maximum(start, before), 0))


# -- ragged ranges ---------------------------------------------------------------------------------


def ragged_ranges(starts: NDArray[np.integer[Any]], counts: NDArray[np.integer[Any]]) -> Ints:
    """So many whole numbers from each start on, one range after the other.

    >>> ragged_ranges(np.array([10, 0, 5]), np.array([2, 0, 3])).tolist()
    [10, 11, 5, 6, 7]
    """
    skipped = np.repeat(starts - exclusive_cumsum(counts), counts)
    return np.asarray(skipped + np.arange(len(skipped)))


def ranks_of(values: NDArray[Any], axis: int = -1) -> NDArray[np.intp]:
    """The place of each value among all in order, from 0; equal ones in any order.

    >>> ranks_of(np.array([30, 10, 20])).tolist()
    [2, 0, 1]
    """
    return np.asarray(values.argsort(axis=axis).argsort(axis=axis))


def places_among(chosen: Flags) -> Ints:
    """The place of each chosen row among the chosen ones; -1 for the others.

    >>> places_among(np.array([True, False, True])).tolist()
    [0, -1, 1]
    """
    return np.where(chosen, np.cumsum(chosen) - 1, -1)


# -- codes and groups ------------------------------------------------------------------------------

_TABLE = 2**22
"""Numbers below this are looked up."""
_EXACT_FLOATS = 1 << 53


def densify(numbers: Ints) -> Ints:
    """The same numbers without holes, in the order in which they first come.

    >>> densify(np.array([7, 3, 7, 9])).tolist()
    [0, 1, 0, 2]
    """
    if not len(numbers):
        return numbers
    if numbers.max() < _TABLE:  # a table is far faster than sorting
        first = np.full(int(numbers.max()) + 1, len(numbers))
        first[numbers[::-1]] = np.arange(len(numbers))[::-1]
        present = np.flatnonzero(first < len(numbers))
        place = np.empty(len(first), dtype=np.int64)
        place[present[np.argsort(first[present])]] = np.arange(len(present))
        return place[numbers]
    _, at, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    place = np.empty(len(at), dtype=np.int64)
    place[np.argsort(at)] = np.arange(len(at))
    return place[inverse]


def combine_codes(*numbers: Ints) -> Ints:
    """One number for each row of several columns of numbers without holes.

    >>> combine_codes(np.array([0, 0, 1]), np.array([1, 0, 1])).tolist()
    [0, 1, 2]
    """
    combined = wide(numbers[0])
    for other in numbers[1:]:
        combined = densify(combined * (int(other.max(initial=0)) + 1) + other)
    return combined


class Groups(msgspec.Struct, frozen=True, eq=False):
    """Rows with the same key.

    >>> groups = Groups.of(np.array([7, 3, 7]))
    >>> groups.group.tolist(), groups.places.tolist(), groups.least(np.array([5, 1, 4])).tolist()
    ([1, 0, 1], [0, 0, 1], [4, 1, 4])
    """

    order: Ints
    first: Ints
    """Where each group starts in that order."""
    group: Ints
    """The group of each row."""

    @classmethod
    def of(cls, keys: Ints) -> Groups:
        """Groups of equal keys."""
        order = np.argsort(keys, kind="stable")
        starts = is_run_start(keys[order])
        group = np.empty(len(keys), dtype=np.int64)
        group[order] = np.cumsum(starts) - 1
        return cls(order, np.flatnonzero(starts), group)

    @property
    def places(self) -> Ints:
        """The place of each row in its group."""
        places = np.empty(len(self.order), dtype=np.int64)
        places[self.order] = run_places(self.first, len(self.order))
        return places

    def least(self, values: NDArray[Any]) -> NDArray[Any]:
        """For each row the least value in its group."""
        if not len(values):
            return values
        return np.asarray(np.minimum.reduceat(values[self.order], self.first)[self.group])


def group_medians(group: Ints, values: NDArray[Any]) -> NDArray[np.float64]:
    """The median of each group; every group has values.

    >>> group_medians(np.array([0, 1, 0, 0]), np.array([5, 2, 1, 3])).tolist()
    [3.0, 2.0]
    """
    order = np.lexsort((values, group))
    first = run_starts(group[order])
    count = np.diff(np.append(first, len(order)))
    low, high = (values[order[first + half]] for half in ((count - 1) // 2, count // 2))
    return np.asarray((low + high) / 2, dtype=np.float64)


def sums_by(group: Places, values: NDArray[Any], groups: int) -> Ints:
    """Exact sums of whole numbers per group.

    >>> sums_by(np.array([0, 2, 0]), np.array([1, 2, 3]), 3).tolist()
    [4, 0, 2]
    """
    if len(values) * int(np.abs(values).max(initial=0)) < _EXACT_FLOATS:
        # Floats add up to the same whole numbers, several times faster.
        return np.bincount(group, values, minlength=groups).astype(np.int64)
    sums = np.zeros(groups, dtype=np.int64)
    np.add.at(sums, group, values)
    return sums

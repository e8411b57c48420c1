"""Rows in groups, by a number: far faster than windows of Polars where groups are small."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.model.arrays import Ints

_TABLE = 2**22
"""Numbers below this are looked up."""
_MOST = 2.0**62


def stacked(
    tables: Mapping[Any, pl.DataFrame], column: str = "rank", dtype: pl.DataType | None = None
) -> pl.DataFrame:
    """The rows of all tables, and in one more column whose each is: a rank, or a name.

    A single query is far faster than one for each rank.
    """
    whose = pl.Series(column, list(tables), dtype=dtype or pl.Int64())
    place = np.repeat(np.arange(len(tables)), [table.height for table in tables.values()])
    return pl.concat(tables.values()).with_columns(whose.gather(place))


def numbered(column: pl.Series) -> Ints:
    """A number for each row that equal values share; absent ones are equal, too."""
    if column.dtype == pl.String:
        column = column.cast(pl.Categorical)
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.to_physical()
    if column.null_count() == len(column):
        return np.zeros(len(column), dtype=np.int64)
    values = column.cast(pl.Int64)
    least = int(values.min())  # type: ignore[arg-type]
    return compact((values - least + 1).fill_null(0).to_numpy())


def compact(numbers: Ints) -> Ints:
    """The same numbers without holes, in the order in which they first come."""
    if not len(numbers):
        return numbers
    if numbers.max() < _TABLE:  # a table is far faster than sorting
        first = np.full(int(numbers.max()) + 1, len(numbers))
        first[numbers[::-1]] = np.arange(len(numbers))[::-1]
        known = np.flatnonzero(first < len(numbers))
        place = np.empty(len(first), dtype=np.int64)
        place[known[np.argsort(first[known])]] = np.arange(len(known))
        return place[numbers]
    _, at, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    place = np.empty(len(at), dtype=np.int64)
    place[np.argsort(at)] = np.arange(len(at))
    return place[inverse]


def joint(*numbers: Ints) -> Ints:
    """One number for each row of several columns of numbers without holes."""
    found = numbers[0]
    for other in numbers[1:]:
        found = compact(found * (int(other.max(initial=0)) + 1) + other)
    return found


def covered(start: Ints, end: Ints, first: Ints) -> Ints:
    """What each range adds to the union of those before it in its stretch.

    Ranges of a stretch lie together, in the order of their starts; `first` is where each begins.
    """
    if not len(start):
        return start
    before = np.append(start[:1], running_most(end, first)[:-1])
    before[first] = start[first]
    return np.asarray(np.maximum(end - np.maximum(start, before), 0))


def union_by(key: Ints, start: Ints, end: Ints, many: int) -> pl.Series:
    """Time covered by the ranges with each of so many keys; null where there are none."""
    order = np.lexsort((start, key))
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    added = covered(start[order], end[order], first)
    place = np.full(many, -1)
    place[key[first]] = np.arange(len(first))
    return values_at(pl.Series(np.add.reduceat(added, first) if len(first) else added), place)


def running_most(values: Ints, first: Ints) -> Ints:
    """The largest value so far, anew in each stretch."""
    least = np.minimum.reduceat(values, first)
    extent = np.maximum.reduceat(values, first) - least + 1
    if float(extent.astype(np.float64).sum()) > _MOST:
        parts = np.split(values, first[1:])
        return np.concatenate([np.maximum.accumulate(part) for part in parts])
    # Stretches are lifted above one another, so that one pass over all of them is enough.
    lift = np.repeat(np.cumsum(extent) - extent - least, np.diff(first, append=len(values)))
    return np.asarray(np.maximum.accumulate(values + lift) - lift)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Rows with the same key."""

    order: Ints
    first: Ints
    """Where each group starts in that order."""
    group: Ints
    """The group of each row."""

    @classmethod
    def of(cls, keys: Ints) -> Groups:
        """Groups of equal keys."""
        order = np.argsort(keys, kind="stable")
        starts = np.ones(len(keys), dtype=np.bool_)
        starts[1:] = keys[order][1:] != keys[order][:-1]
        group = np.empty(len(keys), dtype=np.int64)
        group[order] = np.cumsum(starts) - 1
        return cls(order, np.flatnonzero(starts), group)

    @property
    def places(self) -> Ints:
        """The place of each row in its group."""
        found = np.empty(len(self.order), dtype=np.int64)
        found[self.order] = np.arange(len(self.order)) - self.first[self.group[self.order]]
        return found

    def least(self, values: NDArray[Any]) -> NDArray[Any]:
        """For each row the least value in its group."""
        if not len(values):
            return values
        return np.asarray(np.minimum.reduceat(values[self.order], self.first)[self.group])


def values_at(column: pl.Series, places: Ints) -> pl.Series:
    """The values at these places; null at -1."""
    if not (places < 0).any():
        return column.gather(places)
    known = pl.Series(places, dtype=pl.Int64).replace(-1, None)
    return column.gather(known.cast(pl.UInt32))


_EXACT_FLOATS = 1 << 53


def sums_by(group: Ints, values: NDArray[Any], groups: int) -> Ints:
    """Exact sums of whole numbers per group."""
    if len(values) * int(np.abs(values).max(initial=0)) < _EXACT_FLOATS:
        # Floats add up to the same whole numbers, several times faster.
        return np.bincount(group, values, minlength=groups).astype(np.int64)
    sums = np.zeros(groups, dtype=np.int64)
    np.add.at(sums, group, values)
    return sums

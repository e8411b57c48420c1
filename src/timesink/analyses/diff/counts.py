"""How often each site of two programs comes, cycle by cycle, and which cycles do the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.diff.plain_names import Hashes, mixed
from timesink.analyses.diff.program import Program
from timesink.model.arrays import Flags, Floats, Ints

_MOST_CYCLES = 400
"""Cycles of a side that are looked at; of more, as many that lie evenly among them."""
_TRIMMED = 0.1
"""Part of the cycles at either end of a range that may be odd ones."""
_ALIKE = 0.1
"""Part of its calls by which a single cycle may differ from those of a kind and still be of it."""
_RAGGED = 0.35
"""The same for programs of which hardly two cycles are equal."""


@dataclass(frozen=True, eq=False)
class CountedCycles:
    """One side: calls per cycle and site, and sums; columns are the sites of both sides."""

    program: Program
    cycles: Ints
    calls: NDArray[np.int32]
    host_ns: NDArray[np.int64]
    device_ns: NDArray[np.int64]
    bytes: NDArray[np.int64]
    blocks: NDArray[np.int64]
    shape: Hashes
    variant: Hashes
    exact: Hashes

    def only(self, which: Ints) -> CountedCycles:
        return replace(
            self,
            cycles=self.cycles[which],
            **{name: getattr(self, name)[which] for name in _MATRICES},
        )

    def means(self) -> Floats:
        parts = (self.calls, self.host_ns, self.device_ns, self.bytes)
        return np.stack([part.mean(axis=0) for part in parts])


_MATRICES = ("calls", "host_ns", "device_ns", "bytes", "blocks", "shape", "variant", "exact")


def counted(program: Program, sites: pl.Series, cycles: Sequence[int]) -> CountedCycles:
    wanted = np.array(sorted(cycles), dtype=np.int64)
    if len(wanted) > _MOST_CYCLES:
        wanted = wanted[np.linspace(0, len(wanted) - 1, _MOST_CYCLES).astype(np.int64)]
    rows = program.counts.filter(pl.col("cycle").is_in(wanted.tolist()))
    at = np.searchsorted(wanted, rows["cycle"].to_numpy())
    column = np.searchsorted(sites.to_numpy(), rows["site"].to_numpy())
    shape = (len(wanted), len(sites))
    found = {}
    for name in _MATRICES:
        values = rows[name].to_numpy()
        dtype = np.int32 if name == "calls" else values.dtype
        matrix = np.zeros(shape, dtype=dtype)
        matrix[at, column] = values
        found[name] = matrix
    return CountedCycles(program, wanted, **found)


def ranges(calls: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Fewest and most calls, or amounts, per cycle of each site, without a few odd cycles."""
    ordered = np.sort(calls, axis=0)
    odd = int(len(calls) * _TRIMMED)
    return ordered[odd], ordered[len(calls) - 1 - odd]


@dataclass(frozen=True, eq=False)
class SiteNames:
    """What sites are called."""

    table: pl.DataFrame

    @cached_property
    def place(self) -> dict[int, int]:
        return {site: place for place, site in enumerate(self.table["site"].to_list())}

    @cached_property
    def names(self) -> list[str]:
        return self.table["name"].to_list()

    @cached_property
    def sorts(self) -> list[int]:
        return self.table["sort"].to_list()

    @cached_property
    def parents(self) -> list[int]:
        return self.table["parent"].to_list()

    def name(self, site: int) -> str:
        return self.names[self.place[site]]

    def path(self, site: int) -> tuple[str, ...]:
        """Names from the outermost call down to this one."""
        found: list[str] = []
        place = self.place.get(site)
        while place is not None:
            found.append(self.names[place])
            place = self.place.get(self.parents[place])
        return tuple(found[::-1])


# -- kinds of cycles -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CycleKind:
    """Cycles that do the same."""

    cycles: tuple[int, ...]
    period: int | None
    """Every how many-th cycle is of it; None where they do not come evenly, or all are."""
    calls: float
    """Operators and ranges per cycle."""
    partner: int | None = None
    """The kind of the other run that it is compared with."""


def kinds_of(side: CountedCycles, structural: Flags) -> list[Ints]:
    """Rows of the cycles of each kind, the most frequent kind first."""
    weight = mixed(np.arange(1, structural.sum() + 1, dtype=np.uint64))
    calls = side.calls[:, structural]
    with np.errstate(over="ignore"):
        key = (calls.astype(np.uint64) * weight).sum(axis=1)
    groups: dict[int, list[int]] = defaultdict(list)
    for row, one in enumerate(key.tolist()):
        groups[one].append(row)
    ordered = sorted(groups.values(), key=lambda rows: -len(rows))
    repeated = sum(len(rows) for rows in ordered if len(rows) > 1)
    ragged = repeated < len(key) / 2
    found: list[list[int]] = []
    for rows in ordered:
        near = [(_distance(calls[rows[0]], calls[known[0]]), known) for known in found]
        best = min(near, key=lambda one: one[0], default=None)
        joins = best is not None and best[0] <= (_RAGGED if ragged else _ALIKE)
        if best is not None and joins and (ragged or len(rows) == 1):
            best[1].extend(rows)
        else:
            found.append(list(rows))
    return [np.array(sorted(rows)) for rows in sorted(found, key=lambda rows: -len(rows))]


def _distance(left: NDArray[np.int32], right: NDArray[np.int32]) -> float:
    most = max(int(left.sum()), int(right.sum()), 1)
    return float(np.abs(left.astype(np.int64) - right).sum()) / most


def even_period(rows: Ints, many: int) -> int | None:
    """Every how many-th of so many cycles these are, from the first to the last; None if uneven."""
    steps = np.unique(np.diff(rows))
    if len(rows) < 2 or len(steps) > 1 or steps[0] == 1:
        return None
    period = int(steps[0])
    return period if rows[0] < period and rows[-1] + period >= many else None


def paired_kinds(
    base: CountedCycles, new: CountedCycles, kinds: tuple[list[Ints], list[Ints]], structural: Flags
) -> tuple[tuple[list[Ints], list[Ints]], list[tuple[int, int]]]:
    """Kinds of both sides with the usual one first, and which belong together.

    The usual ones are those that are nearest of all that are as frequent as any.
    """
    vectors = [
        [np.median(side.calls[rows][:, structural], axis=0) for rows in own]
        for side, own in zip((base, new), kinds, strict=True)
    ]
    near = sorted(
        (_distance(ours, theirs), one, other)
        for one, ours in enumerate(vectors[0])
        for other, theirs in enumerate(vectors[1])
    )
    usual = [
        {number for number, rows in enumerate(own) if 2 * len(rows) >= len(own[0])} for own in kinds
    ]
    first = next((one, other) for _, one, other in near if one in usual[0] and other in usual[1])
    orders = [
        sorted(range(len(own)), key=main.__ne__) for own, main in zip(kinds, first, strict=True)
    ]
    ordered = tuple([own[at] for at in order] for own, order in zip(kinds, orders, strict=True))
    pairs = [(0, 0)]
    periods = [
        [even_period(rows, len(side.cycles)) for rows in own]
        for side, own in zip((base, new), kinds, strict=True)
    ]
    # What comes as evenly belongs together as well, however much else of the program changed.
    alike = [
        (one, other)
        for _, one, other in near
        if periods[0][one] is not None and periods[0][one] == periods[1][other]
    ]
    for one, other in [*((a, b) for far, a, b in near if far <= _RAGGED), *alike]:
        ours, theirs = orders[0].index(one), orders[1].index(other)
        if all(ours != known and theirs != its for known, its in pairs):
            pairs.append((ours, theirs))
    return (ordered[0], ordered[1]), pairs

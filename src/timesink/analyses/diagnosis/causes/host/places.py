"""Places in the cycle: where the host is without beginning another call."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from timesink.analyses.anatomy.anatomy import LEAST_PLACE
from timesink.analyses.diagnosis.causes.case import Case, Side
from timesink.analyses.diagnosis.causes.claims.evidence import told_name
from timesink.analyses.diagnosis.diagnosis import Evidence
from timesink.analyses.statistics.moments import Floats
from timesink.model import units

_SORT = ["inside", "after", "before"]
_PLACE = [*_SORT, "occurrence"]


@dataclass(frozen=True, slots=True)
class Place:
    """One place, or with `occurrence` None all of a sort."""

    inside: str | None
    after: str | None
    before: str | None
    occurrence: int | None = None
    operators: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Which functions are operators."""

    @property
    def words(self) -> str:
        """Where it is: `after the last operator of the cycle (aten::add)`.

        >>> Place(None, "cudaFree", None).words, Place("aten::mm", None, None).words
        ('after the last call of the cycle (cudaFree)', 'inside aten::mm')
        """
        whole = "the cycle" if self.inside is None else told_name(self.inside)
        if self.after is None and self.before is None:
            return f"inside {whole}"
        if self.after is not None and self.before is None:
            return f"after the last {self._sort(self.after)} of {whole} ({told_name(self.after)})"
        if self.after is None and self.before is not None:
            sort = self._sort(self.before)
            return f"before the first {sort} of {whole} ({told_name(self.before)})"
        between = f"between {told_name(self.after or '')} and {told_name(self.before or '')}"
        return between if self.inside is None else f"{between} inside {whole}"

    def _sort(self, function: str) -> str:
        return "operator" if function in self.operators else "call"


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Time in each place in each cycle; a place is a column of the arrays."""

    which: tuple[Place, ...]
    base: Floats
    new: Floats

    @property
    def gained(self) -> Floats:
        """What each gained on average."""
        if not len(self.base) or not len(self.new):
            return np.zeros(len(self.which))
        return np.asarray(self.new.mean(axis=0) - self.base.mean(axis=0))


def places_of(case: Case) -> Places:
    """Every place of either side, and every sort of place that occurs more than once."""
    tables = [side.anatomy.places for side in (case.base, case.new)]
    single = pl.concat([table.select(_PLACE) for table in tables]).unique(maintain_order=True)
    many = single.group_by(_SORT, maintain_order=True).len().filter(pl.col("len") > 1)
    sorts = many.select(*_SORT, pl.lit(None, pl.Int64).alias("occurrence"))
    chosen = pl.concat([single, sorts]) if many.height else single
    functions = case.functions
    kinds = functions.table.filter(functions.where(pl.col("function_class") == "cpu_operator"))
    operators = frozenset(kinds["function"])
    which = tuple(
        Place(inside, after, before, turn, operators)
        for inside, after, before, turn in chosen.iter_rows()
    )
    base, new = (
        np.hstack([_times(side, single, _PLACE), _times(side, sorts, _SORT)])
        for side in (case.base, case.new)
    )
    base[:, single.height :] += _left_out(case.base, single, sorts)
    return Places(which, base, new)


def _left_out(side: Side, single: pl.DataFrame, sorts: pl.DataFrame) -> Floats:
    """What the places of each sort may take that a side has not kept, as each takes too little."""
    missing = single.join(
        side.anatomy.places.select(_PLACE).unique(), _PLACE, "anti", nulls_equal=True
    )
    counts = sorts.join(
        missing.group_by(_SORT).len(), _SORT, "left", nulls_equal=True, maintain_order="left"
    )
    lengths = side.anatomy.cycles["dur_ns"].median()
    least = LEAST_PLACE * (lengths if isinstance(lengths, float) else 0.0)
    return least * counts["len"].fill_null(0).to_numpy().astype(np.float64)


def _times(side: Side, places: pl.DataFrame, key: list[str]) -> Floats:
    cycles = side.cycles
    values = np.zeros((len(cycles), places.height))
    rows = pl.DataFrame({"cycle": cycles}, schema={"cycle": pl.Int64()}).with_row_index("row")
    columns = places.select(key).with_row_index("column")
    found = side.anatomy.places.join(rows, "cycle").join(columns, key, nulls_equal=True)
    where = found["row"].to_numpy(), found["column"].to_numpy()
    np.add.at(values, where, found["dur_ns"].to_numpy().astype(np.float64))
    return values


def place_evidence(side: Side, place: Place, values: Floats) -> Evidence:
    """The stretch to look at, in the cycle that shows it as most do."""
    middle = int(np.argsort(values, kind="stable")[len(values) // 2])
    cycle = side.cycles[middle]
    conditions = [
        pl.col(name).eq_missing(pl.lit(getattr(place, name), pl.String)) for name in _SORT
    ]
    rows = side.anatomy.places.filter(pl.col("cycle") == cycle, *conditions)
    if place.occurrence is not None:
        rows = rows.filter(pl.col("occurrence") == place.occurrence)
    if rows.is_empty():
        return Evidence("place", place.words, side="new", cycle=cycle, function=place.inside)
    longest = rows.sort("dur_ns", descending=True).row(0, named=True)
    start, length = int(longest["ts_ns"]), int(longest["dur_ns"])
    return Evidence(
        "place",
        f"{units.brief_ns(length)} {place.words}, in cycle {cycle}",
        side="new",
        cycle=cycle,
        start_ns=start,
        end_ns=start + length,
        function=place.inside,
    )

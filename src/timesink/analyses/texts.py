"""Tests on text columns, made once per distinct text instead of once per row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.model.arrays import Flags, Ints

Codes: TypeAlias = Ints


def encode(column: pl.Series) -> tuple[Codes, list[str | None]]:
    """A number per row and the text each number stands for; texts in no particular order."""
    if not isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.Categorical)
    physical = column.to_physical()
    if not physical.null_count():
        codes, rows = _renumbered(physical.to_numpy())
        return codes, column[rows].cast(pl.String).to_list()
    given = np.flatnonzero(physical.is_not_null().to_numpy())
    known, rows = _renumbered(physical.drop_nulls().to_numpy())
    codes = np.full(len(column), len(rows), dtype=np.int64)
    codes[given] = known
    return codes, [*column[given[rows]].cast(pl.String).to_list(), None]


def _renumbered(numbers: NDArray[Any]) -> tuple[Codes, NDArray[np.intp]]:
    """Numbers without holes, and a row for each of them: a table is far faster than sorting."""
    if not len(numbers) or numbers.min() == numbers.max():
        return np.zeros(len(numbers), dtype=np.int64), np.arange(min(1, len(numbers)))
    row_of = np.full(int(numbers.max()) + 1, -1, dtype=np.intp)
    row_of[numbers] = np.arange(len(numbers))
    place_of = np.cumsum(row_of >= 0) - 1
    return place_of[numbers], row_of[row_of >= 0]


@dataclass(frozen=True, eq=False)
class Texts:
    """A text column as numbers and what they stand for."""

    codes: Codes
    texts: Sequence[str]

    def matching(self, test: Callable[[str], bool]) -> Flags:
        """Which rows hold a text that passes the test."""
        passed = np.array([test(text) for text in self.texts], dtype=np.bool_)
        if not passed.any():
            return np.zeros(len(self.codes), dtype=np.bool_)
        return passed[self.codes]

    def among(self, *texts: str) -> Flags:
        """Which rows hold one of these texts."""
        return self.matching(set(texts).__contains__)

    def rows(self, test: Callable[[str], bool]) -> NDArray[np.intp]:
        """Numbers of the rows that hold a text that passes the test."""
        return np.flatnonzero(self.matching(test))

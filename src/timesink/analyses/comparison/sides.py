"""Rows of two roles in one set of arrays, numbered by what they are about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.model.arrays import Flags, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Rows of both sides, base first, and the number of the key each of them has."""

    keys: pl.DataFrame
    """The distinct keys in order; a row's `key` is a place in it."""
    rows: pl.DataFrame
    """With the number of their key in the column `key`."""
    key: Ints
    base_rows: int

    @property
    def is_new(self) -> Flags:
        return np.asarray(np.arange(len(self.key)) >= self.base_rows)

    @property
    def parts(self) -> tuple[slice, slice]:
        """Where the rows of base and new are."""
        return slice(None, self.base_rows), slice(self.base_rows, None)

    def floats(self, column: str) -> Floats:
        """A column as numbers, 0 where it is not known."""
        return self.rows[column].cast(pl.Float64).fill_nan(None).fill_null(0.0).to_numpy()

    def runs_on(self) -> pl.Series:
        """Which side has each key."""
        has_base, has_new = (
            np.bincount(self.key[part], minlength=len(self.keys)) > 0 for part in self.parts
        )
        names = np.where(has_base & has_new, "both", np.where(has_base, "base", "new"))
        return pl.Series("runs_on", names.tolist(), dtype=pl.String)

    def table(self, columns: Mapping[str, Floats | Ints | pl.Series]) -> pl.DataFrame:
        """The keys, each with its values."""
        return self.keys.with_columns(_series(*column) for column in columns.items())


def _series(name: str, values: Floats | Ints | pl.Series) -> pl.Series:
    if isinstance(values, pl.Series):
        return values.alias(name)
    # As a list: for an array Polars loads masked arrays, which takes longer than small tables do.
    kind = pl.Float64() if values.dtype.kind == "f" else pl.Int64()
    return pl.Series(name, values.tolist(), kind)


def side_by_side(base: pl.DataFrame, new: pl.DataFrame, key: list[str]) -> Sides:
    """Both sides' rows, numbered by the columns of the key."""
    rows = pl.concat([base, new])
    texts = pl.col(key).cast(pl.String)  # the order of letters, not of appearance
    distinct = rows.select(key).unique().sort(texts).with_row_index("number")
    numbers = rows.select(key).join(
        distinct, on=key, how="left", nulls_equal=True, maintain_order="left"
    )["number"]
    return Sides(
        keys=distinct.select(texts),
        rows=rows.with_columns(key=numbers),
        key=numbers.to_numpy().astype(np.int64),
        base_rows=base.height,
    )

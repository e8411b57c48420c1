"""Tests on text columns, made once per distinct text instead of once per row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[np.int64]


def encode(column: pl.Series) -> tuple[Codes, list[str | None]]:
    """A number per row and the text each number stands for; texts in no particular order.

    >>> codes, texts = encode(pl.Series(["mm", "add", "mm", None], dtype=pl.Categorical))
    >>> [texts[code] for code in codes]
    ['mm', 'add', 'mm', None]
    """
    if not isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.Categorical)
    distinct = column.drop_nulls().unique()
    place_of = np.zeros(1, dtype=np.int64)
    known = distinct.to_physical().to_numpy()
    if len(known):
        place_of = np.zeros(int(known.max()) + 1, dtype=np.int64)
        place_of[known] = np.arange(len(known))
    texts: list[str | None] = distinct.cast(pl.String).to_list()
    physical = column.to_physical()
    if not physical.null_count():
        if len(texts) == 1:
            return np.zeros(len(column), dtype=np.int64), texts
        return place_of[physical.to_numpy()], texts
    codes = place_of[physical.fill_null(0).to_numpy().clip(max=len(place_of) - 1)]
    codes[physical.is_null().to_numpy()] = len(texts)
    return codes, [*texts, None]


@dataclass(frozen=True, eq=False)
class Texts:
    """A text column as numbers and what they stand for."""

    codes: Codes
    texts: Sequence[str]

    def matching(self, test: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Which rows hold a text that passes the test."""
        passed = np.array([test(text) for text in self.texts], dtype=np.bool_)
        if not passed.any():
            return np.zeros(len(self.codes), dtype=np.bool_)
        return passed[self.codes]

    def rows(self, test: Callable[[str], bool]) -> NDArray[np.intp]:
        """Numbers of the rows that hold a text that passes the test."""
        return np.flatnonzero(self.matching(test))


def matching(column: pl.Series, test: Callable[[str], bool]) -> NDArray[np.bool_]:
    """Which rows hold a text that passes the test; an absent text never does.

    >>> names = pl.Series(["aten::mm", "nccl:all_reduce", None], dtype=pl.Categorical)
    >>> matching(names, lambda name: name.startswith("nccl:")).tolist()
    [False, True, False]
    """
    codes, texts = encode(column)
    passed = np.array([text is not None and test(text) for text in texts], dtype=np.bool_)
    return passed[codes] if len(codes) else np.zeros(0, dtype=np.bool_)

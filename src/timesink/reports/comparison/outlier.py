"""The one pair among many in which a function changed otherwise than in all the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.reports.comparison.told import Told

_FEWEST = 4
"""Pairs it takes to say what the others have in common."""
_FAR = 2.0
"""The one is this many times as far from the middle as the next."""
_LEAST_SHARE = 0.05
"""And by this part of a cycle."""


@dataclass(frozen=True, slots=True)
class Outlier:
    """A function of one pair, and what it took in the others."""

    place: int
    """Which of the pairs."""
    function: str
    base_ns: float
    new_ns: float
    others_ns: tuple[tuple[float, float], ...]
    """Base and new of every other pair."""


def outlier(pairs: Sequence[Told]) -> Outlier | None:
    """The function whose change of time sets one pair apart most clearly; None without any.

    >>> outlier([]) is None
    True
    """
    if len(pairs) < _FEWEST:
        return None
    times = _times(pairs)
    if times.is_empty():
        return None
    names = times["function"].unique(maintain_order=True).to_list()
    base, new = (_matrix(times, names, len(pairs), column) for column in ("base_ns", "new_ns"))
    apart = np.abs((new - base) - np.median(new - base, axis=1, keepdims=True))
    ordered = np.sort(apart, axis=1)
    cycle = min(one.pair.cycle_times.base_mean_ns for one in pairs)
    clear = (ordered[:, -1] > _FAR * ordered[:, -2]) & (ordered[:, -1] > _LEAST_SHARE * cycle)
    if not clear.any():
        return None
    place = int(np.argmax(np.where(clear, ordered[:, -1], -1)))
    who = int(np.argmax(apart[place]))
    others = [each for each in range(len(pairs)) if each != who]
    return Outlier(
        who,
        names[place],
        float(base[place, who]),
        float(new[place, who]),
        tuple((float(base[place, each]), float(new[place, each])) for each in others),
    )


def _times(pairs: Sequence[Told]) -> pl.DataFrame:
    """Time of each function in each pair, whichever device it runs on there.

    Only functions that changed beyond noise in one of the pairs.
    """
    moved = {one.pair.times["function"][place] for one in pairs for place in one.verdict.functions}
    columns = ["function", "base_ns", "new_ns"]
    tables = [
        one.times.select(columns)
        .filter(pl.col("function").is_in(sorted(moved)))
        .with_columns(pair=pl.lit(place))
        for place, one in enumerate(pairs)
    ]
    return pl.concat(tables).group_by("function", "pair").sum().sort("function", "pair")


def _matrix(times: pl.DataFrame, names: list[str], width: int, column: str) -> np.ndarray:
    values = np.zeros((len(names), width))
    rows = times["function"].replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    values[rows.to_numpy(), times["pair"].to_numpy()] = times[column].to_numpy()
    return values

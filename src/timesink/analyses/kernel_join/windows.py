"""Stretches of a timeline to compare with: its steps, or what repeats where none are marked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.model.arrays import Ints

_WORD = 12
"""So many launches in a row are looked for again when no steps are marked."""
_MOST_PERIODS = 16
_REPEATS = 0.9
"""Share of the launches that must be the same one period later, of an average function."""
_AS_GOOD = 0.01
_ALIKE = 0.9
"""Share of the launches of the first period that must be the same one period later."""


@dataclass(frozen=True, eq=False)
class Window:
    """Rows of the timeline, in launch order."""

    rows: Ints
    step: str | None = None
    """Which step it is; None where the recording marks none."""


def windows_of(function: Ints, rows: Ints, steps: pl.Series | None) -> list[Window]:
    """The steps among some rows; without any, stretches that repeat, or all rows together.

    `function` has a number per row of the timeline that says what it launches.
    """
    if steps is not None and steps[rows].null_count() < len(rows):
        places = (
            pl.DataFrame({"step": steps[rows].cast(pl.String), "row": rows})
            .drop_nulls("step")
            .group_by("step", maintain_order=True)
            .agg("row")
        )
        return [Window(own.to_numpy(), step) for step, own in zip(*places, strict=True)]
    period = find_period(function[rows])
    if not period:
        return [Window(rows)]
    first = _first_repeated(function[rows], period)
    return [Window(rows[at : at + period]) for at in range(first, len(rows) - period + 1, period)]


def find_period(function: Ints) -> int:
    """After how many launches a sequence repeats; 0 where it does not.

    Layers of a network repeat as well, but only a step repeats with all that is in it.
    """
    if len(function) < 2 * _WORD:
        return 0
    # A number for the launches that begin at each place; equal where they are equal.
    numbers = np.random.default_rng(0).integers(1, 1 << 62, _WORD, dtype=np.uint64)
    count = len(function) - _WORD + 1
    words = np.zeros(count, dtype=np.uint64)
    for place, number in enumerate(numbers):
        words += (function[place : place + count].astype(np.uint64) + np.uint64(1)) * number
    order = np.argsort(words, kind="stable")
    again = np.flatnonzero(words[order[1:]] == words[order[:-1]])
    distances, often = np.unique(order[again + 1] - order[again], return_counts=True)
    likely = np.sort(distances[np.argsort(-often, kind="stable")[:_MOST_PERIODS]])
    shares = np.array([_share_repeated(function, int(period)) for period in likely])
    if not len(shares) or shares.max() < _REPEATS:
        return 0
    return int(likely[np.flatnonzero(shares >= shares.max() - _AS_GOOD)[0]])


def _share_repeated(function: Ints, period: int) -> float:
    """Share of the launches that are the same one period later, as a mean over the functions."""
    codes = np.unique(function, return_inverse=True)[1][:-period]
    again = function[period:] == function[:-period]
    often = np.bincount(codes)
    return float((np.bincount(codes, again)[often > 0] / often[often > 0]).mean())


def _first_repeated(function: Ints, period: int) -> int:
    """Where a stretch begins that the next one repeats."""
    same = np.cumsum(np.append(0, function[period:] == function[:-period]))
    if len(same) <= period:
        return 0
    return int(np.argmax((same[period:] - same[:-period]) >= _ALIKE * period))

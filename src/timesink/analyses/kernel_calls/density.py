"""Where the time of the kernels lies between memory use and use of the multiprocessors."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from timesink.analyses.kernel_calls.classes import THIRDS, Axis, Thresholds, axis_of
from timesink.analyses.kernel_calls.sampling import call_time
from timesink.model.arrays import Floats

CELLS = 30
"""Cells along each axis."""


@dataclass(frozen=True, eq=False)
class Density:
    """Fractions of the time in a grid of cells."""

    axis: Axis
    edges_pct: Floats
    """Borders of the cells, alike on both axes; those of the classes are among them."""
    shares: Floats
    """Fractions of all time: rows of use of the multiprocessors, columns of memory use."""
    missing: float
    """Fraction of all time without both metrics."""
    beyond: float
    """Fraction of all time above 100 % on an axis; it is counted in the last cell."""


def density(calls: pl.DataFrame, thresholds: Thresholds = THIRDS, cells: int = CELLS) -> Density:
    """How much of the time of one device's launches is spent in each cell."""
    axis = axis_of(calls)
    # Cells of much the same size, none of them on both sides of a threshold.
    borders = sorted({0.0, 100 * thresholds.low, 100 * thresholds.high, 100.0})
    parts = [
        np.linspace(low, high, max(1, round(cells * (high - low) / 100)), endpoint=False)
        for low, high in pairwise(borders)
    ]
    edges = np.append(np.concatenate(parts), 100.0)
    compute, dram = (calls[f"{name}_pct"].cast(pl.Float64()).to_numpy() for name in (axis, "dram"))
    time = calls.select(call_time().fill_null(0.0)).to_series().to_numpy()
    total = time.sum() or 1.0
    known = ~(np.isnan(compute) | np.isnan(dram))
    row, column = (
        np.clip(np.searchsorted(edges, values[known], side="right") - 1, 0, len(edges) - 2)
        for values in (compute, dram)
    )
    side = len(edges) - 1
    shares = np.bincount(row * side + column, time[known] / total, minlength=side * side)
    over = known & ((compute > edges[-1]) | (dram > edges[-1]))
    return Density(
        axis=axis,
        edges_pct=edges,
        shares=shares.astype(np.float64).reshape(side, side),
        missing=float(time[~known].sum() / total),
        beyond=float(time[over].sum() / total),
    )

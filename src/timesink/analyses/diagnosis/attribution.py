"""What each part of a cycle adds to the change of the mean cycle."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.anatomy.anatomy import PARTS, Anatomy
from timesink.analyses.comparison.pair import Pair
from timesink.analyses.diagnosis.diagnosis import Component
from timesink.analyses.diagnosis.same_launches import same_launches
from timesink.analyses.statistics.drifting import mean_changes

Floats = NDArray[np.float64]
Key = tuple[str, str | None]
"""Part and family of kernels."""


def attribution(pair: Pair, base: Anatomy, new: Anatomy) -> tuple[Component, ...]:
    """Components of the change, largest first; their changes add up to that of the mean cycle."""
    keys = sorted({*_keys(base), *_keys(new)}, key=_order)
    before, after = _matrix(base, keys), _matrix(new, keys)
    if not keys or not len(before) or not len(after):
        return ()
    changes = mean_changes(before, after)
    means = before.mean(axis=0), after.mean(axis=0)
    total = (means[0] + means[1]).tolist()
    exposed = {key[1]: time for key, time in zip(keys, total, strict=True) if key[1] is not None}
    same = same_launches(pair, exposed)
    found = [
        Component(
            part=key[0],
            family=key[1],
            base_ns=float(means[0][place]),
            new_ns=float(means[1][place]),
            interval_ns=_interval(changes.low[place], changes.high[place]),
            p_value=_known(changes.p[place]),
            same_launches_ns=same.get(key[1] or "") if key[0] == "device_compute" else None,
        )
        for place, key in enumerate(keys)
    ]
    return tuple(sorted(found, key=lambda one: -abs(one.delta_ns)))


def _keys(anatomy: Anatomy) -> set[Key]:
    return set(anatomy.parts.select(pl.col("part").cast(pl.String), "family").unique().iter_rows())


def _order(key: Key) -> tuple[int, str]:
    return PARTS.index(key[0]), key[1] or ""


def _matrix(anatomy: Anatomy, keys: list[Key]) -> Floats:
    """Time by cycle and component, cycles in order; a part that is not there took no time."""
    cycles = anatomy.cycles["cycle"].sort().to_frame().with_row_index("row")
    columns = pl.DataFrame(
        {"part": [part for part, _ in keys], "family": [family for _, family in keys]},
        schema={"part": pl.String, "family": pl.String},
    ).with_row_index("column")
    rows = anatomy.parts.with_columns(pl.col("part").cast(pl.String)).join(cycles, "cycle")
    rows = rows.join(columns, ["part", "family"], nulls_equal=True)
    matrix = np.zeros((cycles.height, len(keys)))
    where = rows["row"].to_numpy(), rows["column"].to_numpy()
    np.add.at(matrix, where, rows["dur_ns"].to_numpy())
    return matrix


def _interval(low: float, high: float) -> tuple[float, float] | None:
    return (float(low), float(high)) if np.isfinite(low) and np.isfinite(high) else None


def _known(p: float) -> float | None:
    return float(p) if np.isfinite(p) else None

"""Time of a part of the cycle in every cycle of a side."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import polars as pl

from timesink.analyses.diagnosis.causes.case import Side
from timesink.analyses.statistics.moments import Floats


def part_times(side: Side, parts: Collection[str]) -> Floats:
    """Time of the parts together in each cycle, in the order of the cycles; zero where none is."""
    chosen = side.anatomy.parts.filter(pl.col("part").cast(pl.String).is_in(list(parts)))
    summed = dict(chosen.group_by("cycle").agg(pl.col("dur_ns").sum()).iter_rows())
    return np.array([summed.get(cycle, 0.0) for cycle in side.cycles], dtype=np.float64)

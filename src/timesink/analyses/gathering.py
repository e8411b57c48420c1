"""Values at places where -1 means that there is none."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.forest import CallForest
from timesink.analyses.nesting import Nodes
from timesink.model.arrays import Ints


def values_at(column: pl.Series, places: Ints) -> pl.Series:
    """The values at these places; null at -1."""
    if not (places < 0).any():
        return column.gather(places)
    known = pl.Series(places, dtype=pl.Int64).replace(-1, None)
    return column.gather(known.cast(pl.UInt32))


def names_of(forest: CallForest, nodes: Nodes) -> pl.Series:
    """Names of calls; null where there is no call."""
    code = np.where(nodes >= 0, forest.name[nodes], -1) if len(forest) else nodes
    return values_at(pl.Series(forest.names, dtype=pl.String), code)

"""Which process work on the device belongs to."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.columns import device_columns, host_columns
from timesink.analyses.links import link_launches
from timesink.analyses.once import once_per_trace
from timesink.model.trace import Trace


@once_per_trace
def launching_process(trace: Trace) -> pl.Series:
    """For each row of `trace.device` the process that launched it, or its own where unknown."""
    device = device_columns(trace)
    own = device["pid"].cast(pl.String).fill_null("")
    row = link_launches(trace).call_row
    if not (row >= 0).any():
        return own
    callers = host_columns(trace)["pid"].cast(pl.String).fill_null("")[np.maximum(row, 0)]
    # Work whose launch was not recorded belongs to whoever launched the rest of its lane.
    known = pl.DataFrame({"own": own, "caller": callers, "row": row}).with_columns(
        pl.when(pl.col("row") >= 0).then("caller").alias("caller")
    )
    usual = pl.col("caller").drop_nulls().mode().sort().first().over("own")
    return known.select(pl.coalesce("caller", usual, "own")).to_series()

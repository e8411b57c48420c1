"""What was sampled: every counter, where, how often and how high."""

from __future__ import annotations

import polars as pl

from timesink.model.counter_units import unit_of
from timesink.model.trace import Trace


def sampled_counters(trace: Trace) -> pl.DataFrame:
    """One row per counter and device, in the order of names; values are in the unit."""
    value = pl.col("value")
    rows = (
        trace.lazy("counters")
        .filter(value.is_finite())
        .group_by(pl.col("counter", "device").cast(pl.String))
        .agg(
            samples=pl.len().cast(pl.Int64),
            lowest=value.min(),
            mean=value.mean(),
            highest=value.max(),
        )
        .sort("counter", "device")
        .collect()
    )
    largest = dict(rows.group_by("counter").agg(pl.col("highest").abs().max()).iter_rows())
    units = {counter: unit_of(counter, top) for counter, top in largest.items()}
    named = pl.Series("unit", [units[counter] for counter in rows["counter"]], dtype=pl.String)
    return rows.with_columns(named)


def sampled_span_ns(trace: Trace) -> int:
    """From the first sample to the last."""
    times = pl.col("ts_ns")
    found = trace.lazy("counters").select((times.max() - times.min()).fill_null(0)).collect()
    return int(found.item())

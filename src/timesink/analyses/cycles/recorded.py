"""Cycles of a behaviour table, which has them already."""

from __future__ import annotations

import polars as pl

from timesink.analyses.cycles.cycles import SCHEMA, Cycles
from timesink.model.trace import Trace

METHOD = "table"
"""How cycles were found where somebody else did."""


def recorded_cycles(trace: Trace) -> Cycles | None:
    """The cycles a behaviour table names, with their numbers; None for a timeline."""
    rows = trace.lazy("behaviour").select(
        "cycle",
        pl.col("cycle_type").alias("type"),
        *(pl.col(name).cast(pl.String).fill_null("") for name in ("pid", "anchor")),
        pl.col("cycle_ts_ns").alias("start_ns"),
        (pl.col("cycle_ts_ns") + pl.col("cycle_dur_ns")).alias("end_ns"),
    )
    cycles = rows.unique().sort("pid", "cycle", "start_ns").collect()
    if cycles.is_empty():
        return None
    table = cycles.rename({"anchor": "name"}).select(list(SCHEMA)).cast(SCHEMA)  # type: ignore[arg-type]
    anchor = table["name"].mode().sort()[0]
    return Cycles(table, METHOD, anchor, 1.0, "the behaviour table names its cycles")

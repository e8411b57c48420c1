"""A trace with its critical path in it, for viewers: arrows along it, and a mark on its events."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from timesink.analyses.timeline.overlays import PathPieces
from timesink.model.schema import TABLES
from timesink.model.trace import Trace

CATEGORY = "critical_path"
MARK, ON_PATH = "critical", "critical us"
"""Arguments of an event on the path: that it is, and what of it."""
_SIDES = ("host", "device")


def with_path(trace: Trace, pieces: PathPieces) -> Trace:
    """The trace with arrows where the path goes from one thread or stream to another.

    `pieces` are on the clock of the trace.
    """
    events = [trace.lazy(name).select("index", "pid", "tid").collect() for name in _SIDES]
    number = pieces.row + np.where(pieces.of_device, events[0].height, 0)
    # Threads and streams are named by text of two tables.
    names = [pl.col("index"), pl.col("pid", "tid").cast(pl.String)]
    found = pl.concat([one.select(names) for one in events])[number]
    taken = trace.lazy("flows").select(pl.col("flow_id").max()).collect().item()
    head = np.flatnonzero(pieces.way > 0)
    ends = (
        ("start", head - 1, np.maximum(pieces.end - 1, pieces.start)[head - 1]),
        ("end", head, pieces.start[head]),
    )
    arrows = [
        found[place].with_columns(
            kind=pl.lit("other"),
            phase=pl.lit(phase),
            flow_id=pl.Series(1 + (taken or 0) + np.arange(len(head))),
            category=pl.lit(CATEGORY),
            ts_ns=pl.Series(time),
        )
        for phase, place, time in ends
    ]
    length = found.select("index").with_columns(ns=pl.Series(pieces.end - pieces.start))
    marks = length.group_by("index", maintain_order=True).agg(pl.col("ns").sum() / 1000)
    told = [
        marks.select("index", key=pl.lit(key), value=value.cast(pl.String))
        for key, value in ((MARK, pl.lit(1)), (ON_PATH, pl.col("ns")))
    ]
    added = {"flows": pl.concat(arrows), "event_args": pl.concat(told)}
    return replace(
        trace,
        frames={
            **trace.frames,
            **{name: _longer(trace, name, rows) for name, rows in added.items()},
        },
    )


def _longer(trace: Trace, name: str, rows: pl.DataFrame) -> pl.LazyFrame:
    schema = TABLES[name].schema
    more = rows.select(pl.col(column).cast(dtype) for column, dtype in schema.items())
    return pl.concat([trace.lazy(name).collect(), more], how="vertical_relaxed").lazy()

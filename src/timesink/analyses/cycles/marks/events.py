"""Events that may mark cycles, as one table: process, thread, name, start and end."""

from __future__ import annotations

import polars as pl

from timesink.analyses.columns import device_columns, host_columns
from timesink.analyses.cycles.launching import launching_process
from timesink.model.trace import Trace


def host_annotations(trace: Trace) -> pl.DataFrame:
    """What the program annotated on the host."""
    return _events(host_columns(trace), pl.col("kind") == "annotation")


def host_events(trace: Trace) -> pl.DataFrame:
    """Every call on the host that is no annotation."""
    return _events(host_columns(trace), ~pl.col("kind").is_in(["trace", "instant", "annotation"]))


def device_annotations(trace: Trace) -> pl.DataFrame:
    """Annotations as the device's work shows them."""
    return _events(_on_device(trace), pl.col("kind") == "annotation")


def device_events(trace: Trace) -> pl.DataFrame:
    """Annotations on the device; kernels and copies where it has none."""
    marks = device_annotations(trace)
    return marks if marks.height else _events(_on_device(trace), pl.col("kind") != "sync")


def reach_before(*lane: str) -> pl.Expr:
    """For events in the order of their starts: how far the earlier ones of their lane reach."""
    return pl.col("end_ns").cum_max().shift().over(*lane)


def outermost(events: pl.DataFrame) -> pl.DataFrame:
    """Without events that lie inside an earlier one of the same process."""
    return events.filter((pl.col("start_ns") >= reach_before("pid")).fill_null(value=True))


def _on_device(trace: Trace) -> pl.DataFrame:
    return device_columns(trace).with_columns(
        launching_process(trace).alias("pid"), pl.col("stream").alias("tid")
    )


def _events(table: pl.DataFrame, chosen: pl.Expr) -> pl.DataFrame:
    return (
        table.lazy()
        .filter(chosen, pl.col("dur_ns") > 0)
        .select(
            *(pl.col(name).cast(pl.String).fill_null("") for name in ("pid", "tid", "name")),
            pl.col("ts_ns").alias("start_ns"),
            (pl.col("ts_ns") + pl.col("dur_ns")).alias("end_ns"),
        )
        .sort("pid", "start_ns", "end_ns", descending=[False, False, True])
        .collect()
    )

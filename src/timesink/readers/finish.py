"""The last step of every reader: schema, derived tables, health checks, one frozen trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from timesink.model.health import HealthEntry, merge_entries
from timesink.model.schema import STEPS, TABLES, TraceTable
from timesink.model.trace import Metadata, Trace
from timesink.readers.checks import find_oddities

_LATEST_NS = 2**63 - 1
STEP_PATTERN = r"^ProfilerStep#(\d+)"


def finish_trace(
    metadata: Metadata,
    tables: Mapping[str, pl.DataFrame],
    health: Iterable[HealthEntry] = (),
) -> Trace:
    """Bring the tables to the schema, find steps and oddities, and freeze the result.

    Readers may leave out tables and columns they know nothing of; these become empty or null.
    """
    complete = {name: conform(frame, TABLES[name]) for name, frame in tables.items()}
    for name, table in TABLES.items():
        complete.setdefault(name, table.empty())
    odd_values = [
        HealthEntry("bad_value", _new_nulls(frame, complete[name]), f"a number in {name}")
        for name, frame in tables.items()
    ]
    for name in ("host", "device"):
        complete[name], endless = _within_64_bits(complete[name])
        odd_values.append(HealthEntry("bad_value", endless, "an event that ends beyond 64 bits"))
    if complete["steps"].is_empty() and not complete["host"].is_empty():
        complete["steps"] = find_steps(complete["host"])
    found = find_oddities(complete, metadata)
    return Trace(
        metadata=metadata,
        health=merge_entries([*health, *odd_values, *found]),
        frames={name: frame.lazy() for name, frame in complete.items()},
    )


def conform(frame: pl.DataFrame, table: TraceTable) -> pl.DataFrame:
    """The frame with exactly the columns of the table, in order; absent ones become null.

    A value the column cannot hold becomes null as well.
    """
    if frame.is_empty():
        return table.empty()
    if dict(frame.schema) == table.schema and frame.columns == list(table.schema):
        return frame
    return frame.select(
        pl.col(column.name).cast(column.dtype, strict=False)
        if column.name in frame.columns
        else pl.lit(None, dtype=column.dtype).alias(column.name)
        for column in table.columns
    )


def _new_nulls(before: pl.DataFrame, after: pl.DataFrame) -> int:
    """How many values were lost on the way to the schema."""
    if before.is_empty():
        return 0
    return sum(
        after[column].null_count() - before[column].null_count()
        for column in before.columns
        if column in after.columns and before[column].dtype != after[column].dtype
    )


def _within_64_bits(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Events cut where their end would not fit; the number of those cut."""
    if frame.is_empty():
        return frame, 0
    room = _LATEST_NS - pl.col("ts_ns").clip(lower_bound=0)
    endless = frame.select((pl.col("dur_ns") > room).sum()).item()
    if not endless:
        return frame, 0
    return frame.with_columns(dur_ns=pl.min_horizontal("dur_ns", room)), int(endless)


def find_steps(host: pl.DataFrame) -> pl.DataFrame:
    """Steps the profiler marked on the host; device-side copies of the marks are not steps."""
    step_names = host.select(pl.col("name").unique().cast(pl.String)).to_series()
    step_names = step_names.filter(step_names.str.contains(STEP_PATTERN).fill_null(value=False))
    marks = host.filter(
        pl.col("kind").is_in(["operator", "annotation"])
        & pl.col("name").is_in(step_names.cast(pl.Categorical).implode())
    ).sort("ts_ns", "index")
    return conform(
        marks.with_columns(
            step=pl.col("name")
            .cast(pl.String)
            .str.extract(STEP_PATTERN)
            .cast(pl.Int64, strict=False)
        ),
        STEPS,
    )

"""Arguments of one event as text, under the names they were recorded by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from timesink.model.units import size_bytes
from timesink.reports.timeline.opening import Timeline
from timesink.writers import chrome_names as names

_BYTES = ("bytes", "shared_memory_bytes")


def facts_of(timeline: Timeline, slice_id: int) -> Iterator[tuple[str, str]]:
    """Label and value of everything recorded with an event."""
    hosts = timeline.layout.host_rows
    table, place = ("host", slice_id) if slice_id < hosts else ("device", slice_id - hosts)
    row = _row(timeline.trace.lazy(table).slice(place, 1))
    if row["category"]:
        yield "category", row["category"]
    if table == "host":
        yield from _named(row, names.HOST_JSON_ARGUMENTS)
        yield from _named(row, names.HOST_ARGUMENTS)
    else:
        if row["stream"] is not None:
            yield "stream", row["stream"]
        for shape in ("grid", "block"):
            if row[f"{shape}_x"] is not None:
                yield shape, ", ".join(str(row[f"{shape}_{axis}"]) for axis in "xyz")
        if row["copy_direction"] is not None:
            yield "direction", row["copy_direction"]
        yield from _named(row, names.DEVICE_ARGUMENTS)
    of_event = pl.col("index") == row["index"]
    collective = timeline.trace.lazy("collectives").filter(of_event).head(1)
    yield from _named(_row(collective), names.COLLECTIVE_ARGUMENTS)
    rare = timeline.trace.lazy("event_args").filter(of_event)
    yield from rare.select(pl.col("key").cast(pl.String), "value").collect().iter_rows()


def _named(row: dict[str, Any], labels: dict[str, str]) -> Iterator[tuple[str, str]]:
    for column, label in labels.items():
        value = row.get(column)
        if value is not None and column in _BYTES:
            yield label, size_bytes(value)
        elif value is not None:
            yield label, f"{value:g}" if isinstance(value, float) else str(value)


def _row(frame: pl.LazyFrame) -> dict[str, Any]:
    """The only row of a frame; nothing where it has none."""
    plain = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)).collect()
    return next(plain.iter_rows(named=True), {})

"""Counters sampled beside a trace: CSV with columns `timestamp_us,counter,device,value`.

The layouts of others are read as well: see `layouts`.  Timestamps are Unix microseconds
as decimal text; they are never taken through float64, which cannot hold today's nanoseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from timesink.errors import UnreadableError
from timesink.model.health import HealthEntry
from timesink.model.schema import COUNTERS
from timesink.model.trace import Metadata, Trace
from timesink.model.vendors import NO_ACCELERATOR
from timesink.readers.counters.layouts import COLUMNS, in_own_columns, layout_of
from timesink.readers.csv_text import count_foreign_lines, header_of, texts_of
from timesink.readers.exact_times import microseconds_as_ns
from timesink.readers.finish import conform, finish_trace
from timesink.readers.options import ReadOptions
from timesink.readers.source import SourceFile, open_source

NAME = "counters"

_EXPECTED = f"expected columns: {','.join(COLUMNS)}"
_STRIPPED = " \t\r\"'"


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001
    return layout_of(header_of(head)) is not None


def read(source: SourceFile, options: ReadOptions) -> Trace:  # noqa: ARG001
    """A trace of counters alone, for a CSV given by itself."""
    counters, health = _read_source(source)
    metadata = Metadata(
        source=str(source.path), format=NAME, vendor=NO_ACCELERATOR, events=counters.height
    )
    return finish_trace(metadata, {"counters": counters}, health)


def read_counters(path: Path) -> tuple[pl.DataFrame, list[HealthEntry]]:
    """The `counters` table of a CSV, and what of it could not be used."""
    return _read_source(open_source(path))


def _read_source(source: SourceFile) -> tuple[pl.DataFrame, list[HealthEntry]]:
    content, health = source.content()
    if not content.strip():
        raise UnreadableError(f"{source.path}: the file is empty", _EXPECTED)
    health.append(HealthEntry("invalid_utf8", count_foreign_lines(content), source.path.name))
    layout = layout_of(header_of(content))
    if layout is None:
        reason = _why_no_layout(header_of(content))
        raise UnreadableError(f"{source.path}: not a counter CSV ({reason})", _EXPECTED)
    texts = texts_of(content, numbers="value", strip=_STRIPPED, decimals=["value"])
    rows = in_own_columns(texts, layout)
    samples = rows.with_columns(
        ts_ns=microseconds_as_ns(rows["timestamp_us"]),
        value=pl.col("value").cast(pl.Float64, strict=False),
        source=pl.lit(source.path.name),
    )
    is_sample = samples.select(
        pl.col("ts_ns").is_not_null()
        & pl.col("counter").is_not_null()
        & pl.col("value").is_finite().fill_null(value=False)
    ).to_series()
    bad = rows.filter(~is_sample)
    if bad.height:
        example = ",".join(text or "" for text in bad.row(0))
        entry = HealthEntry("bad_counter_row", bad.height, f"{source.path.name}: {example}")
        health.append(entry)
    usable = conform(samples.filter(is_sample), COUNTERS)
    return usable, [entry for entry in health if entry.count]


def _why_no_layout(header: Sequence[str]) -> str:
    missing = [name for name in COLUMNS if name not in header]
    if len(missing) == len(COLUMNS):
        return "no header line"
    return f"no column {' nor '.join(missing)}"

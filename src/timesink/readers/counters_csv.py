"""Counters sampled beside a trace: CSV with columns `timestamp_us,counter,device,value`.

The layouts of others are read as well: see `counter_layouts`.  Timestamps are Unix microseconds
as decimal text; they are never taken through float64, which cannot hold today's nanoseconds.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import polars as pl

from timesink.errors import UnreadableError
from timesink.model.health import HealthEntry
from timesink.model.schema import COUNTERS
from timesink.model.trace import Metadata, Trace
from timesink.readers.counter_layouts import COLUMNS, in_own_columns, layout_of
from timesink.readers.csv_text import header_of, texts_of
from timesink.readers.finish import conform, finish_trace
from timesink.readers.options import ReadOptions
from timesink.readers.source import Damage, Source, open_source

NAME = "counters"

_STRIPPED = " \t\r\"'"


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001
    return layout_of(header_of(head)) is not None


def read(source: Source, options: ReadOptions) -> Trace:  # noqa: ARG001
    """A trace of counters alone, for a CSV given by itself."""
    counters, health = _read_source(source)
    metadata = Metadata(source=str(source.path), format=NAME, vendor="cpu", events=counters.height)
    return finish_trace(metadata, {"counters": counters}, health)


def read_counters(path: Path) -> tuple[pl.DataFrame, list[HealthEntry]]:
    """The `counters` table of a CSV, and what of it could not be used."""
    return _read_source(open_source(path))


def _read_source(source: Source) -> tuple[pl.DataFrame, list[HealthEntry]]:
    damage = Damage()
    content = b"".join(source.blocks(damage))
    health = [HealthEntry("truncated_archive", 1, reason) for reason in damage.reasons]
    layout = layout_of(header_of(content))
    if layout is None:
        message = f"{source.path}: not a counter CSV (no header line)"
        raise UnreadableError(message, f"expected columns: {','.join(COLUMNS)}")
    rows = in_own_columns(texts_of(content, numbers="value", strip=_STRIPPED), layout)
    samples = rows.with_columns(
        ts_ns=_to_nanoseconds(rows.get_column("timestamp_us")),
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
        health.append(HealthEntry("bad_counter_row", bad.height, example))
    return conform(samples.filter(is_sample), COUNTERS), health


def _to_nanoseconds(microseconds: pl.Series) -> pl.Series:
    """Exact whole nanoseconds; null where the text is not a number."""
    # Counters sampled together share their timestamp, so few texts are distinct.
    texts = microseconds.drop_nulls().unique().to_list()
    exact = pl.Series([_nanoseconds_of(text) for text in texts], dtype=pl.Int64)
    known = pl.DataFrame({"text": pl.Series(texts, dtype=pl.String), "ts_ns": exact})
    return (
        pl.DataFrame({"text": microseconds})
        .join(known, on="text", how="left", maintain_order="left")
        .get_column("ts_ns")
    )


def _nanoseconds_of(text: str) -> int | None:
    try:
        nanoseconds = Decimal(text).scaleb(3)
    except ArithmeticError:
        return None
    fits = nanoseconds.is_finite() and abs(nanoseconds) < 2**63
    return int(nanoseconds) if fits else None

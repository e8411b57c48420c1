"""Counters sampled beside a trace: CSV with columns `timestamp_us,counter,device,value`.

Timestamps are Unix microseconds written as decimal text; they are never taken through float64,
which cannot hold today's nanoseconds.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import polars as pl

from timesink.errors import UnreadableError
from timesink.model.health import HealthEntry
from timesink.model.schema import COUNTERS
from timesink.model.trace import Metadata, Trace
from timesink.readers.finish import conform, finish_trace
from timesink.readers.options import ReadOptions
from timesink.readers.source import Damage, Source, open_source

NAME = "counters"

COLUMNS = ("timestamp_us", "counter", "device", "value")
_BOM = b"\xef\xbb\xbf"


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001
    return set(COLUMNS) <= set(_header_of(head))


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
    content = b"".join(source.blocks(damage)).removeprefix(_BOM).lstrip()
    health = [HealthEntry("truncated_archive", 1, reason) for reason in damage.reasons]
    if not sniff(content, source.name):
        message = f"{source.path}: not a counter CSV (no header line)"
        raise UnreadableError(message, f"expected columns: {','.join(COLUMNS)}")
    rows = _parse(content)
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


def _header_of(content: bytes) -> list[str]:
    line = content.removeprefix(_BOM).lstrip().partition(b"\n")[0]
    names = line.decode("utf-8", "replace").lower().split(",")
    return [name.strip().strip('"').strip() for name in names]


def _parse(content: bytes) -> pl.DataFrame:
    """The four columns as trimmed text, without blank lines; what is absent is null."""
    try:
        rows = _split(content, quote='"')
    except pl.exceptions.ComputeError:
        # A quote that is never closed would swallow the rows after it.
        rows = _split(content, quote=None)
    header = _header_of(content)
    texts = rows.select(
        pl.nth(header.index(name)).str.strip_chars(" \t\r\"'").alias(name) for name in COLUMNS
    )
    empty_as_null = texts.with_columns(pl.all().replace("", None))
    return empty_as_null.filter(~pl.all_horizontal(pl.all().is_null()))


def _split(content: bytes, quote: str | None) -> pl.DataFrame:
    return pl.read_csv(
        content,
        infer_schema=False,
        quote_char=quote,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
    )


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

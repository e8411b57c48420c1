"""A behaviour table as a file: Parquet, or the CSV of `model.behaviour_csv`, packed or not."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import polars as pl

from timesink.errors import OutputError
from timesink.model.behaviour_csv import CSV_COLUMNS, INTERPOLATION_MARKS, NO_METRIC, TYPE_COLUMN
from timesink.model.schema import BEHAVIOUR
from timesink.writers.aside import written_aside

_ENDINGS = (".parquet", ".csv", ".csv.gz")
_DECIMALS = 4


def write_behaviour(table: pl.DataFrame, path: Path) -> None:
    """Write rows of `behaviour` where the user asked, in the order they have.

    Parquet keeps every value; CSV rounds shares and counters to four decimals.
    """
    content = behaviour_bytes(table, path)
    with written_aside(path) as aside:
        aside.write_bytes(content)


def behaviour_bytes(table: pl.DataFrame, path: Path) -> bytes:
    """What the file holds; its name says the format."""
    name = path.name.lower()
    if name.endswith(".parquet"):
        buffer = io.BytesIO()
        table.select(list(BEHAVIOUR.schema)).write_parquet(buffer, compression="zstd")
        return buffer.getvalue()
    if name.endswith(".csv"):
        return behaviour_csv(table).encode()
    if name.endswith(".csv.gz"):
        # Without the time of writing, equal tables are equal files.
        return gzip.compress(behaviour_csv(table).encode(), mtime=0)
    raise OutputError(
        f"{path}: not a name for a behaviour table", f"end the name in {' or '.join(_ENDINGS)}"
    )


def behaviour_csv(table: pl.DataFrame) -> str:
    """The table as CSV text.

    A last column names the sort of each cycle where there is another than `generic`.
    """
    marks = {word: mark for mark, word in INTERPOLATION_MARKS.items()}
    texts = table.with_columns(
        pl.col("metric").cast(pl.String).fill_null(NO_METRIC),
        pl.col("interpolated").cast(pl.String).replace_strict(marks, default=" "),
        *(_as_microseconds(name) for name in ("dur_ns", "cycle_dur_ns", "cycle_ts_ns")),
    )
    columns = [pl.col(own).alias(name) for name, own in CSV_COLUMNS.items()]
    if (table["cycle_type"] != "generic").any():
        columns.append(pl.col("cycle_type").alias(TYPE_COLUMN))
    return texts.select(columns).write_csv(float_precision=_DECIMALS)


def _as_microseconds(name: str) -> pl.Expr:
    """Whole nanoseconds as microseconds with four decimals; a float would round the date."""
    magnitude = pl.col(name).abs()
    sign = pl.when(pl.col(name) < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    fraction = (magnitude % 1000).cast(pl.String).str.pad_start(3, "0")
    return pl.concat_str(
        sign, (magnitude // 1000).cast(pl.String), pl.lit("."), fraction, pl.lit("0")
    ).alias(name)

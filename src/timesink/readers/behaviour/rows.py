"""Rows as others write them, text or numbers, as rows of the model."""

from __future__ import annotations

import polars as pl

from timesink.model.behaviour_csv import CSV_COLUMNS, INTERPOLATION_MARKS, NO_METRIC, TYPE_COLUMN
from timesink.model.counter_units import published_unit
from timesink.model.health import HealthEntry
from timesink.model.schema import BEHAVIOUR, CYCLE_TYPES, INTERPOLATED
from timesink.readers.exact_times import microseconds_as_ns
from timesink.readers.finish import conform

NEEDED = ("cycle", "beta_pct", "function_name", "duration")
"""Columns without which a table is none of behaviour."""

_TIMES = ("duration", "anchor_dur_us", "cycle_start_ts")
_NUMBERS = ("beta_pct", "mu_pct", "sigma_pct")
_COUNTS = ("cycle", "instances_count")
_TEXTS = tuple(name for name in CSV_COLUMNS if name not in (*_TIMES, *_NUMBERS, *_COUNTS))
_WITHOUT_MEANING = ("nan", "none", "null", NO_METRIC.lower())


def table_of(rows: pl.DataFrame, cycle_type: str) -> tuple[pl.DataFrame, list[HealthEntry]]:
    """The table of rows with the file's column names, and what of them could not be used.

    A row needs a cycle, a function, its share and its time; anything else may be missing.
    """
    rows = as_texts(rows, *_TEXTS)
    missing = [name for name in (*CSV_COLUMNS, TYPE_COLUMN) if name not in rows.columns]
    complete = rows.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in missing)
    read = complete.with_columns(
        *(microseconds_as_ns(complete[name]).alias(name) for name in _TIMES),
        *(_finite(name) for name in _NUMBERS),
        *(_whole(name) for name in _COUNTS),
        _marks(),
        _cycle_types(cycle_type),
        _meaningful("metric_name"),
        _meaningful("hostname"),
    )
    is_row = read.select(
        pl.all_horizontal(pl.col(name).is_not_null() for name in NEEDED)
    ).to_series()
    named = read.rename(CSV_COLUMNS).filter(is_row)
    if "unit" in missing:
        named = _with_published_units(named)
    health = [_bad_rows(rows.filter(~is_row)), *_bad_values(complete, read, is_row)]
    return conform(named, BEHAVIOUR), [entry for entry in health if entry.count]


def as_texts(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Those of the columns that exist as text: a process may be held as a number, even as 12.0."""
    return rows.with_columns(
        pl.col(name).cast(pl.Int64, strict=False).cast(pl.String)
        if rows.schema[name].is_numeric()
        else pl.col(name).cast(pl.String)
        for name in columns
        if name in rows.columns
    )


def _finite(name: str) -> pl.Expr:
    value = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(value.is_finite()).then(value).alias(name)


def _whole(name: str) -> pl.Expr:
    """A count; programs that hold it in a float write 12.0."""
    value = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(value == value.round()).then(value.cast(pl.Int64, strict=False)).alias(name)


def _meaningful(name: str) -> pl.Expr:
    text = pl.col(name).cast(pl.String)
    return pl.when(~text.str.to_lowercase().is_in(_WITHOUT_MEANING)).then(text).alias(name)


def _marks() -> pl.Expr:
    text = pl.col("interpolation_status").cast(pl.String).str.strip_chars().fill_null("")
    known = {mark.strip(): word for mark, word in INTERPOLATION_MARKS.items()}
    words = {word: word for word in INTERPOLATED}
    return text.replace_strict({**known, **words}, default=None).alias("interpolation_status")


def _cycle_types(in_name: str) -> pl.Expr:
    text = pl.col(TYPE_COLUMN).cast(pl.String).str.to_lowercase()
    known = pl.when(text.is_in(CYCLE_TYPES)).then(text)
    return pl.coalesce(known, pl.lit(in_name)).alias(TYPE_COLUMN)


def _with_published_units(table: pl.DataFrame) -> pl.DataFrame:
    """With the unit each metric has in tables that do not say it: one per metric and file."""
    largest = table.group_by("metric").agg(pl.col("mu").abs().max()).drop_nulls("metric")
    units = {metric: published_unit(metric, mu or 0.0) for metric, mu in largest.rows()}
    return table.with_columns(
        unit=pl.col("metric").replace_strict(units, default=None, return_dtype=pl.String)
    )


def _bad_rows(rows: pl.DataFrame) -> HealthEntry:
    if rows.is_empty():
        return HealthEntry("bad_behaviour_row", 0)
    example = ",".join("" if value is None else str(value) for value in rows.row(0))
    return HealthEntry("bad_behaviour_row", rows.height, example)


def _bad_values(before: pl.DataFrame, after: pl.DataFrame, is_row: pl.Series) -> list[HealthEntry]:
    """Values that were given, mean something, and could not be read."""
    names = (*_TIMES, *_NUMBERS, *_COUNTS, "interpolation_status")
    unread = after.select(pl.col(name).is_null() & is_row for name in names)
    lost = before.filter(unread.select(pl.any_horizontal(pl.all())).to_series())
    lost_texts = lost.select(
        pl.col(name).cast(pl.String).str.strip_chars().str.to_lowercase() for name in names
    )
    missing = unread.filter(pl.any_horizontal(pl.all()))
    entries = []
    for name in names if lost.height else ():
        texts = lost_texts[name].filter(missing[name])
        wrong = texts.filter(~texts.is_in(["", *_WITHOUT_MEANING]).fill_null(value=True))
        example = f"{name} {wrong[0]!r}" if len(wrong) else ""
        entries.append(HealthEntry("bad_value", len(wrong), example))
    return entries

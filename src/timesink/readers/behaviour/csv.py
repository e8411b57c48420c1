"""The CSV of behaviour: columns in any order, with or without `simple_name` and `unit`."""

from __future__ import annotations

import polars as pl

from timesink.model.behaviour_csv import CSV_COLUMNS, TYPE_COLUMN
from timesink.model.health import HealthEntry
from timesink.readers.behaviour.rows import NEEDED, table_of
from timesink.readers.csv_text import header_of, texts_of


def is_behaviour(content: bytes) -> bool:
    return set(NEEDED) <= set(header_of(content))


def read_table(content: bytes, cycle_type: str) -> tuple[pl.DataFrame, list[HealthEntry]]:
    """The table of a CSV, and what of it could not be used."""
    texts = texts_of(content, numbers="duration")
    known = [name for name in (*CSV_COLUMNS, TYPE_COLUMN) if name in texts.columns]
    return table_of(texts.select(known), cycle_type)

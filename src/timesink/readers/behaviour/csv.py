"""The CSV of behaviour: columns in any order, with or without `simple_name` and `unit`."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from timesink.errors import UnreadableError
from timesink.model.health import HealthEntry
from timesink.readers.behaviour.rows import AS_CSV, NEEDED, table_of
from timesink.readers.csv_text import count_foreign_lines, header_of, texts_of

_OF_NO_OTHER = frozenset(
    {"beta_pct", "mu_pct", "sigma_pct", "func_type", "anchor_name", "anchor_dur_us"}
)
"""Columns that no other table has."""


def is_behaviour(content: bytes) -> bool:
    return not AS_CSV.lacks(header_of(content))


def may_be_behaviour(content: bytes) -> bool:
    """Whether the header is one of behaviour, be it complete or not."""
    header = header_of(content)
    return len(AS_CSV.lacks(header)) <= 1 or not _OF_NO_OTHER.isdisjoint(header)


def read_table(
    content: bytes, path: Path, cycle_type: str
) -> tuple[pl.DataFrame, list[HealthEntry]]:
    """The table of a CSV, and what of it could not be used."""
    check_columns(path, header_of(content))
    texts = texts_of(content, numbers="duration", decimals=AS_CSV.numbers())
    table, health = table_of(texts, cycle_type)
    return table, [HealthEntry("invalid_utf8", count_foreign_lines(content)), *health]


def check_columns(path: Path, header: list[str]) -> None:
    """Refuse a table without what it needs, and say what that is."""
    missing = AS_CSV.lacks(header)
    if missing:
        columns = "column" if len(missing) == 1 else "columns"
        needed = ", ".join(AS_CSV.names[name] for name in NEEDED)
        raise UnreadableError(
            f"{path}: a behaviour table without the {columns} {', '.join(missing)}",
            f"it needs {needed}; it has {', '.join(header)}",
        )

"""Behaviour as Parquet: with the columns of the model, or with those of the CSV."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from timesink.errors import UnreadableError
from timesink.model.health import HealthEntry
from timesink.readers.behaviour.rows import AS_CSV, AS_MODEL, NEEDED, table_of

_MAGIC = b"PAR1"
_MOST_MISSING = 2
"""Without more of the columns it needs, a file is no behaviour table at all."""


def is_parquet(content: bytes) -> bool:
    return content.startswith(_MAGIC)


def read_table(
    content: bytes, path: Path, cycle_type: str
) -> tuple[pl.DataFrame, list[HealthEntry]]:
    """The table of a Parquet file, and what of it could not be used."""
    try:
        rows = pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        hint = "copy the file again, or write it again"
        raise UnreadableError.damaged(path, reason, hint) from None
    spelling = min((AS_CSV, AS_MODEL), key=lambda each: len(each.lacks(rows.columns)))
    missing = spelling.lacks(rows.columns)
    if missing:
        raise _incomplete(path, missing)
    return table_of(rows, cycle_type, spelling)


def _incomplete(path: Path, missing: list[str]) -> UnreadableError:
    what = (
        f"a behaviour table without the column {' and '.join(missing)}"
        if len(missing) <= _MOST_MISSING
        else "a Parquet file that is no behaviour table"
    )
    return UnreadableError(
        f"{path}: {what}",
        f"expected the columns {', '.join(NEEDED)}; "
        "of a folder that timesink export wrote, name the folder",
    )

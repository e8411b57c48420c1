"""Behaviour as Parquet: with the columns of the model, or with those of the CSV."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from timesink.errors import UnreadableError
from timesink.model.health import HealthEntry
from timesink.model.schema import BEHAVIOUR
from timesink.readers.behaviour.rows import NEEDED, as_texts, table_of
from timesink.readers.finish import conform

_MAGIC = b"PAR1"
_OWN = ("cycle", "function", "beta_pct", "dur_ns")
"""Columns of the model without which a table is none of behaviour."""


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
    if set(NEEDED) <= set(rows.columns):
        return table_of(rows, cycle_type)
    if not set(_OWN) <= set(rows.columns):
        raise UnreadableError(
            f"{path}: a Parquet file that is no behaviour table",
            f"expected the columns {', '.join(_OWN)}; "
            "of a folder that timesink export wrote, name the folder",
        )
    return _own_rows(rows, cycle_type)


def _own_rows(rows: pl.DataFrame, cycle_type: str) -> tuple[pl.DataFrame, list[HealthEntry]]:
    if "cycle_type" not in rows.columns:
        rows = rows.with_columns(cycle_type=pl.lit(cycle_type))
    texts = [name for name, dtype in BEHAVIOUR.schema.items() if dtype == pl.Categorical]
    # Some tools write a missing number as NaN.
    table = conform(as_texts(rows, *texts), BEHAVIOUR).fill_nan(None)
    is_row = table.select(pl.all_horizontal(pl.col(name).is_not_null() for name in _OWN))
    kept = table.filter(is_row.to_series())
    return kept, [HealthEntry("bad_behaviour_row", table.height - kept.height)]

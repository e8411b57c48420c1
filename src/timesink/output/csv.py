"""Tables as CSV."""

from __future__ import annotations

import polars as pl

from timesink.errors import QueryError


def frame_csv(frame: pl.DataFrame) -> str:
    """The table as CSV with a header; lists have no place in it."""
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    if nested:
        raise QueryError.not_for_csv(nested[0])
    return frame.write_csv().rstrip("\n")

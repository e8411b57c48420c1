"""What reading a damaged Parquet file ends with."""

from __future__ import annotations

import polars as pl

PARQUET_ERRORS: tuple[type[BaseException], ...] = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    OSError,
)
"""Polars panics where a page says that it holds more than it does; that is no `Exception`."""

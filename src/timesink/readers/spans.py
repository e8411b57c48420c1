"""From recorded starts and ends to `ts_ns` and `dur_ns`, counting what does not fit.

For formats that record both ends of an activity; the rules are those of `model/health.py`.
"""

from __future__ import annotations

import polars as pl

from timesink.model.health import HealthEntry


def close_spans(
    frame: pl.DataFrame, origin: str, *, open_code: str = "missing_duration"
) -> tuple[pl.DataFrame, list[HealthEntry]]:
    """Replace `start` and `end` by `ts_ns` and `dur_ns`, and a missing name by an empty one.

    Rows without a start are left out.  `origin` names the rows in the examples; `open_code` is
    the health code of rows without an end.
    """
    start, end = pl.col("start"), pl.col("end")
    found = {
        "missing_ts": start.is_null(),
        open_code: start.is_not_null() & end.is_null(),
        "negative_duration": end < start,
        "missing_name": pl.col("name").is_null(),
    }
    health = [
        entry
        for code, condition in found.items()
        if (entry := _count(frame.filter(condition), code, origin))
    ]
    closed = frame.filter(start.is_not_null()).with_columns(
        ts_ns=start,
        dur_ns=(end - start).clip(lower_bound=0).fill_null(0),
        name=pl.col("name").fill_null(""),
    )
    return closed.drop("start", "end"), health


def place_samples(frame: pl.DataFrame, origin: str) -> tuple[pl.DataFrame, list[HealthEntry]]:
    """Rename `start` to `ts_ns`; rows without it are left out."""
    placed = frame.drop_nulls("start").rename({"start": "ts_ns"})
    return placed, [HealthEntry("missing_ts", frame.height - placed.height, origin)]


def _count(rows: pl.DataFrame, code: str, origin: str) -> HealthEntry | None:
    if rows.is_empty():
        return None
    first = rows.select("name", "start", "end").row(0, named=True)
    shown = ", ".join(f"{key} {value}" for key, value in first.items() if value is not None)
    return HealthEntry(code, rows.height, f"{origin}: {shown}")

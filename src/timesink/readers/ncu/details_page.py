"""The details page as CSV: one row per launch and metric."""

from __future__ import annotations

import polars as pl

from timesink.readers.ncu.launches import PLACE, LaunchPart
from timesink.readers.ncu.table import CsvTable

_METRIC = {
    "Section Name": "section",
    "Metric Name": "metric",
    "Metric Unit": "unit",
    "Metric Value": "text",
}
_OF_LAUNCH = ("launch_id", "pid", "host", "device", "name", "grid", "block")
"""Where one of these changes, another launch begins."""


def read_part(table: CsvTable, rows: bytes) -> LaunchPart:
    """The launches of some rows; a row that holds advice instead of a metric has no value."""
    wanted = {**table.place, **{c: n for c, n in _METRIC.items() if c in table.columns}}
    frame = table.parse(rows, wanted, texts={"text"})
    absent = [name for name in (*PLACE, *_METRIC.values()) if name not in frame.columns]
    frame = frame.with_columns(pl.lit(None, pl.Categorical).alias(name) for name in absent)
    starts = frame.select(
        pl.any_horizontal(
            pl.col(name).to_physical().ne_missing(pl.col(name).to_physical().shift(1))
            for name in _OF_LAUNCH
        )
        | (pl.int_range(pl.len()) == 0)
    ).to_series()
    values = frame.select(
        (starts.cast(pl.UInt32).cum_sum() - 1).alias("piece"), "section", "metric", "unit", "text"
    )
    measured = values.filter(pl.col("metric").is_not_null() & (pl.col("metric") != ""))
    return LaunchPart(frame.filter(starts).select(*PLACE), measured)

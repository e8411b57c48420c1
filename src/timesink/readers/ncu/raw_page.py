"""The raw page as CSV: a row per launch, a column per metric, units in the row below the names."""

from __future__ import annotations

import polars as pl

from timesink.readers.ncu.launches import PLACE, LaunchPart
from timesink.readers.ncu.metrics import is_of_machine
from timesink.readers.ncu.table import CsvTable


def read_part(table: CsvTable, rows: bytes) -> LaunchPart:
    """The launches of some rows; what describes the machine is taken once per device."""
    metrics = [name for name in table.columns if name and name not in {*table.place, *PLACE}]
    frame = table.parse(
        rows, {**table.place, **{name: name for name in metrics}}, texts=set(metrics)
    )
    absent = [name for name in PLACE if name not in frame.columns]
    frame = frame.with_columns(pl.lit(None, pl.Categorical).alias(name) for name in absent)
    frame = frame.with_row_index("piece")
    measured = [name for name in metrics if not is_of_machine(name)]
    described = frame.unique("device", keep="first", maintain_order=True)
    values = pl.concat(
        [
            _long(frame, measured, table.units),
            _long(described, [name for name in metrics if is_of_machine(name)], table.units),
        ]
    )
    return LaunchPart(frame.select(*PLACE), values)


def _long(frame: pl.DataFrame, metrics: list[str], units: dict[str, str]) -> pl.DataFrame:
    """One row per launch and metric, in the order of the launches."""
    known = pl.DataFrame(
        {
            "metric": pl.Series(metrics, dtype=pl.Categorical),
            "unit": pl.Series([units.get(name, "") for name in metrics], dtype=pl.Categorical),
        }
    )
    # Without a metric there is nothing to tell the type of the values from.
    long = frame.unpivot(metrics, index="piece", variable_name="metric", value_name="text").cast(
        {"metric": pl.Categorical(), "text": pl.String()}
    )
    return (
        long.join(known, on="metric", how="left", maintain_order="left")
        .select("piece", pl.lit(None, pl.Categorical).alias("section"), "metric", "unit", "text")
        .sort("piece", maintain_order=True)
    )

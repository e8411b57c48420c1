"""Names of the lanes that device activities lie on, for formats that record none."""

from __future__ import annotations

import polars as pl


def lane(device: pl.Expr, stream: pl.Expr) -> pl.Expr:
    """`tid` of a device's stream, distinct from any thread's; of the device without a stream."""
    on_stream = pl.format("GPU {} stream {}", device, stream)
    return pl.coalesce(on_stream, pl.format("GPU {}", device))


def list_lanes(device: pl.DataFrame) -> pl.DataFrame:
    """Rows of `tracks` for the lanes of the `device` table."""
    lanes = device.select("pid", "tid", "device").unique().sort("pid", "device", "tid")
    return lanes.select("pid", "tid", name="tid", labels=pl.format("GPU {}", "device"))

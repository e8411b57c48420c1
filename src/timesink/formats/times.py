"""Microseconds as whole nanoseconds, never through a float that cannot hold today's date."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import polars as pl

from timesink.model.health import HealthEntry

_DECIMALS = 15
"""Decimals of a microsecond that count: far more than anybody writes."""
_NANOSECOND = pl.lit(10 ** (_DECIMALS - 3), pl.Int128)


def microseconds_as_ns(values: pl.Series) -> pl.Series:
    """The nearest whole nanoseconds of numbers or of decimal text; null where it is no number."""
    if values.dtype.is_integer():
        return values.cast(pl.Int64, strict=False) * 1000
    if values.dtype.is_float():
        # The whole part times a thousand is beyond what a float holds; apart, both are exact.
        whole = values.floor()
        parts = pl.DataFrame({"whole": whole, "rest": ((values - whole) * 1000).round()})
        fits = pl.col("whole").is_finite() & (pl.col("whole").abs() < 2**63 // 1000)
        exact = pl.col("whole").cast(pl.Int64, strict=False) * 1000
        rest = pl.col("rest").cast(pl.Int64, strict=False)
        return parts.select(pl.when(fits).then(exact + rest)).to_series()
    return _of_text(values.cast(pl.String))


def _of_text(texts: pl.Series) -> pl.Series:
    text = pl.col("text").str.strip_chars()
    decimal = text.cast(pl.Decimal(38, _DECIMALS), strict=False).to_physical()
    nearest = ((decimal + _NANOSECOND // 2) // _NANOSECOND).cast(pl.Int64, strict=False)
    # Half of a nanosecond goes away from zero, which this is for what is not negative.
    plain = texts.to_frame("text").select(pl.when(decimal >= 0).then(nearest)).to_series()
    if plain.null_count() == texts.null_count():
        return plain
    odd = texts.filter(plain.is_null() & texts.is_not_null()).unique()
    known = {text: _nearest(text) for text in odd.to_list()}
    others = texts.replace_strict(known, default=None, return_dtype=pl.Int64)
    return pl.select(pl.coalesce(plain, others)).to_series()


def _nearest(text: str) -> int | None:
    try:
        nanoseconds = Decimal(text).scaleb(3)
        if not nanoseconds.is_finite() or abs(nanoseconds) >= 2**63:
            return None
        return int(nanoseconds.to_integral_value(ROUND_HALF_UP))
    except ArithmeticError:
        return None


# From recorded starts and ends to `ts_ns` and `dur_ns`, counting what does not fit.
#
# For formats that record both ends of an activity; the rules are those of `model/health.py`.


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


# Names of the lanes that device activities lie on, for formats that record none.


def lane(device: pl.Expr, stream: pl.Expr) -> pl.Expr:
    """`tid` of a device's stream, distinct from any thread's; of the device without a stream."""
    on_stream = pl.format("GPU {} stream {}", device, stream)
    return pl.coalesce(on_stream, pl.format("GPU {}", device))


def list_lanes(device: pl.DataFrame) -> pl.DataFrame:
    """Rows of `tracks` for the lanes of the `device` table."""
    lanes = device.select("pid", "tid", "device").unique().sort("pid", "device", "tid")
    return lanes.select("pid", "tid", name="tid", labels=pl.format("GPU {}", "device"))

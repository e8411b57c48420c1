"""Microseconds as whole nanoseconds, never through a float that cannot hold today's date."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import polars as pl

_DECIMALS = 15
"""Decimals of a microsecond that count: far more than anybody writes."""
_NANOSECOND = pl.lit(10 ** (_DECIMALS - 3), pl.Int128)


def microseconds_as_ns(values: pl.Series) -> pl.Series:
    """The nearest whole nanoseconds of numbers or of decimal text; null where it is no number."""
    if values.dtype.is_integer():
        return values.cast(pl.Int64, strict=False) * 1000
    if values.dtype.is_float():
        return _of_floats(values)
    return _of_text(values.cast(pl.String))


def _of_floats(values: pl.Series) -> pl.Series:
    # The whole part times a thousand is beyond what a float holds; apart, both are exact.
    whole = values.floor()
    parts = pl.DataFrame({"whole": whole, "rest": ((values - whole) * 1000).round()})
    fits = pl.col("whole").is_finite() & (pl.col("whole").abs() < 2**63 // 1000)
    exact = pl.col("whole").cast(pl.Int64, strict=False) * 1000
    rest = pl.col("rest").cast(pl.Int64, strict=False)
    return parts.select(pl.when(fits).then(exact + rest)).to_series()


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

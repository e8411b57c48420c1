"""Printed numbers of many locales."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_files import LOCALES, number
from timesink.formats.ncu.numbers import DecimalEvidence, is_missing, to_numbers


def parse_number(text: str, decimal: str = ".", exponent: str = "") -> float | None:
    value: float | None = to_numbers(pl.Series([text]), decimal, pl.Series([exponent]))[0]
    return value


@pytest.mark.parametrize(
    ("text", "with_point", "with_comma"),
    [
        # Two readings:
        ("26,336", 26336.0, 26.336),
        ("26.336", 26.336, 26336.0),
        # One reading, whatever the rest of the file says:
        ("72.37", 72.37, 72.37),
        ("72,37", 72.37, 72.37),
        ("0,336", 0.336, 0.336),
        ("0.336", 0.336, 0.336),
        ("1234,567", 1234.567, 1234.567),
        ("1,234,567", 1234567.0, 1234567.0),
        ("1.234.567", 1234567.0, 1234567.0),
        ("1,234.5", 1234.5, 1234.5),
        ("1.234,5", 1234.5, 1234.5),
        ("1 234,5", 1234.5, 1234.5),
        ("1\u202f234\u00a0567", 1234567.0, 1234567.0),
        ("1'234'567.25", 1234567.25, 1234567.25),
        ("26336", 26336.0, 26336.0),
        ("0", 0.0, 0.0),
        ("-5.5", -5.5, -5.5),
        ("1.5e+06", 1_500_000.0, 1_500_000.0),
        ("12,34,567", 1234567.0, None),
        ("5.984 (1; 2; 3)", 5.984, 5984.0),
        (" 7 ", 7.0, 7.0),
        ("0 1 2", None, None),
    ],
)
def test_readings(text: str, with_point: float, with_comma: float | None) -> None:
    assert (parse_number(text, "."), parse_number(text, ",")) == (with_point, with_comma)


@pytest.mark.parametrize("text", ["", "n/a", "N/A", "nan", "-nan(ind)", "-", "inf", "PolicySpread"])
def test_no_number(text: str) -> None:
    assert parse_number(text) is None
    assert is_missing(pl.Series([text]))[0] == (text != "PolicySpread")


@pytest.mark.parametrize(
    ("text", "exponent", "value"),
    [("2.97", "e6", 2_970_000.0), ("5.984000", "e3", 5_984.0), ("0.000001", "e9", 1_000.0)],
)
def test_powers_of_ten_are_exact(text: str, exponent: str, value: float) -> None:
    assert parse_number(text, ".", exponent) == value


@given(nanoseconds=st.integers(0, 2**53), decimals=st.sampled_from([0, 3, 6, 9]))
def test_every_nanosecond_survives_every_unit(nanoseconds: int, decimals: int) -> None:
    for locale in LOCALES:
        text = number(nanoseconds // 10**decimals, locale)
        if decimals:
            text += locale.decimal + f"{nanoseconds % 10**decimals:0{decimals}d}"
        assert parse_number(text, locale.decimal, f"e{decimals}") == nanoseconds


@pytest.mark.parametrize(
    ("texts", "unit", "decimal"),
    [
        (["72,37", "26.336"], "%", ","),
        (["72.37", "26,336"], "%", "."),
        (["1.234.567"], "ns", ","),
        # Nothing certain: kernels last whole nanoseconds, and percents are below a thousand.
        (["26.336"], "ns", ","),
        (["26,336"], "ns", "."),
        (["72.370"], "%", "."),
        (["72,370"], "%", ","),
        # Nothing at all: English.
        (["26,336"], "us", "."),
        (["5", "n/a"], "us", "."),
        # The more, the better.
        (["72,37", "72.37", "72.38"], "%", "."),
    ],
)
def test_the_file_says_which_mark_is_decimal(texts: list[str], unit: str, decimal: str) -> None:
    evidence = DecimalEvidence()
    evidence.look_at(pl.Series(texts), pl.Series([unit] * len(texts), dtype=pl.Categorical))
    assert evidence.decimal == decimal

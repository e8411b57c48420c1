"""Columns of frames as columns of blocks."""

from __future__ import annotations

import polars as pl
import pytest

from timesink.output.blocks import Numbers
from timesink.output.columns import numbers, texts_of, words
from timesink.output.numbers import kind_of


@pytest.mark.parametrize(
    ("name", "dtype", "kind"),
    [
        ("total_ns", pl.Int64(), "time_ns"),
        ("host_start_ns", pl.Int64(), "moment_ns"),
        ("peak_allocated_ts_ns", pl.Int64(), "moment_ns"),
        ("size_bytes", pl.Int64(), "bytes"),
        ("bus_bytes_per_s", pl.Float64(), "bytes_per_s"),
        ("occupancy_pct", pl.Float64(), "percent"),
        ("tensor_core_ratio", pl.Float64(), "share"),
        ("calls", pl.Int64(), "count"),
        ("mean_depth", pl.Float64(), "number"),
        ("tensor_cores", pl.Boolean(), "text"),
        ("device", pl.Int64(), "text"),
    ],
)
def test_names_of_columns_tell_how_to_read_them(name: str, dtype: pl.DataType, kind: str):
    assert kind_of(name, dtype) == kind


def test_what_json_cannot_say_is_unknown():
    column = pl.Series("occupancy_pct", [1.23456789, float("inf"), float("nan"), None])
    assert numbers(column, "percent") == Numbers((1.2346, None, None, None))


def test_small_numbers_are_not_none():
    values = (1.23e-9, 1234567.25)
    assert numbers(pl.Series("p", values), "number") == Numbers(values)


def test_text_of_any_column():
    assert texts_of(pl.Series("missing", [["rank1", "rank2"], None])) == ["rank1, rank2", None]
    assert texts_of(pl.Series("name", ["", "mm"], dtype=pl.Categorical)) == ["(no name)", "mm"]


def test_words_are_listed_once():
    assert len(words(["gemm"] * 100).texts) == 1

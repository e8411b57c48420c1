"""Columns of frames as columns of blocks."""

from __future__ import annotations

import polars as pl
import pytest

from timesink.output.blocks import Numbers
from timesink.output.numbers import (
    cells,
    column,
    finite_or_none,
    join_cells,
    kind_of,
    numbers,
    table,
    texts_of,
    words,
)


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
    assert texts_of(pl.Series("tensor_cores", [True, None])) == ["yes", None]
    assert texts_of(pl.Series("device", [0, -1])) == ["0", "unknown"]
    assert join_cells([pl.Series("grid_x", [64, None]), pl.Series("grid_y", [1, 1])]) == [
        "64 x 1",
        None,
    ]


def test_moments_are_counted_from_the_start():
    assert numbers(pl.Series("start_ns", [12, None]), "moment_ns", start_ns=10) == Numbers(
        (2, None)
    )


def test_columns_of_which_nothing_is_known_are_left_out_unless_there_are_no_rows():
    calls, unknown = (column(key, key, "count", [value]) for key, value in (("a", 3), ("b", None)))
    assert [
        visible_column.key for visible_column in table("t", "Calls", [calls, unknown]).columns
    ] == ["a"]
    empty = table("t", "Calls", [column("a", "a", "text", [])], meanings={"a": "first"})
    assert [(visible_column.key, visible_column.help) for visible_column in empty.columns] == [
        ("a", "first")
    ]


def test_cells_are_what_people_read():
    assert cells(column("total_ns", "total", "time_ns", [1500, None])) == ["1.50 us", "-"]
    assert cells(column("name", "name", "text", ["gemm", None])) == ["gemm", "-"]


def test_what_json_cannot_say_is_not_known():
    assert (finite_or_none(2), finite_or_none(float("-inf")), finite_or_none(None)) == (
        2,
        None,
        None,
    )

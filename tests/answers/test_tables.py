"""Tables of an analysis as blocks."""

from __future__ import annotations

import polars as pl
import pytest

from timesink.answers.analysis.report import Analysis
from timesink.answers.tables import ViewTable
from timesink.answers.views import VIEWS, find_view
from timesink.output.blocks import Column, Numbers, Table, Words

KERNELS = pl.DataFrame(
    {
        "name": ["void f<int>()", "void g<int>()", "void h<int>()"],
        "short_name": ["f", "g", "h"],
        "calls": [1, 2, 3],
        "total_ns": [600, 300, 100],
        "tensor_cores": [None, True, False],
        "occupancy_pct": [None, None, None],
        "min_ns": [0, 0, 0],
    },
    schema_overrides={"occupancy_pct": pl.Float64()},
)


def column(table: Table, key: str) -> Column:
    return next(candidate for candidate in table.columns if candidate.key == key)


def texts(word_column: Column) -> list[str | None]:
    assert isinstance(word_column.data, Words)
    return [None if code < 0 else word_column.data.texts[code] for code in word_column.data.codes]


def test_columns_in_which_nothing_happens_are_left_out():
    keys = {
        block_column.key
        for block_column in ViewTable(find_view("kernels"), KERNELS).block().columns
    }
    assert "calls" in keys
    assert not keys & {"occupancy_pct", "min_ns"}


def test_shares_are_of_all_rows_and_rows_of_all_are_told():
    table = ViewTable(find_view("kernels"), KERNELS).block(rows=2)
    assert (table.rows, table.total_rows) == (2, 3)
    assert column(table, "share").data == Numbers((0.6, 0.3))
    assert column(table, "share").bar
    assert table.sort is not None
    assert table.sort.key == "total_ns"


def test_shares_can_be_of_more_than_the_table_holds():
    table = ViewTable(find_view("kernels"), KERNELS, 2 * KERNELS["total_ns"].sum()).block(rows=1)
    assert column(table, "share").data == Numbers((0.3,))


def test_people_see_the_short_name_first():
    table = ViewTable(find_view("kernels"), KERNELS).block()
    assert table.columns[0].key == "short_name"
    assert not column(table, "name").main
    assert texts(column(table, "tensor_cores")) == [None, "yes", "no"]


def test_columns_with_one_heading_share_a_cell():
    frame = pl.DataFrame({"short_name": ["f"], "grid_x": [64], "grid_y": [2], "grid_z": [1]})
    assert texts(column(ViewTable(find_view("kernel-launches"), frame).block(), "grid")) == [
        "64 x 2 x 1"
    ]


def test_values_that_programs_compare_are_words():
    frame = pl.DataFrame({"cause": ["host_wait", "sync"], "gap_ns": [7, 5]})
    (cause,) = (
        candidate
        for candidate in ViewTable(find_view("gaps"), frame).block().columns
        if candidate.key == "cause"
    )
    assert texts(cause) == ["host wait", "sync"]
    assert "host wait (launched late)" in cause.help


def test_names_have_room_on_a_page():
    names = ("short_name", "block_x", "block_y", "block_z")
    frame = pl.DataFrame(dict(zip(names, (["f"], [64], [2], [1]), strict=True)))
    assert not column(ViewTable(find_view("kernel-launches"), frame).block(), "block").main


def test_moments_are_counted_from_the_start():
    frame = pl.DataFrame({"device": [-1], "start_ns": [1_700], "gap_ns": [30]})
    table = ViewTable(find_view("gaps"), frame).block(start_ns=1_000)
    assert column(table, "start_ns").data == Numbers((700,))
    assert column(table, "start_ns").link == "moment"
    assert texts(column(table, "device")) == ["unknown"]


def test_why_a_table_is_empty():
    table = ViewTable(find_view("modules"), pl.DataFrame({"name": []})).block()
    assert table.note == "No modules were recorded: profile with with_stack=True."


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_a_block(view: str, sample_analysis: Analysis):
    frame = sample_analysis.table(view)
    table = ViewTable(find_view(view), frame).block(rows=5)
    assert table.total_rows == frame.height
    for block_column in table.columns:
        data = block_column.data
        assert len(data.codes if isinstance(data, Words) else data.values) == table.rows

"""One table of an analysis for people."""

from __future__ import annotations

import polars as pl
import pytest

from timesink.answers.tables import ViewTable, table_document
from timesink.answers.views import find_view
from timesink.output import numbers as made
from timesink.output import terminal
from timesink.output.blocks import Column
from timesink.output.markdown import to_markdown as document_markdown


def seen(view: str, frame: pl.DataFrame, **options: int) -> list[Column]:
    block = ViewTable(find_view(view), frame).block(ordered=False, **options)
    return [column for column in block.columns if column.main]


def titles(view: str, **columns: list) -> list[str]:
    return [column.title for column in seen(view, pl.DataFrame(columns))]


def cells(view: str, name: str, value: object, start_ns: int = 0) -> str:
    (column,) = seen(view, pl.DataFrame({name: [value]}), start_ns=start_ns)
    return made.cells(column)[0]


def to_text(view: str, frame: pl.DataFrame) -> str:
    return terminal.to_text(table_document(ViewTable(find_view(view), frame).block()))


def to_markdown(view: str, frame: pl.DataFrame) -> str:
    return document_markdown(table_document(ViewTable(find_view(view), frame).block()))


@pytest.mark.parametrize(
    ("view", "name", "value", "expected"),
    [
        ("steps", "total_ns", 12_900_000, "12.90 ms"),
        ("memory-live", "bytes", 3 * 2**20, "3.0 MiB"),
        ("kernels", "occupancy_pct", 12.34, "12.3 %"),
        ("devices", "utilisation", 0.5, "50.0 %"),
        ("operators", "tensor_core_self_ratio", 0.25, "25.0 %"),
        ("collective-statistics", "bus_bytes_per_s", 2.0**30, "1.0 GiB/s"),
        ("gaps", "start_ns", 1_794_703_861_135_140_191, "1 135.140 ms"),
        ("gaps", "before", "void cudnn::f<float>(int)", "cudnn::f"),
        ("devices", "device", -1, "unknown"),
        ("devices", "device", 0, "0"),
        ("operators", "name", "", "(no name)"),
        ("operators", "name", "  ", "(no name)"),
        ("mismatches", "missing", ["rank1", "rank2"], "rank1, rank2"),
        ("kernels", "tensor_cores", True, "yes"),
    ],
)
def test_values_have_units_and_names_are_short(view: str, name: str, value: object, expected: str):
    assert cells(view, name, value, 1_794_703_860_000_000_000) == expected


def test_columns_that_tell_nothing_are_left_out():
    names = titles(
        "steps", name=["1"], total_ns=[5], kernel_ns=[0], memset_ns=[None], complete=[True]
    )
    assert names == ["step", "step time"]
    assert titles("steps", name=["1", "2"], complete=[True, False]) == ["step", "complete"]


def test_shares_are_of_the_first_measure_that_is_not_zero():
    host_only = {"name": ["a", "b"], "device_self_ns": [0, 0], "host_self_ns": [30, 10]}
    frame = pl.DataFrame(host_only)
    columns = seen("operators", frame, rows=1)
    assert [(column.title, *made.cells(column)) for column in columns] == [
        ("operator", "a"),
        ("share", "75.0 %"),
        ("host self", "30 ns"),
    ]


def test_columns_with_one_heading_share_a_cell():
    grid = {"short_name": ["k"], "grid_x": [8192], "grid_y": [2], "grid_z": [1]}
    assert to_text("kernel-launches", pl.DataFrame(grid)).splitlines() == [
        "kernel  grid",
        "k       8192 x 2 x 1",
    ]


def test_columns_on_the_right_are_left_out_where_there_is_no_room(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("COLUMNS", "60")
    row = {"name": [80 * "n"], "calls": [3], **{f"{part}_ns": [10**6] for part in PARTS}}
    terminal.print_text(
        table_document(ViewTable(find_view("operators"), pl.DataFrame(row)).block())
    )
    header, line = capsys.readouterr().out.splitlines()
    assert header.split() == ["operator", "calls", "share", "device", "self"]
    assert line.startswith(24 * "n")
    assert len(line) <= 60


PARTS = ("device_self", "device_total", "host_self", "host_total")


def test_markdown_has_the_same_columns():
    frame = pl.DataFrame({"site": ["a|b"], "events": [3], "device_ns": [1500]})
    assert to_markdown("launch-sites", frame).splitlines() == [
        "| launched from | events | share | device time |",
        "| --- | ---: | ---: | ---: |",
        "| a\\|b | 3 | 100.0 % | 1.50 us |",
    ]


@pytest.mark.parametrize("form", [to_text, to_markdown])
def test_an_empty_table_says_why(form):
    empty = pl.DataFrame({"name": []})
    assert form("mismatches", empty) == "All collective calls match between the workers."

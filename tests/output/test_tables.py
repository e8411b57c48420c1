"""How tables are headed, and what pictures are as tables."""

from __future__ import annotations

from msgspec.structs import replace

from literal_documents import ATTRIBUTION, KERNELS, PARTS
from timesink.output.blocks import StackPart, Stacks, Table, Text
from timesink.output.numbers import cells, column, table
from timesink.output.tables import (
    attribution_table,
    heading,
    lines_of,
    natural_width,
    parts_table,
    stacks_table,
    title_of,
)


def test_a_heading_says_how_much_is_shown():
    table_block = Table("kernels", "By name", (), 10, 1200)
    assert heading("Kernels", [table_block]) == "Kernels (the first 10 of 1 200)"
    assert heading("Kernels", [Text("a"), table_block]) == "Kernels"
    assert heading("Kernels", [replace(table_block, title="Kernels"), Text("a")]).endswith(
        "of 1 200)"
    )
    assert heading("Kernels", [replace(table_block, rows=0)]) == "Kernels"
    assert heading("Notes", []) == "Notes"


def test_a_block_repeats_no_title():
    assert title_of(KERNELS, "Kernels") == ""
    assert title_of(replace(KERNELS, total_rows=3), "Devices") == "Kernels (3)"
    assert title_of(PARTS, "Where a step goes") == "The average step"
    assert title_of(Text("a"), "Notes") == ""


def test_text_has_columns_of_its_own():
    page = column("base", "base", "count", [1], medium="page")
    hidden = column("name", "full name", "text", ["void f()"], main=False)
    spared = column("p", "p", "p_value", [0.5], main=False, spare=1)
    text_column = column("calls", "calls", "text", ["1 → 2"], medium="text")
    assert lines_of(table("t", "T", [page, hidden, spared, text_column])).titles == ("p", "calls")


def test_pictures_as_tables():
    assert lines_of(parts_table(PARTS)).rows == (
        ("kernels", "3.00 ms", "75.0 %"),
        ("other", "1.00 ms", "25.0 %"),
    )
    assert lines_of(attribution_table(ATTRIBUTION)).rows[1][3:] == ("-500 us", "")
    bars = Stacks("Steps", "time_ns", ("3", "4"), (StackPart("kernel", "kernels", (1.0, 2.0)),))
    assert [cells(stack_column) for stack_column in stacks_table(bars).columns] == [
        ["3", "4"],
        ["1 ns", "2 ns"],
    ]
    assert stacks_table(replace(bars, labels=tuple(map(str, range(17))))) is None


def test_wide_letters_count_twice():
    assert natural_width("name", ["gemm", "核函数"]) == 6

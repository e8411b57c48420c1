"""Documents that must not become too large."""

from __future__ import annotations

from msgspec.structs import replace

from literal_documents import TREE
from timesink.output.blocks import Column, Document, Numbers, Picture, Section, Table, Text, Words
from timesink.output.html import fitted
from timesink.output.numbers import first_nodes


def document(rows: int) -> Document:
    names = Words(tuple(range(rows)), tuple(f"kernel {number:04}" for number in range(rows)))
    columns = (
        Column("name", "kernel", "text", names),
        Column("calls", "calls", "count", Numbers(tuple(range(rows)))),
    )
    table = Table("kernels", "Kernels", columns, rows, rows)
    sections = (Section("kernels", "Kernels", (Text("All of them."), table)),)
    return Document("analysis", "run", "run", "All is well.", "1.0", sections)


def table_of(shown: Document) -> Table:
    table = shown.sections[0].blocks[1]
    assert isinstance(table, Table)
    return table


def test_what_fits_stays_as_it_is():
    whole = document(800)
    assert fitted(whole, 1_000_000)[0] is whole


def test_tables_lose_their_last_rows_and_the_names_in_them():
    found, json = fitted(document(800), 10_000)
    table = table_of(found)
    assert len(json.encode()) <= 10_000
    assert 100 < table.rows < 400
    assert table.total_rows == 800
    assert [one.key for one in table.columns] == ["name", "calls"]
    assert table.columns[0].data == Words(
        tuple(range(table.rows)), tuple(f"kernel {number:04}" for number in range(table.rows))
    )
    assert "kernel 0400" not in json


def test_a_few_rows_are_always_shown():
    assert table_of(fitted(document(800), 10)[0]).rows == 15


def test_trees_lose_what_is_folded_and_then_their_last_nodes():
    shown = first_nodes(TREE, 2)
    assert shown.names.texts == ("aten::to", "aten::linear")
    assert (shown.depth, shown.folded, shown.total) == ((0, 0), (1, 0), 3)
    assert shown.new.moments_ns == (8, 9)
    assert shown.new.details[0].values == (1, 2)


def test_very_long_names_lose_their_middle_before_rows_go():
    names = tuple(f"{'x' * 100_000}{number}" for number in range(60))
    column = Column("name", "kernel", "text", Words(tuple(range(60)), names))
    drawing = Picture("", f"<svg>{'y' * 5_000}</svg>")
    section = Section(
        "kernels", "Kernels", (Table("kernels", "Kernels", (column,), 60, 60), drawing)
    )
    found, json = fitted(replace(document(0), sections=(section,)), 150_000)
    shown, kept = found.sections[0].blocks
    assert isinstance(shown, Table)
    data = shown.columns[0].data
    assert isinstance(data, Words)
    assert len(json.encode()) <= 150_000
    assert shown.rows == 60
    assert data.texts[59].endswith("x59")
    assert "…" in data.texts[59]
    assert kept == drawing


def test_names_get_shorter_where_few_rows_do_not_help():
    names = tuple(f"{'x' * 1_900}{number}" for number in range(15))
    texts = tuple(Text(name) for name in names)
    _, json = fitted(replace(document(0), sections=(Section("notes", "Notes", texts),)), 10_000)
    assert len(json.encode()) <= 10_000
    assert "x14" in json

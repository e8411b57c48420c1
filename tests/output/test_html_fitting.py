"""Documents that must not become too large."""

from __future__ import annotations

from msgspec.structs import replace

from literal_documents import TREE
from timesink.output.blocks import Column, Document, Numbers, Picture, Section, Table, Text, Words
from timesink.output.html import fit_document
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


def table_of(page: Document) -> Table:
    table = page.sections[0].blocks[1]
    assert isinstance(table, Table)
    return table


def test_what_fits_stays_as_it_is():
    original = document(800)
    assert fit_document(original, 1_000_000)[0] is original


def test_tables_lose_their_last_rows_and_the_names_in_them():
    shortened, json = fit_document(document(800), 10_000)
    table = table_of(shortened)
    assert len(json.encode()) <= 10_000
    assert 100 < table.rows < 400
    assert table.total_rows == 800
    assert [column.key for column in table.columns] == ["name", "calls"]
    assert table.columns[0].data == Words(
        tuple(range(table.rows)), tuple(f"kernel {number:04}" for number in range(table.rows))
    )
    assert "kernel 0400" not in json


def test_a_few_rows_are_always_shown():
    assert table_of(fit_document(document(800), 10)[0]).rows == 15


def test_trees_lose_what_is_folded_and_then_their_last_nodes():
    tree = first_nodes(TREE, 2)
    assert tree.names.texts == ("aten::to", "aten::linear")
    assert (tree.depth, tree.folded, tree.total) == ((0, 0), (1, 0), 3)
    assert tree.new.moments_ns == (8, 9)
    assert tree.new.details[0].values == (1, 2)


def test_very_long_names_lose_their_middle_before_rows_go():
    names = tuple(f"{'x' * 100_000}{number}" for number in range(60))
    column = Column("name", "kernel", "text", Words(tuple(range(60)), names))
    drawing = Picture("", f"<svg>{'y' * 5_000}</svg>")
    section = Section(
        "kernels", "Kernels", (Table("kernels", "Kernels", (column,), 60, 60), drawing)
    )
    shortened, json = fit_document(replace(document(0), sections=(section,)), 150_000)
    short_table, picture = shortened.sections[0].blocks
    assert isinstance(short_table, Table)
    data = short_table.columns[0].data
    assert isinstance(data, Words)
    assert len(json.encode()) <= 150_000
    assert short_table.rows == 60
    assert data.texts[59].endswith("x59")
    assert "…" in data.texts[59]
    assert picture == drawing


def test_names_get_shorter_where_few_rows_do_not_help():
    names = tuple(f"{'x' * 1_900}{number}" for number in range(15))
    texts = tuple(Text(name) for name in names)
    _, json = fit_document(
        replace(document(0), sections=(Section("notes", "Notes", texts),)), 10_000
    )
    assert len(json.encode()) <= 10_000
    assert "x14" in json

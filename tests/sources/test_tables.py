"""Tables as bytes, and back."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.sources.kept_answers import from_bytes, to_bytes

TABLES = {
    "lengths": pl.DataFrame({"cycle": [1, 2], "ns": [7.5, float("nan")]}),
    "names": pl.DataFrame(
        {"name": ["a", None, "a"], "part": ["x", "y", None]},
        {"name": pl.Categorical(), "part": pl.Enum(["x", "y"])},
    ),
    "nothing": pl.DataFrame(schema={"cycle": pl.Int64()}),
}


def test_tables_come_back_with_values_and_types():
    stored = from_bytes(to_bytes({"notes": ["one", "zwölf"]}, TABLES))
    assert stored is not None
    assert stored.about == {"notes": ["one", "zwölf"]}
    assert list(stored.tables) == list(TABLES)
    for name, table in TABLES.items():
        assert stored.tables[name].schema == table.schema
        assert stored.tables[name].equals(table)


@given(st.integers(0, len(to_bytes({}, TABLES)) - 1))
def test_no_part_of_the_bytes_is_taken_for_the_whole(end: int):
    assert from_bytes(to_bytes({}, TABLES)[:end]) is None


@pytest.mark.parametrize("more", [b"x", b"\0" * 100])
def test_more_than_the_bytes_is_not_the_whole(more: bytes):
    assert from_bytes(to_bytes({}, TABLES) + more) is None


@pytest.mark.parametrize("head", [b"[]", b"{}", b'{"about": 5, "sizes": {}}', b'{"sizes": []}'])
def test_what_says_something_else_is_not_the_whole(head: bytes):
    mark = to_bytes({}, {}).partition(b"\n")[0] + b"\n"
    assert from_bytes(mark + len(head).to_bytes(8, "big") + head) is None

"""CSV as others write it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from timesink.formats.csv_text import texts_of


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"n,t\n1,a\n", [("1", "a")]),
        (b"n,t\r\n1, a \r\n\r\n2,\r\n", [("1", "a"), ("2", None)]),
        (b'n,t\n1,"a\nb"\n2,c', [("1", "a\nb"), ("2", "c")]),
        (b'n,t\n1,"a\n2,b\n3,"c\n4,d\n', [("1", "a"), ("2", "b"), ("3", "c"), ("4", "d")]),
        (b"n,t,t\n1,a,b\n", [("1", "a")]),
        (b"n,t\n1\n2,a,more\n", [("1", None), ("2", "a")]),
        (b'n,t\n1,a\n2,"b"c\n', [("1", "a"), ("2", "bc")]),
        (b"n,t\n", []),
        (b"n,t\n1,\xff\n", [("1", "\ufffd")]),
    ],
)
def test_rows(content: bytes, rows: list[tuple[str | None, ...]]) -> None:
    assert texts_of(content, numbers="n").rows() == rows


@given(st.binary(max_size=60))
@example(b'""\x00')
def test_no_content_breaks_it(content: bytes) -> None:
    assert texts_of(b"n,t\n1,a\n" + content, numbers="n").columns == ["n", "t"]

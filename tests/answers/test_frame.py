"""Tables as text."""

from __future__ import annotations

from decimal import Decimal
from textwrap import dedent

import polars as pl
import pytest

from timesink.answers.tables import frame_document
from timesink.output import terminal


def to_text(frame: pl.DataFrame) -> str:
    return terminal.to_text(frame_document(frame))


@pytest.fixture
def print_frame(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def show(frame: pl.DataFrame, width: int) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        terminal.print_text(frame_document(frame))
        return capsys.readouterr().out

    return show


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "-"),
        (True, "yes"),
        (1234567, "1234567"),
        (-1234, "-1234"),
        (1234.5, "1 234.500"),
        (Decimal("27.4419557"), "27.442"),
        (0.00001234, "1.23e-05"),
        (float("nan"), "-"),
        ("text", "text"),
        ([1, 2], "[1, 2]"),
    ],
)
def test_values(value: object, expected: str):
    assert to_text(pl.DataFrame({"value": [value]})).split("\n")[1].strip() == expected


def test_numbers_stand_right_and_text_left():
    frame = pl.DataFrame({"name": ["gemm", "add"], "calls": [1200, 7], "stream": ["7", "20"]})
    assert to_text(frame) == dedent("""\
        name  calls  stream
        gemm   1200  7
        add       7  20""")


def test_only_the_longest_text_is_cut(print_frame):
    frame = pl.DataFrame({"name": ["n" * 100], "kind": ["kernel"], "dur_ns": [10**9]})
    header, row = print_frame(frame, 60).splitlines()
    assert len(row) == 60
    assert row.endswith("n…  kernel  1000000000")
    assert header.endswith("  kind        dur_ns")


def test_wide_characters_count_twice(print_frame):
    _, row = print_frame(pl.DataFrame({"name": ["核函数" * 4], "n": [1]}), 80).splitlines()
    assert row == "核函数" * 4 + "  1"


def test_table_that_cannot_fit_is_shown_row_by_row(print_frame):
    frame = pl.DataFrame({f"column_{place}": [place, 10 * place] for place in range(12)})
    lines = print_frame(frame, 60).splitlines()
    assert lines[1] == "column_1   1"
    assert lines[12] == ""
    assert lines[14] == "column_1   10"


def test_empty_table(print_frame):
    assert print_frame(pl.DataFrame({"name": []}, schema={"name": pl.String}), 80) == "name\n"

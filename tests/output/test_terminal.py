"""Documents as text: every kind of block, in lines that fit."""

from __future__ import annotations

import sys
from textwrap import dedent
from unittest import mock

import pytest
from msgspec.structs import replace

from literal_documents import (
    ATTRIBUTION,
    CAUSES,
    FINDINGS,
    HEALTH,
    HEATMAP,
    KERNELS,
    OTHER_BLOCKS,
    PARTS,
    TREE,
    VERDICT,
    document,
)
from timesink.output.blocks import Block, Document, Findings, Part, Parts, Section, Text
from timesink.output.lines import Grid, Item, LabelGrid, TextLine
from timesink.output.numbers import column, table
from timesink.output.terminal import print_text, to_plain, to_text


def text_of(*blocks: Block, width: int = 100, title: str = "") -> str:
    return to_text(document(*blocks, title=title), width)


def test_the_answer_comes_first():
    notes_document = document(
        Text("a"), Text("b"), title="Notes", subject="run.json", headline="Well."
    )
    assert to_text(replace(notes_document, notes=("rank 0 is assumed",))) == dedent("""\
        Well.
        run.json
        note: rank 0 is assumed

        Notes
          a
          b""")


def test_a_table_shows_its_main_columns_and_what_the_rest_comes_to():
    assert (
        text_of(KERNELS, title="Kernels")
        == dedent(r"""
        Kernels (the first 3 of 40)
        kernel                   calls    total   share
        gemm                     1 200  1.50 ms  75.0 %
        <img src=x>|\x1b[31m`a`      7  2.50 us  25.0 %
        -                            -        -       -
        37 more take 12.00 us""").lstrip()
    )


def test_columns_that_can_be_spared_go_before_names_are_cut():
    names = column(
        "name", "kernel", "text", ["a_long_name_of_a_kernel_x", "a_long_name_of_a_kernel_y"]
    )
    full_table = table("t", "", [names, column("p", "chance", "count", [1, 2], spare=1)])
    assert text_of(full_table, width=26).splitlines()[0] == "kernel"
    fixed_table = replace(full_table, columns=(names, replace(full_table.columns[1], spare=0)))
    assert text_of(fixed_table, width=26) == dedent("""\
        kernel              chance
        a_long_n…_kernel_x       1
        a_long_n…_kernel_y       2""")


def test_paths_lose_their_start_and_some_words_nothing():
    path = column("module", "module", "text", ["Model.Layer_3.Attention_3"], cut="start")
    sentence_column = column("on", "on", "text", ["a whole sentence"], cut="nothing")
    assert text_of(table("t", "", [path, sentence_column]), width=34).splitlines()[1] == (
        "….Attention_3  a whole sentence"
    )


def test_numbers_in_words_stand_to_the_right():
    level_table = table("t", "", [column("level", "level", "text", ["9 %", "12 W"], right=True)])
    assert text_of(level_table) == "level\n  9 %\n 12 W"


def test_a_table_that_cannot_fit_is_shown_row_by_row():
    wide_table = table("t", "", [column(f"c{n}", f"column {n}", "count", [n]) for n in range(9)])
    assert text_of(wide_table, width=60).splitlines()[:2] == ["column 0  0", "column 1  1"]


def test_a_table_without_rows_says_why_or_has_its_header():
    empty = table("t", "", [column("name", "name", "text", [])])
    assert text_of(empty) == "name"
    assert text_of(replace(empty, note="No modules were recorded.")) == "No modules were recorded."


def test_findings():
    assert text_of(FINDINGS, title="Findings") == dedent("""\
        Findings
        high   Many kernels are tiny [tiny-kernels]
               1 200 kernels take less than 5 us.
               try: Use CUDA graphs.
               may save 2.00 ms a step if all go
               seen: kernel gemm: calls 1 200""")
    assert text_of(Findings((), "No rule found anything.")) == "No rule found anything."


def test_causes():
    assert text_of(CAUSES) == dedent("""\
        Host code in rank 3  +6.00 ms, 12.0 % of the run
               Rank 3 delays the others.
               try: Look at its Python code.
               seen: It starts 2 ms late.""")
    assert text_of(replace(CAUSES, items=())) == "  Nobody does."


def test_parts_are_bars():
    assert text_of(PARTS, title="Where a step goes") == dedent("""\
        Where a step goes
          kernels     3.00 ms   75.0 %  ██████████████████████████████
          other       1.00 ms   25.0 %  ██████████""")


def test_what_parts_mean_stands_in_a_column_or_not_at_all():
    parts = (
        Part("both_low", "both low", 3e6, "latency"),
        Part("low_sm", "low SM", 1000, "memory side"),
        Part("low_dram", "low DRAM", 0, "compute side"),
    )
    block = Parts("Classes", "time_ns", 3_001_000, parts)
    assert text_of(block, width=59) == dedent("""\
        Classes
          both low     3.00 ms  100.0 %  ████████████  latency
          low SM       1.00 us    0.0 %                memory side
          low DRAM        0 ns    0.0 %                compute side""")
    assert "latency" not in text_of(block, width=50)


def test_a_verdict_and_the_parts_of_a_change():
    assert text_of(VERDICT, ATTRIBUTION, width=72) == dedent("""\
        Cycles are longer.
        base 1.00 ms → new 2.00 ms  +100.0 %  (+90.0 % to +110.0 %)
          Two cycles were cut.

        Where the change is
          kernels  +1.50 ms  +1.40 to +1.60 ms  ████████████████████████████████
          idle      -500 us                     ░░░░░░░░░░░""")


def test_health():
    assert text_of(HEALTH) == dedent("""\
        warning  36 x activities overlap
                 a and b
                 all are kept
                 advice: look""")


def test_a_heat_map_in_shades():
    assert text_of(HEATMAP) == dedent("""\
        Wait caused
        steps 7 to 8, left to right
          0  ····▒▒▒▒
        > 1  ████
             · 0  ░ 1.00 ms  ▒ 4.00 ms  ▓ 9.00 ms  █ 16.00 ms""")


def test_the_other_blocks():
    assert text_of(*OTHER_BLOCKS) == dedent("""\
        device  NVIDIA H200
        Step  1.00 ms

        Steps
           kernels
        3  1.00 ms
        4  2.00 ms

        Memory
          allocated  ▁▅█  1.0 KiB at most

        Modules
          UNet  8.00 ms
            Conv2d  4.00 ms""")


def test_a_tree_is_a_table_of_what_is_seen_at_first():
    assert text_of(TREE) == dedent("""\
        Calls (3)
        call                         state    calls base  calls new
          aten::to                   same              1          1
        ~ aten::linear               changed           2          2
        +   <img src=x>|\\x1b[31m`a`  added             0          3""")


def test_sections_for_pages_are_left_out():
    text_document = document(Text("here"))
    page = Section("page", "Page", (Text("there"),), medium="page")
    assert "there" not in to_text(replace(text_document, sections=(*text_document.sections, page)))


def test_no_amount_is_torn_from_its_unit():
    lines = to_text(Document("info", "", "", "they take 1.28 → 1.22 s now", "1", ()), 16)
    assert lines == "they take\n1.28 → 1.22 s\nnow"


def test_colours_are_for_terminals(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    print_text(document(FINDINGS))
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    print_text(document(FINDINGS))
    assert "\x1b[1;31mhigh" in capsys.readouterr().out


@pytest.mark.parametrize(
    "item",
    [
        TextLine("  slow ").append("step  ", "dim"),
        TextLine("a title that goes on in the next line and folds " + "x" * 40),
        TextLine("歩 " * 30),
        TextLine("n" * 70, is_folded=False),
        Grid(
            ("kernel", "time"), (("gemm", "1 ms"), ("elementwise", "20 us")), (False, True), (6, 5)
        ),
        Grid(("kernel", "time"), (("歩進む歩進む", "1 ms"),), (False, True), (6, 5)),
        LabelGrid((("device", "H200"), ("→ host", "µs"))),
        LabelGrid((("device", "H200"), ("program", "python train.py " * 5))),
        LabelGrid((("device", "H200"), ("program", "python")), is_record=True),
    ],
)
def test_letters_are_laid_out_as_on_a_screen(item: Item):
    with mock.patch.object(type(item), "to_plain", return_value=None):
        as_on_a_screen = to_plain([item], 60)
    assert to_plain([item], 60) == as_on_a_screen
    assert as_on_a_screen

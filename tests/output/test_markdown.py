"""Documents as Markdown."""

from __future__ import annotations

from textwrap import dedent

from msgspec.structs import replace

from literal_documents import (
    ATTRIBUTION,
    CAUSES,
    FINDINGS,
    HEALTH,
    KERNELS,
    OTHER_BLOCKS,
    PARTS,
    TREE,
    VERDICT,
    document,
)
from timesink.output.blocks import Block, Section, Text
from timesink.output.markdown import to_markdown


def markdown_of(*blocks: Block, title: str = "") -> str:
    return to_markdown(document(*blocks, title=title))


def test_the_answer_comes_first():
    notes_document = document(
        Text("a"), Text("b"), title="Notes", subject="run.json", headline="Well."
    )
    assert to_markdown(replace(notes_document, notes=("rank 0 is assumed",))) == dedent("""\
        # run.json

        **Well.**

        > rank 0 is assumed

        ## Notes

        - a
        - b""")


def test_names_in_a_table_are_no_markup():
    assert (
        markdown_of(KERNELS, title="Kernels")
        == dedent(r"""
        ## Kernels (the first 3 of 40)

        | kernel | calls | total | share |
        | --- | ---: | ---: | ---: |
        | gemm | 1 200 | 1.50 ms | 75.0 % |
        | &lt;img src=x>\|\x1b[31m\`a\` | 7 | 2.50 us | 25.0 % |
        | - | - | - | - |

        37 more take 12.00 us""").lstrip()
    )


def test_cards_are_lists():
    assert markdown_of(FINDINGS) == (
        "- **Many kernels are tiny** (`tiny-kernels`, high): 1 200 kernels take less than 5 us. "
        "Use CUDA graphs. It may save 2.00 ms a step if all go."
    )
    assert markdown_of(CAUSES) == (
        "1. **Host code in rank 3** (+6.00 ms, 12.0 % of the run): Rank 3 delays the others. "
        "Look at its Python code.\n   - It starts 2 ms late."
    )
    assert markdown_of(HEALTH) == "- warning: 36 x activities overlap: a and b; all are kept"


def test_parts_and_changes_are_tables():
    assert markdown_of(PARTS, title="Where a step goes").splitlines()[2:] == [
        "| part | time | share |",
        "| --- | ---: | ---: |",
        "| kernels | 3.00 ms | 75.0 % |",
        "| other | 1.00 ms | 25.0 % |",
    ]
    assert markdown_of(ATTRIBUTION, title="Change").splitlines()[4] == (
        "| kernels | 1.00 ms | 2.50 ms | +1.50 ms | +1.40 to +1.60 ms |"
    )


def test_a_verdict():
    assert markdown_of(VERDICT) == dedent("""\
        Cycles are longer. base 1.00 ms → new 2.00 ms, +100.0 %.

        - Two cycles were cut.""")


def test_the_other_blocks():
    assert markdown_of(*OTHER_BLOCKS).splitlines()[:3] == [
        "- device: NVIDIA H200",
        "",
        "- Step: 1.00 ms",
    ]


def test_a_tree_is_a_table_of_what_is_seen_at_first():
    lines = markdown_of(TREE, title="Tree").splitlines()
    assert [line.split(" | ")[1:] for line in lines[-3:]] == [
        ["same", "1", "1 |"],
        ["changed", "2", "2 |"],
        ["added", "0", "3 |"],
    ]


def test_sections_for_pages_are_left_out():
    text_document = document(Text("here"))
    page = Section("page", "Page", (Text("there"),), medium="page")
    assert (
        to_markdown(replace(text_document, sections=(*text_document.sections, page)))
        == "## Section\n\nhere"
    )

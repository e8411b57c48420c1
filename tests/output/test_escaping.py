"""Names in Markdown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.output.names import as_code, in_cell, in_html, in_line, in_published_cell


@pytest.mark.parametrize(
    "name",
    [
        "void f<float>(int)",
        "g<at::native::Add<c10::BFloat16>, 4, long long>",
        "h<char*, 2>(void const*)",
        "a < b",
    ],
)
def test_template_arguments_stay_as_published(name: str):
    assert in_published_cell(name) == name
    assert "<" not in in_cell(name)


@pytest.mark.parametrize(
    "name",
    [
        "<script>",
        "</td>",
        "<!-- x",
        "<img src=x onerror=y>",
        "<float onclick=x>",
        "<x-y>",
        "<a",
        "<javascript:alert(1)>",
    ],
)
def test_what_may_run_is_escaped_everywhere(name: str):
    assert in_published_cell(name) == in_cell(name) == in_line(name) == f"&lt;{name[1:]}"


def test_links_are_text():
    assert in_cell("[a](http://x)") == r"[a]\(http://x)"


def test_code_in_a_sentence_stays_and_lone_marks_do_not():
    assert in_line("of `<module>` in <b>") == "of `<module>` in &lt;b>"
    assert in_line("```<b>`") == r"\`\`\`&lt;b>\`"


@given(st.text(alphabet="ab|`<>\\\n[](!/ "))
def test_a_cell_is_one_cell_of_one_line(name: str):
    for cell in (in_cell(name), in_published_cell(name)):
        assert "\n" not in cell
        assert not re.search(r"(?<!\\)[|`]", cell)


@given(st.text(alphabet="ab`<"))
def test_a_code_span_ends_where_it_should(name: str):
    fence = re.match("`+", as_code(name))
    assert fence
    assert fence[0] not in re.sub(r"^`+|`+$", "", as_code(name)).split(" ") or name == ""


def test_every_character_can_be_seen():
    assert in_html("a<b\x1b\u202e") == "a&lt;b\\x1b\\u202e"
    assert in_cell("a\nb") == "a\\nb"


def test_a_name_as_code():
    assert (as_code("f<int>"), as_code("a`b")) == ("`f<int>`", "`` a`b ``")

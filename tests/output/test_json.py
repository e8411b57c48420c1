"""Documents as JSON, and JSON in a page."""

from __future__ import annotations

import json

import pytest

from timesink.output.blocks import Facts, Picture, Text
from timesink.output.json import in_script, to_json
from timesink.output.numbers import column, table


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("void f<float>()", "void f<float>()"),
        ("été 中文", "été 中文"),
        ("a\x1b[31m\n", "a\\x1b[31m\\n"),
        ("\u202eabc\u2028", "\\u202eabc\\u2028"),
        ("tr\udcff.json", "tr\\udcff.json"),
    ],
)
def test_every_character_of_a_name_can_be_seen(name: str, expected: str):
    assert json.loads(to_json(Text(name)))["text"] == expected
    assert json.loads(to_json(Facts(((name, "1"),))))["rows"] == [[expected, "1"]]


def test_pages_have_no_columns_of_text():
    words = column("calls", "calls", "text", ["1"], medium="text")
    answer = json.loads(to_json(table("t", "T", [words, column("a", "a", "count", [1])])))
    assert [page_column["key"] for page_column in answer["columns"]] == ["a"]
    assert not {"medium", "spare", "right"} & set(answer["columns"][0])


def test_drawings_keep_their_lines():
    assert json.loads(to_json(Picture("Roofline", "<svg>\n</svg>")))["svg"] == "<svg>\n</svg>"


def test_nothing_in_a_script_element_ends_it():
    text = "</script><!-- & \u2028"
    script = in_script(json.dumps({"text": text}, ensure_ascii=False).encode())
    assert not set(script) & set("<>&\u2028\u2029")
    assert json.loads(script) == {"text": text}

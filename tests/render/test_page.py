"""Pages that need no network."""

from __future__ import annotations

import pytest

import timesink
from cases import STEP, K, O, R, read
from timesink.render.analysis_page import to_html
from timesink.render.page import cells_table, fill_page, html_text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("<script>", "&lt;script&gt;"),
        ('"', "&quot;"),
        ("a\x1b[31m", "a\\x1b[31m"),
        ("\u202eabc", "\\u202eabc"),
        ("a\nb", "a\\nb"),
        (1234567, "1\u00a0234\u00a0567"),
        (None, "-"),
    ],
)
def test_text_is_visible_and_never_markup(value: object, shown: str):
    assert html_text(value) == shown


def test_empty_names_are_told():
    table = cells_table(["operator", "calls"], [["", "2"], [" ", "3"]], [False, True])
    assert table.count(">(no name)<") == 2


def test_tables_scroll_inside_their_own_box():
    assert cells_table(["a"], [["b"]], [False]).startswith('<div class="wide"><table')


@pytest.mark.parametrize("headline", ["All is well.", "trace.json: all is well"])
def test_what_was_read_is_told_once(headline: str):
    page = fill_page(title="trace.json", headline=headline, body="", health=())
    assert "<title>trace.json - timesink</title>" in page
    assert page.count("trace.json", page.index("</style>")) == 1


class TestAnalysis:
    def test_trace_worker_span_and_device_are_on_the_page(self):
        page = to_html(timesink.analyze(timesink.sample()))
        assert '<p class="subject">unet_train.pt.trace.json.gz, NVIDIA H200</p>' in page

    def test_hostile_names_stay_text(self):
        trace = read(
            STEP(1, 0, 100),
            O("</td><script>alert(1)</script>", 0, 50),
            O("", 60, 10),
            R(10, 5, c=1),
            K("\u202eevil\x00<img>", 20, 10, c=1),
        )
        page = to_html(timesink.analyze(trace))
        assert "<script" not in page
        assert "<img" not in page
        assert "\\u202eevil\\x00" in page
        assert "(no name)" in page
        assert not set(page) & {"\u202e", "\x00"}

"""Reports, opened from disk."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote, urlparse

import pytest

from browser.driving import DESKTOP, MARKUP, PHONE
from literal_documents import document
from timesink.output.blocks import Document, Section, Text, Tile, Tiles
from timesink.output.html import report_html
from timesink.output.numbers import column, table

pytestmark = pytest.mark.whole

expect = pytest.importorskip("playwright.sync_api").expect
if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

MEGABYTE = 1_000_000


def cells(table: Locator, column: int = 0) -> list[str]:
    """Texts of a column, from the top."""
    texts = "(rows, at) => rows.filter(r => r.cells.length > at).map(r => r.cells[at].innerText)"
    cell_texts: list[str] = table.locator("tbody tr").evaluate_all(texts, column)
    return cell_texts


def numbers(table: Locator, column: int) -> list[int]:
    return [int(text.replace(" ", "")) for text in cells(table, column)]


@pytest.mark.parametrize(
    ("report", "first"),
    [
        ("analyze", "Findings"),
        ("compare", "What changed and why"),
        ("kernels", "GPU 0 (capability 9.0)"),
    ],
)
def test_the_answer_comes_first_and_nothing_lies_beside_a_phone(
    page: Page, reports: dict[str, str], report: str, first: str
):
    page.set_viewport_size(PHONE)
    page.goto(reports[report])
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]
    page.set_viewport_size(DESKTOP)
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()
    headings = page.get_by_role("heading", level=2).all_inner_texts()
    assert headings[0] == first
    assert Path(unquote(urlparse(reports[report]).path)).stat().st_size <= MEGABYTE


def test_without_javascript_the_answer_is_there(
    page_without_scripts: Page, reports: dict[str, str]
):
    page = page_without_scripts
    page.goto(reports["analyze"])
    expect(page.get_by_role("heading", level=1)).to_contain_text("step")
    expect(
        page.get_by_text("kernels a step that only convert between NCHW and NHWC").first
    ).to_be_visible()


def test_a_table_is_sorted_filtered_and_copied(page: Page, reports: dict[str, str]):
    page.goto(reports["analyze"])
    section = page.locator("#operators")
    expect(section).to_have_role("region")
    expect(section).to_have_accessible_name("Operators")
    operators = section.get_by_role("table")
    calls = operators.get_by_role("columnheader", name="calls")
    calls.get_by_role("button").click()
    expect(calls).to_have_attribute("aria-sort", "descending")
    totals = numbers(operators, 1)
    assert len(totals) > 10
    assert totals == sorted(totals, reverse=True)
    calls.get_by_role("button").press("Enter")
    expect(calls).to_have_attribute("aria-sort", "ascending")
    totals = numbers(operators, 1)
    assert totals == sorted(totals)

    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    section.get_by_role("searchbox").fill("batch_norm")
    expect(section.get_by_role("status").first).to_have_text("4 of 85 rows match")
    section.get_by_role("button", name="Copy").first.click()
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert copied[0].startswith("operator\tcalls\t")
    assert len(copied) > 1
    assert all("batch_norm" in line for line in copied[1:])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(page: Page, reports: dict[str, str], scheme: Literal["light", "dark"]):
    page.emulate_media(color_scheme=scheme)
    page.goto(reports["markup"])
    assert is_dark(page) == (scheme == "dark")
    page.get_by_role("button", name=re.compile("^Theme")).click()
    page.get_by_role("button", name=re.compile("^Theme: light")).click()
    assert is_dark(page)


def is_dark(page: Page) -> bool:
    """Whether the ground is darker than the text."""
    light = "c => c.match(/[\\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0)"
    style = "getComputedStyle(document.body)"
    return bool(page.evaluate(f"({light})({style}.backgroundColor) < ({light})({style}.color)"))


def test_on_paper_there_are_no_buttons(page: Page, tmp_path: Path):
    kernels = table("kernels", "Kernels", [column("calls", "calls", "count", list(range(12)))])
    (tmp_path / "table.html").write_text(report_html(document(kernels, headline="Fine.")))
    page.goto((tmp_path / "table.html").as_uri())
    expect(page.get_by_role("button", name="Print")).to_be_visible()
    expect(page.get_by_role("searchbox")).to_be_visible()
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("button", name="Print")).to_be_hidden()
    expect(page.get_by_role("searchbox")).to_be_hidden()


def test_names_are_text(page: Page, reports: dict[str, str]):
    page.goto(reports["markup"])
    expect(page.get_by_text(MARKUP).first).to_be_visible()
    assert "owned" not in page.title()


def test_the_clock_is_switched_and_kept_in_the_address(page: Page, tmp_path: Path):
    spans = (("own", 18_600_000), ("recorded", 84_700_000))
    tiles = [Section("time", "Time", (_tile(ns),), clock=clock) for clock, ns in spans]
    always = Section("more", "More", (Text("of either clock"),))
    report = Document("analysis", "run", "run", "Fine.", sections=(*tiles, always))
    (tmp_path / "clocks.html").write_text(report_html(report))
    page.goto((tmp_path / "clocks.html").as_uri())
    time = page.get_by_role("region", name="Time", exact=True)
    expect(time).to_contain_text("18.60 ms")
    expect(page.get_by_text("of either clock")).to_be_visible()
    page.get_by_text("As recorded").click()
    expect(time).to_contain_text("84.70 ms")
    expect(time).to_have_count(1)
    page.get_by_role("link", name="More").click()
    expect(page).to_have_url(re.compile("#more.*clock=recorded"))
    page.reload()
    expect(time).to_contain_text("84.70 ms")
    page.get_by_text("Without profiler overhead").click()
    expect(page).not_to_have_url(re.compile("clock="))


def _tile(length_ns: int) -> Tiles:
    return Tiles((Tile("Cycle", length_ns, "time_ns"),))

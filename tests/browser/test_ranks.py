"""Ranks of a run, in the report and in the app: who holds the others up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from browser.driving import LONG, NewPage

pytestmark = pytest.mark.whole

expect = pytest.importorskip("playwright.sync_api").expect
if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

LATE = "Data loading in rank 13"
PHONE = {"width": 390, "height": 844}


def heat_map(page: Page) -> Locator:
    return page.get_by_role("application", name=re.compile("^Wait caused, by rank and step"))


def told(page: Page) -> Locator:
    return page.locator("figure.heatmap > .told")


def test_the_report_names_the_rank_and_what_to_try(page: Page, reports: dict[str, str]):
    page.goto(reports["fleet"])
    expect(page.get_by_role("heading", level=1)).to_contain_text("Rank 13 makes the others wait")
    card = page.get_by_role("region", name="Who holds the others up").get_by_role("listitem").first
    expect(card).to_contain_text(LATE)
    expect(card).to_contain_text("of the run")
    expect(card).to_contain_text("Look at the input of rank 13")


def test_the_map_is_read_by_mouse_and_by_keys(page: Page, reports: dict[str, str]):
    page.goto(reports["fleet"])
    canvas = heat_map(page)
    canvas.scroll_into_view_if_needed()
    expect(canvas).to_have_attribute("aria-label", re.compile("20 rows .* the largest .* rank 13"))
    # The first key leads to the worst cell.
    canvas.press("ArrowDown")
    expect(told(page)).to_contain_text("rank 13, step")
    expect(told(page)).to_contain_text("data loading")
    canvas.press("ArrowUp")
    expect(told(page)).to_contain_text("rank 12, step")
    canvas.press("Escape")
    expect(told(page)).to_contain_text("Point at a cell")
    box = canvas.bounding_box()
    assert box is not None
    # The names of steps are above the first of 20 rows.
    row = (box["height"] - 18) / 20
    page.mouse.move(box["x"] + 60, box["y"] + 18 + 13.5 * row)
    expect(told(page)).to_contain_text("rank 13, step")
    expect(told(page)).to_contain_text(re.compile(r"wait caused \d+\.\d+ ms"))


def test_the_map_has_colours_of_the_theme(new_page: NewPage, reports: dict[str, str]):
    """The darkest of light ground is the rank that is late, the lightest of dark ground."""
    for scheme in ("light", "dark"):
        page = new_page(color_scheme=scheme)
        page.goto(reports["fleet"])
        late, healthy = (brightness(page, row) for row in (13, 2))
        assert (late < healthy - 200) if scheme == "light" else (late > healthy + 200)


def brightness(page: Page, row: int) -> int:
    """The sum of the colours in the middle of a row of the map."""
    script = """(canvas, row) => {
        const ratio = canvas.width / canvas.clientWidth;
        const height = (canvas.clientHeight - 18) / 20;
        const [x, y] = [60 * ratio, (18 + (row + 0.5) * height) * ratio];
        const [r, g, b] = canvas.getContext("2d").getImageData(x, y, 1, 1).data;
        return r + g + b;
    }"""
    found: int = heat_map(page).evaluate(script, row)
    return found


def test_the_largest_cells_are_a_table_as_well(page: Page, reports: dict[str, str]):
    page.goto(reports["fleet"])
    page.get_by_text("The largest cells as a table").click()
    table = page.locator("figure.heatmap").get_by_role("table")
    first = table.get_by_role("row").nth(1)
    expect(first).to_contain_text("13")
    expect(first).to_contain_text("data loading")


def test_ranks_on_a_phone(new_page: NewPage, reports: dict[str, str]):
    page = new_page(viewport=PHONE)
    page.goto(reports["fleet"])
    expect(heat_map(page)).to_be_visible()
    box = heat_map(page).bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_from_the_map_of_the_app_to_the_late_rank(page: Page, site: str):
    page.goto(f"{site}#/run/fleet/distributed")
    expect(page.get_by_role("heading", name=LATE)).to_be_visible(timeout=LONG)
    heat_map(page).press("ArrowDown")
    told(page).get_by_role("link", name="look at rank13").click()
    expect(page.get_by_role("button", name="Worker: rank13")).to_be_visible(timeout=LONG)
    expect(page.get_by_role("heading", level=1)).to_contain_text(
        "Rank 13 makes the others wait", timeout=LONG
    )
    expect(
        page.get_by_role("region", name="Findings").get_by_role("listitem").first
    ).to_contain_text("rank13 makes the others wait")


def test_a_worker_is_found_by_typing(page: Page, site: str):
    page.goto(f"{site}#/run/fleet/distributed")
    page.get_by_role("button", name="Worker: rank0").click(timeout=LONG)
    page.get_by_role("combobox", name="Worker: type to filter").fill("k17")
    expect(page.get_by_role("option")).to_have_text(["rank17"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Worker: rank17")).to_be_visible()
    assert "worker=rank17" in page.url

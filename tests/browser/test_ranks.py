"""Ranks of a run, in the report and in the app: who holds the others up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from browser.driving import LONG, PHONE

pytestmark = pytest.mark.whole

expect = pytest.importorskip("playwright.sync_api").expect
if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

LATE = "Data loading in rank 13"


def heat_map(page: Page) -> Locator:
    return page.get_by_role(
        "application", name=re.compile("^Time the others waited for each rank, by step")
    )


def heatmap_text(page: Page) -> Locator:
    return page.locator("figure.heatmap > .readout")


def test_the_report_names_the_rank_what_to_try_and_the_largest_cells(
    page: Page, reports: dict[str, str]
):
    page.goto(reports["fleet"])
    expect(page.get_by_role("heading", level=1)).to_contain_text(
        "Straggler: rank 13 delays the others"
    )
    card = page.get_by_role("region", name="Stragglers").get_by_role("listitem").first
    expect(card).to_contain_text(LATE)
    expect(card).to_contain_text("of a step")
    expect(card).to_contain_text("Look at the input of rank 13")
    page.get_by_text("The largest cells as a table").click()
    first = page.locator("figure.heatmap").get_by_role("table").get_by_role("row").nth(1)
    expect(first).to_contain_text("13")
    expect(first).to_contain_text("data loading")


def test_the_map_is_read_by_mouse_and_by_keys(page: Page, reports: dict[str, str]):
    page.goto(reports["fleet"])
    canvas = heat_map(page)
    canvas.scroll_into_view_if_needed()
    expect(canvas).to_have_attribute("aria-label", re.compile("17 rows .* the largest .* rank 13"))
    # The first key leads to the worst cell.
    canvas.press("ArrowDown")
    expect(heatmap_text(page)).to_contain_text("rank 13, step")
    expect(heatmap_text(page)).to_contain_text("data loading")
    canvas.press("ArrowUp")
    expect(heatmap_text(page)).to_contain_text("rank 12, step")
    canvas.press("Escape")
    expect(heatmap_text(page)).to_contain_text("Point at a cell")
    box = canvas.bounding_box()
    assert box is not None
    # The names of steps are above the first of 17 rows.
    row = (box["height"] - 18) / 17
    page.mouse.move(box["x"] + 60, box["y"] + 18 + 13.5 * row)
    expect(heatmap_text(page)).to_contain_text("rank 13, step")
    expect(heatmap_text(page)).to_contain_text(re.compile(r"wait caused \d+\.\d+ ms"))


def test_on_a_phone_the_map_fits_and_has_colours_of_the_theme(page: Page, reports: dict[str, str]):
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    page.goto(reports["fleet"])
    expect(heat_map(page)).to_be_visible()
    box = heat_map(page).bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    # The rank that is late is the lightest of dark ground, the darkest of light ground.
    wait_until_brighter(page, 13, than=2)
    page.emulate_media(color_scheme="light")
    wait_until_brighter(page, 2, than=13)


def wait_until_brighter(page: Page, row: int, *, than: int) -> None:
    """Wait until the middle of a row of the map is much brighter than that of another."""
    script = """([row, than]) => {
        const canvas = document.querySelector("figure.heatmap canvas");
        const ratio = canvas.width / canvas.clientWidth;
        const height = (canvas.clientHeight - 18) / 17;
        const brightness = (at) => {
            const [x, y] = [60 * ratio, (18 + (at + 0.5) * height) * ratio];
            const [r, g, b] = canvas.getContext("2d").getImageData(x, y, 1, 1).data;
            return r + g + b;
        };
        return brightness(row) > brightness(than) + 200;
    }"""
    page.wait_for_function(script, arg=[row, than])


def test_from_the_map_of_the_app_to_the_late_rank_and_to_another(page: Page, site: str):
    page.goto(site)
    # It may be there for a moment only.
    page.evaluate("""() => {
        const look = () => { window.progress ||= document.querySelector("progress"); };
        new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
    }""")
    page.goto(f"{site}#/run/fleet/distributed")
    expect(page.get_by_role("heading", level=1, name="Distributed")).to_be_visible(timeout=LONG)
    assert page.evaluate("Boolean(window.progress)")
    expect(page.get_by_role("heading", name=LATE)).to_be_visible(timeout=LONG)
    expect(page.get_by_role("listitem").filter(has_text="straggler").first).to_contain_text(LATE)
    for rank, waits in ((12, "ms"), (13, "us")):
        row = re.compile(rf"^rank{rank} .*waiting for other ranks: [\d.]+ {waits}")
        expect(page.get_by_role("row", name=row)).to_be_visible()
    heat_map(page).press("ArrowDown")
    heatmap_text(page).get_by_role("link", name="Open rank13").click()
    chosen = page.get_by_role("button", name="Process: rank13")
    expect(chosen).to_be_visible(timeout=LONG)
    expect(page.get_by_role("heading", level=1)).to_contain_text(
        "Straggler: rank 13 delays the others", timeout=LONG
    )
    expect(
        page.get_by_role("region", name="Findings").get_by_role("listitem").first
    ).to_contain_text("rank13 delays the others")
    # There are more workers than a plain list holds.
    chosen.click()
    page.get_by_role("combobox", name="Process: type to filter").fill("k16")
    expect(page.get_by_role("option")).to_have_text(["rank16"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Process: rank16")).to_be_visible()
    assert "worker=rank16" in page.url

"""Two runs side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from browser.driving import DESKTOP, LONG

pytestmark = pytest.mark.whole

expect = pytest.importorskip("playwright.sync_api").expect
if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def test_two_runs_are_picked_and_compared(page: Page, site: str):
    page.goto(site)
    page.get_by_role("checkbox", name="Compare base").check()
    page.get_by_role("checkbox", name="Compare slow").check()
    page.get_by_role("link", name="Compare").or_(
        page.get_by_role("button", name="Compare", exact=False)
    ).last.click()
    assert_answer_is_seen(page, "gpu_clock")
    page.get_by_role("button", name="Swap the two runs").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Improvement", timeout=LONG)
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Regression", timeout=LONG)


def assert_answer_is_seen(page: Page, cause: str) -> None:
    """What changed, where, and what explains most of it."""
    expect(page.get_by_role("heading", level=1)).to_contain_text("Regression", timeout=LONG)
    assert is_seen(page.get_by_role("heading", level=1))
    assert is_seen(page.get_by_role("figure", name="Where the change is"))
    assert is_seen(page.get_by_text(cause).first)


def test_runs_in_turn_are_one_click_away(page: Page, site: str):
    page.goto(site)
    page.get_by_role("link", name="pr").filter(has_text="runs").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Regression", timeout=LONG)
    expect(page.get_by_role("figure", name="Every run")).to_be_visible()


def test_both_programs_are_a_tree_that_leads_to_their_timelines(page: Page, site: str):
    page.goto(f"{site}#/compare?base=ahead&new=reading")
    edits = page.get_by_role("figure", name="Program changes, per step")
    expect(edits).to_contain_text("aten::item added", timeout=LONG)
    assert is_seen(edits)
    tree = page.get_by_role("treegrid", name="Calls of both programs")
    page.get_by_label("Only differences").check()
    item = tree.get_by_role("row", name="aten::item").first
    expect(item).to_have_class("state-added")
    expect(item.get_by_role("link", name="timeline of base")).to_have_count(0)
    item.get_by_role("link", name="timeline of new").click()
    matches = page.get_by_role("status").filter(has_text="matches")
    expect(matches.first).to_be_visible(timeout=LONG)


def is_seen(part: Locator) -> bool:
    """Whether the whole of it is on the screen."""
    box = part.bounding_box()
    assert box is not None
    inside = box["x"] >= 0 and box["y"] >= 0
    right, bottom = box["x"] + box["width"], box["y"] + box["height"]
    return inside and right <= DESKTOP["width"] and bottom <= DESKTOP["height"]

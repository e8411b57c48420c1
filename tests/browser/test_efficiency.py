"""The page of efficiency: operators under the roofs of their device."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from browser.driving import LONG, NewPage

pytestmark = pytest.mark.whole

expect = pytest.importorskip("playwright.sync_api").expect
if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

PHONE = {"width": 390, "height": 844}


def roofline(page: Page) -> Locator:
    return page.get_by_role("application", name=re.compile("^Operators under the roofs"))


def test_a_point_is_read_and_leads_to_its_operator(page: Page, site: str):
    page.goto(f"{site}#/run/unet/efficiency")
    expect(roofline(page)).to_be_visible(timeout=LONG)
    # The smallest lies on all others.
    point = roofline(page).get_by_role("link").last
    operator = (point.get_attribute("aria-label") or "").split()[0]
    point.hover()
    expect(page.locator("figure.scatter > .told")).to_contain_text(operator)
    expect(page.locator("figure.scatter > .told")).to_contain_text("of the roof")
    point.click()
    expect(page).to_have_url(re.compile("/run/unet/operators"))
    details = page.get_by_role("complementary", name=f"Operator {operator}")
    expect(details).to_be_visible(timeout=LONG)


def test_in_a_report_a_point_leads_to_the_row_on_a_phone_too(
    new_page: NewPage, reports: dict[str, str]
):
    page = new_page(viewport=PHONE, color_scheme="dark")
    page.goto(reports["analyze"])
    expect(roofline(page)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    roofline(page).press("Home")
    told = page.locator("figure.scatter > .told")
    name = told.locator("b").inner_text()
    told.get_by_role("link").click()
    search = page.get_by_role("searchbox", name="Search in Operators", exact=True)
    expect(search).to_have_value(name)

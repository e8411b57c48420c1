"""The page of efficiency: operators under the roofs of their device."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.driving import LONG, PHONE
from builders import kernel, kineto, operator, runtime, step, write
from roofed_runs import H200, HALF
from timesink.cli import main

pytestmark = pytest.mark.whole

expect = pytest.importorskip("playwright.sync_api").expect
if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


OF_MATRICES = {"Input Dims": [[8192, 8192], [8192, 8192]], "Input type": [HALF, HALF]}


def roofline(page: Page) -> Locator:
    return page.get_by_role("application", name=re.compile("^Roofline of the operators"))


def test_a_point_is_read_and_leads_to_its_operator(page: Page, site: str):
    page.goto(f"{site}#/run/unet/efficiency")
    expect(roofline(page)).to_be_visible(timeout=LONG)
    # The smallest lies on all others.
    point = roofline(page).get_by_role("link").last
    name = (point.get_attribute("aria-label") or "").split()[0]
    point.hover()
    expect(page.locator("figure.scatter > .readout")).to_contain_text(name)
    expect(page.locator("figure.scatter > .readout")).to_contain_text("roofline")
    point.click()
    expect(page).to_have_url(re.compile("/run/unet/operators"))
    details = page.get_by_role("complementary", name=f"Operator {name}")
    expect(details).to_be_visible(timeout=LONG)


def test_in_a_report_a_point_leads_to_the_row_on_a_phone_too(page: Page, tmp_path: Path):
    # A table of a few rows is not searched: some operators have nothing to do with the device.
    other_operators = [operator(f"aten::other{number}", 30 + number, 0.5) for number in range(12)]
    product = operator("aten::mm", 1, 5, **{"External id": 1}, **OF_MATRICES)
    launched = [runtime("cudaLaunchKernel", 2, 1, 1), kernel("gemm", 4, 1400, 1)]
    trace = kineto([step(1, 0, 60), product, *launched, *other_operators], **H200)
    report = tmp_path / "report.html"
    assert main(["analyze", str(write(tmp_path / "trace.json", trace)), "-o", str(report)]) == 0

    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    page.goto(report.as_uri())
    expect(roofline(page)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    roofline(page).press("Home")
    point_text = page.locator("figure.scatter > .readout")
    expect(point_text.locator("b")).to_have_text("aten::mm")
    point_text.get_by_role("link").click()
    search = page.get_by_role("searchbox", name="Search in Operators", exact=True)
    expect(search).to_have_value("aten::mm")

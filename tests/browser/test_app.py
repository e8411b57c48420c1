"""The app of `timesink serve`, as a user goes through it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.driving import LONG, MARKUP

pytestmark = pytest.mark.whole

expect = pytest.importorskip("playwright.sync_api").expect
if TYPE_CHECKING:
    from playwright.sync_api import Page


def wait_for_heading(page: Page, words: str) -> None:
    """Wait until a page is there, by its heading."""
    expect(page.get_by_role("heading", level=1, name=words)).to_be_visible(timeout=LONG)


def test_runs_are_listed_and_lead_to_their_overview(page: Page, site: str):
    page.goto(site)
    wait_for_heading(page, "Runs")
    page.get_by_role("searchbox", name="Filter runs").fill("unet")
    expect(page.get_by_role("rowheader")).to_have_text(["unet"])
    page.get_by_role("link", name="unet", exact=True).click()
    wait_for_heading(page, "the GPU is busy 93 % of each 22.6 ms step")
    expect(page.get_by_role("heading", name="Findings")).to_be_in_viewport()
    page.go_back()
    wait_for_heading(page, "Runs")


def test_a_new_run_appears_by_itself(page: Page, site: str, runs: Path):
    page.goto(site)
    wait_for_heading(page, "Runs")
    try:
        shutil.copytree(runs / "markup", runs / "latest")
        expect(page.get_by_role("link", name="latest")).to_be_visible(timeout=LONG)
    finally:
        shutil.rmtree(runs / "latest")
    expect(page.get_by_role("link", name="latest")).to_have_count(0, timeout=LONG)


def test_from_an_operator_over_its_kernels_into_the_trace(page: Page, site: str):
    page.goto(f"{site}#/run/unet/operators")
    wait_for_heading(page, "Operators of unet")
    page.get_by_role("link", name="aten::cudnn_convolution", exact=True).click()
    details = page.get_by_role("complementary", name="Operator aten::cudnn_convolution")
    kernel = details.get_by_role("link").filter(has_text="xmma").first
    kernel.click(timeout=LONG)
    wait_for_heading(page, "Kernels of unet")
    of_kernel = page.get_by_role("complementary", name="Kernel ")
    expect(of_kernel).to_contain_text("aten::cudnn_convolution", timeout=LONG)
    of_kernel.get_by_role("link", name="in the trace").click()
    wait_for_heading(page, "Trace of unet")
    expect(page.get_by_role("region", name="Selection")).to_contain_text("xmma", timeout=LONG)


def test_operators_are_grouped_as_the_address_says(page: Page, site: str):
    page.goto(f"{site}#/run/unet/operators")
    status = page.get_by_role("status").filter(has_text="rows")
    expect(status).to_have_text("85 rows", timeout=LONG)
    page.get_by_role("radio", name="Shapes").check()
    expect(status).not_to_have_text("85 rows")
    by_shape = status.inner_text()
    page.reload()
    expect(page.get_by_role("radio", name="Shapes")).to_be_checked(timeout=LONG)
    expect(status).to_have_text(by_shape)


def test_sort_and_search_are_kept_in_the_address(page: Page, site: str):
    page.goto(f"{site}#/run/unet/kernels")
    search = page.get_by_role("searchbox", name="Search in Kernels", exact=True)
    search.fill("nchw", timeout=LONG)
    header = page.get_by_role("columnheader", name="calls").first
    header.get_by_role("button").click()
    expect(header).to_have_attribute("aria-sort", "descending")
    page.reload()
    expect(search).to_have_value("nchw", timeout=LONG)
    expect(header).to_have_attribute("aria-sort", "descending")


def test_utilisation_where_counters_are_beside_the_trace(page: Page, site: str):
    page.goto(f"{site}#/run/unet/kernels")
    page.get_by_role("radio", name="Utilisation").check()
    expect(page.get_by_role("heading", name="Kernels", exact=True)).to_be_visible(timeout=LONG)
    expect(page.get_by_role("table").first).to_contain_text("DRAM")


def test_memory_is_a_curve_with_its_peaks(page: Page, site: str):
    page.goto(f"{site}#/run/unet/memory")
    wait_for_heading(page, "Memory of unet")
    curve = page.get_by_role("application", name=re.compile("^GPU0 from .* most at"))
    box = curve.bounding_box()
    assert box is not None
    assert box["height"] > 100
    page.get_by_role("button", name="reserved", exact=True).click()
    expect(page.get_by_role("button", name="reserved", exact=True)).to_have_attribute(
        "aria-pressed", "false"
    )


def test_modules_and_python_functions_are_trees_and_operators_have_stacks(
    page: Page, site: str, shared_root: Path
):
    assert shared_root.is_dir()
    page.goto(f"{site}#/run/resnet50/modules")
    wait_for_heading(page, "Modules of resnet50")
    flames = page.get_by_role("application", name=re.compile("^Python functions by host time"))
    expect(flames).to_be_visible(timeout=LONG)
    icicle = page.get_by_role("application", name=re.compile("^Modules by device time"))
    icicle.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    section = page.get_by_role("region", name="Modules", exact=True)
    place = section.get_by_role("navigation", name="Place in the tree")
    expect(place.get_by_role("button")).not_to_have_count(1)
    page.get_by_role("searchbox", name="Search in Modules", exact=True).fill("Bottleneck")
    expect(page.get_by_role("link", name=re.compile("^Bottleneck")).first).to_be_visible()
    page.goto(f"{site}#/run/resnet50/operators?group=stack&open=aten::cudnn_convolution")
    expect(page.locator(".call-stacks li").first).to_contain_text("forward", timeout=LONG)


def test_names_are_text(page: Page, site: str):
    page.goto(f"{site}#/run/markup/kernels")
    expect(page.get_by_text(MARKUP).first).to_be_visible(timeout=LONG)
    page.goto(f"{site}#/run/markup/operators")
    expect(page.get_by_text(MARKUP).first).to_be_visible(timeout=LONG)
    assert page.title() != "owned"


# -- what cannot be shown --------------------------------------------------------------------------


def test_an_unknown_run_is_a_sentence(page: Page, site: str):
    page.goto(f"{site}#/run/nothing/overview")
    wait_for_heading(page, "Run not found: nothing")
    page.get_by_role("link", name="All runs").click()
    wait_for_heading(page, "Runs")


def test_a_broken_trace_is_a_sentence(page: Page, site: str):
    page.goto(f"{site}#/run/broken/overview")
    wait_for_heading(page, "Cannot tell where the time goes: the file ends early")
    message = "the JSON ends before the list of events is closed"
    expect(page.get_by_role("heading", name=message)).to_be_visible()
    limits = page.get_by_role("region", name="Limits of this recording")
    expect(limits).to_contain_text("The file ends early after 0 events")
    expect(limits).to_contain_text("Nothing was recorded: no calls and no device work")


@pytest.mark.declined(422)
def test_runs_that_cannot_be_compared_are_a_sentence(page: Page, site: str):
    page.goto(f"{site}#/compare?base=unet&new=broken")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("broken", timeout=LONG)
    expect(alert).to_contain_text("The file ends early after 0 events")

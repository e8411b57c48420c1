"""The trace view: looking around, finding, choosing, taking away."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pytest

from browser.driving import LONG
from builders import kineto, operator, write

pytestmark = pytest.mark.whole

expect = pytest.importorskip("playwright.sync_api").expect
if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

KERNEL = "bn_bw_1C11"


@pytest.fixture
def timeline(page: Page, site: str) -> Locator:
    """The drawn timeline of the sample, shown whole."""
    page.goto(f"{site}#/run/unet/trace")
    drawn = page.get_by_role("application", name=re.compile("^Timeline"))
    expect(drawn).to_be_visible(timeout=LONG)
    expect(page.get_by_role("button", name="stream 7", exact=True)).to_be_visible(timeout=LONG)
    # The last button comes when the clocks are known.
    overhead = page.get_by_role("button", name="Profiler overhead", exact=True)
    expect(overhead).to_be_visible(timeout=LONG)
    return drawn


def window(page: Page) -> tuple[float, float]:
    """What the address says is shown, in nanoseconds."""
    page.wait_for_url(re.compile("[?&]from="))
    query = parse_qs(page.url.partition("?")[2])
    return float(query["from"][0]), float(query["to"][0])


def width(page: Page) -> float:
    start, end = window(page)
    return end - start


def test_the_first_picture_shows_all_tracks(page: Page, timeline: Locator):
    for track in ("python3 (1525)", "thread 1525 (python3)", "GPU 0", "stream 7"):
        expect(page.get_by_role("button", name=track, exact=True)).to_be_visible()
    device, process = (
        page.get_by_role("button", name=group, exact=True).bounding_box()
        for group in ("GPU 0", "python3 (1525)")
    )
    assert device is not None
    assert process is not None
    assert device["y"] < process["y"]
    page.locator("canvas[data-slices]").first.wait_for()
    assert colours(timeline) > 8


def colours(part: Locator) -> int:
    """How many colours are drawn on more than a few points."""
    image = pytest.importorskip("PIL.Image")
    picture = image.open(io.BytesIO(part.screenshot())).convert("RGB")
    return sum(many > 20 for many, _ in picture.getcolors(2**24))


@pytest.fixture
def deep(runs: Path) -> Iterator[str]:
    """The name of a run whose calls are nested thirty deep.

    Ask for it before the page, which may still ask for the run while it is closed.
    """
    calls = [operator(f"call {n}", n, 100 - 2 * n) for n in range(30)]
    (runs / "deep").mkdir()
    trace = write(runs / "deep" / "trace.json", kineto(calls))
    # What was just written is shown as being recorded, in a line above the timeline.
    recorded = time.time() - 3600
    os.utime(trace, (recorded, recorded))
    yield "deep"
    shutil.rmtree(runs / "deep")


def test_deep_stacks_open_with_their_first_rows(deep: str, page: Page, site: str):
    page.goto(f"{site}#/run/{deep}/trace")
    more = page.get_by_role("button", name=re.compile("^All rows of"))
    expect(more).to_have_text("18 more rows", timeout=LONG)
    more.click()
    fewer = page.get_by_role("button", name=re.compile("^Fewer rows of"))
    expect(fewer).to_be_visible()
    expect(page).to_have_url(re.compile("deep="))
    fewer.click()
    expect(more).to_be_visible()
    # What is found in a row that is not shown is brought into sight.
    page.get_by_role("searchbox", name="Search slices by name").fill("call 27")
    page.get_by_role("searchbox", name="Search slices by name").press("Enter")
    expect(fewer).to_be_visible()


def test_counters_are_folded_at_the_end_and_tell_their_axis(page: Page, timeline: Locator):
    expect(page.get_by_text("reserved memory")).to_have_count(0)
    counters = page.get_by_role("button", name="GPU 0, counters", exact=True)
    expect(counters).to_have_attribute("aria-expanded", "false")
    assert page.locator(".trace-name").last.inner_text() == "GPU 0, counters"
    counters.click()
    name = page.locator(".trace-name", has_text="reserved memory")
    name.scroll_into_view_if_needed()
    box, drawn = name.bounding_box(), timeline.bounding_box()
    assert box is not None
    assert drawn is not None
    for part in (0.1, 0.5, 0.9):
        page.mouse.move(drawn["x"] + drawn["width"] / 2, box["y"] + part * box["height"])
        expect(page.locator(".trace-tooltip")).to_contain_text(re.compile(r"axis: 0 B to \S+ GiB"))


def test_a_closed_device_leaves_its_streams(page: Page, timeline: Locator):
    timeline.focus()
    page.get_by_role("button", name="GPU 0", exact=True).click()
    expect(page.get_by_text("stream 7 annotations")).to_have_count(0)
    expect(page.locator(".trace-name", has_text="stream 7")).to_be_visible()


def test_the_panel_does_not_cover_what_was_clicked(page: Page, site: str, deep: str):
    page.goto(f"{site}#/run/{deep}/trace")
    page.get_by_role("button", name=re.compile("^All rows of")).click(timeout=LONG)
    drawn = page.get_by_role("application", name=re.compile("^Timeline"))
    box = drawn.bounding_box()
    assert box is not None
    row, group, height = 27, 26, 18
    page.locator("canvas[data-slices]").first.wait_for()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + group + row * height + 9)
    expect(page.get_by_role("heading", name="call 27")).to_be_visible()
    panel = page.get_by_label("Selection", exact=True).bounding_box()
    assert panel is not None
    below = "([top, limit]) => document.querySelector('.scroller').scrollTop > top - limit"
    limit = panel["y"] - box["y"]
    page.wait_for_function(below, arg=[group + (row + 1) * height, limit])


def test_the_timeline_stays_in_place_when_the_clocks_are_known(page: Page, site: str):
    held: list[Route] = []
    of_clocks = re.compile(r"/timeline/clock\?")
    # Playwright marks functions it calls, which a method of a list does not allow.
    page.route(of_clocks, lambda route: held.append(route))  # noqa: PLW0108
    try:
        # Without the first, a page that is there already goes on showing what it has.
        page.goto("about:blank")
        with page.expect_request(of_clocks, timeout=LONG):
            page.goto(f"{site}#/run/unet/trace")
        drawn = page.get_by_role("application", name=re.compile("^Timeline"))
        before = drawn.bounding_box()
        assert before is not None
        overhead = page.get_by_role("button", name="Profiler overhead", exact=True)
        expect(overhead).to_have_count(0)
        for route in held:
            route.continue_()
        page.unroute(of_clocks)
        expect(overhead).to_be_visible(timeout=LONG)
        assert drawn.bounding_box() == before
    finally:
        page.unroute_all()


def test_zoom_and_move_with_keys(page: Page, timeline: Locator):
    timeline.focus()
    page.keyboard.press("w")
    first = window(page)
    page.keyboard.press("w")
    page.wait_for_function("before => !location.href.includes(before)", arg=f"from={first[0]:.0f}")
    second = window(page)
    assert second[1] - second[0] < first[1] - first[0]
    page.keyboard.press("d")
    page.wait_for_function("before => !location.href.includes(before)", arg=f"from={second[0]:.0f}")
    moved = window(page)
    assert moved[0] > second[0]
    assert moved[1] - moved[0] == pytest.approx(second[1] - second[0], rel=0.01)


def test_zoom_with_the_wheel(page: Page, timeline: Locator):
    box = timeline.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    assert width(page) < 54e6


def test_a_kernel_is_found_and_leads_to_what_launched_it(page: Page, timeline: Locator):
    expect(timeline).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type(KERNEL)
    expect(page.get_by_role("status").first).to_contain_text("matches")
    page.keyboard.press("Enter")
    details = page.get_by_role("region", name="Selection")
    expect(details.get_by_role("heading", level=3)).to_contain_text(KERNEL)
    expect(details.get_by_text("stream 7", exact=False).first).to_be_visible()
    expect(
        details.get_by_text(re.compile("cudaLaunchKernel|launched", re.IGNORECASE)).first
    ).to_be_visible()
    expect(
        details.get_by_text("convolution_backward")
        .or_(details.get_by_text("batch_norm_backward"))
        .first
    ).to_be_visible()


def test_the_address_brings_back_what_was_seen(page: Page, timeline: Locator):
    timeline.focus()
    page.keyboard.press("w")
    window(page)
    page.get_by_role("searchbox", name="Search slices by name").fill(KERNEL)
    page.get_by_role("searchbox", name="Search slices by name").press("Enter")
    details = page.get_by_role("region", name="Selection")
    expect(details.get_by_role("heading", level=3)).to_contain_text(KERNEL)
    expect(page).to_have_url(re.compile("select="))
    seen = page.url
    page.reload()
    expect(details.get_by_role("heading", level=3)).to_contain_text(KERNEL, timeout=LONG)
    expect(page).to_have_url(seen)


def test_a_range_is_summed_up(page: Page, timeline: Locator):
    box = timeline.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + box["width"] * 0.5, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, middle, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    details = page.get_by_role("region", name="Selection")
    expect(details.get_by_role("tab", name=re.compile("Range"))).to_be_visible()
    expect(details.get_by_role("table").first).to_contain_text("aten::")


def test_export_is_a_trace(page: Page, timeline: Locator, tmp_path: Path):
    expect(timeline).to_be_visible()
    page.get_by_text("Export for Perfetto").click()
    with page.expect_download(timeout=LONG) as started:
        page.get_by_role("link", name=re.compile("whole|all", re.IGNORECASE)).or_(
            page.get_by_role("button", name=re.compile("whole|all", re.IGNORECASE))
        ).last.click()
    started.value.save_as(tmp_path / "export.json.gz")
    events = json.loads(gzip.decompress((tmp_path / "export.json.gz").read_bytes()))["traceEvents"]
    assert sum(event.get("cat") == "kernel" for event in events) == 918


def test_the_own_clock_keeps_what_is_in_view(page: Page, timeline: Locator):
    address = page.url
    # A page of its own: one that is there already goes on showing all for a while.
    page.goto("about:blank")
    page.goto(f"{address}?from=4000000&to=9000000")
    expect(timeline).to_be_visible(timeout=LONG)
    recording = page.get_by_role("button", name="Profiler overhead", exact=True)
    expect(recording).to_have_attribute("aria-pressed", "true", timeout=LONG)
    page.get_by_text("Without profiler overhead").click()
    expect(page).to_have_url(re.compile("clock=own"))
    expect(recording).to_have_count(0, timeout=LONG)
    page.get_by_role("radio", name="As recorded").wait_for(state="attached")
    assert 1_000_000 < width(page) < 5_000_000
    page.get_by_role("link", name="Overview").click()
    expect(page).to_have_url(re.compile("clock=own"))


def test_the_critical_path_stands_out(page: Page, timeline: Locator):
    # Merged slices of the whole recording are as many as there are pixels.
    page.get_by_role("button", name="Profiler overhead", exact=True).click(timeout=LONG)
    expect(page).to_have_url(re.compile("recording=0"))
    page.wait_for_load_state("networkidle")
    before = colours(timeline)
    page.get_by_role("button", name="Critical path").click()
    expect(page).to_have_url(re.compile("path=1"))
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(300)
    dimmed = timeline.screenshot()
    assert colours(timeline) > before
    page.get_by_role("button", name="Critical path").click()
    expect(page).not_to_have_url(re.compile("path=1"))
    page.wait_for_timeout(300)
    assert timeline.screenshot() != dimmed


def test_keys_are_explained(page: Page, timeline: Locator):
    timeline.focus()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("W")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()

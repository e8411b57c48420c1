"""A watched program, while it runs."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.driving import LONG
from watch_folders import INCIDENT, SECOND_US, WatchedProgram

pytestmark = pytest.mark.whole

expect = pytest.importorskip("playwright.sync_api").expect
if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def program(runs: Path) -> Iterator[WatchedProgram]:
    """A server that is watched, and as fast as ever.

    Ask for it before the page, which may still ask for the run while it is closed.
    """
    yield WatchedProgram(runs / "serving").write()
    shutil.rmtree(runs / "serving")


def tell_status(program: WatchedProgram) -> None:
    """A status of this moment: after 10 s without one, the watcher counts as ended.

    Starting a server or comparing takes longer on a busy machine.
    """
    program.now_us = time.time_ns() // 1000
    program.put("status.json", program.status())


def test_a_page_follows_the_watcher_and_its_incidents_lead_on(
    program: WatchedProgram, page: Page, site: str
):
    tell_status(program)
    page.goto(site)
    page.get_by_role("link", name="serving watching").click()
    headline = page.get_by_role("heading", level=1)
    expect(headline).to_contain_text("Step times are as expected")
    figure = page.get_by_role("figure", name="decode", exact=True)
    plot = figure.locator(".plot")
    assert "limit from" in (plot.get_attribute("aria-label") or "")
    # What is zoomed into and hidden stays so.
    plot.focus()
    plot.press("+")
    figure.get_by_role("button", name="slowest").click()
    page.evaluate("window.drawn = document.querySelector('.plot canvas')")

    program.now_us, program.seconds = time.time_ns() // 1000, program.seconds + 5
    program.with_incident()
    expect(headline).to_contain_text("Decode steps of process 4243 take 31.2 ms")
    assert page.evaluate("window.drawn === document.querySelector('.plot canvas')")
    expect(figure.get_by_role("button", name="Show all")).to_be_visible()
    expect(figure.get_by_role("button", name="slowest")).to_have_attribute("aria-pressed", "false")

    report = page.get_by_role("link", name="report", exact=True).get_attribute("href") or ""
    assert page.request.get(report).text().endswith("Report")
    incident = page.get_by_role("link", name=INCIDENT)
    # It leads to the report until the server has found both recordings.
    expect(incident).to_have_attribute("href", re.compile("compare"), timeout=LONG)
    incident.click()
    expect(headline).to_contain_text("Regression", timeout=LONG)
    tell_status(program)
    page.go_back()
    expect(headline).to_contain_text("Decode steps of process 4243")


@pytest.mark.declined(422)
def test_a_page_says_when_the_watcher_is_gone_and_rests_when_the_program_ended(
    program: WatchedProgram, page: Page, site: str
):
    tell_status(program)
    page.goto(f"{site}#/watch/serving")
    headline = page.get_by_role("heading", level=1)
    expect(headline).to_contain_text("Step times are as expected")
    program.now_us -= 20 * SECOND_US
    program.write()
    expect(headline).to_contain_text("The watcher has ended")
    # Half a file: what was known stays, with a sentence.
    (program.folder / "status.json").write_text('{"state": "watch')
    expect(page.get_by_role("alert")).to_contain_text("damaged")
    expect(headline).to_contain_text("The watcher has ended")
    program.state = "ended"
    program.write()
    expect(headline).to_contain_text("The program ended after 10 min")
    expect(page.get_by_role("alert")).to_have_count(0)
    # Runs are looked for every 2 s, a watched program every 1.5 s until it rests.  It is asked once
    # more when the list of runs says that it ended.
    for _ in range(2):
        page.wait_for_event("request", lambda request: "api/runs" in request.url)
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    page.wait_for_event("request", lambda request: "api/runs" in request.url)
    assert not any("api/watch" in address for address in addresses)

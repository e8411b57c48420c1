"""A real browser, real servers, and pages that may not complain or ask anybody else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import timesink
from ab_runs import Bench, planned_runs
from browser.chromium import find_chromium
from browser.driving import (
    DESKTOP,
    OPTIONS,
    Watch,
    named_like_markup,
    serve,
)
from builders import write
from compared_runs import write_timeline
from shared_folder import find_shared
from timesink.cli import main
from timesink_lab.ranks.generated import generate_ranks
from timesink_lab.ranks.plan import Plan, Straggler

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

FLEET = Plan(ranks=17, steps=3, layers=1, seed=4, stragglers=(Straggler("data_loading", rank=13),))
"""More workers than a plain list holds, one of which is late."""


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of this folder.

    Playwright keeps an event loop running as long as it is there, and other tests need their own.
    """
    pytest.importorskip("playwright")
    from playwright.sync_api import expect, sync_playwright

    # A machine that runs all other tests meanwhile answers late.
    expect.set_options(timeout=20_000)
    program = find_chromium()
    if program is None:
        reason = "needs Chromium: run  make test,  or say where it is in TIMESINK_CHROMIUM"
        (pytest.fail if os.environ.get("TIMESINK_REQUIRE_BROWSER") == "1" else pytest.skip)(reason)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=list(OPTIONS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def profile(browser: Browser) -> Iterator[BrowserContext]:
    """One profile for all pages: what it has loaded and compiled serves all of them."""
    with closing(browser.new_context(viewport=DESKTOP)) as context:
        context.set_default_timeout(20_000)
        yield context


@pytest.fixture
def page(profile: BrowserContext, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page that knows nothing of those before it, in the same tab: a new one starts a process.

    No page may complain, get an error (`@pytest.mark.declined(404)` expects one), or ask two hosts.
    """
    page = profile.pages[0] if profile.pages else profile.new_page()
    failed_before = request.session.testsfailed
    watch = Watch(page)
    yield page
    # After a failure, keys may still be pressed, and who knows what else.
    has_failed = request.session.testsfailed > failed_before
    with closing(page) if has_failed else nullcontext():
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
        watch.leave()
        page.goto("about:blank")
        page.mouse.move(0, 0)
        page.set_viewport_size(DESKTOP)
        page.emulate_media(media="null", color_scheme="null")
        profile.clear_permissions()
    watch.check({state for mark in request.node.iter_markers("declined") for state in mark.args})


@pytest.fixture
def page_without_scripts(browser: Browser) -> Iterator[Page]:
    """A page of a profile that runs no JavaScript."""
    with closing(browser.new_context(java_script_enabled=False)) as context:
        page = context.new_page()
        watch = Watch(page)
        yield page
    watch.check(set())


# -- what they show --------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs: bundled samples, and small ones for what the samples do not have."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("unet", "base", "slow", "broken", "markup"):
        (folder / name).mkdir()
    shutil.copy(timesink.sample(), folder / "unet")
    shutil.copy(timesink.sample(counters=True), folder / "unet")
    for name, sample in zip(("base", "slow"), timesink.sample_runs(), strict=True):
        shutil.copy(sample, folder / name)
    (folder / "broken" / "trace.json").write_text('{"traceEvents": [{"ph": "X", "na')
    write(folder / "markup" / "trace.json", named_like_markup())
    generate_ranks(FLEET, folder / "fleet")
    write_timeline(folder / "ahead" / "trace.json", cycles=8)
    write_timeline(folder / "reading" / "trace.json", cycles=8, reads=True)
    (folder / "pr").mkdir()
    Bench(folder / "pr", ratio=1.03).turns(planned_runs(has_timeline=False)).to_the_end()
    if shared := find_shared():
        resnet50 = shared / "data" / "h200" / "traces" / "resnet50_train"
        shutil.copytree(resnet50, folder / "resnet50")
    return folder


@pytest.fixture(scope="session")
def site(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of `runs`, which has read none of them before: its pages show progress."""
    with serve(runs, tmp_path_factory.mktemp("cache-of-site")) as address:
        yield address


@pytest.fixture(scope="session")
def reports(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Reports:
    return Reports(runs, tmp_path_factory.mktemp("reports"))


class Reports(dict[str, str]):
    """Addresses of reports as the command line writes them, when they are asked for."""

    def __init__(self, runs: Path, folder: Path) -> None:
        self._folder = folder
        self._commands = {
            "analyze": ["analyze", timesink.sample()],
            "compare": ["compare", *timesink.sample_runs()],
            "kernels": ["kernels", timesink.sample(counters=True)],
            "markup": ["analyze", runs / "markup"],
            "fleet": ["analyze", runs / "fleet"],
        }

    def __missing__(self, name: str) -> str:
        file = self._folder / f"{name}.html"
        assert main([*map(str, self._commands[name]), "-o", str(file)]) == 0
        self[name] = file.as_uri()
        return self[name]

"""A real browser, real servers, and pages that may not complain or ask anybody else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import timesink
from browser.chromium import find_chromium
from browser.driving import (
    DESKTOP,
    OPTIONS,
    NewPage,
    Watch,
    named_like_markup,
    serve,
)
from builders import write
from conftest import find_shared
from recorded_runs import recorded_ranks
from timesink.cli import main
from timesink.lab.ranks import Plan, Straggler, generate_ranks

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

FLEET = Plan(ranks=20, steps=4, layers=1, seed=4, stragglers=(Straggler("data_loading", rank=13),))
"""More workers than a plain list holds, one of which is late."""
_OF_SHARED = {"resnet50": "traces/resnet50_train", "ddp8": "traces/ddp8_stall_rank3"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of a file.

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


@pytest.fixture
def new_page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[NewPage]:
    """Pages of a fresh profile: `new_page(color_scheme="dark")`.

    No page may complain, get an error (`@pytest.mark.declined(404)` expects one), or ask two hosts.
    """
    watched: list[Watch] = []
    contexts = []

    def make(**options: object) -> Page:
        context = browser.new_context(**{"viewport": DESKTOP, **options})  # type: ignore[arg-type]
        context.set_default_timeout(20_000)
        contexts.append(context)
        page = context.new_page()
        watched.append(Watch(page))
        return page

    yield make
    for context in contexts:
        context.close()
    for watch in watched:
        watch.check(_declined_in(request))


@pytest.fixture(scope="module")
def profile(browser: Browser) -> Iterator[BrowserContext]:
    """One profile for pages of a file: what it has loaded and compiled serves all of them."""
    with closing(browser.new_context(viewport=DESKTOP)) as context:
        context.set_default_timeout(20_000)
        yield context


@pytest.fixture
def page(profile: BrowserContext, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page that knows nothing of those before it."""
    page = profile.new_page()
    watch = Watch(page)
    yield page
    page.evaluate("localStorage.clear()")
    page.close()
    watch.check(_declined_in(request))


def _declined_in(request: pytest.FixtureRequest) -> set[int]:
    return {state for mark in request.node.iter_markers("declined") for state in mark.args}


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
    recorded_ranks(folder / "ranks", 2)
    generate_ranks(FLEET, folder / "fleet")
    if shared := find_shared():
        for name, source in _OF_SHARED.items():
            shutil.copytree(shared / "data" / "h200" / source, folder / name)
    return folder


@pytest.fixture(scope="session")
def site(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of `runs`, which has read none of them before: its pages show progress."""
    with serve(runs, tmp_path_factory.mktemp("cache-of-site")) as address:
        yield address


@pytest.fixture(scope="session")
def reports(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Addresses of reports as the command line writes them."""
    folder = tmp_path_factory.mktemp("reports")
    commands = {
        "analyze": ["analyze", timesink.sample()],
        "compare": ["compare", *timesink.sample_runs()],
        "kernels": ["kernels", timesink.sample(counters=True)],
        "markup": ["analyze", runs / "markup"],
        "fleet": ["analyze", runs / "fleet"],
    }
    for name, words in commands.items():
        assert main([*map(str, words), "-o", str(folder / f"{name}.html")]) == 0
    return {name: (folder / f"{name}.html").as_uri() for name in commands}

"""Take the pictures of the README: `make screenshots`, or  python docs/screenshots.py [FOLDER].

Everything shown is what ships with timesink, so that anybody gets the same pictures.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Frame, Page, sync_playwright

import timesink

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests"))
from boards import tensorboard  # noqa: E402 - tests know how to start one
from browser.chromium import find_chromium  # noqa: E402

SIZE = {"width": 1280, "height": 800}
PATIENCE_MS = 60_000
KERNEL = "bn_bw_1C11"

Waiting = Callable[[Page | Frame], object]


def heading(words: str) -> Waiting:
    """Until a page with this heading is there."""

    def wait(page: Page | Frame) -> None:
        page.get_by_role("heading", level=1, name=words).wait_for(timeout=PATIENCE_MS)

    return wait


def drawn(page: Page | Frame) -> None:
    """Until a kernel is chosen in the trace view, in its colours: a search dims the others."""
    box = page.get_by_role("searchbox", name="Search slices by name")
    box.fill(KERNEL, timeout=PATIENCE_MS)
    page.get_by_role("status").filter(has_text="found").first.wait_for(timeout=PATIENCE_MS)
    box.press("Enter")
    page.get_by_role("region", name="What was chosen").get_by_role("heading", level=3).wait_for()
    box.fill("")


OF_APP: dict[str, tuple[str, Waiting]] = {
    "app-runs": ("", heading("Runs")),
    "app-overview": ("#/run/unet_train/overview", heading("step is GPU work")),
    "app-operators": ("#/run/unet_train/operators", heading("Operators of unet_train")),
    "app-kernels": ("#/run/unet_train/kernels", heading("Kernels of unet_train")),
    "app-memory": ("#/run/unet_train/memory", heading("Memory of unet_train")),
    "trace": ("#/run/unet_train/trace", drawn),
    "compare": ("#/compare?base=decode&new=decode_slow_clock", heading("Regression")),
}


def take_all(folder: Path) -> None:
    """Write every picture into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        runs = sample_runs(Path(place) / "runs")
        take_report(page, Path(place) / "report.html", folder / "report.png")
        with served(runs) as address:
            for name, (route, wait) in OF_APP.items():
                page.goto("about:blank")
                page.goto(f"{address}{route}")
                wait(page)
                take(page, folder / f"{name}.png")
        (Path(place) / "installed").mkdir()
        with tensorboard(runs, Path(place) / "installed") as address:
            page.goto(f"{address}#timesink")
            app = page.wait_for_selector("iframe", timeout=PATIENCE_MS).content_frame()
            assert app is not None  # noqa: S101 - an iframe has one
            app.get_by_role("link", name="unet_train", exact=True).click(timeout=PATIENCE_MS)
            heading("step is GPU work")(app)
            take(page, folder / "tensorboard.png")
        browser.close()


def sample_runs(folder: Path) -> Path:
    """The recordings that ship with timesink, as a folder of runs."""
    counters = timesink.sample(counters=True)
    for path in (timesink.sample(), counters, *timesink.sample_runs()):
        run = folder / path.name.partition(".")[0]
        run.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, run)
    return folder


def take_report(page: Page, report: Path, picture: Path) -> None:
    """The report of the bundled recording."""
    words = ["analyze", str(timesink.sample()), "-o", str(report)]
    subprocess.run([sys.executable, "-m", "timesink", *words], check=True)  # noqa: S603
    page.goto(report.as_uri())
    heading("step is GPU work")(page)
    take(page, picture)


def take(page: Page, picture: Path) -> None:
    """A picture once nothing moves any more."""
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(300)
    page.screenshot(path=picture, animations="disabled", caret="hide")
    sys.stdout.write(f"{picture}\n")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of these runs."""
    command = [sys.executable, "-m", "timesink", "serve", folder.name, "--port", "0"]
    cache = {**os.environ, "TIMESINK_CACHE_DIR": str(folder.parent / "cache")}
    with subprocess.Popen(  # noqa: S603
        command, cwd=folder.parent, stdout=subprocess.PIPE, text=True, env=cache
    ) as server:
        try:
            said = server.stdout.readline() if server.stdout else ""
            yield re.findall(r"http://\S+", said)[0]
        finally:
            server.terminate()


if __name__ == "__main__":
    take_all(Path(sys.argv[1]) if len(sys.argv) > 1 else REPOSITORY / "docs" / "images")

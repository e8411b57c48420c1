"""The app within a real TensorBoard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from boards import tensorboard
from browser.driving import LONG, MARKUP

pytestmark = pytest.mark.whole

pytest.importorskip("tensorboard", reason="needs TensorBoard: pip install timesink[tensorboard]")
expect = pytest.importorskip("playwright.sync_api").expect
if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def board(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with tensorboard(runs, tmp_path_factory.mktemp("installed")) as address:
        yield address


def test_the_tab_shows_the_app_whose_names_are_text_and_whose_places_outlive_a_reload(
    page: Page, board: str
):
    page.goto(f"{board}#timesink")
    app = page.frame_locator("iframe")
    app.get_by_role("link", name="markup", exact=True).click(timeout=LONG)
    headline = app.get_by_role("heading", level=1, name="GPU is busy")
    expect(headline).to_be_visible(timeout=LONG)
    app.get_by_role("link", name="Trace", exact=True).click()
    expect(app.get_by_role("application")).to_be_visible(timeout=LONG)
    app.get_by_role("link", name="Kernels", exact=True).click(timeout=LONG)
    expect(app.get_by_text(MARKUP).first).to_be_visible(timeout=LONG)
    assert page.title() != "owned"
    page.reload()
    expect(app.get_by_role("heading", name="Kernels of markup")).to_be_attached(timeout=LONG)
    address = app.get_by_role("link", name="Open in a new window").evaluate("link => link.href")
    page.goto(address)
    expect(page.get_by_role("heading", name="Kernels of markup")).to_be_attached(timeout=LONG)

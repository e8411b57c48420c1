"""`timesink demo`."""

from __future__ import annotations

from pathlib import Path

import pytest


def test_demo_prints_the_answer_and_writes_a_page(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    told = run("demo")
    assert told.code == 0
    assert "the device was busy 77.8 %" in told.out
    assert "share_pct" in told.out
    page = (tmp_path / "timesink-demo.html").read_text()
    assert "The kernels that take the time" in page
    assert "http" not in page


def test_missing_folder(decline, tmp_path: Path):
    message, _ = decline("demo", "-o", tmp_path / "nowhere" / "page.html")
    assert "folder does not exist" in message

"""`timesink demo`."""

from __future__ import annotations

from pathlib import Path

import pytest


def test_demo_prints_the_answer_and_writes_a_page(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    told = run("demo")
    assert told.code == 0
    assert "76.9 % of each 27.18 ms step is GPU work" in told.out
    assert "aten::convolution_backward" in told.out
    page = (tmp_path / "timesink-demo.html").read_text()
    assert "Where a step goes" in page
    assert "aten::convolution_backward" in page
    assert "http" not in page
    assert "459 kernels took 21.3 ms" in told.out
    assert "57.8 → 70.4 ms" in told.out
    counters = (tmp_path / "timesink-demo-kernels.html").read_text()
    assert "<svg" in counters
    assert "Modules" in counters or "Operators" in counters


def test_missing_folder(decline, tmp_path: Path):
    message, _ = decline("demo", "-o", tmp_path / "nowhere" / "page.html")
    assert "folder does not exist" in message


def test_only_pages_are_replaced(run, decline, tmp_path: Path):
    mine = tmp_path / "mine.json"
    mine.write_text("mine")
    message, _ = decline("demo", "-o", mine)
    assert "already exists" in message
    assert mine.read_text() == "mine"
    for _ in range(2):
        assert run("demo", "-o", tmp_path / "page.html").code == 0

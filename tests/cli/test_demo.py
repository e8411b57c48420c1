"""`timesink demo`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GENERATOR = '<!doctype html><meta name="generator" content="timesink 0.1">'


def test_demo_prints_the_answers_and_writes_reports(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("timesink-demo.html", "timesink-demo-kernels.html", "timesink-demo-compare.html"):
        (tmp_path / name).write_text(f"{GENERATOR}the page of an earlier demo is replaced")
    outcome = run("demo")
    assert outcome.code == 0
    assert re.match(r"GPU-bound: the GPU is busy \d\d % of each 2\d\.\d ms step\. ", outcome.out)
    assert "aten::convolution_backward" in outcome.out
    assert re.search(r"459 calls of \d+ kernels took 21.3 ms", " ".join(outcome.out.split()))
    assert "57.8 → 70.4 ms" in outcome.out
    for name, expected in (
        ("timesink-demo.html", "aten::convolution_backward"),
        ("timesink-demo-kernels.html", "svg"),
        ("timesink-demo-compare.html", "57.8 → 70.4 ms"),
    ):
        assert f"{name}" in outcome.out
        page = (tmp_path / name).read_text()
        assert expected in page
        assert "an earlier demo" not in page


@pytest.mark.parametrize("name", ["mine.json", "mine.html"])
def test_only_its_own_pages_are_replaced(decline, tmp_path: Path, name: str):
    mine = tmp_path / name
    mine.write_text("mine")
    message, _ = decline("demo", "-o", mine)
    assert "already exists" in message
    assert mine.read_text() == "mine"

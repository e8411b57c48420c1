"""The process beside a program that records itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from timesink.recorder import in_program as keeper
from timesink.recorder.folder import Notebook


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has not come has had its time; who writes has plenty."""
    monkeypatch.setattr(keeper, "_COME_S", 0.0)
    monkeypatch.setattr(keeper, "_WRITE_S", 1e9)


def test_workers_that_take_no_part_are_not_waited_for(tmp_path: Path):
    """As where only the first of two enters the block."""
    notebook = Notebook(tmp_path)
    notebook.add("torch")
    notebook.add("left")
    keeper._wait_for_others(tmp_path, workers=2)


def test_worker_that_writes_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    notebook = Notebook(tmp_path)
    notebook.add("torch")
    monkeypatch.setattr(keeper.time, "sleep", lambda _s: notebook.add("left"))
    keeper._wait_for_others(tmp_path, workers=1)
    assert (tmp_path / f"{os.getpid()}.jsonl").read_text().count("left") == 1

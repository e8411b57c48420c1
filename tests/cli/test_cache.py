"""`timesink cache`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import timesink
from timesink.sources.cache import Cache
from timesink.sources.kept_answers import KeptSummaries


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(tmp_path))


def test_info_and_clear(run, sample_copy: Path):
    assert run("cache", "info", "--format", "json").json["traces"] == 0
    timesink.open(sample_copy)
    answer = run("cache", "info", "--format", "json").json
    assert answer["folder"] == os.environ["TIMESINK_CACHE_DIR"]
    assert (answer["traces"], answer["bytes"] > 0, answer["cleared"]) == (1, True, False)
    cleared = run("cache", "clear", "--format", "json").json
    assert (cleared["traces"], cleared["bytes"], cleared["cleared"]) == (1, answer["bytes"], True)
    assert run("cache", "info", "--format", "json").json["traces"] == 0


def test_text(run, sample_copy: Path):
    timesink.open(sample_copy)
    assert ": 1 trace, " in run("cache", "info").out
    assert run("cache", "clear").out.startswith("Removed 1 trace, ")
    assert run("cache", "clear").out.startswith("Removed 0 traces, 0 B, from ")


def test_bad_limit_is_wrong_usage(decline, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TIMESINK_CACHE_MAX_GB", "much")
    message, _ = decline("cache", "info", code=2)
    assert "TIMESINK_CACHE_MAX_GB is 'much'" in message


def test_summaries_of_ranks_are_counted_and_cleared(run):
    KeptSummaries(Cache.default()).save("key", b"summary")
    assert ": 0 traces and 1 summary of ranks, 16 B of " in run("cache", "info").out
    assert run("cache", "clear", "--format", "json").json["summaries"] == 1
    assert run("cache", "info", "--format", "json").json["summaries"] == 0

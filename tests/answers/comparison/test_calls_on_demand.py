"""Times of operators and modules are found when somebody asks for them, and not before."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import timesink
from builders import training_trace, write
from timesink.analyses.behaviour import recorded_anatomy


def calls(path: Path) -> pl.DataFrame:
    (pair,) = timesink.compare(path, path).pairs
    assert pair.pair.new.anatomy is not None
    return pair.pair.new.anatomy.calls


def test_a_comparison_alone_does_not_look_for_them(tmp_path: Path, monkeypatch):
    path = write(tmp_path / "trace.json", training_trace(6))

    def refuse(*_: object, **__: object) -> None:
        pytest.fail("nobody asked for calls")

    monkeypatch.setattr(recorded_anatomy, "call_rows", refuse)
    assert timesink.compare(path, path).pairs


def test_a_run_from_the_cache_has_the_same_calls(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(tmp_path / "cache"))
    path = write(tmp_path / "trace.json", training_trace(6))
    fresh, from_cache = calls(path), calls(path)
    assert fresh["cycle"].n_unique() > 1
    assert_frame_equal(fresh, from_cache)

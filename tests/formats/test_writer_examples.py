"""What single functions of `writers` answer, by example."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl

import timesink
from timesink.formats.chrome.writer import json_texts, number_lanes
from timesink.formats.written_files import written_aside


def test_aside_written_aside() -> None:
    place = Path(tempfile.mkdtemp()) / "answer.txt"
    with written_aside(place) as aside:
        _ = aside.write_text("42")
    assert (place.read_text(), [file.name for file in place.parent.iterdir()]) == (
        "42",
        ["answer.txt"],
    )


def test_chrome_json_json_texts() -> None:
    assert (next(json_texts(timesink.open(timesink.sample())))[:20]) == b'{"schemaVersion":1,"'


def test_lanes_number_lanes() -> None:
    crossing = {"pid": ["0", "0"], "tid": ["7", "7"], "ts_ns": [0, 5], "dur_ns": [10, 10]}
    assert (number_lanes(pl.DataFrame(crossing)).to_list()) == [0, 1]

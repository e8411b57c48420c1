"""Many recordings at once."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from answers import as_text
from builders import training_trace, write
from timesink.sources.discovery import find_recordings
from timesink.sources.opening import open_each


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for rank in range(3):
        write(tmp_path / f"rank{rank}.1.pt.trace.json", training_trace(rank + 1))
    return tmp_path


def test_every_recording_in_order(run: Path):
    (run / "rank3.1.pt.trace.json").write_bytes(b"\0\1\2 no trace")
    *opened, damaged = open_each(find_recordings(run), cache=False, jobs=2)
    assert [item.recording.rank for item in opened] == [0, 1, 2]
    assert damaged.error is not None
    assert "rank3" in damaged.error.message
    for item in opened:
        assert item.trace is not None
        single = timesink.open(item.recording.path, cache=False)
        assert as_text(item.trace) == as_text(single)
        assert item.trace.metadata == single.metadata


def test_damaged_recording_does_not_stop_the_others(run: Path):
    (run / "rank1.1.pt.trace.json").write_bytes(b"\0\1\2 no trace")
    opened = list(open_each(find_recordings(run), jobs=1))
    assert [item.trace is not None for item in opened] == [True, False, True]
    assert opened[1].error is not None
    assert "rank1" in opened[1].error.message


def test_second_opening_comes_from_the_cache(run: Path, forbid_reading):
    list(open_each(find_recordings(run), jobs=1))
    forbid_reading()
    assert all(item.trace for item in open_each(find_recordings(run), jobs=1))


def test_progress_is_in_bytes_and_ends_at_the_whole(run: Path):
    news: list[tuple[int, int]] = []
    list(open_each(find_recordings(run), jobs=1, progress=lambda *step: news.append(step)))
    total = sum(file.stat().st_size for file in run.iterdir())
    assert news[-1] == (total, total)


def test_one_recording(run: Path):
    (only,) = open_each(find_recordings(run / "rank2.1.pt.trace.json"))
    assert only.trace is not None
    assert only.trace.steps.height == 3

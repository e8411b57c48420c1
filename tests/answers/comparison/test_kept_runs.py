"""Runs of recordings that are kept beside their traces."""

from __future__ import annotations

from pathlib import Path

import pytest

from compared_runs import write_timeline
from timesink.analyses.behaviour.anatomy import Anatomy
from timesink.answers.comparison.report import compare
from timesink.comparison import reading
from timesink.comparison.inputs import RecordingRef
from timesink.comparison.prefetch import CycleSearch
from timesink.comparison.results import Run
from timesink.model.trace import Trace
from timesink.sources.cache import Cache


@pytest.fixture
def searched_files(monkeypatch) -> list[Path]:
    """Files of which the cycles were looked for, in order."""
    looked = []
    find = reading.run_of

    def watched(source: RecordingRef, trace: Trace, finding: CycleSearch) -> Run:
        looked.append(source.path)
        return find(source, trace, finding)

    monkeypatch.setattr(reading, "run_of", watched)
    return looked


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return write_timeline(tmp_path / "base.json"), write_timeline(tmp_path / "new.json", slow=2.0)


def test_second_comparison_finds_no_cycles_and_says_the_same(pair, searched_files):
    first = compare(*pair)
    assert len(searched_files) == 2
    second = compare(*pair)
    assert len(searched_files) == 2
    for role, other in zip(first.roles, second.roles, strict=True):
        assert role.behaviour.equals(other.behaviour)
        assert (role.method, role.confidence, role.notes) == (
            other.method,
            other.confidence,
            other.notes,
        )
        assert_same_anatomy(role.anatomy, other.anatomy)
    assert first.pair.rows.equals(second.pair.rows)
    assert first.headline == second.headline


def assert_same_anatomy(first: Anatomy | None, other: Anatomy | None) -> None:
    assert first is not None
    assert other is not None
    assert first.launches.height
    for table in ("parts", "places", "levels", "cycles", "launches"):
        assert getattr(first, table).equals(getattr(other, table))
    assert (first.hardware, first.from_timeline) == (other.hardware, other.from_timeline)
    assert first.notes == other.notes


def test_what_was_kept_and_is_broken_is_found_anew(pair, searched_files):
    compare(*pair)
    for file in Cache.default().root.glob("traces/*/answer-*"):
        file.write_bytes(file.read_bytes()[:-5])
    compare(*pair)
    assert len(searched_files) == 4

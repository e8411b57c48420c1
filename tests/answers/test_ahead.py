"""Recordings that other processes look into meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from compared_runs import process_table, write_table, write_timeline
from timesink.answers.comparison.report import compare
from timesink.comparison import inputs, prefetch
from timesink.comparison import reading as recorded
from timesink.comparison.prefetch import CycleSearch, Helpers, started_early
from timesink.errors import NotFoundError
from timesink.sources.cache import Cache


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.setattr(prefetch, "WORTH_A_WORKER", 0)
    for side, slow in (("base", 1.0), ("new", 2.0)):
        (tmp_path / side).mkdir()
        write_timeline(tmp_path / side / "trace.json", slow=slow)
    return tmp_path / "base", tmp_path / "new"


@pytest.fixture
def searched_sides(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sides whose cycles this process looked for itself."""
    names = []
    run_or_failure = recorded.run_or_failure

    def watched(source: inputs.Source, *rest: object) -> inputs.Run | inputs.Failure:
        names.append(source.path.parent.name)
        return run_or_failure(source, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(recorded, "run_or_failure", watched)
    return names


def early_paths(*paths: Path, question: CycleSearch | None = None, jobs: int = 2) -> list[Path]:
    """What is looked into early."""
    with started_early(paths, question or CycleSearch(), jobs=jobs):
        return [path for path, _ in prefetch._early]


def test_second_recording_is_looked_into_by_a_helper_and_says_the_same(pair, searched_sides):
    plain = compare(*pair, cache=False)
    searched_sides.clear()
    with started_early(pair, CycleSearch(), jobs=2):
        helped = compare(*pair, jobs=2)
    assert searched_sides == ["base"]
    assert not prefetch._early
    for role, other in zip(plain.roles, helped.roles, strict=True):
        assert role.behaviour.equals(other.behaviour)
        assert role.notes == other.notes
    assert plain.headline == helped.headline


def test_helper_that_fails_is_made_up_for(pair, searched_sides, monkeypatch):
    monkeypatch.setattr(prefetch, "_KEEPING", "timesink.no_such_module")
    compare(*pair, jobs=2)
    assert searched_sides == ["base", "new"]


def test_error_is_that_of_whoever_asks(pair):
    with pytest.raises(NotFoundError), started_early(pair, CycleSearch("nothing"), jobs=2):
        compare(*pair, marker="nothing", jobs=2)
    assert not prefetch._early


def test_what_starts_early(pair):
    second = (pair[1] / "trace.json").resolve()
    assert early_paths(*pair) == [second]
    assert early_paths(pair[0], second) == [second]
    assert early_paths(pair[1], pair[1]) == []
    assert early_paths(pair[0]) == []
    assert early_paths(*pair, jobs=1) == []
    assert early_paths(pair[0], pair[1] / "missing.json") == []


def test_tables_small_and_kept_recordings_do_not_start(pair, monkeypatch):
    compare(*pair, jobs=1)
    assert early_paths(*pair) == []
    Cache.default().clear()
    write_table(pair[1] / "run.behaviour.parquet", process_table(1))
    assert early_paths(*pair) == []
    (pair[1] / "run.behaviour.parquet").unlink()
    monkeypatch.setattr(prefetch, "WORTH_A_WORKER", 10**9)
    assert early_paths(*pair) == []


def test_helpers_leave_the_rest_of_the_cores(pair, monkeypatch):
    # What they find is the subject of others: this one ends as soon as it has started.
    monkeypatch.setattr(prefetch, "_KEEPING", "timesink.no_such_module")
    recordings = [recording for side in pair for recording in prefetch.recordings_in(side)]
    with Helpers(recordings, CycleSearch(), 8) as helpers:
        assert [helpers.have(recording) for recording in recordings] == [False, True]
        assert helpers.cores == 4
        helpers.wait()
        assert not helpers.have(recordings[1])
    with Helpers(recordings[:1], CycleSearch(), 8) as single:
        assert single.cores == 8

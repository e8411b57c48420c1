"""Recordings that other processes look into meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from compared_runs import process_table, write_table, write_timeline
from timesink.answers import ahead
from timesink.answers.ahead import CycleSearch, Helpers, started_early
from timesink.answers.comparison import kept_runs as recorded
from timesink.answers.comparison import sides
from timesink.answers.comparison.work import compare
from timesink.errors import NotFoundError
from timesink.sources.cache import Cache


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.setattr(ahead, "WORTH_A_WORKER", 0)
    for side, slow in (("base", 1.0), ("new", 2.0)):
        (tmp_path / side).mkdir()
        write_timeline(tmp_path / side / "trace.json", slow=slow)
    return tmp_path / "base", tmp_path / "new"


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sides whose cycles this process looked for itself."""
    found = []
    own = recorded.run_or_failure

    def watched(source: sides.Source, *rest: object) -> sides.Run | sides.Failure:
        found.append(source.path.parent.name)
        return own(source, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(recorded, "run_or_failure", watched)
    return found


def started(*paths: Path, question: CycleSearch | None = None, jobs: int = 2) -> list[Path]:
    """What is looked into early."""
    with started_early(paths, question or CycleSearch(), jobs=jobs):
        return [path for path, _ in ahead._early]


def test_second_recording_is_looked_into_by_a_helper_and_says_the_same(pair, looked):
    alone = compare(*pair, cache=False)
    looked.clear()
    with started_early(pair, CycleSearch(), jobs=2):
        helped = compare(*pair, jobs=2)
    assert looked == ["base"]
    assert not ahead._early
    for one, other in zip(alone.roles, helped.roles, strict=True):
        assert one.behaviour.equals(other.behaviour)
        assert one.notes == other.notes
    assert alone.headline == helped.headline


def test_recordings_are_shared_out_where_none_started_early(pair, looked):
    compare(*pair, jobs=2)
    assert looked == ["base"]
    compare(*pair, jobs=2)
    assert looked == ["base"]


@pytest.mark.parametrize("how", [{"jobs": 1}, {"cache": False}])
def test_one_core_or_no_cache_is_no_work_for_others(pair, looked, how):
    compare(*pair, **how)
    assert looked == ["base", "new"]


def test_helper_of_another_question_is_not_waited_for(pair, looked):
    with started_early(pair, CycleSearch(by="kernels"), jobs=2):
        compare(*pair, jobs=1)
    assert looked == ["base", "new"]


def test_helper_that_fails_is_made_up_for(pair, looked, monkeypatch):
    monkeypatch.setattr(ahead, "_KEEPING", "timesink.no_such_module")
    compare(*pair, jobs=2)
    assert looked == ["base", "new"]


def test_error_is_that_of_whoever_asks(pair):
    with pytest.raises(NotFoundError), started_early(pair, CycleSearch("nothing"), jobs=2):
        compare(*pair, marker="nothing", jobs=2)
    assert not ahead._early


def test_what_starts_early(pair):
    second = (pair[1] / "trace.json").resolve()
    assert started(*pair) == [second]
    assert started(pair[0], second) == [second]
    assert started(pair[1], pair[1]) == []
    assert started(pair[0]) == []
    assert started(*pair, jobs=1) == []
    assert started(pair[0], pair[1] / "missing.json") == []


def test_tables_small_and_kept_recordings_do_not_start(pair, monkeypatch):
    compare(*pair, jobs=1)
    assert started(*pair) == []
    Cache.default().clear()
    write_table(pair[1] / "run.behaviour.parquet", process_table(1))
    assert started(*pair) == []
    (pair[1] / "run.behaviour.parquet").unlink()
    monkeypatch.setattr(ahead, "WORTH_A_WORKER", 10**9)
    assert started(*pair) == []


def test_helpers_leave_the_rest_of_the_cores(pair, monkeypatch):
    # What they find is the subject of others: this one ends as soon as it has started.
    monkeypatch.setattr(ahead, "_KEEPING", "timesink.no_such_module")
    found = [one for side in pair for one in ahead.recordings_in(side)]
    with Helpers(found, CycleSearch(), 8) as helpers:
        assert [helpers.have(one) for one in found] == [False, True]
        assert helpers.cores == 4
        helpers.wait()
        assert not helpers.have(found[1])
    with Helpers(found[:1], CycleSearch(), 8) as alone:
        assert alone.cores == 8

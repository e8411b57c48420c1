"""From a path, or an open trace, to its analysis."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from builders import training_trace, write
from cases import STEP, K, O, read
from timesink.errors import AmbiguousError, NotFoundError, UnreadableError, UsageError
from timesink.reports.analysis import Analysis
from timesink.writers.folder import export_folder


def rank(place: Path, number: int, *, span: int = 1, steps: int = 2) -> Path:
    document = training_trace(steps)
    document["distributedInfo"] = {"backend": "nccl", "rank": number, "world_size": 2}
    return write(place / f"rank{number}.{span}.pt.trace.json", document)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Two ranks; the second took more steps."""
    for number in (0, 1):
        rank(tmp_path, number, steps=number + 2)
    return tmp_path


def steps_of(analysis: Analysis) -> list[str]:
    return [row["name"] for row in analysis.to_dict()["steps"]["rows"]]


class TestSource:
    def test_a_file(self, tmp_path: Path):
        file = rank(tmp_path, 0)
        analysis = timesink.analyze(file)
        assert analysis.path == str(file)
        assert analysis.notes == ()
        assert steps_of(analysis) == ["0", "1"]

    def test_an_open_trace(self):
        trace = read(STEP(4, 0, 10), K("gemm", 0, 5))
        assert timesink.analyze(trace).trace is trace

    def test_an_exported_folder(self, tmp_path: Path):
        trace = read(STEP(4, 0, 10), O("mm", 0, 5))
        export_folder(trace, tmp_path / "tables")
        assert steps_of(timesink.analyze(tmp_path / "tables")) == ["4"]

    def test_without_cache_the_answer_is_the_same(self, job: Path):
        cached, fresh = (timesink.analyze(job, rank=1, cache=cache) for cache in (True, False))
        assert fresh.to_dict() == cached.to_dict()

    def test_what_is_not_there(self, tmp_path: Path):
        with pytest.raises(UnreadableError, match="no such file"):
            timesink.analyze(tmp_path / "nothing.json")


class TestFolder:
    def test_one_worker_in_detail_and_all_for_comparison(self, job: Path):
        analysis = timesink.analyze(job)
        assert list(analysis.workers) == ["rank0", "rank1"]
        assert analysis.workers["rank0"] is analysis.trace
        assert analysis.notes == ("2 workers: rank0 in detail, choose with --worker",)
        assert analysis.to_dict()["source"]["workers"] == ["rank0", "rank1"]

    @pytest.mark.parametrize("choice", [{"worker": "rank1"}, {"rank": 1}])
    def test_a_chosen_worker(self, job: Path, choice: dict):
        analysis = timesink.analyze(job, **choice)
        assert steps_of(analysis) == ["0", "1", "2"]
        assert analysis.notes == ()

    def test_the_first_span_unless_one_is_chosen(self, tmp_path: Path):
        rank(tmp_path, 0, span=100, steps=1)
        rank(tmp_path, 0, span=20, steps=3)
        analysis = timesink.analyze(tmp_path)
        assert steps_of(analysis) == ["0", "1", "2"]
        assert analysis.notes == ("2 spans: this is span 1, choose with --span",)
        assert steps_of(timesink.analyze(tmp_path, span=2)) == ["0"]

    def test_a_file_that_cannot_be_read_costs_only_itself(self, job: Path):
        (job / "rank2.1.pt.trace.json").write_bytes(b"nothing")
        analysis = timesink.analyze(job)
        assert list(analysis.workers) == ["rank0", "rank1"]
        (entry,) = (e for e in analysis.trace.health if e.code == "unreadable_file")
        assert "rank2" in (entry.example or "")

    def test_no_file_can_be_read(self, tmp_path: Path):
        for name in ("a.json", "b.json"):
            (tmp_path / name).write_bytes(b"nothing")
        with pytest.raises(UnreadableError, match="not a trace"):
            timesink.analyze(tmp_path)

    def test_several_runs_are_not_one(self, tmp_path: Path):
        for name in ("first", "second"):
            (tmp_path / name).mkdir()
            rank(tmp_path / name, 0)
        with pytest.raises(AmbiguousError, match="holds 2 traces"):
            timesink.analyze(tmp_path)

    def test_a_worker_that_is_not_there(self, job: Path):
        with pytest.raises(UnreadableError, match="no trace fits") as error:
            timesink.analyze(job, worker="rank7")
        assert "rank0" in error.value.hint


class TestSteps:
    def test_only_some(self, job: Path):
        analysis = timesink.analyze(job, worker="rank1", steps="1-2")
        assert steps_of(analysis) == ["1", "2"]
        assert analysis.notes == ("steps 1-2 only",)

    def test_of_every_worker(self, job: Path):
        analysis = timesink.analyze(job, steps="1")
        assert analysis.workers["rank0"] is analysis.trace
        heights = [worker.steps.height for worker in analysis.workers.values()]
        assert heights == [1, 1]

    def test_what_is_no_choice(self):
        with pytest.raises(UsageError, match="not a choice of steps"):
            timesink.analyze(read(STEP(1, 0, 10)), steps="first")

    def test_a_step_that_is_not_there(self):
        with pytest.raises(NotFoundError, match="none of the steps 9"):
            timesink.analyze(read(STEP(1, 0, 10)), steps="9")

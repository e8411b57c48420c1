"""From a path, or an open trace, to its analysis."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from builders import training_trace, write
from cases import STEP, K, O, read
from timesink.answers.analysis.report import Analysis
from timesink.errors import AmbiguousError, NotFoundError, UnreadableError, UsageError
from timesink.formats.parquet_folder import export_folder
from timesink.sources.cache import wait_until_saved


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
    return analysis.table("steps")["name"].to_list()


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

    def test_a_choice_must_be_what_is_there(self, tmp_path: Path):
        trace = timesink.open(rank(tmp_path, 1))
        export_folder(trace, tmp_path / "tables")
        for source in (trace, tmp_path / "tables"):
            assert timesink.analyze(source, worker="rank1", rank=1, span=1).trace.steps.height == 2
            for wrong in ({"worker": "rank0"}, {"rank": 0}, {"span": 2}):
                with pytest.raises(UnreadableError, match="no trace fits") as error:
                    timesink.analyze(source, **wrong)
                assert "rank1" in error.value.hint

    def test_an_empty_path(self):
        with pytest.raises(UsageError, match="the path is empty"):
            timesink.analyze("")

    def test_an_unknown_group(self):
        with pytest.raises(UsageError, match="grouped by 'zz'"):
            timesink.analyze(timesink.sample(), group_by="zz")

    def test_what_is_not_there(self, tmp_path: Path):
        with pytest.raises(UnreadableError, match="no such file"):
            timesink.analyze(tmp_path / "nothing.json")


class TestFolder:
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
        assert analysis.ranks.names == ["rank0", "rank1"]
        (entry,) = (e for e in analysis.health if e.code == "unreadable_file")
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
        with pytest.raises(AmbiguousError, match="holds 2 runs"):
            timesink.analyze(tmp_path)

    def test_the_same_file_packed_and_plain_is_one(self, tmp_path: Path):
        for name in ("w.pt.trace.json", "w.pt.trace.json.gz"):
            write(tmp_path / name, training_trace(1))
        analysis = timesink.analyze(tmp_path)
        assert not analysis.is_set
        assert any("w.pt.trace.json.gz" in note for note in analysis.notes)

    def test_a_worker_that_is_not_there(self, job: Path):
        with pytest.raises(UnreadableError, match="no trace fits") as error:
            timesink.analyze(job, worker="rank7")
        assert "rank0" in error.value.hint


class TestSteps:
    def test_only_some(self, job: Path):
        analysis = timesink.analyze(job, worker="rank1", steps="1-2")
        assert steps_of(analysis) == ["1", "2"]
        assert analysis.notes == ("steps 1-2 only",)

    @pytest.mark.parametrize("steps", ["first", "3-1", "", [], [True], 1.5, -1, ["1"]])
    def test_what_is_no_choice(self, steps: object):
        with pytest.raises(UsageError, match="not a choice of steps"):
            timesink.analyze(read(STEP(1, 0, 10)), steps=steps)

    @pytest.mark.parametrize(
        ("steps", "expected"),
        [
            (2, ["2"]),
            ([1, 3], ["1", "3"]),
            (range(2, 9), ["2", "3"]),
            ("1, 2 - 3", ["1", "2", "3"]),
        ],
    )
    def test_ways_to_choose(self, steps: object, expected: list[str]):
        trace = read(*(STEP(number, 10 * number, 10) for number in (1, 2, 3)))
        assert steps_of(timesink.analyze(trace, steps=steps)) == expected

    def test_no_worker_has_the_steps(self, job: Path):
        with pytest.raises(NotFoundError, match="none of the steps 7"):
            timesink.analyze(job, steps=7)

    def test_a_step_that_is_not_there(self):
        with pytest.raises(NotFoundError, match="none of the steps 9"):
            timesink.analyze(read(STEP(1, 0, 10)), steps="9")


def test_answer_is_kept_and_given_again_without_finding_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = write(tmp_path / "a.pt.trace.json", training_trace())
    first = timesink.analyze(file).to_dict()
    monkeypatch.setattr(Analysis, "_find", lambda _: pytest.fail("found again"))
    again = timesink.analyze(file)
    wait_until_saved(again.answer_cache.store, again.answer_cache.key)
    assert again.to_dict() == first


def test_without_cache_nothing_is_kept(tmp_path: Path):
    file = write(tmp_path / "a.pt.trace.json", training_trace())
    assert timesink.analyze(file, cache=False).answer_cache is None

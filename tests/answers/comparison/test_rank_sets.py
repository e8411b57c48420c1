"""Runs of many ranks are compared as a whole, and only some of many ranks in full."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import timesink
from comparison_text import to_text
from timesink.answers.comparison.document import comparison_document
from timesink.answers.comparison.gate import comment_md
from timesink.answers.comparison.gate_result import gate_of
from timesink.answers.comparison.published_report import comparison_md
from timesink.answers.comparison.report import ComparisonAnswer
from timesink.comparison.gate.verdict import Limit
from timesink.comparison.inputs import RecordingRef, RunInput
from timesink.comparison.rank_changes import compare_ranks, may_be_sets
from timesink.comparison.thresholds import RankChangesLimits
from timesink.errors import TimesinkError
from timesink.runtime.engine import Done
from timesink.sources.recordings import Recording
from timesink_lab.ranks.generated import generate_ranks
from timesink_lab.ranks.plan import Plan, Straggler


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of 4 ranks, of which one has a rank with slow kernels."""
    folder = tmp_path_factory.mktemp("runs")
    plan: dict[str, Any] = {"ranks": 4, "ranks_per_node": 2, "tensor": 2, "layers": 1, "steps": 4}
    generate_ranks(Plan(seed=1, **plan), folder / "base")
    slow = Straggler("slow_clock", 2, intensity=0.3)
    generate_ranks(Plan(seed=2, **plan, stragglers=(slow,)), folder / "slow")
    return folder


@pytest.fixture(scope="module")
def slower(runs: Path) -> ComparisonAnswer:
    """As if 4 ranks were many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RankChangesLimits, "all_pairs", 3)
        patch.setattr(RankChangesLimits, "max_pairs", 2)
        return timesink.compare(runs / "base", runs / "slow")


def test_the_answer_names_the_new_straggler(slower: ComparisonAnswer):
    assert slower.ranks is not None
    assert [
        (straggler.state, straggler.rank, straggler.cause) for straggler in slower.ranks.stragglers
    ] == [("new", 2, "gpu_clock")]
    assert "4 ranks: steps take 29.3 % longer" in slower.headline
    assert "Rank 2 is a new straggler: its device" in slower.headline
    assert slower.diagnosis is not None
    assert slower.diagnosis.verdict == "regression"
    first = slower.diagnosis.causes[0]
    assert (first.id, first.process) == ("gpu_clock", "rank 2")


def test_every_output_shows_it(slower: ComparisonAnswer):
    assert "Rank 2 is a new straggler" in to_text(slower)
    assert comparison_md(slower).startswith("# Ranks\n\n- 4 ranks: steps take 29.3 % longer")
    gate = gate_of(slower, Limit(5.0))
    assert gate.outcome == "failed"
    assert "GPU clock in rank 2" in comment_md(slower, gate)
    sections = {section.id: section for section in comparison_document(slower).sections}
    titles = [getattr(block, "title", "") for block in sections["ranks"].blocks]
    assert "Stragglers" in titles
    assert "Collectives" in titles


def test_json_has_a_section_on_ranks(slower: ComparisonAnswer):
    ranks = slower.to_dict()["ranks"]
    assert ranks["verdict"] == "regression"
    assert [
        (straggler["rank"], straggler["cause"], straggler["state"])
        for straggler in ranks["stragglers"]
    ] == [(2, "gpu_clock", "new")]
    time = ranks["step_time"]
    parts = sum(part["delta_us"] for part in ranks["attribution"])
    assert parts == pytest.approx(time["new_us"] - time["base_us"], abs=1)
    odd = [group for group in ranks["sides"]["new"]["groups"] if group["odd"]]
    assert [group["ranks"] for group in odd] == ["2"]
    layout = [(group["kind"], group["size"]) for group in ranks["sides"]["base"]["layout"]]
    assert layout == [("tp", 2), ("dp", 2)]


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Runs of so many ranks."""
    folder = tmp_path_factory.mktemp("few")
    for ranks in (2, 3):
        generate_ranks(Plan(ranks=ranks, layers=1, steps=3), folder / str(ranks))
    return {ranks: folder / str(ranks) for ranks in (2, 3)}


def test_another_number_of_ranks_is_said_first(
    few: dict[int, Path], monkeypatch: pytest.MonkeyPatch
):
    # As if 3 ranks were many: what is said of single ones does not matter here.
    monkeypatch.setattr(RankChangesLimits, "all_pairs", 2)
    monkeypatch.setattr(RankChangesLimits, "max_pairs", 1)
    comparison = timesink.compare(few[2], few[3])
    assert comparison.diagnosis is not None
    assert comparison.diagnosis.verdict == "incomparable"
    assert comparison.headline.startswith("2 ranks before and 3 now divide the work")


def test_a_folder_of_several_runs_is_no_set():
    def side(*runs: str) -> RunInput:
        recordings = [
            Recording(Path(f"{run}/rank{rank}.json"), f"rank{rank}", run=run)
            for rank, run in enumerate(runs)
        ]
        return RunInput(
            Path(),
            tuple(RecordingRef(recording, is_table=False, job="") for recording in recordings),
        )

    assert may_be_sets(side("a", "a"), side("b", "b"))
    assert not may_be_sets(side("a", "a"), side("a", "b"))
    assert not may_be_sets(side("a"), side("b", "b"))


def test_an_engine_that_cannot_work_is_an_error(runs: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(RankChangesLimits, "all_pairs", 3)

    class NoEngine:
        name = "none"

        def run(self, *_: object) -> Iterator[Done]:
            raise TimesinkError("no cluster answers", "start it")

    with pytest.raises(TimesinkError, match="no cluster answers"):
        timesink.compare(runs / "base", runs / "slow", engine=NoEngine())


def test_recorded_ranks(shared_root: Path):
    """Rank 3 sleeps in the second run, and that is new."""
    folder = shared_root / "data/h200/traces"
    base, new = (
        timesink.analyze(folder / run).ranks for run in ("ddp8_normal", "ddp8_stall_rank3")
    )
    assert base is not None
    assert new is not None
    (only,) = compare_ranks(base, new).stragglers
    assert (only.state, only.rank, only.cause) == ("new", 3, "host_code")
    (odd,) = (group for group in new.groups if group.odd)
    assert odd.ranks == (3,)
    assert not any(group.odd for group in base.groups)

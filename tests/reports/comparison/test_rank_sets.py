"""Runs of many ranks are compared as a whole, and only some of many ranks in full."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import timesink
from timesink.lab.ranks.generate import generate_ranks
from timesink.lab.ranks.plan import Plan, Straggler
from timesink.render.comparison.comment.comment import comment_md
from timesink.render.comparison.markdown import comparison_md
from timesink.render.comparison.text import to_text
from timesink.render.document.comparison import comparison_document
from timesink.reports.comparison import Comparison
from timesink.reports.gate.judging import gate_of
from timesink.reports.gate.limit import Limit


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of 18 ranks, of which one has a rank with slow kernels."""
    folder = tmp_path_factory.mktemp("runs")
    plan: dict[str, Any] = {"ranks": 18, "ranks_per_node": 6, "tensor": 3, "layers": 1}
    generate_ranks(Plan(seed=1, **plan), folder / "base")
    slow = Straggler("slow_clock", 7, intensity=0.3)
    generate_ranks(Plan(seed=2, **plan, stragglers=(slow,)), folder / "slow")
    return folder


@pytest.fixture(scope="module")
def slower(runs: Path) -> Comparison:
    return timesink.compare(runs / "base", runs / "slow")


def test_a_few_ranks_stand_for_many(slower: Comparison):
    compared = {one.pair.new.rank for one in slower.pairs}
    assert 7 in compared
    assert 2 <= len(compared) <= 8
    assert any("of 18 ranks, ranks" in note for note in slower.notes)
    assert not slower.has_all_ranks


def test_the_answer_names_the_new_straggler(slower: Comparison):
    assert slower.ranks is not None
    assert [(each.state, each.rank, each.cause) for each in slower.ranks.stragglers] == [
        ("new", 7, "gpu_clock")
    ]
    assert "18 ranks: steps take longer" in slower.headline
    assert "Rank 7 is a new straggler: gpu_clock" in slower.headline
    assert slower.diagnosis is not None
    assert slower.diagnosis.verdict == "regression"
    first = slower.diagnosis.causes[0]
    assert (first.cause, first.process) == ("gpu_clock", "rank 7")


def test_every_output_shows_it(slower: Comparison):
    assert "Rank 7 is a new straggler" in to_text(slower)
    assert comparison_md(slower).startswith("# Ranks\n\n- 18 ranks: Steps take longer")
    gate = gate_of(slower, Limit(5.0))
    assert gate.outcome == "failed"
    assert "gpu_clock in rank 7" in comment_md(slower, gate)
    sections = {one.id: one for one in comparison_document(slower).sections}
    titles = [getattr(block, "title", "") for block in sections["ranks"].blocks]
    assert "Stragglers" in titles
    assert "Collectives" in titles


def test_json_has_a_section_on_ranks(slower: Comparison):
    ranks = slower.to_dict()["ranks"]
    assert ranks["verdict"] == "regression"
    assert [(one["rank"], one["cause"], one["state"]) for one in ranks["stragglers"]] == [
        (7, "gpu_clock", "new")
    ]
    time = ranks["step_time"]
    parts = sum(part["delta_us"] for part in ranks["attribution"])
    assert parts == pytest.approx(time["new_us"] - time["base_us"], abs=1)
    odd = [group for group in ranks["sides"]["new"]["groups"] if group["odd"]]
    assert [group["ranks"] for group in odd] == ["7"]
    layout = [(group["kind"], group["size"]) for group in ranks["sides"]["base"]["layout"]]
    assert layout == [("tp", 3), ("dp", 6)]


def test_one_rank_can_still_be_chosen(runs: Path):
    one = timesink.compare(runs / "base", runs / "slow", rank=3)
    assert one.pair.new.rank == 3
    assert one.ranks is None


def test_a_run_is_as_it_is(runs: Path):
    same = timesink.compare(runs / "base", runs / "base")
    assert same.ranks is not None
    assert (same.ranks.verdict, same.ranks.stragglers) == ("no_change", ())
    assert same.diagnosis is not None
    assert same.diagnosis.verdict == "no_change"


def test_recorded_ranks(shared: Path):
    """All eight in full; rank 3 sleeps in the second run, and that is new."""
    folder = shared / "data/h200/traces"
    found = timesink.compare(folder / "ddp8_normal", folder / "ddp8_stall_rank3")
    assert len(found.pairs) == 8
    assert found.ranks is not None
    (only,) = found.ranks.stragglers
    assert (only.state, only.rank, only.cause) == ("new", 3, "host_code")
    (odd,) = (group for group in found.ranks.new.groups if group.odd)
    assert odd.ranks == (3,)
    assert not any(group.odd for group in found.ranks.base.groups)

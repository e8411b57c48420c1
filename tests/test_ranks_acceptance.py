"""Sets of ranks from a folder to the answer: recorded runs, generated ones, damaged ones."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import timesink
from rank_sets import HereEngine
from timesink.answers.analysis.document import analysis_document
from timesink.cli import main
from timesink.model import units
from timesink_lab.ranks.generated import generate_ranks
from timesink_lab.ranks.plan import Plan

pytestmark = pytest.mark.usefixtures("reads_here")

_OF_A_SET = (
    "stragglers",
    "ranks",
    "matched_collectives",
    "clocks",
    "groups",
    "rank_groups",
    "missing_ranks",
    "damaged",
)


def distributed_answer(folder: Path, **options: Any) -> dict[str, Any]:
    answer: dict[str, Any] = timesink.analyze(folder, **options).to_dict()["distributed"]
    return answer


# -- recorded runs ---------------------------------------------------------------------------------


def test_the_rank_that_stalls_is_named_although_it_waits_least(shared_root: Path):
    analysis = timesink.analyze(shared_root / "data/h200/traces/ddp8_stall_rank3")
    answer = analysis.to_dict()
    (only,) = answer["distributed"]["stragglers"]
    assert (only["rank"], only["worker"], only["cause"]) == (3, "rank3", "host_code")
    assert only["cost_us"] > 0
    assert 10 < only["share_pct"] < 30
    assert only["steps"] == len(only["step_names"]) >= 4
    assert only["evidence"]
    rows = {row["rank"]: row for row in answer["distributed"]["ranks"]}
    assert min(rows, key=lambda rank: rows[rank]["wait_suffered_us"]) == 3
    assert max(rows, key=lambda rank: rows[rank]["wait_caused_us"]) == 3
    assert "Straggler: rank 3 delays the others" in answer["headline"]
    assert answer["findings"][0]["rule"] == "stragglers"


def test_one_stall_has_one_figure(shared_root: Path, capsys: pytest.CaptureFixture[str]):
    folder = shared_root / "data/h200/traces/ddp8_stall_rank3"
    analysis = timesink.analyze(folder)
    (straggler,) = analysis.table("stragglers").to_dicts()
    cost_ns = straggler["cost_ns"] / 6
    figure = units.brief_ns(cost_ns)
    table = analysis.table("ranks")
    assert table.filter(rank=3)["cost_ns"].to_list() == [pytest.approx(cost_ns)]
    assert table.filter(pl.col("rank") != 3)["cost_ns"].null_count() == 7
    finding = next(finding for finding in analysis.findings if finding.rule == "stragglers")
    assert finding.cost_ns == pytest.approx(cost_ns)
    assert figure in finding.sentence
    document = analysis_document(analysis)
    assert figure in document.headline
    (card,) = (
        next(section for section in document.sections if section.id == "stragglers").blocks[0].items
    )
    assert units.brief_ns(card.explained) == figure
    (odd,) = (group for group in analysis.table("rank-groups").to_dicts() if group["odd"])
    times = re.compile(r"[0-9.]+ (?:ms|us)")
    sentences = (document.headline, finding.sentence, card.sentence, *card.evidence, *odd["apart"])
    stalls = {duration for sentence in sentences for duration in times.findall(sentence)}
    assert stalls == {figure}
    assert main(["analyze", str(folder)]) == 0
    text = capsys.readouterr().out
    for other in ("27.6 ms", "28.4 ms", "35.8 ms", "36.4 ms", "142.1 ms"):
        assert other not in text


def test_a_rank_that_stalls_is_on_the_path(shared_root: Path):
    path = timesink.analyze(shared_root / "data/h200/traces/ddp8_stall_rank3").table("rank-path")
    first = path.row(0, named=True)
    assert (first["rank"], first["share_pct"] > 50) == (3, True)
    assert path["share_pct"].sum() == pytest.approx(100)


def test_where_all_is_well_nobody_is_blamed(shared_root: Path):
    answer = distributed_answer(shared_root / "data/h200/traces/ddp8_normal")
    assert answer["stragglers"] == []
    assert (answer["missing_ranks"], answer["damaged"], answer["mismatched_calls"]) == ([], [], [])
    assert len(answer["ranks"]) == len(answer["clocks"]) == 8


def test_the_command_says_the_same(shared_root: Path, capsys: pytest.CaptureFixture[str]):
    folder = shared_root / "data/h200/traces/ddp8_stall_rank3"
    assert main(["analyze", str(folder), "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == timesink.analyze(folder).to_dict()
    assert list(answer["distributed"])[-len(_OF_A_SET) :] == [*_OF_A_SET]
    assert main(["analyze", str(folder), "--view", "stragglers", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == answer["distributed"]["stragglers"]


# -- generated runs --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def read_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for all who look at the healthy run: equal files are known by their content."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def traces_read_once(read_once: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(read_once))


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six ranks on three nodes whose clocks differ."""
    folder = tmp_path_factory.mktemp("healthy")
    generate_ranks(Plan(ranks=6, tensor=2, ranks_per_node=2, seed=3, steps=3), folder)
    return folder


@pytest.mark.usefixtures("traces_read_once")
def test_damaged_and_missing_ranks(healthy: Path, tmp_path: Path):
    run = Path(shutil.copytree(healthy, tmp_path / "run"))
    (run / "rank2.pt.trace.json.gz").write_bytes(b"no trace")
    packed = (run / "rank4.pt.trace.json.gz").read_bytes()
    (run / "rank4.pt.trace.json.gz").write_bytes(packed[:200])
    (run / "rank5.pt.trace.json.gz").unlink()
    analysis = timesink.analyze(run, engine=HereEngine())
    answer = analysis.to_dict()["distributed"]
    assert [row["rank"] for row in answer["ranks"]] == [0, 1, 3]
    assert [row["worker"] for row in answer["damaged"]] == ["rank2", "rank4"]
    assert answer["missing_ranks"] == [5]
    assert answer["stragglers"] == []
    assert "rank 5 of 6 is missing" in analysis.notes
    assert any(note.startswith("cannot be read: rank2, rank4 (") for note in analysis.notes)
    assert {"unreadable_file"} <= {entry.code for entry in analysis.health}


@pytest.mark.usefixtures("traces_read_once")
def test_the_first_rank_may_be_the_damaged_one(healthy: Path, tmp_path: Path):
    run = Path(shutil.copytree(healthy, tmp_path / "run"))
    (run / "rank0.pt.trace.json.gz").write_bytes(b"no trace")
    analysis = timesink.analyze(run, engine=HereEngine())
    assert analysis.trace.metadata.worker == "rank1"
    assert len(analysis.ranks.ranks) == 5

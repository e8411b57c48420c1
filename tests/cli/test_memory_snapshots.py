"""Every command on memory snapshots."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import timesink
from memory_snapshots import train, write_snapshot
from timesink.analyses.snapshot.tables import peak_of_all
from timesink.answers.analysis.document import analysis_document


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    return write_snapshot(folder / "base.pickle", train(5).snapshot())


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new")
    return write_snapshot(folder / "new.pickle", train(5, batch=2).snapshot())


def test_analyze_says_what_the_peak_is_made_of(run, base: Path):
    outcome = run("analyze", base)
    assert outcome.code == 0
    assert outcome.out.startswith("Peak memory on GPU0: ")
    assert "optimizer state" in outcome.out
    assert run("analyze", base.parent).out.startswith("Peak memory on GPU0: ")


def test_json_has_every_table(run, base: Path):
    answer = run("analyze", base, "--format", "json").json
    snapshot = answer["memory"]["snapshot"]
    peak = answer["memory"]["peaks"][0]["peak_allocated_bytes"]
    for name in ("categories", "modules", "stacks"):
        assert sum(row["bytes"] for row in snapshot[name]) == peak
    assert answer["recording"]["reasons"][0]["code"] == "only_memory"


@pytest.mark.parametrize("form", ["text", "md", "csv", "json"])
def test_views_come_in_every_format(run, base: Path, form: str):
    outcome = run("analyze", base, "--view", "memory-stacks", "--format", form)
    assert outcome.code == 0
    assert "net.py(20): forward" in outcome.out


def test_a_page_holds_the_curve(run, base: Path, tmp_path: Path):
    assert run("analyze", base, "-o", tmp_path / "a.html").code == 0
    assert "memory-categories" in (tmp_path / "a.html").read_text()


def test_info_and_query(run, base: Path):
    outcome = run("info", base)
    assert "PyTorch memory snapshot" in outcome.out
    sql = "select sum(bytes) as held from memory_segments"
    assert run("query", base, sql, "--format", "json").json[0]["held"] > 0


def test_compare_says_what_grew(run, base: Path, larger: Path):
    outcome = run("compare", base, larger)
    assert outcome.code == 0
    assert "more" in outcome.out.splitlines()[0]
    assert "activations" in outcome.out
    answer = run("compare", base, larger, "--format", "json").json
    assert answer["peaks"][0]["change_bytes"] > 0
    rows = {row["category"]: row["change_bytes"] for row in answer["changes"]["category"]}
    assert rows["parameters"] == 0
    assert sum(rows.values()) == answer["peaks"][0]["change_bytes"]


@pytest.mark.parametrize("form", ["md", "csv", "html", "json"])
def test_comparisons_come_in_every_format(run, base: Path, larger: Path, tmp_path: Path, form: str):
    place = tmp_path / f"out.{form}"
    assert run("compare", base, larger, "-o", place).code == 0
    assert place.stat().st_size > 100


def test_gate_fails_where_the_peak_grows(run, base: Path, larger: Path):
    outcome = run("gate", base, larger, "--fail-on", "5%")
    assert outcome.code == 3
    assert "Peak memory on GPU0" in outcome.err
    assert run("gate", base, base).code == 0
    assert run("gate", larger, base).code == 0
    assert run("gate", base, larger, "--fail-on", "500%").code == 0
    xml = run("gate", base, larger, "--format", "junit")
    assert 'name="peak_memory"' in xml.out


def test_budgets_hold_peaks(run, base: Path, larger: Path, tmp_path: Path):
    budget = tmp_path / "limits.toml"
    budget.write_text('peak_memory = "+64 MiB"\n')
    assert run("gate", base, larger, "--budget", budget).code == 0
    budget.write_text('peak_memory = "+0"\n')
    assert run("gate", base, larger, "--budget", budget).code == 3


def test_a_snapshot_is_compared_with_another_one(decline, base: Path, larger: Path):
    message, _ = decline("compare", base, Path(__file__), code=2)
    assert "one other memory snapshot" in message
    message, _ = decline("compare", base, larger, "--view", "program", code=2)
    assert "not for a memory snapshot" in message


def test_a_baseline_holds_a_snapshot(run, decline, base: Path, larger: Path, tmp_path: Path):
    store = ("--store", tmp_path)
    assert "memory snapshot, peak on GPU0" in run("baseline", "save", "main", base, *store).out
    assert run("gate", "@main", larger, "--fail-on", "5%", *store).code == 3
    answers = [
        run("compare", side, larger, "--format", "json", *store).json for side in (base, "@main")
    ]
    assert answers[0]["changes"] == answers[1]["changes"]
    assert answers[0]["peaks"] == answers[1]["peaks"]
    assert "memory snapshot" in run("baseline", "list", *store).out
    assert 'peak_memory = "10%"' in run("baseline", "budgets", "@main", *store).out
    decline("baseline", "add", "main", base, *store, code=2)


@pytest.mark.parametrize("form", ["collapsed", "speedscope"])
def test_the_peak_as_flame_graph(run, base: Path, tmp_path: Path, form: str):
    place = tmp_path / "flame"
    outcome = run("export", base, "--flame", form, "-o", place)
    assert "live memory at the peak" in outcome.out
    peak = run("analyze", base, "--format", "json").json["memory"]["peaks"][0]
    if form == "collapsed":
        weights = [int(line.rpartition(" ")[2]) for line in place.read_text().splitlines()]
    else:
        weights = json.loads(place.read_text())["profiles"][0]["weights"]
    assert sum(weights) == peak["peak_allocated_bytes"]


def test_hostile_pickles_are_one_line(decline, tmp_path: Path):
    file = tmp_path / "evil.pickle"
    file.write_bytes(
        b"\x80\x04\x95\x20\x00\x00\x00\x00\x00\x00\x00}\x8c\x08segments\x8c\x05posix"
        b"\x8c\x06system\x93\x8c\x02ls\x85Rs."
    )
    message, hint = decline("analyze", file)
    assert "nothing of it was run" in message
    assert "_dump_snapshot" in hint


def test_pages_of_a_snapshot_have_what_it_holds_and_one_peak(base: Path):
    analysis = timesink.analyze(base)
    document = analysis_document(analysis)
    (figures,) = (section for section in document.sections if section.id == "figures")
    (tile,) = figures.blocks[0].tiles
    assert ("GPU0", tile.value) == peak_of_all(analysis.trace)
    assert "not-recorded" not in [section.id for section in document.sections]
    assert "memory" not in [part.id for part in analysis_document(analysis, page="memory").sections]

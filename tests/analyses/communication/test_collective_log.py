"""What logs of collectives show: who is missing, late, or calls something else."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from collective_logs import entry, inspected, write_dumps, write_inspected
from timesink.answers.views import find_view


def test_a_rank_that_never_entered_is_named(tmp_path: Path):
    calls = {
        rank: [entry(rank, n) for n in range(1, 5)]
        + ([] if rank == 2 else [entry(rank, 5, "started")])
        for rank in range(4)
    }
    analysis = timesink.analyze(write_dumps(tmp_path / "logs", calls))
    assert analysis.headline.startswith(
        "Rank 2 never entered all_reduce #5 of default_pg; ranks 0, 1, 3 wait in it"
    )
    (finding,) = analysis.findings
    assert (finding.rule, finding.severity) == ("rank-never-entered", "high")
    assert "/code/train.py(77): train" in finding.sentence
    log = analysis.table("collective-log")
    assert log["sequence"][0] == 5
    assert log["missing"][0].to_list() == [2]
    ranks = analysis.table("collective-log-ranks")
    assert ranks["last_sequence"].to_list() == [5, 5, 4, 5]


def test_a_collective_that_all_entered_hangs(tmp_path: Path):
    calls = {
        rank: [entry(rank, 1), entry(rank, 2, "scheduled" if rank == 3 else "started")]
        for rank in range(4)
    }
    (finding,) = timesink.analyze(write_dumps(tmp_path / "logs", calls)).findings
    assert finding.rule == "hanging-collective"
    assert "it has not begun on rank 3" in finding.sentence


def test_a_missing_log_is_said(tmp_path: Path):
    calls = {rank: [entry(rank, 1, "started")] for rank in (0, 1, 3)}
    (finding,) = timesink.analyze(write_dumps(tmp_path / "logs", calls)).findings
    assert "there is no log of rank 2" in finding.sentence


def test_ranks_that_disagree_are_named(tmp_path: Path):
    calls = {rank: [entry(rank, n) for n in (1, 2)] for rank in range(4)}
    calls[1][1]["profiling_name"] = "nccl:all_gather"
    finding = timesink.analyze(write_dumps(tmp_path / "logs", calls)).findings[0]
    assert finding.rule == "ranks-disagree"
    assert "#2 of default_pg" in finding.sentence
    assert "rank 1 all_gather" in finding.sentence


@pytest.mark.parametrize(("others_ms", "is_late"), [(3.5, True), (1.5, False), (None, True)])
def test_a_late_rank_is_named_unless_its_clock_alone_is_ahead(
    tmp_path: Path, others_ms: float | None, *, is_late: bool
):
    length_ms = None if others_ms is None else 1.5
    calls = {
        rank: [entry(rank, n, duration_ms=length_ms if rank == 3 else others_ms) for n in range(30)]
        for rank in range(4)
    }
    for call in calls[3]:
        call["time_created_ns"] += 2_000_000
    findings = timesink.analyze(write_dumps(tmp_path / "logs", calls)).findings
    assert [finding.rule for finding in findings] == ["late-rank"] * is_late
    for finding in findings:
        assert finding.sentence.startswith("Rank 3 enters 100 % of 30 collectives")


def test_times_of_the_inspector_tell_who_is_waited_for(tmp_path: Path):
    lines = {
        rank: [inspected(rank, n, 300 if rank == 1 else 2000 + n) for n in range(20)]
        for rank in range(4)
    }
    analysis = timesink.analyze(write_inspected(tmp_path / "logs", lines))
    (finding,) = analysis.findings
    assert finding.sentence.startswith("Rank 1 is waited for in 100 % of 20 collectives")
    sizes = analysis.table("collective-log-sizes")
    assert sizes["bus_bytes_per_s"].to_list() == [3e11]


def test_equal_ranks_have_no_finding(tmp_path: Path):
    calls = {rank: [entry(rank, n) for n in range(30)] for rank in range(4)}
    analysis = timesink.analyze(write_dumps(tmp_path / "logs", calls))
    assert analysis.findings == ()
    assert (
        analysis.headline == "30 collectives of 1 group, logged by 4 ranks; none did not complete."
    )


def test_an_evicted_start_is_no_missing_call(tmp_path: Path):
    calls = {rank: [entry(rank, n) for n in range(10 * rank, 60)] for rank in range(4)}
    assert timesink.analyze(write_dumps(tmp_path / "logs", calls)).findings == ()


def test_views_have_their_columns(tmp_path: Path):
    trace = timesink.open(write_dumps(tmp_path / "logs", {0: [entry(0, 1)]}))
    for view in ("collective-log", "collective-log-ranks", "collective-log-sizes"):
        about = find_view(view)
        assert set(about.table(trace).columns) == set(about.columns)

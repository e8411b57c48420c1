"""Runs in turn: their order, when they end, what becomes of those that fail."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from ab_runs import RUN_S, Bench, planned_runs
from timesink.comparison.repeated_runs import next_sides
from timesink.comparison.turns import _why_failed, runs_of
from timesink.errors import CollectError
from timesink.recorder.recording import TIMED_OUT
from timesink.recorder.run_file import ProgramEnd
from timesink.sources.ab_folder import read_ab


def test_a_slower_side_is_found_and_has_its_timeline(tmp_path: Path):
    bench = Bench(tmp_path, ratio=1.05)
    turns = bench.turns(planned_runs())
    decision = turns.to_the_end()
    assert decision is not None
    assert decision.outcome == "slower"
    assert 4 < decision.typical.change_pct < 6
    assert [run_name for run_name in bench.run_names if "timeline" in run_name] == bench.run_names[
        -2:
    ]
    ab = read_ab(tmp_path)
    assert ab == turns.ab
    assert (ab.complete, ab.why_partial) == (True, "")
    assert [run.warm_up for run in ab.runs[:3]] == [True, True, False]
    assert len(ab.counted) == len(ab.runs) - 4 == 2 * decision.pairs
    assert [look.pairs for look in ab.history][-1] == decision.pairs
    assert ab.timelines() == {
        "base": bench.run_names[-2].split()[0],
        "new": bench.run_names[-1].split()[0],
    }


def test_the_order_is_that_of_the_seed_after_a_warm_up_of_each_side(tmp_path: Path):
    bench = Bench(tmp_path, scatter=0.05)
    bench.turns(planned_runs(most_runs=6, has_timeline=False)).to_the_end()
    sides = [run_name.split("/")[0] for run_name in bench.run_names]
    assert sides == ["base", "new", *islice(next_sides(3), 12)]
    assert sorted(bench.run_names)[:2] == ["base/01 warm-up", "base/02"]


def test_equal_sides_end_as_the_same(tmp_path: Path):
    decision = Bench(tmp_path, scatter=0.001).turns(planned_runs()).to_the_end()
    assert decision is not None
    assert decision.outcome == "same"


def test_no_run_is_begun_that_would_end_after_the_budget(tmp_path: Path):
    bench = Bench(tmp_path, scatter=0.05)
    decision = bench.turns(planned_runs(budget_s=9.5 * RUN_S)).to_the_end()
    assert decision is not None
    assert decision.outcome == "undecided"
    # Two that warm up and three pairs; the two with a timeline come after it.
    assert len(bench.run_names) == 2 + 6 + 2
    assert read_ab(tmp_path).complete


def test_without_time_for_a_pair_nothing_is_said(tmp_path: Path):
    bench = Bench(tmp_path)
    assert bench.turns(planned_runs(budget_s=RUN_S)).to_the_end() is None
    assert bench.run_names == ["base/01 warm-up", "new/01 warm-up"]  # and no timeline of nothing


def test_an_endless_program_without_cycles_is_run_once(tmp_path: Path):
    """It has used up the time of all runs."""
    endless = {"cycles": {"plain": 0}, "processes": [], "why_partial": ""}
    why = _why_failed(endless, ProgramEnd(None, "SIGTERM", TIMED_OUT), timeline=False)
    bench = Bench(tmp_path, why=lambda *_: why)
    with pytest.raises(CollectError, match="base: the first run failed") as caught:
        bench.turns(planned_runs()).to_the_end()
    assert len(bench.run_names) == 1
    assert "--marker NAME" in caught.value.hint


def test_a_run_that_fails_is_made_again_and_not_counted(tmp_path: Path):
    bench = Bench(
        tmp_path, ratio=1.05, why=lambda number, _: "exit code 1" if number in {3, 4, 8} else ""
    )
    decision = bench.turns(planned_runs()).to_the_end()
    assert decision is not None
    assert decision.outcome == "slower"
    ab = read_ab(tmp_path)
    assert [run.failed for run in ab.runs if run.failed] == ["exit code 1"] * 3
    assert len(bench.failed_runs) == 3
    assert not {run.name for run in runs_of(ab, tmp_path)} & {
        run.folder for run in ab.runs if run.failed
    }
    assert [run.side for run in ab.counted] == [*islice(next_sides(3), len(ab.counted))]


@pytest.mark.parametrize(("first", "runs"), [(1, 3), (9, None)])
def test_a_side_that_always_fails_ends_it(tmp_path: Path, first: int, runs: int | None):
    """Two at first are enough, three in a row later."""

    def why(number: int, side: str) -> str:
        return "killed by SIGSEGV" if side == "new" and number >= first else ""

    bench = Bench(tmp_path, scatter=0.05, why=why)
    with pytest.raises(
        CollectError, match=r"new: . runs in a row failed \(killed by SIGSEGV\)"
    ) as e:
        bench.turns(planned_runs()).to_the_end()
    failed = bench.run_names[-2:] if first == 1 else bench.run_names[-3:]
    assert {run_name.split("/")[0] for run_name in failed} == {"new"}
    assert runs is None or len(bench.run_names) == runs
    assert str(tmp_path / bench.run_names[-1].split()[0] / "output.txt") in e.value.hint
    ab = read_ab(tmp_path)
    assert not ab.complete
    assert ab.why_partial.startswith("new: ")


def test_a_timeline_that_fails_leaves_the_decision(tmp_path: Path):
    def why(number: int, _side: str) -> str:
        return "exit code 1" if "timeline" in bench.run_names[number - 1] else ""

    bench = Bench(tmp_path, ratio=1.05, why=why)
    decision = bench.turns(planned_runs()).to_the_end()
    assert decision is not None
    assert read_ab(tmp_path).timelines() == {}
    assert len(bench.failed_runs) == 2


def test_one_that_was_stopped_goes_on(tmp_path: Path):
    bench = Bench(tmp_path, ratio=1.02, scatter=0.01, stops_after=9)
    bench.turns(planned_runs()).to_the_end()
    ab = read_ab(tmp_path)
    assert (ab.complete, ab.why_partial, len(ab.runs)) == (False, "interrupted", 9)
    bench.stops_after = 10_000
    decision = bench.turns(ab).to_the_end()
    assert decision is not None
    ab = read_ab(tmp_path)
    assert ab.complete
    # It warms up again, and the run whose neighbour did not come is not compared.
    assert [run.side for run in ab.runs if run.warm_up][-2:] == ["base", "new"]
    assert sum(run.warm_up for run in ab.runs) == 5
    assert len({run.folder for run in ab.runs}) == len(ab.runs) == len(bench.run_names)
    assert [run.side for run in ab.counted] == [*islice(next_sides(3), len(ab.counted))]


def test_one_that_was_decided_is_not_run_again(tmp_path: Path):
    bench = Bench(tmp_path, ratio=1.05)
    bench.turns(planned_runs(has_timeline=False)).to_the_end()
    run_count = len(bench.run_names)
    decision = bench.turns(read_ab(tmp_path)).to_the_end()
    assert decision is not None
    assert decision.outcome == "slower"
    assert len(bench.run_names) == run_count

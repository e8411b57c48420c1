"""Stragglers put into generated runs are found, with their cause; healthy runs have none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from timesink.analyses.communication.calls import PAIRS
from timesink.analyses.ranks.analysis import RanksAnalysis, analyse_ranks
from timesink.analyses.ranks.summary import RankSummary, summarise_rank
from timesink.lab.ranks.generated import ranks_and_truth
from timesink.lab.ranks.plan import Plan, Straggler, Truth

GRID = {"tensor": 2, "pipeline": 2}


def analysed(**options: Any) -> tuple[RanksAnalysis, Truth]:
    traces, truth = ranks_and_truth(
        Plan(**{"ranks": 8, "ranks_per_node": 4, "steps": 4, **options})
    )
    return analyse_ranks({rank: summarise_rank(each) for rank, each in traces.items()}), truth


@pytest.mark.parametrize(
    ("kind", "layout"),
    [
        ("slow_clock", {}),
        ("thermal", {"tensor": 2}),
        ("slow_node", {}),
        ("slow_host", {"tensor": 2}),
        ("python_stall", GRID),
        ("sync", {}),
        ("data_loading", GRID),
        ("uneven_work", {"expert": 4}),
        ("first_stage", GRID),
        ("slow_link", {"tensor": 4}),
        ("slow_bus", {}),
    ],
)
def test_culprit_and_cause_are_found(kind: str, layout: dict[str, int]):
    found, truth = analysed(seed=3, stragglers=(Straggler(kind, 5, intensity=0.2),), **layout)
    answer = truth.answers[0]
    first = found.stragglers[0]
    assert first.rank in answer.ranks
    assert first.cause == answer.cause
    assert set(map(int, first.steps)) <= set(answer.steps)


def test_cost_is_what_the_run_lost():
    found, truth = analysed(seed=4, stragglers=(Straggler("data_loading", 2, intensity=0.15),))
    (only,) = found.stragglers
    assert only.cost_ns / 1e3 == pytest.approx(truth.answers[0].cost_us, rel=0.15)


@pytest.mark.parametrize("layout", [{}, {"tensor": 4}, GRID])
def test_healthy_runs_have_no_straggler(layout: dict[str, int]):
    found, _ = analysed(seed=5, **layout)
    assert found.stragglers == ()
    calls = found.collectives.filter(~pl.col("collective").is_in(PAIRS))
    assert (calls["members"] == calls["group_size"]).all()


def test_those_who_wait_with_a_straggler_are_not_blamed():
    """All of its tensor-parallel group come late to the others, and only one is slow."""
    straggler = Straggler("slow_clock", 5, intensity=0.2)
    found, _ = analysed(seed=6, tensor=4, layers=3, stragglers=(straggler,))
    assert [each.rank for each in found.stragglers] == [5]
    caused = found.ranks["wait_caused_ns"].to_list()
    assert max(caused[:5] + caused[6:]) < 0.05 * caused[5]


def test_ranks_may_count_their_steps_from_elsewhere():
    straggler = Straggler("slow_clock", 5, intensity=0.2)
    traces, _ = ranks_and_truth(Plan(ranks=12, ranks_per_node=4, seed=3, stragglers=(straggler,)))
    counted = {rank: _counting_from(summarise_rank(each), rank) for rank, each in traces.items()}
    found = analyse_ranks(counted)
    assert [(each.rank, len(each.steps)) for each in found.stragglers] == [(5, 5)]
    # Tables still tell steps as their ranks do.
    assert found.waits.filter(rank=7)["step"].to_list() == counted[7].steps["step"].to_list()


def _counting_from(summary: RankSummary, number: int) -> RankSummary:
    later = (pl.col("step").cast(pl.Int64) + number).cast(pl.String).alias("step")
    return replace(
        summary,
        steps=summary.steps.with_columns(later),
        collectives=summary.collectives.with_columns(later),
    )


def test_clocks_of_nodes_are_found():
    found, truth = analysed(seed=7, ranks=12)
    apart = [found.clocks["offset_ns"][rank] for rank in (0, 4, 8)]
    true = [truth.clock_offset_ns[rank] for rank in (0, 4, 8)]
    assert apart[1] - apart[0] == pytest.approx(true[1] - true[0], abs=20_000)
    assert apart[2] - apart[0] == pytest.approx(true[2] - true[0], abs=20_000)

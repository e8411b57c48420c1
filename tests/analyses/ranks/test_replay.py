"""What stragglers cost, by playing the run without them, beside what generated runs know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from timesink.analyses.ranks.analysis import RanksAnalysis, analyse_ranks
from timesink.analyses.ranks.replay import WhatIf
from timesink.analyses.ranks.summary import summarise_rank
from timesink.lab.ranks import Plan, Straggler, Truth, ranks_and_truth


def analysed(**options: Any) -> tuple[RanksAnalysis, Truth]:
    plan = Plan(**{"ranks": 8, "ranks_per_node": 4, "steps": 3, **options})
    traces, truth = ranks_and_truth(plan)
    return analyse_ranks({rank: summarise_rank(each) for rank, each in traces.items()}), truth


@pytest.mark.parametrize(
    "layout", [{"tensor": 2, "pipeline": 2}, {"pipeline": 2}, {"ranks": 3, "pipeline": 3}]
)
def test_slack_of_a_pipeline_costs_nothing(layout: dict[str, int]):
    found, truth = analysed(seed=1, stragglers=(Straggler("slow_clock", 1, 0.3),), **layout)
    first = found.stragglers[0]
    assert first.rank == 1
    assert first.cost_ns / 1e3 == pytest.approx(truth.answers[0].cost_us, rel=0.15)


def test_who_hides_behind_another_is_named_after_it():
    stragglers = (Straggler("slow_clock", 2, 0.4), Straggler("data_loading", 5, 0.2))
    found, _ = analysed(seed=2, stragglers=stragglers)
    assert [each.rank for each in found.stragglers] == [2, 5]
    assert [each.cause for each in found.stragglers] == ["gpu_clock", "data_loading"]


def test_half_of_all_ranks_may_be_slow():
    found, truth = analysed(seed=3, stragglers=(Straggler("slow_node", 1, 0.3),))
    assert {each.rank for each in found.stragglers} == {0, 1, 2, 3}
    cost = np.median([each.cost_ns for each in found.stragglers]) / 1e3
    assert cost == pytest.approx(truth.answers[0].cost_us, rel=0.2)


def test_the_run_as_it_was_takes_as_long_as_it_took():
    found, truth = analysed(seed=4, tensor=2)
    score = WhatIf(found.collectives, found.clocks).score
    assert score is not None
    nobody = np.array([], dtype=np.int64)
    assert score.cost_together(nobody) == 0
    assert score.recorded / 1e3 == pytest.approx(truth.run_us, rel=0.02)
    assert score.is_like_the_run


@pytest.mark.parametrize("layout", [{}, {"tensor": 2, "pipeline": 2}])
def test_what_a_rank_costs_is_told_without_all_of_the_others(layout: dict[str, int]):
    plan = Plan(ranks=8, steps=3, seed=5, stragglers=(Straggler("slow_clock", 1, 0.3),), **layout)
    traces, truth = ranks_and_truth(plan)
    some = {rank: summarise_rank(each) for rank, each in traces.items() if rank != 6}
    first = analyse_ranks(some).stragglers[0]
    assert first.rank == 1
    assert first.cost_ns / 1e3 == pytest.approx(truth.answers[0].cost_us, rel=0.15)

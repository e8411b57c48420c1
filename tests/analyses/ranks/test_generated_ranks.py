"""Stragglers put into generated runs are found, with their cause; healthy runs have none."""

from __future__ import annotations

import polars as pl
import pytest
from msgspec.structs import replace

from generated_sets import (
    GRID,
    TWO_REASONS,
    TWOS,
    generated_set,
    healthy_set,
    slow_set,
    slow_set_and_truth,
)
from timesink.analyses.communication_calls import PAIRS
from timesink.analyses.ranks.analysis import analyse_ranks
from timesink.analyses.ranks.summary import RankSummary


@pytest.mark.parametrize(
    ("kind", "layout"),
    [
        ("thermal", TWOS),
        ("slow_node", {}),
        ("python_stall", GRID),
        ("sync", {"ranks": 6}),
        ("first_stage", GRID),
    ],
)
def test_culprit_and_cause_are_found(kind: str, layout: dict[str, int]):
    rank_set, truth = slow_set_and_truth(kind, **layout)
    answer = truth.answers[0]
    first = rank_set.analysis.stragglers[0]
    assert first.rank in answer.ranks
    assert first.id == answer.cause
    assert set(map(int, first.steps)) <= set(answer.steps)


def test_cost_is_what_the_run_lost():
    rank_set, truth = slow_set_and_truth("slow_clock", **TWOS)
    (only,) = rank_set.analysis.stragglers
    assert only.cost_ns / 1e3 == pytest.approx(truth.answers[0].cost_us, rel=0.15)


@pytest.mark.parametrize("layout", [TWOS, GRID])
def test_healthy_runs_have_no_straggler(layout: dict[str, int]):
    analysis = healthy_set(**layout).analysis
    assert analysis.stragglers == ()
    calls = analysis.collectives.filter(~pl.col("collective").is_in(PAIRS))
    assert (calls["members"] == calls["group_size"]).all()


def test_those_who_wait_with_a_straggler_are_not_blamed():
    """All of its tensor-parallel group come late to the others, and only one is slow."""
    analysis = slow_set("slow_clock", **TWOS).analysis
    assert [straggler.rank for straggler in analysis.stragglers] == [5]
    caused = analysis.ranks["wait_caused_ns"].to_list()
    assert max(caused[:5] + caused[6:]) < 0.05 * caused[5]


def test_ranks_may_count_their_steps_from_elsewhere():
    run = slow_set("slow_clock", **TWOS)
    counted = {rank: _counting_from(summary, 4 + rank) for rank, summary in run.ranks.items()}
    analysis = analyse_ranks(counted)
    assert [(straggler.rank, len(straggler.steps)) for straggler in analysis.stragglers] == [(5, 4)]
    # Tables still tell steps as their ranks do, in their order: the tenth after the ninth.
    assert analysis.waits.filter(rank=0)["step"].to_list() == counted[0].steps["step"].to_list()


def _counting_from(summary: RankSummary, number: int) -> RankSummary:
    later = (pl.col("step").cast(pl.Int64) + number).cast(pl.String).alias("step")
    return replace(
        summary,
        steps=summary.steps.with_columns(later),
        collectives=summary.collectives.with_columns(later),
    )


def test_clocks_of_nodes_are_found():
    rank_set, truth = generated_set(*TWO_REASONS, seed=3, ranks=12)
    apart = [rank_set.analysis.clocks["offset_ns"][rank] for rank in (0, 4, 8)]
    true = [truth.clock_offset_ns[rank] for rank in (0, 4, 8)]
    assert apart[1] - apart[0] == pytest.approx(true[1] - true[0], abs=20_000)
    assert apart[2] - apart[0] == pytest.approx(true[2] - true[0], abs=20_000)

"""Process groups and the table of matched collectives."""

from __future__ import annotations

import polars as pl
import pytest

from timesink.analyses.ranks.analysis import RanksAnalysis, analyse_ranks
from timesink.analyses.ranks.collectives import kind_told
from timesink.analyses.ranks.summary import summarise_rank
from timesink_lab.ranks.generated import ranks_and_truth
from timesink_lab.ranks.plan import Plan, Straggler


@pytest.fixture(scope="module")
def rank_analysis() -> RanksAnalysis:
    straggler = Straggler("slow_clock", 5, 0.3)
    sizes = {"tensor": 2, "pipeline": 2, "expert": 2, "layers": 1}
    plan = Plan(ranks=8, steps=2, stragglers=(straggler,), **sizes)
    traces, _ = ranks_and_truth(plan)
    return analyse_ranks({rank: summarise_rank(trace) for rank, trace in traces.items()})


@pytest.mark.parametrize(
    ("description", "kind"),
    [("mesh_tp", "tp"), ("mesh_dp_shard", "dp"), ("CONTEXT_PARALLEL_GROUP", "cp"), (None, None)],
)
def test_words_of_a_description(description: str | None, kind: str | None):
    assert kind_told(description) == kind


def test_who_sends_and_who_receives_are_one_call(rank_analysis: RanksAnalysis):
    pairs = rank_analysis.matched.filter(pl.col("group_kind") == "pp")
    assert pairs["collective"].to_list() == ["send_recv"]
    sends = rank_analysis.collectives.filter(pl.col("collective") == "send").height
    assert pairs["calls"].to_list() == [sends]

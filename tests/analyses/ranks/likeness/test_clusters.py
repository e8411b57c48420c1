"""Odd ranks are told from usual ones, and grouped by what sets them apart."""

from __future__ import annotations

from typing import Any

import pytest

from timesink.analyses.ranks.analysis import analyse_ranks
from timesink.analyses.ranks.rank_groups import RankGroup, cluster_ranks
from timesink.analyses.ranks.rank_set import RankSet, rank_groups
from timesink.analyses.ranks.summary import RankSummary, summarise_rank
from timesink.lab.ranks.generated import ranks_and_truth
from timesink.lab.ranks.plan import Plan, Straggler


def summaries(**options: Any) -> dict[int, RankSummary]:
    traces, _ = ranks_and_truth(Plan(**{"ranks": 8, "ranks_per_node": 4, "seed": 3, **options}))
    return {rank: summarise_rank(each) for rank, each in traces.items()}


def clustered(ranks: dict[int, RankSummary]) -> tuple[RankGroup, ...]:
    return cluster_ranks(ranks, analyse_ranks(ranks))


def odd_ones(groups: tuple[RankGroup, ...]) -> list[RankGroup]:
    return [each for each in groups if each.odd]


@pytest.mark.parametrize("seed", range(3))
def test_a_healthy_run_is_one_group(seed: int):
    (only,) = clustered(summaries(seed=seed, tensor=2))
    assert (only.group, len(only.ranks), only.odd, only.apart) == ("usual", 8, False, ())


def test_stages_of_a_pipeline_are_roles_and_not_odd():
    first, last = clustered(summaries(pipeline=2))
    assert (first.group, last.group) == ("usual, role 1", "usual, role 2")
    assert first.ranks + last.ranks == tuple(range(8))
    assert not odd_ones((first, last))


@pytest.mark.parametrize(
    ("kind", "layout", "said"),
    [
        ("slow_clock", {}, "longer for the same work"),
        ("slow_host", {"tensor": 2}, "waits"),
        ("data_loading", {"pipeline": 2}, "Data loading"),
        ("uneven_work", {}, "more work"),
        ("slow_link", {"tensor": 4, "ranks": 16}, "to move their data"),
        ("slow_bus", {}, "Copies"),
    ],
)
def test_an_odd_rank_is_told_with_what_sets_it_apart(kind: str, layout: dict[str, int], said: str):
    ranks = summaries(stragglers=(Straggler(kind, 5, intensity=0.2),), **layout)
    (odd,) = odd_ones(clustered(ranks))
    assert odd.ranks == (5,)
    assert said in odd.apart[0]
    assert any(letter.isdigit() for letter in odd.apart[0])


def test_those_that_are_slow_together_are_one_group_and_other_reasons_another():
    faults = (Straggler("slow_node", 5, intensity=0.2), Straggler("data_loading", 10))
    found = odd_ones(clustered(summaries(ranks=12, stragglers=faults)))
    assert sorted(each.ranks for each in found) == [(4, 5, 6, 7), (10,)]
    assert {each.representative in each.ranks for each in found} == {True}


def test_half_of_the_ranks_may_be_odd():
    """Both nodes of a stage are equally many: the slower ones are to be explained."""
    ranks = summaries(ranks=8, stragglers=(Straggler("slow_node", 5, intensity=0.3),))
    (odd,) = odd_ones(clustered(ranks))
    assert odd.ranks == (4, 5, 6, 7)


def test_of_two_ranks_the_slower_one_is_odd():
    ranks = summaries(ranks=2, stragglers=(Straggler("data_loading", 1),))
    usual, odd = clustered(ranks)
    assert (usual.ranks, odd.ranks) == ((0,), (1,))


def test_a_rank_that_makes_other_calls_is_no_role():
    ranks = summaries(ranks=16)
    alone = ranks[7]
    fewer = alone.collectives.filter(alone.collectives["size_bytes"] > 0)[::2]
    ranks[7] = RankSummary(alone.about, alone.steps, fewer, alone.functions, alone.worker)
    (odd,) = odd_ones(clustered(ranks))
    assert odd.ranks == (7,)
    assert odd.apart[0].startswith("Other collectives than most ranks have")


def test_the_order_of_ranks_does_not_matter():
    ranks = summaries(stragglers=(Straggler("slow_node", 5, intensity=0.2),))
    assert clustered(dict(reversed(ranks.items()))) == clustered(ranks)


def test_the_table_names_ranks_in_ranges():
    ranks = summaries(ranks=12, stragglers=(Straggler("slow_node", 5, intensity=0.2),))
    table = rank_groups(RankSet(ranks, {rank: str(rank) for rank in ranks}))
    assert table["ranks"].to_list() == ["0-3, 8-11", "4-7"]
    assert table["size"].to_list() == [8, 4]


def test_waits_for_a_rank_without_a_recording_are_no_slow_transfers():
    ranks = summaries(tensor=4, stragglers=(Straggler("slow_clock", 5),))
    del ranks[5]
    assert odd_ones(clustered(ranks)) == []

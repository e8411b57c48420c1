"""Odd ranks are told from usual ones, and grouped by what sets them apart."""

from __future__ import annotations

import polars as pl
import pytest
from msgspec.structs import replace

from generated_sets import FOURS, GRID, TWO_REASONS, TWOS, generated_set, healthy_set, slow_set
from timesink.analyses.ranks.analysis import analyse_ranks
from timesink.analyses.ranks.rank_clusters import RankGroup, cluster_ranks
from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.ranks.tables import rank_groups


def group_ranks(ranks: dict[int, RankSummary]) -> tuple[RankGroup, ...]:
    return cluster_ranks(ranks, analyse_ranks(ranks))


def odd_ones(groups: tuple[RankGroup, ...]) -> list[RankGroup]:
    return [group for group in groups if group.odd]


def test_a_healthy_run_is_one_group():
    (only,) = healthy_set(**TWOS).groups
    assert (only.group, len(only.ranks), only.odd, only.apart) == ("usual", 6, False, ())


def test_stages_of_a_pipeline_are_roles_and_not_odd():
    first, last = healthy_set(**GRID).groups
    assert (first.group, last.group) == ("usual, role 1", "usual, role 2")
    assert first.ranks + last.ranks == tuple(range(8))
    assert not odd_ones((first, last))


@pytest.mark.parametrize(
    ("kind", "layout", "clause"),
    [
        ("slow_clock", TWOS, "longer for the same work"),
        ("data_loading", GRID, "Data loading"),
        ("uneven_work", {"expert": 2, "ranks": 6}, "more work"),
        ("slow_link", FOURS, "to transfer their data"),
        ("slow_bus", {"ranks": 6}, "Copies"),
    ],
)
def test_an_odd_rank_is_told_with_what_sets_it_apart(
    kind: str, layout: dict[str, int], clause: str
):
    (odd,) = odd_ones(slow_set(kind, **layout).groups)
    assert odd.ranks == (5,)
    assert clause in odd.apart[0]
    assert any(letter.isdigit() for letter in odd.apart[0])


def test_those_that_are_slow_together_are_one_group_and_other_reasons_another():
    odd_groups = odd_ones(generated_set(*TWO_REASONS, seed=3, ranks=12)[0].groups)
    assert sorted(group.ranks for group in odd_groups) == [(4, 5, 6, 7), (10,)]
    assert {group.representative in group.ranks for group in odd_groups} == {True}


def test_a_rank_that_makes_other_calls_is_no_role():
    ranks = {**healthy_set(**FOURS).ranks}
    summary = ranks[7]
    fewer = summary.collectives.filter(summary.collectives["size_bytes"] > 0)[::2]
    ranks[7] = RankSummary(summary.about, summary.steps, fewer, summary.functions, summary.worker)
    (odd,) = odd_ones(group_ranks(ranks))
    assert odd.ranks == (7,)
    assert odd.apart[0].startswith("Different collectives from most ranks")


def test_the_order_of_ranks_does_not_matter():
    run = slow_set("slow_node")
    assert group_ranks(dict(reversed(run.ranks.items()))) == run.groups


def test_the_table_names_ranks_in_ranges():
    table = rank_groups(generated_set(*TWO_REASONS, seed=3, ranks=12)[0])
    assert table["ranks"].to_list() == ["0-3, 8-9, 11", "10", "4-7"]
    assert table["size"].to_list() == [7, 1, 4]


def test_waits_for_a_rank_without_a_recording_are_no_slow_transfers():
    ranks = {**slow_set("slow_clock", **TWOS).ranks}
    del ranks[5]
    assert odd_ones(group_ranks(ranks)) == []


def test_kernels_that_one_rank_alone_runs_are_only_here():
    """No percentage tells how much more something is than nothing."""
    kernels = pl.col("place") == "kernel"
    ranks = {
        rank: summary
        if rank == 5
        else replace(summary, functions=summary.functions.filter(~kernels))
        for rank, summary in healthy_set(**TWOS).ranks.items()
    }
    (odd,) = odd_ones(group_ranks(ranks))
    assert odd.ranks == (5,)
    assert odd.apart[0].startswith("Kernels do work that is only here.")

"""What changed between two runs of many ranks."""

from __future__ import annotations

import polars as pl
import pytest

from generated_sets import FOURS, TWOS, generated_set, healthy_set, slow_set
from timesink.analyses.ranks.rank_set import RankSet
from timesink.comparison.rank_changes import RankChanges, compare_ranks
from timesink_lab.ranks.plan import Straggler


def states(rank_changes: RankChanges) -> list[tuple[str, int, str]]:
    return [
        (straggler.state, straggler.rank, straggler.cause) for straggler in rank_changes.stragglers
    ]


# -- steps -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "layout", "cause"),
    [
        ("slow_clock", TWOS, "gpu_clock"),
        ("slow_link", FOURS, "slow_link"),
    ],
)
def test_a_new_straggler_is_named_with_its_cause(kind: str, layout: dict[str, int], cause: str):
    healthy, slow = healthy_set(**layout), slow_set(kind, **layout)
    rank_changes = compare_ranks(healthy, slow)
    assert rank_changes.verdict == "regression"
    assert states(rank_changes) == [("new", 5, cause)]
    assert rank_changes.stragglers[0].new_ns == pytest.approx(
        rank_changes.step_time.new_ns - rank_changes.step_time.base_ns, rel=0.25
    )
    back = compare_ranks(slow, healthy)
    assert back.verdict == "improvement"
    assert states(back) == [("gone", 5, cause)]


def test_parts_add_up_and_say_that_others_wait():
    rank_changes = compare_ranks(healthy_set(**TWOS), slow_set("slow_clock", **TWOS))
    change = rank_changes.step_time.new_ns - rank_changes.step_time.base_ns
    assert sum(part.delta_ns for part in rank_changes.attribution) == pytest.approx(
        change, abs=1_000
    )
    first = rank_changes.attribution[0]
    assert first.part == "waiting"
    assert first.p_value is not None
    assert first.p_value < 0.05
    assert first.delta_ns > 0.7 * change


def test_a_straggler_of_both_runs_is_not_new():
    base = slow_set("slow_clock", **TWOS)
    worse, _ = generated_set(Straggler("slow_clock", 5, intensity=0.4), seed=2, **TWOS)
    assert states(compare_ranks(base, base)) == [("same", 5, "gpu_clock")]
    assert states(compare_ranks(base, worse)) == [("worse", 5, "gpu_clock")]
    assert states(compare_ranks(worse, base)) == [("better", 5, "gpu_clock")]


# -- ranks and collectives -------------------------------------------------------------------------


def test_the_rank_that_changed_is_first():
    rank_changes = compare_ranks(healthy_set(**TWOS), slow_set("slow_host", **TWOS))
    row = rank_changes.ranks.row(0, named=True)
    assert (row["rank"], row["source"], row["changed"]) == (5, "host", True)
    assert rank_changes.ranks["changed"].sum() == 1


def test_slower_transfers_are_told_by_kind_of_collective():
    rank_changes = compare_ranks(healthy_set(**FOURS), slow_set("slow_link", **FOURS))
    changed = rank_changes.collectives.filter("changed")
    assert changed.height
    assert (changed["transfer_new_ns"] > changed["transfer_base_ns"]).all()
    assert (changed["bus_new_bytes_per_s"] < changed["bus_base_bytes_per_s"]).all()


# -- what cannot be compared -----------------------------------------------------------------------


def test_runs_of_other_sizes_are_not_judged():
    rank_changes = compare_ranks(healthy_set(**FOURS), healthy_set(**TWOS))
    assert rank_changes.verdict == "incomparable"
    assert "12 ranks before and 6 now" in rank_changes.reason
    assert "layout is another one" in rank_changes.notes[0]
    assert rank_changes.ranks.is_empty()


def test_missing_ranks_are_named_and_the_others_compared():
    healthy = healthy_set(**TWOS)
    some = RankSet(
        {rank: summary for rank, summary in healthy.ranks.items() if rank not in {3, 4, 5}},
        healthy.workers,
    )
    rank_changes = compare_ranks(healthy, some)
    assert rank_changes.verdict == "no_change"
    assert "without a recording in the new run: ranks 3-5" in rank_changes.notes
    assert "only in the base, and not compared: ranks 3-5" in rank_changes.notes
    assert rank_changes.ranks.filter(pl.col("rank").is_in([3, 4, 5])).is_empty()

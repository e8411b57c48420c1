"""The answer over several pairs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compared import comparison, frame, pair_of
from timesink.answers.comparison.sentences import _ranges
from timesink.comparison.results import TIMES, CycleTimes, Pair, Workload
from timesink.errors import AmbiguousError

UNEQUAL = Workload(comparable=False, reasons=("Batches and layers.",), work_ratio=None)


def of_rank(rank: int, base_ms: float, new_ms: float, **times_ms: tuple[float, float]) -> Pair:
    """A rank with cycles of some length and functions of some time on both sides."""
    base, new = 1e6 * base_ms, 1e6 * new_ms
    delta = new - base
    cycles = CycleTimes(
        (int(base),) * 9,
        (int(new),) * 9,
        base,
        new,
        100 * delta / base,
        (delta * 0.9, delta * 1.1),
        0.001 if delta else 1.0,
    )
    rows = [
        {"function": name, "device": "Host", "base_ns": 1e6 * a, "new_ns": 1e6 * b}
        | {"delta_ns": 1e6 * (b - a)}
        for name, (a, b) in times_ms.items()
    ]
    pair = pair_of(cycle_times=cycles, times=frame(TIMES, *rows))
    return replace(pair, base=replace(pair.base, rank=rank), new=replace(pair.new, rank=rank))


def waiting_ranks(ranks: int, busy: int) -> list[Pair]:
    """Ranks that wait for one that is busy."""
    return [
        of_rank(rank, 120 + rank / 10, 131, wait=(60, 40 if rank == busy else 70 + rank))
        for rank in range(ranks)
    ]


def test_what_all_ranks_have_in_common_is_said_first():
    headline = comparison(*waiting_ranks(8, 3)).headline
    start = "All 8 ranks have longer steps, +8.5 to +9.2 %: 120 to 121 → 131 ms."
    assert headline.startswith(start)


def test_what_changed_in_all_of_them_is_said():
    pairs = [of_rank(rank, 100, 110, copy=(5, 15 + rank), sync=(1, 3)) for rank in range(3)]
    headline = comparison(*pairs).headline
    assert headline.endswith("In all of them copy takes 5.00 → 15.0 to 17.0 ms per step.")


def test_the_mark_of_a_step_is_told_as_the_time_that_it_stands_for():
    step = {"ProfilerStep": (5, 15), "copy": (1, 3)}
    headline = comparison(*(of_rank(rank, 100, 110, **step) for rank in range(2))).headline
    assert "In all of them time between recorded calls takes 5.00 → 15.0 ms" in headline
    single_rank = comparison(of_rank(0, 100, 110, **step))
    assert "most of all time between recorded calls on Host (5.00 → 15.0 ms" in single_rank.headline
    assert single_rank.pair.times["function"].to_list() == ["ProfilerStep", "copy"]


def test_the_rank_whose_functions_changed_otherwise_is_named():
    headline = comparison(*waiting_ranks(8, 3)).headline
    assert headline.endswith(
        "Rank 3 stands out: wait takes 60.0 → 40.0 ms per step, elsewhere 60.0 → 70.0 to 77.0 ms."
    )


def test_ranks_that_are_alike_have_none_that_stands_out():
    assert "stands out" not in comparison(*waiting_ranks(8, -1)).headline


def test_the_rank_whose_cycles_changed_most_by_far_is_told_in_full():
    headline = comparison(of_rank(0, 100, 105), of_rank(1, 100, 106), of_rank(2, 100, 250)).headline
    assert "Rank 2 stands out: Regression: steps take 2.5 times as long" in headline


def test_ranks_that_differ_are_counted_and_the_few_are_named():
    pairs = [of_rank(rank, 100, 100) for rank in range(3)]
    headline = comparison(*pairs, of_rank(3, 100, 104), of_rank(4, 100, 105)).headline
    assert headline.startswith(
        "5 ranks: 2 with longer steps (rank 3, rank 4), 3 with no change in step time."
    )


def test_unequal_work_is_said():
    pairs = [replace(of_rank(0, 100, 200), workload=UNEQUAL), of_rank(1, 100, 100)]
    assert "1 with steps that do not do the same work" in comparison(*pairs).headline
    with_equal_work = replace(pairs[0], equal_work=of_rank(0, 100, 101))
    assert (
        "In rank 0 steps do not do the same work" in comparison(with_equal_work, pairs[1]).headline
    )


def test_of_several_pairs_none_is_the_pair():
    with pytest.raises(AmbiguousError, match=r"2 pairs \(rank 0; rank 1\)") as raised:
        _ = comparison(of_rank(0, 1, 1), of_rank(1, 1, 1)).pair
    assert "rank=0" in str(raised.value.hint)


def test_the_largest_change_of_one_pair_is_named():
    pairs = [of_rank(0, 100, 100, reduce=(1, 90)), of_rank(1, 100, 100, copy=(5, 5))]
    headline = comparison(*pairs).headline
    assert headline.endswith(
        "The largest change is reduce on Host in rank 0: 1.00 → 90.0 ms per step."
    )


def test_what_is_said_of_all_is_not_said_again_of_one():
    pairs = [of_rank(rank, 100, 100, copy=(5, 15 + rank)) for rank in range(3)]
    assert "The largest change" not in comparison(*pairs).headline


def test_names_of_files_keep_their_case_at_the_start_of_a_sentence():
    original = comparison(of_rank(0, 100, 105), of_rank(1, 100, 106), of_rank(2, 100, 250))
    named = [replace(pair, identifier=f"b vs x{n}") for n, pair in enumerate(original.pairs)]
    assert " b vs x2 stands out" in replace(original, pairs=tuple(named)).headline


def test_a_range_over_two_units_keeps_both():
    assert _ranges((717.2e3, 544.4e3), (1.05e6, 6.8e6)) == "717 us to 1.05 ms → 544 us to 6.80 ms"
    assert _ranges((14e6, 18e6), (15e6, 19e6)) == "14.0 to 15.0 → 18.0 to 19.0 ms"

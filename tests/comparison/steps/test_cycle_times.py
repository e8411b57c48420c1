"""How long cycles are, and which tests agree that they differ."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.comparison.steps.verdict import cycle_change, cycle_times


def cycles(*lengths: float, start: int = 0, first: int = 1) -> pl.DataFrame:
    """Cycles of these lengths, one after the other, with numbers from `first`."""
    durations = [int(length) for length in lengths]
    starts = [start + sum(durations[:place]) for place in range(len(durations))]
    numbers = range(first, first + len(durations))
    schema = {"cycle": pl.Int64, "cycle_ts_ns": pl.Int64, "cycle_dur_ns": pl.Int64}
    columns = {"cycle": list(numbers), "cycle_ts_ns": starts, "cycle_dur_ns": durations}
    return pl.DataFrame(columns, schema)


def around(level: float, number: int, scatter: float = 0.02, seed: int = 1) -> list[float]:
    return (level * (1 + scatter * np.random.default_rng(seed).normal(size=number))).tolist()


class TestLengths:
    def test_lengths_of_cycles_and_their_change(self):
        times = cycle_times(cycles(100, 110, 90), cycles(150, 160, 140))
        assert times.base_ns == (100, 110, 90)
        assert (times.base_mean_ns, times.new_mean_ns, times.change_pct) == (100, 150, 50)
        assert times.interval_ns is not None
        low, high = times.interval_ns
        assert 15 < low < 50 < high < 85
        assert low + high == pytest.approx(100)
        assert times.rank_p == pytest.approx(2 / 20)

    def test_one_cycle_gives_no_interval(self):
        times = cycle_times(cycles(100), cycles(150, 160))
        assert (times.interval_ns, times.rank_p, times.p_value) == (None, None, None)
        assert times.change_pct == 55

    def test_no_cycle_at_all(self):
        times = cycle_times(cycles(), cycles(150))
        assert (times.base_ns, times.base_mean_ns, times.change_pct) == ((), 0, None)

    @given(
        st.lists(st.integers(1, 10**12), min_size=2, max_size=40),
        st.lists(st.integers(1, 10**12), min_size=2, max_size=40),
        st.booleans(),
    )
    def test_the_interval_holds_the_change_and_says_what_p_says(self, base, new, one_run):
        times = cycle_times(cycles(*base), cycles(*new), one_run=one_run)
        assert times.interval_ns is not None
        assert times.p_value is not None
        low, high = times.interval_ns
        change = times.new_mean_ns - times.base_mean_ns
        assert low <= change <= high
        assert 0 <= times.p_value <= 1
        assert (low > 0 or high < 0) == (times.p_value < 0.05)
        if times.p_value < 0.05:
            assert np.sign(low) == np.sign(high) == np.sign(change)

    @given(st.lists(st.integers(1, 10**12), min_size=2, max_size=40))
    def test_a_run_is_the_same_as_itself(self, lengths):
        times = cycle_times(cycles(*lengths), cycles(*lengths), one_run=True)
        assert times.p_value == 1
        assert times.change_pct == 0
        assert cycle_change(times) == "none"


class TestChange:
    @pytest.mark.parametrize("number", [4, 10, 40, 200])
    def test_a_fifth_more_is_seen(self, number: int):
        base = cycles(*around(1e6, number))
        times = cycle_times(base, cycles(*around(1.2e6, number, seed=2)))
        assert cycle_change(times) == "longer"

    def test_outliers_neither_make_a_change_nor_hide_one(self):
        base, same, more = around(1e6, 30), around(1e6, 30, seed=2), around(1.2e6, 30, seed=3)
        for side in (same, more):
            side[11] *= 20
        assert cycle_change(cycle_times(cycles(*base), cycles(*same))) not in {"longer", "shorter"}
        assert cycle_change(cycle_times(cycles(*base), cycles(*more))) == "longer"

    def test_a_level_that_wanders_is_not_known_well(self):
        wandering = [*around(1e6, 12), *around(1.6e6, 6, seed=2), *around(1e6, 4, seed=3)]
        times = cycle_times(cycles(*around(1e6, 30, seed=4)), cycles(*wandering))
        assert times.rank_p is not None
        assert times.p_value is not None
        assert times.rank_p < 0.05 < times.p_value
        assert cycle_change(times) == "doubtful"
        assert [round(level / 1e5) for level in times.levels_ns[1]] == [10, 16, 10]
        assert times.levels_ns[0] == ()

    def test_outliers_that_turn_the_change_round_leave_none(self):
        base, new = [100.0] * 30, [110.0] * 30
        base[4] = base[14] = base[24] = 400.0
        times = cycle_times(cycles(*base), cycles(*new))
        assert times.interval_ns is not None
        assert times.p_value == 1
        low, high = times.interval_ns
        assert low <= times.new_mean_ns - times.base_mean_ns < 0 < high
        assert cycle_change(times) not in {"longer", "shorter"}


class TestFewSteps:
    BASE = (75.5e6, 77.0e6, 76.2e6, 78.9e6, 80.1e6, 81.1e6)

    @pytest.mark.parametrize(
        "new",
        [(157, 117, 115, 123, 117, 116), (100, 122, 166, 82, 107, 166)],
        ids=["by host marks", "by device work"],
    )
    def test_six_steps_that_are_all_longer_are_a_change(self, new: tuple[int, ...]):
        times = cycle_times(cycles(*self.BASE), cycles(*(1e6 * length for length in new)))
        assert cycle_change(times) == "longer"
        assert times.p_value is not None
        assert times.p_value < 0.01
        assert times.exact_p in {None, times.p_value}
        assert times.interval_ns is not None
        assert times.steady is not None
        assert times.steady.interval_ns is not None
        assert min(times.interval_ns[0], times.steady.interval_ns[0]) > 0

    @pytest.mark.parametrize("number", [2, 3])
    def test_fewer_than_four_decide_nothing_by_their_order(self, number: int):
        new = [100e6, 166e6, 122e6][:number]
        times = cycle_times(cycles(*self.BASE[:number]), cycles(*new))
        assert times.least_p >= 0.1
        assert times.exact_p is None
        assert cycle_change(times) == "cannot tell"

    def test_parts_of_one_run_drift(self):
        new = cycles(100e6, 166e6, 122e6, 140e6, 110e6, 166e6, start=10**9, first=7)
        times = cycle_times(cycles(*self.BASE), new, one_run=True)
        assert cycle_change(times) not in {"longer", "shorter"}


class TestWarmUp:
    def test_it_counts_for_the_mean_and_not_for_the_test(self):
        warming = [9e6, 4e6, *around(1e6, 28)]
        times = cycle_times(cycles(*around(1e6, 30, seed=2)), cycles(*warming))
        assert times.warm_up == (0, 2)
        assert times.change_pct is not None
        assert times.change_pct > 30
        assert cycle_change(times) not in {"longer", "shorter"}

    def test_where_it_turns_the_change_round_nothing_is_said(self):
        base, new = [30e6, *around(1e6, 29)], around(1.2e6, 30, seed=2)
        times = cycle_times(cycles(*base), cycles(*new))
        assert times.new_mean_ns < times.base_mean_ns
        assert times.p_value == 1


class TestOneRun:
    def halves(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        first, second = around(1e6, 15), around(1.5e6, 15, seed=2)
        base = cycles(*first)
        return base, cycles(*second, start=int(sum(first)) + 20, first=16)

    def test_a_later_level_is_drift(self):
        times = cycle_times(*self.halves(), one_run=True)
        assert times.p_value is not None
        assert times.p_value > 0.3
        assert cycle_change(times) == "cannot tell"

    def test_of_two_runs_it_is_a_change(self):
        assert cycle_change(cycle_times(*self.halves())) == "longer"

    def test_a_run_at_one_level_has_no_parts_that_differ(self):
        run_cycles = cycles(*around(1e6, 24))
        sides = (
            run_cycles.filter(pl.col("cycle_dur_ns") < 1e6),
            run_cycles.filter(pl.col("cycle_dur_ns") > 1e6),
        )
        assert cycle_times(*sides, one_run=True).p_value == 1

    def test_what_comes_in_turns_is_no_change(self):
        lengths = np.array(around(1e6, 24))
        lengths[::4] *= 3
        starts = np.cumsum(lengths).astype(int)
        run_cycles = cycles(*lengths).with_columns(cycle_ts_ns=pl.Series(starts))
        even = run_cycles.filter(pl.col("cycle") % 2 == 0)
        odd = run_cycles.filter(pl.col("cycle") % 2 == 1)
        p_value = cycle_times(even, odd, one_run=True).p_value
        assert p_value is not None
        assert p_value > 0.3

    def test_without_times_the_other_tests_remain(self):
        base, new = (
            side.with_columns(cycle_ts_ns=pl.lit(None, pl.Int64)) for side in self.halves()
        )
        assert cycle_times(base, new, one_run=True).p_value is not None

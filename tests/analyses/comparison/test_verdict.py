"""What differs by more than noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compared import BUSY_HOST, BUSY_LINK, HEALTHY, SLOW_CLOCK, frame, pair_of, two_runs
from many_roles import one_role
from timesink.analyses.comparison.comparing import compare_roles
from timesink.analyses.comparison.pair import ROWS, TIMES, CycleTimes
from timesink.analyses.comparison.verdict import cycle_change, verdict


def lengths(base: float, new: float, interval: tuple[float, float] | None, p: float | None, n=9):
    return CycleTimes((int(base),) * n, (int(new),) * n, base, new, None, interval, p)


class TestCycles:
    @pytest.mark.parametrize(
        ("times", "change"),
        [
            (lengths(10, 30, (19, 21), 0.001), "longer"),
            (lengths(30, 10, (-21, -19), 0.001), "shorter"),
            (lengths(10, 11, (-1, 3), 0.4), "none"),
            (lengths(10, 12, (-1, 5), 0.02), "doubtful"),
            (lengths(10, 12, (1, 3), 0.2), "doubtful"),
            (lengths(10, 12, None, None, n=1), "unknown"),
            (lengths(10, 10, (0, 0), 1.0), "none"),
        ],
    )
    def test_both_tests_must_agree(self, times: CycleTimes, change: str):
        assert cycle_change(times) == change

    def test_three_cycles_are_too_few_for_ranks_but_not_for_means(self):
        assert cycle_change(lengths(10, 30, (19, 21), 0.1, n=3)) == "longer"


class TestFunctions:
    def test_a_slow_clock_shows_in_the_kernel_and_its_counters(self):
        pair = two_runs(SLOW_CLOCK)
        found = verdict(pair)
        assert found.cycles == "none"
        names = [pair.times.row(place, named=True)["function"] for place in found.functions]
        assert names == ["sm80_gemm_bf16_64x5"]
        counters = {pair.rows.row(place, named=True)["metric"] for place in found.counters}
        assert counters == {"gpu_sm_frequency", "gpu_usage"}

    def test_a_busy_host_makes_cycles_longer(self):
        assert verdict(two_runs(BUSY_HOST)).cycles == "longer"

    def test_a_small_part_of_the_cycle_does_not_matter(self):
        row = {"base_ns": 2.0, "new_ns": 9.0, "delta_ns": 7.0}
        assert not verdict(pair_of(times=frame(TIMES, row))).functions

    def test_a_function_on_one_side_only_counts(self):
        row = {"new_ns": 500.0, "delta_ns": 500.0, "runs_on": "new"}
        assert verdict(pair_of(times=frame(TIMES, row))).functions == (0,)

    def test_what_either_test_sees_is_seen(self):
        row = {"base_ns": 500.0, "delta_ns": -500.0, "welch_p": 0.004, "rank_p": 0.051}
        assert verdict(pair_of(times=frame(TIMES, row))).functions == (0,)


class TestCounters:
    def test_a_counter_is_told_once_for_all_functions(self):
        pair = two_runs(BUSY_LINK)
        told = [pair.rows.row(place, named=True)["metric"] for place in verdict(pair).counters]
        assert told == ["gpu_link_receive"]

    def test_a_counter_that_comes_from_nothing_is_the_strongest(self):
        measured = {"mu_welch_p": 0.0, "cycles_base": 5, "cycles_new": 5, "device": "GPU 0"}
        rows = frame(
            ROWS,
            {"metric": "usage", "mu_base": 1.0, "mu_new": 90.0, **measured},
            {"metric": "link", "mu_base": 0.0, "mu_new": 9.0, **measured},
            {"metric": "idle", "mu_base": 0.0, "mu_new": 0.0, **measured},
        )
        assert verdict(pair_of(rows=rows)).counters == (1, 0)

    @pytest.mark.parametrize(
        ("unit", "base", "new", "matters"),
        [
            ("%", 1.0, 0.5, False),
            ("%", 6.0, 21.0, True),
            ("100 %", 0.06, 0.21, True),
            ("C", 44.0, 39.0, False),
            ("kB/s", 4_750.0, 2_100.0, False),
            ("0.01 B/s", 1.3e9, 2.4e13, True),
            ("MHz", 1980.0, 345.0, True),
            (None, 1.0, 2.0, True),
        ],
    )
    def test_what_is_small_on_the_scale_of_its_unit_does_not_matter(
        self, unit: str | None, base: float, new: float, *, matters: bool
    ):
        row = {"mu_base": base, "mu_new": new, "mu_delta": new - base, "unit": unit}
        rows = frame(ROWS, {**row, "mu_welch_p": 0.0, "cycles_base": 9, "cycles_new": 9})
        assert bool(verdict(pair_of(rows=rows)).counters) == matters

    def test_a_function_of_one_side_says_nothing_about_counters(self):
        row = {"mu_base": 5.0, "mu_welch_p": 0.0, "cycles_base": 5, "runs_on": "base"}
        assert not verdict(pair_of(rows=frame(ROWS, row))).counters


class TestNothing:
    def test_the_same_run_twice_is_the_same(self):
        role = one_role(3)
        assert verdict(compare_roles(role, role, "strict")).nothing

    def test_two_healthy_runs_are_the_same_nearly_always(self):
        pairs = [
            compare_roles(
                one_role(1, random=np.random.default_rng(seed)),
                one_role(1, HEALTHY, np.random.default_rng(seed + 100)),
                "strict",
            )
            for seed in range(6)
        ]
        assert sum(bool(verdict(pair).counters) for pair in pairs) <= 1

    def test_a_change_of_cycle_time_alone_is_something(self):
        times = lengths(10, 30, (19, 21), 0.001)
        assert not verdict(replace(pair_of(), cycle_times=times)).nothing

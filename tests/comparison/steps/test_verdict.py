"""What differs by more than noise."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from compared import BUSY_HOST, BUSY_LINK, SLOW_CLOCK, frame, pair_of, two_runs
from many_roles import one_role
from programs import GEMM, role
from timesink.comparison.results import ROWS, TIMES, CycleTimes
from timesink.comparison.steps.verdict import compare_roles, cycle_change, judge_pair


def lengths(base: float, new: float, interval: tuple[float, float] | None, p: float | None, n=9):
    return CycleTimes((int(base),) * n, (int(new),) * n, base, new, None, interval, p)


class TestCycles:
    @pytest.mark.parametrize(
        ("times", "change"),
        [
            (lengths(10, 30, (19, 21), 0.001), "longer"),
            (lengths(30, 10, (-21, -19), 0.001), "shorter"),
            (lengths(10, 10.1, (-0.5, 0.7), 0.4), "none"),
            (lengths(10, 12, (-1, 5), 0.02), "doubtful"),
            (lengths(10, 10.1, (-0.5, 0.7), 0.02), "none"),
            (lengths(10, 12, (1, 3), 0.2), "longer"),
            (lengths(10, 12, None, None, n=1), "unknown"),
            (lengths(10, 10, (0, 0), 1.0), "none"),
        ],
    )
    def test_the_interval_tells_and_ranks_alone_raise_doubt(self, times: CycleTimes, change: str):
        assert cycle_change(times) == change

    def test_three_cycles_are_too_few_for_ranks_but_not_for_means(self):
        assert cycle_change(lengths(10, 30, (19, 21), 0.1, n=3)) == "longer"

    def test_another_level_in_the_same_run_is_no_doubtful_change(self):
        drift = replace(lengths(10, 12, (-1, 5), 0.02), one_run=True)
        assert cycle_change(drift) == "cannot tell"

    def test_one_cycle_is_the_same_as_itself(self):
        assert cycle_change(lengths(10, 10, None, None, n=1)) == "none"


class TestFunctions:
    def test_a_slow_clock_shows_in_the_kernel_and_its_counters(self):
        pair = two_runs(SLOW_CLOCK)
        pair_verdict = judge_pair(pair)
        assert pair_verdict.cycles == "none"
        names = [pair.times.row(place, named=True)["function"] for place in pair_verdict.functions]
        assert names == ["sm80_gemm_bf16_64x5"]
        counters = {pair.rows.row(place, named=True)["metric"] for place in pair_verdict.counters}
        assert counters == {"gpu_sm_frequency", "gpu_usage"}

    def test_a_busy_host_makes_cycles_longer(self):
        assert judge_pair(two_runs(BUSY_HOST)).cycles == "longer"

    def test_a_small_part_of_the_cycle_does_not_matter(self):
        row = {"base_ns": 2.0, "new_ns": 9.0, "delta_ns": 7.0}
        assert not judge_pair(pair_of(times=frame(TIMES, row))).functions

    def test_a_function_on_one_side_only_counts(self):
        row = {"new_ns": 500.0, "delta_ns": 500.0, "runs_on": "new"}
        assert judge_pair(pair_of(times=frame(TIMES, row))).functions == (0,)

    def test_what_either_test_sees_is_seen(self):
        row = {"base_ns": 500.0, "delta_ns": -500.0, "welch_p": 0.004, "rank_p": 0.051}
        assert judge_pair(pair_of(times=frame(TIMES, row))).functions == (0,)


def took(name: str, sort: str, base: float, new: float, device: str = "Host") -> dict:
    """A function with its time per step on both sides."""
    sides = {"base_ns": base, "new_ns": new, "delta_ns": new - base}
    runs_on = "both" if base and new else "base" if base else "new"
    return {"function": name, "function_class": sort, "device": device, "runs_on": runs_on} | sides


def changed_functions(*rows: dict) -> list[str]:
    times = frame(TIMES, *rows)
    return [times["function"][place] for place in judge_pair(pair_of(times=times)).functions]


KERNEL = took("gemm", "gpu_compute", 100, 100, "GPU 0")
LAUNCH = took("cudaLaunchKernel", "cpu_launch", 100, 300)


class TestNotRecorded:
    def test_operators_that_one_side_did_not_record_did_not_change(self):
        operators = [took(name, "cpu_operator", 200, 0) for name in ("mm", "add")]
        assert changed_functions(KERNEL, LAUNCH, *operators) == ["cudaLaunchKernel"]

    def test_what_was_not_recorded_is_said(self):
        times = frame(TIMES, KERNEL, LAUNCH, took("mm", "cpu_operator", 200, 0))
        unrecorded = judge_pair(pair_of(times=times)).unrecorded
        assert (unrecorded.base, unrecorded.new) == ((), ("operators",))
        left_out = times.filter(unrecorded.of_these())["function"].to_list()
        assert left_out == ["mm"]

    def test_one_operator_that_is_gone_did(self):
        operators = [took("mm", "cpu_operator", 200, 0), took("add", "cpu_operator", 50, 50)]
        assert changed_functions(KERNEL, LAUNCH, *operators) == ["cudaLaunchKernel", "mm"]

    def test_a_side_without_host_events(self):
        rows = [took("mm", "cpu_operator", 200, 0), took("call", "", 300, 0)]
        slower = took("gemm", "gpu_compute", 100, 150, "GPU 0")
        assert changed_functions(slower, *rows) == ["gemm"]

    def test_a_side_without_device_work(self):
        assert changed_functions(took("gemm", "gpu_compute", 0, 300, "GPU 0"), LAUNCH) == [
            "cudaLaunchKernel"
        ]

    def test_callers_have_the_time_of_what_was_not_recorded(self):
        frames = took("main", "cpu_python", 0, 300)
        callers = [
            took("step", "cpu_annotation", 400, 120),
            took("loop", "cpu_annotation", 100, 900),
        ]
        assert changed_functions(frames, *callers) == ["loop"]

    def test_time_in_no_call_is_told(self):
        stall = took("(no recorded call)", "cpu_untraced", 100, 500)
        assert changed_functions(stall) == ["(no recorded call)"]

    def test_waiting_for_other_threads_is_told_by_what_they_do(self):
        wait = took("(waiting for other threads)", "cpu_untraced", 100, 500)
        work = took("mm_backward", "cpu_operator", 80, 470)
        assert changed_functions(wait, work) == ["mm_backward"]


class TestCounters:
    def test_a_counter_is_told_once_for_all_functions(self):
        pair = two_runs(BUSY_LINK)
        counters = [
            pair.rows.row(place, named=True)["metric"] for place in judge_pair(pair).counters
        ]
        assert counters == ["gpu_link_receive"]

    def test_a_counter_that_comes_from_nothing_is_the_strongest(self):
        measured = {"mu_welch_p": 0.0, "cycles_base": 5, "cycles_new": 5, "device": "GPU 0"}
        rows = frame(
            ROWS,
            {"metric": "usage", "mu_base": 1.0, "mu_new": 90.0, **measured},
            {"metric": "link", "mu_base": 0.0, "mu_new": 9.0, **measured},
            {"metric": "idle", "mu_base": 0.0, "mu_new": 0.0, **measured},
        )
        assert judge_pair(pair_of(rows=rows)).counters == (1, 0)

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
        assert bool(judge_pair(pair_of(rows=rows)).counters) == matters

    def test_a_function_of_one_side_says_nothing_about_counters(self):
        row = {"mu_base": 5.0, "mu_welch_p": 0.0, "cycles_base": 5, "runs_on": "base"}
        assert not judge_pair(pair_of(rows=frame(ROWS, row))).counters


class TestNothing:
    def test_the_same_run_twice_is_the_same(self):
        role = one_role(3)
        assert judge_pair(compare_roles(role, role, "strict")).nothing

    def test_two_healthy_runs_are_the_same_nearly_always(self):
        pairs = [
            compare_roles(one_role(1, seed=seed), one_role(1, seed=seed + 100), "strict")
            for seed in range(4)
        ]
        assert sum(bool(judge_pair(pair).counters) for pair in pairs) <= 1

    def test_a_change_of_cycle_time_alone_is_something(self):
        times = lengths(10, 30, (19, 21), 0.001)
        assert not judge_pair(replace(pair_of(), cycle_times=times)).nothing


class TestCannotTell:
    @pytest.mark.parametrize(
        ("interval", "change"),
        [((-0.9, 1.1), "none"), ((-6.0, 6.5), "cannot tell"), ((-0.2, 1.2), "cannot tell")],
    )
    def test_the_same_needs_a_narrow_interval(self, interval: tuple[float, float], change: str):
        assert cycle_change(lengths(10, 11, interval, 0.6, n=3)) == change

    def test_a_run_is_the_same_as_itself(self):
        itself = CycleTimes((8, 30), (8, 30), 19.0, 19.0, 0.0, (-90.0, 90.0), 1.0)
        assert cycle_change(itself) == "none"


def level(base: float, new: float, unit: str = "MHz") -> dict:
    """A counter that differs for sure."""
    sure = {"mu_welch_p": 1e-9, "mu_rank_p": 1e-9, "cycles_base": 9, "cycles_new": 9}
    values = {"mu_base": base, "mu_new": new, "mu_delta": new - base, "unit": unit}
    return {"function": "gemm", "metric": "clock", "device": "GPU 0"} | sure | values


class TestHowMuch:
    @pytest.mark.parametrize(
        ("base", "new", "changed"),
        [(100, 90.2, 0), (100, 90, 1), (90.2, 100, 0), (90, 100, 1), (0, 40, 1)],
    )
    def test_a_tenth_of_the_larger_one_either_way(self, base: float, new: float, changed: int):
        assert len(judge_pair(pair_of(rows=frame(ROWS, level(base, new)))).counters) == changed

    @pytest.mark.parametrize(
        ("unit", "low", "high"), [("MB/s", 15, 25), ("kB/s", 15e3, 25e3), ("GB/s", 0.015, 0.025)]
    )
    def test_what_matters_is_the_same_in_every_unit(self, unit: str, low: float, high: float):
        small, large = (frame(ROWS, level(0, amount, unit)) for amount in (low, high))
        assert not judge_pair(pair_of(rows=small)).counters
        assert judge_pair(pair_of(rows=large)).counters == (0,)

    def test_small_functions_are_corrected_for_before_they_are_left_out(self):
        noise = [
            took(f"f{number}", "gpu_compute", 400, 400 + number % 5, "GPU 0")
            | {"welch_p": 0.9, "rank_p": 0.9}
            for number in range(30)
        ]
        chance = took("g", "gpu_compute", 400, 440, "GPU 0") | {"welch_p": 0.01, "rank_p": 0.01}
        assert changed_functions(*noise, chance) == []

    def test_side_threads_that_wait_do_not_lead(self):
        assert changed_functions(
            took("sleep", "cpu_waiting", 0, 900), took("f", "cpu_other", 9, 300)
        ) == ["f"]


class TestUnknownValues:
    def known_and_not(self, last_cycle: int, unit: str | None = "MHz"):
        """A clock that is 100 in some cycles, and of unknown value in the others."""
        cycles = [{GEMM: 4}] * 12
        full_role = role(cycles, metric="gpu_sm_frequency", mu=100.0, unit=unit)
        values = pl.when(pl.col("cycle") <= last_cycle).then(pl.col("mu"))
        return replace(full_role, behaviour=full_role.behaviour.with_columns(mu=values))

    def test_published_rows_have_zeros_and_the_verdict_does_not(self):
        pair = compare_roles(self.known_and_not(12), self.known_and_not(6), "strict")
        assert pair.rows["mu_new"].to_list() == [50.0]
        assert pair.loads["mu_new"].to_list() == [100.0]
        assert pair.loads["cycles_new"].to_list() == [6]
        assert not judge_pair(pair).counters

    def test_a_side_without_values_is_not_compared(self):
        pair = compare_roles(self.known_and_not(12), self.known_and_not(0), "strict")
        assert not judge_pair(pair).counters
        assert any("holds no value of them" in reason for reason in pair.workload.reasons)

    def test_a_unit_that_only_one_side_knows_is_not_compared(self):
        other = self.known_and_not(12, None)
        other = replace(other, behaviour=other.behaviour.with_columns(mu=pl.col("mu") * 50))
        pair = compare_roles(self.known_and_not(12), other, "strict")
        assert not judge_pair(pair).counters
        assert sum("of unknown unit" in reason for reason in pair.workload.reasons) == 1

    def test_values_at_the_end_of_all_numbers_raise_no_warning(self, recwarn):
        huge = self.known_and_not(12)
        table = huge.behaviour.with_columns(mu=pl.col("mu") * 1e306, dur_ns=-pl.col("dur_ns"))
        pair = compare_roles(huge, replace(huge, behaviour=table), "strict")
        judge_pair(pair)
        assert not recwarn.list
        assert pair.rows["mu_new"].to_list() == [1e308]


class TestUnknownLengths:
    @pytest.mark.parametrize("nothing", [None, 0])
    def test_no_length_no_change(self, nothing: int | None):
        full_role = role([{GEMM: 4}] * 6)
        table = full_role.behaviour.with_columns(cycle_dur_ns=pl.lit(nothing, pl.Int64))
        for sides in ((full_role.behaviour, table), (table, full_role.behaviour)):
            pair = compare_roles(*(replace(full_role, behaviour=side) for side in sides), "strict")
            assert judge_pair(pair).cycles == "unknown"
            assert pair.cycle_times.change_pct is None

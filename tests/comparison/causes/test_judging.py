"""The verdict on cycle time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from compared import BUSY_HOST, pair_of, two_runs
from many_roles import one_role
from timesink.comparison.causes.diagnosis import compare_step_times
from timesink.comparison.results import CycleTimes, Pair, Process, Workload
from timesink.comparison.steps.verdict import compare_roles

UNEQUAL = Workload(comparable=False, reasons=("Different kernels run.",), work_ratio=None)


def lengths(base: tuple[int, ...], new: tuple[int, ...], **more: Any) -> CycleTimes:
    means = sum(base) / max(1, len(base)), sum(new) / max(1, len(new))
    change = 100 * (means[1] / means[0] - 1) if all(means) else None
    usual = {"interval_ns": (-1.0, 1.0), "rank_p": 0.5, "p_value": 0.5}
    return CycleTimes(base, new, *means, change, **{**usual, **more})


def pair_with(base: tuple[int, ...], new: tuple[int, ...], **more: Any) -> Pair:
    return pair_of(cycle_times=lengths(base, new, **more))


class TestVerdict:
    def test_longer_cycles(self):
        judgement = compare_step_times(two_runs(BUSY_HOST))
        assert judgement.verdict == "regression"
        assert judgement.reason.startswith("Steps take 80.")
        low, high = judgement.cycle_time.interval_pct or (0, 0)
        assert 0 < low < (judgement.cycle_time.change_pct or 0) < high
        assert judgement.cycle_time.p_value is not None
        assert judgement.cycle_time.p_value < 0.05

    def test_shorter_cycles(self):
        pair = two_runs(BUSY_HOST)
        judgement = compare_step_times(compare_roles(pair.new, pair.base, "strict"))
        assert judgement.verdict == "improvement"
        assert judgement.reason.startswith("Steps take 44.")

    def test_a_run_against_itself(self):
        role = one_role(3)
        judgement = compare_step_times(compare_roles(role, role, "strict"))
        assert (judgement.verdict, judgement.cycle_time.p_value) == ("no_change", 1)
        low, high = judgement.cycle_time.interval_pct or (1, 1)
        assert low <= 0 <= high

    def test_uneven_cycles_are_said_to_be(self):
        judgement = compare_step_times(pair_with((10,) * 5, (15,) * 5, interval_ns=(-2.0, 12.0)))
        assert judgement.verdict == "no_change"
        assert judgement.reason.startswith("Step time varies too much to tell a change, ")
        assert "95 % interval -20.0 to +120 %" in judgement.reason


class TestIncomparable:
    def test_no_lengths(self):
        judgement = compare_step_times(
            pair_with((), (10, 11), interval_ns=None, rank_p=None, p_value=None)
        )
        assert judgement.verdict == "incomparable"
        assert "not recorded" in judgement.reason

    def test_one_cycle(self):
        untested = {"interval_ns": None, "rank_p": None, "p_value": None}
        judgement = compare_step_times(pair_with((10,), (12, 13), **untested))
        assert judgement.verdict == "incomparable"
        assert (
            judgement.reason
            == "One step in a run is too few to tell a change: 10 → 12 ns (+25.0 %)."
        )
        assert compare_step_times(pair_with((10,), (10,), **untested)).verdict == "no_change"

    def test_other_work(self):
        judgement = compare_step_times(replace(pair_with((10,) * 5, (90,) * 5), workload=UNEQUAL))
        assert judgement.verdict == "incomparable"
        assert (
            judgement.reason
            == "The steps of the two runs do not do the same work. Different kernels run."
        )
        # What cycles of other work take says nothing about speed.
        assert judgement.cycle_time.change_pct is None
        assert judgement.cycle_time.new_ns == 90

    def test_too_few_cycles_of_equal_work(self):
        together = pair_with((640,) * 5, (900, 910), interval_ns=(200.0, 330.0), p_value=0.01)
        pair = replace(pair_with((640,) * 5, (10,) * 200), workload=UNEQUAL, equal_work=together)
        judgement = compare_step_times(pair)
        assert judgement.verdict == "incomparable"
        assert "too few steps: 5 of base and 2 of new" in judgement.reason
        assert judgement.cycle_time.change_pct == pytest.approx(41.4, abs=0.1)

    def test_enough_cycles_of_equal_work(self):
        pair = replace(two_runs(), workload=UNEQUAL, equal_work=two_runs(BUSY_HOST))
        judgement = compare_step_times(pair)
        assert judgement.verdict == "regression"
        assert judgement.notes[0].endswith(
            "Different kernels run. They were grouped until they do."
        )


class TestNotes:
    def test_warm_up_and_drift_are_said(self):
        pair = pair_with(
            (90, 10, 10, 10, 10, 10), (10,) * 6, warm_up=(1, 0), levels_ns=((), (9e6, 14e6, 8e6))
        )
        first, second = compare_step_times(pair).notes
        assert first.startswith("The first step of base is warm-up (90 ns, later steps 10 ns)")
        assert (
            second == "Step time of new drifts: it goes through 3 levels, from 8.00 ms to 14.0 ms."
        )

    def test_parts_of_a_run_that_drifts(self):
        drifting_role = one_role(1, cycles=30)
        slower = pl.when(pl.col("cycle") > 15).then(1.6).otherwise(1.0)
        length = (pl.col("cycle_dur_ns") * slower).cast(pl.Int64)
        rows = drifting_role.behaviour.with_columns(cycle_dur_ns=length)
        starts = rows.select("cycle", "cycle_dur_ns").unique("cycle").sort("cycle")
        starts = starts.select("cycle", cycle_ts_ns=pl.col("cycle_dur_ns").cum_sum())
        rows = rows.drop("cycle_ts_ns").join(starts, on="cycle")
        rows = rows.with_columns(pl.col("cycle_ts_ns") - pl.col("cycle_dur_ns"))
        halves = [
            Process(name, f"{name}.csv", drifting_role.pid, rows.filter(chosen))
            for name, chosen in (("one", pl.col("cycle") <= 15), ("two", pl.col("cycle") > 15))
        ]
        judgement = compare_step_times(compare_roles(halves[0], halves[1], "strict"))
        assert judgement.verdict == "no_change"
        assert (judgement.cycle_time.change_pct or 0) > 40
        assert any("parts of one run" in note for note in judgement.notes)

    def test_few_cycles_are_said(self):
        assert (
            "With 3 steps in a run"
            in compare_step_times(pair_with((10, 11, 12), (10, 11, 12))).notes[0]
        )

"""The verdict on cycle time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from compared import BUSY_HOST, pair_of, two_runs
from many_roles import one_role
from timesink.analyses.comparison import CycleTimes, Pair, Role, Workload
from timesink.analyses.comparison.verdict import compare_roles
from timesink.rules.diagnosis import judge

UNEQUAL = Workload(comparable=False, reasons=("Other kernels run.",), work_ratio=None)


def lengths(base: tuple[int, ...], new: tuple[int, ...], **more: Any) -> CycleTimes:
    means = sum(base) / max(1, len(base)), sum(new) / max(1, len(new))
    change = 100 * (means[1] / means[0] - 1) if all(means) else None
    usual = {"interval_ns": (-1.0, 1.0), "rank_p": 0.5, "p_value": 0.5}
    return CycleTimes(base, new, *means, change, **{**usual, **more})


def pair_with(base: tuple[int, ...], new: tuple[int, ...], **more: Any) -> Pair:
    return pair_of(cycle_times=lengths(base, new, **more))


class TestVerdict:
    def test_longer_cycles(self):
        found = judge(two_runs(BUSY_HOST))
        assert found.verdict == "regression"
        assert found.reason.startswith("Cycles take longer: ")
        low, high = found.cycle_time.interval_pct or (0, 0)
        assert 0 < low < (found.cycle_time.change_pct or 0) < high
        assert found.cycle_time.p_value is not None
        assert found.cycle_time.p_value < 0.05

    def test_shorter_cycles(self):
        pair = two_runs(BUSY_HOST)
        found = judge(compare_roles(pair.new, pair.base, "strict"))
        assert found.verdict == "improvement"
        assert found.reason.startswith("Cycles take less: ")

    def test_a_run_against_itself(self):
        one = one_role(3)
        found = judge(compare_roles(one, one, "strict"))
        assert (found.verdict, found.cycle_time.p_value) == ("no_change", 1)
        low, high = found.cycle_time.interval_pct or (1, 1)
        assert low <= 0 <= high

    def test_uneven_cycles_are_said_to_be(self):
        found = judge(pair_with((10,) * 5, (15,) * 5, interval_ns=(-2.0, 12.0)))
        assert found.verdict == "no_change"
        assert found.reason.startswith("Cycles are too uneven to tell a change: ")
        assert "95 % interval -20.0 to +120.0 %" in found.reason


class TestIncomparable:
    def test_no_lengths(self):
        found = judge(pair_with((), (10, 11), interval_ns=None, rank_p=None, p_value=None))
        assert found.verdict == "incomparable"
        assert "not recorded" in found.reason

    def test_one_cycle(self):
        one = {"interval_ns": None, "rank_p": None, "p_value": None}
        found = judge(pair_with((10,), (12, 13), **one))
        assert found.verdict == "incomparable"
        assert (
            found.reason == "One cycle on a side cannot be told from noise: 10 → 12 ns (+25.0 %)."
        )
        assert judge(pair_with((10,), (10,), **one)).verdict == "no_change"

    def test_other_work(self):
        found = judge(replace(pair_with((10,) * 5, (90,) * 5), workload=UNEQUAL))
        assert found.verdict == "incomparable"
        assert found.reason == "Cycles do not hold the same work. Other kernels run."
        # What cycles of other work take says nothing about speed.
        assert found.cycle_time.change_pct is None
        assert found.cycle_time.new_ns == 90

    def test_too_few_cycles_of_equal_work(self):
        together = pair_with((640,) * 5, (900, 910), interval_ns=(200.0, 330.0), p_value=0.01)
        pair = replace(pair_with((640,) * 5, (10,) * 200), workload=UNEQUAL, equal_work=together)
        found = judge(pair)
        assert found.verdict == "incomparable"
        assert "too few cycles: 5 of base and 2 of new" in found.reason
        assert found.cycle_time.change_pct == pytest.approx(41.4, abs=0.1)

    def test_enough_cycles_of_equal_work(self):
        pair = replace(two_runs(), workload=UNEQUAL, equal_work=two_runs(BUSY_HOST))
        found = judge(pair)
        assert found.verdict == "regression"
        assert found.notes[0].endswith("Other kernels run. They were put together until they do.")


class TestNotes:
    def test_warm_up_and_drift_are_said(self):
        pair = pair_with(
            (90, 10, 10, 10, 10, 10), (10,) * 6, warm_up=(1, 0), levels_ns=((), (9e6, 14e6, 8e6))
        )
        first, second = judge(pair).notes
        assert first.startswith("The first cycle of base is warm-up (90 ns, later ones 10 ns)")
        assert (
            second == "Cycle time of new drifts: it goes through 3 levels, from 8.00 ms to 14.0 ms."
        )

    def test_parts_of_a_run_that_drifts(self):
        whole = one_role(1, cycles=30)
        slower = pl.when(pl.col("cycle") > 15).then(1.6).otherwise(1.0)
        length = (pl.col("cycle_dur_ns") * slower).cast(pl.Int64)
        rows = whole.behaviour.with_columns(cycle_dur_ns=length)
        starts = rows.select("cycle", "cycle_dur_ns").unique("cycle").sort("cycle")
        starts = starts.select("cycle", cycle_ts_ns=pl.col("cycle_dur_ns").cum_sum())
        rows = rows.drop("cycle_ts_ns").join(starts, on="cycle")
        rows = rows.with_columns(pl.col("cycle_ts_ns") - pl.col("cycle_dur_ns"))
        halves = [
            Role(name, f"{name}.csv", whole.pid, rows.filter(chosen))
            for name, chosen in (("one", pl.col("cycle") <= 15), ("two", pl.col("cycle") > 15))
        ]
        found = judge(compare_roles(halves[0], halves[1], "strict"))
        assert found.verdict == "no_change"
        assert (found.cycle_time.change_pct or 0) > 40
        assert any("parts of one run" in note for note in found.notes)

    def test_few_cycles_are_said(self):
        assert "With 3 cycles on a side" in judge(pair_with((10, 11, 12), (10, 11, 12))).notes[0]

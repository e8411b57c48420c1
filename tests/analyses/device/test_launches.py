"""Launch delays, launches that cost more than they start, and queues."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given

import oracle
from builders import complete, kernel, launch, memcpy, operator, runtime
from cases import read
from timelines import (
    RECORDINGS,
    patient,
    random_traces,
    recording,
    whole_microseconds,
)
from timesink.analyses.device_activities import (
    launch_statistics,
    launch_table,
    operator_delays,
    queue_depth,
    queue_summary,
)
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

MTIA = RECORDINGS[0]


def us(frame: pl.DataFrame, *columns: str) -> list[tuple[float, ...]]:
    return [tuple(ns / 1000 for ns in row) for row in frame.select(columns).rows()]


class TestTable:
    def test_delay_is_from_the_end_of_the_call_to_the_start_on_the_device(self):
        table = launch_table(read(*launch("cudaLaunchKernel", "gemm", 100, 1)))
        times = us(table, "call_start_ns", "call_dur_ns", "device_start_ns", "delay_ns")
        assert times == [(100, 10, 115, 5)]
        assert table.select("call_name", "kernel_name", "device", "stream").rows() == [
            ("cudaLaunchKernel", "gemm", 0, "7")
        ]

    def test_starting_during_the_call_is_no_delay(self):
        table = launch_table(read(runtime("cudaMemcpy", 100, 50, 1), memcpy("copy", 110, 30, 1)))
        assert table.select("delay_ns", "early").rows() == [(0, False)]

    def test_starting_before_the_call_is_marked(self):
        table = launch_table(read(runtime("cudaLaunchKernel", 100, 5, 1), kernel("k", 90, 5, 1)))
        assert table.select("delay_ns", "early").rows() == [(0, True)]

    def test_rows_lead_back_to_the_tables_of_the_trace(self):
        trace = read(
            kernel("unlinked", 1, 1, 9),
            operator("aten::mm", 90, 50),
            *launch("cudaLaunchKernel", "gemm", 100, 1),
        )
        (row,) = launch_table(trace).rows(named=True)
        assert trace.host["name"][row["host_row"]] == "cudaLaunchKernel"
        assert trace.device["name"][row["device_row"]] == "gemm"

    def test_one_call_may_launch_many(self):
        graph = [runtime("cudaGraphLaunch", 0, 10, 1), kernel("a", 20, 5, 1), kernel("b", 30, 5, 1)]
        assert us(launch_table(read(*graph)), "delay_ns") == [(10,), (20,)]


class TestStatistics:
    def test_delays_by_call_and_kernel(self):
        events = []
        for correlation, delay in enumerate((1, 2, 3, 4, 100), start=1):
            start = 1000 * correlation
            events += [
                runtime("cudaLaunchKernel", start, 10, correlation),
                kernel("gemm", start + 10 + delay, 30, correlation),
            ]
        (row,) = launch_statistics(read(*events)).rows(named=True)
        assert (row["calls"], row["activities"]) == (5, 5)
        assert (row["call_ns"], row["device_ns"], row["delay_ns"]) == (50_000, 150_000, 110_000)
        assert (row["median_delay_ns"], row["max_delay_ns"]) == (3_000, 100_000)
        # Between the fourth and the fifth of five, six tenths of the way.
        assert row["p90_delay_ns"] == pytest.approx(4_000 + 0.6 * 96_000)
        assert row["launch_bound_pct"] == 0

    def test_launches_longer_than_their_kernels(self):
        trace = read(
            runtime("cudaLaunchKernel", 0, 10, 1),
            kernel("tiny", 20, 2, 1),
            runtime("cudaLaunchKernel", 100, 10, 2),
            kernel("tiny", 120, 40, 2),
        )
        assert launch_statistics(trace)["launch_bound_pct"].to_list() == [50]

    def test_a_graph_is_judged_by_all_it_launches(self):
        kernels = [kernel("node", 20 + 3 * place, 2, 1) for place in range(10)]
        (row,) = launch_statistics(read(runtime("cudaGraphLaunch", 0, 12, 1), *kernels)).rows(
            named=True
        )
        assert (row["calls"], row["activities"], row["call_ns"]) == (1, 10, 12_000)
        assert row["launch_bound_pct"] == 0

    def test_calls_that_wait_for_their_work_are_told_apart(self):
        trace = read(runtime("cudaMemcpy", 100, 50, 1), memcpy("copy", 110, 30, 1))
        assert launch_statistics(trace).select("waited", "launch_bound_pct").rows() == [(1, 100)]

    def test_the_most_expensive_calls_come_first(self):
        trace = read(
            *launch("cudaLaunchKernel", "a", 0, 1),
            *launch("cudaLaunchKernel", "b", 100, 2),
            *launch("cudaLaunchKernel", "b", 200, 3),
        )
        assert launch_statistics(trace)["kernel_name"].to_list() == ["b", "a"]


class TestOperatorDelays:
    def test_from_operator_to_call_to_device(self):
        trace = read(operator("aten::mm", 60, 80), *launch("cudaLaunchKernel", "gemm", 100, 1))
        assert operator_delays(trace).rows() == [("aten::mm", "gemm", 1, 40_000, 15_000)]

    def test_launches_outside_of_operators_stay(self):
        trace = read(*launch("cudaLaunchKernel", "gemm", 100, 1))
        assert operator_delays(trace).rows() == [(None, "gemm", 1, None, 15_000)]


class TestQueue:
    EVENTS = (
        runtime("cudaLaunchKernel", 0, 5, 1),
        runtime("cudaLaunchKernel", 10, 5, 2),
        kernel("first", 20, 30, 1),
        kernel("second", 50, 10, 2),
    )

    def test_from_launch_to_start(self):
        depth = queue_depth(read(*self.EVENTS))
        assert us(depth, "ts_ns") == [(0,), (10,), (20,), (50,)]
        assert depth["depth"].to_list() == [1, 2, 1, 0]

    def test_streams_have_queues_of_their_own(self):
        trace = read(
            runtime("cudaLaunchKernel", 0, 5, 1),
            kernel("a", 30, 5, 1, stream=13),
            runtime("cudaLaunchKernel", 10, 5, 2),
            kernel("b", 20, 5, 2, stream=7),
        )
        assert queue_depth(trace).select("stream", "depth").rows() == [
            ("7", 1),
            ("7", 0),
            ("13", 1),
            ("13", 0),
        ]

    def test_summary_is_weighted_by_time(self):
        (row,) = queue_summary(read(*self.EVENTS)).rows(named=True)
        # 0-10 one, 10-20 two, 20-50 one, 50-60 none.
        assert (row["span_ns"], row["queued_ns"]) == (60_000, 50_000)
        assert row["mean_depth"] == pytest.approx((10 + 2 * 10 + 30) / 60)
        assert (row["median_depth"], row["max_depth"]) == (1, 2)
        assert row["queued_pct"] == pytest.approx(100 * 50 / 60)
        assert row["empty_pct"] == pytest.approx(100 * 10 / 60)

    def test_activities_that_start_before_their_call_never_wait(self):
        trace = read(runtime("cudaLaunchKernel", 100, 5, 1), kernel("k", 90, 50, 1))
        assert queue_depth(trace).is_empty()
        assert queue_summary(trace).select("launched", "queued_ns", "max_depth").rows() == [
            (1, 0, 0)
        ]


def in_queue(trace: Trace) -> Counter[tuple[int, str | None, int]]:
    """How many activities are in the queue of each stream at each ns, counted one by one."""
    calls = oracle.launches(trace)
    depths: Counter[tuple[int, str | None, int]] = Counter()
    for activity in trace.device.filter(pl.col("kind").is_in(BUSY_KINDS)).iter_rows(named=True):
        call = oracle.launching_call(activity, calls)
        if call is None:
            continue
        start = activity["ts_ns"]
        device = -1 if activity["device"] is None else activity["device"]
        for moment in range(min(call["ts_ns"], start), start):
            depths[device, activity["stream"], moment] += 1
    return depths


@patient
@given(random_traces)
def test_depth_is_what_counting_one_by_one_gives(trace: Trace):
    depth = queue_depth(trace).with_columns(
        until=pl.col("ts_ns").shift(-1).over("device", "stream")
    )
    depths = Counter(
        {
            (row["device"], row["stream"], moment): row["depth"]
            for row in depth.filter(pl.col("until").is_not_null()).iter_rows(named=True)
            for moment in range(row["ts_ns"], row["until"])
        }
    )
    assert +depths == in_queue(trace)


@patient
@given(random_traces)
def test_summary_agrees_with_the_step_function(trace: Trace):
    counted = in_queue(trace)
    for row in queue_summary(trace).iter_rows(named=True):
        depths = [n for key, n in counted.items() if key[:2] == (row["device"], row["stream"])]
        assert row["queued_ns"] == len(depths)
        assert row["max_depth"] == max(depths, default=0)
        assert row["mean_depth"] * max(row["span_ns"], 1) == pytest.approx(sum(depths))
        every = sorted(depths + [0] * (row["span_ns"] - len(depths)))
        assert row["median_depth"] == (every[(len(every) - 1) // 2] if every else 0)
        assert row["queued_pct"] + row["empty_pct"] == pytest.approx(100)


@patient
@given(random_traces)
def test_every_launch_is_in_every_table(trace: Trace):
    table = launch_table(trace)
    assert (table["delay_ns"] >= 0).all()
    assert launch_statistics(trace)["activities"].sum() == table.height
    assert operator_delays(trace)["activities"].sum() == table.height
    assert launch_statistics(trace)["device_ns"].sum() == table["device_dur_ns"].sum()


def test_host_only_and_device_only():
    assert launch_table(read(operator("aten::mm", 0, 5), runtime("cudaFree", 5, 1, 3))).is_empty()
    assert launch_table(read(kernel("alone", 0, 5, 1))).is_empty()
    assert queue_summary(read(complete("kernel", "no ids", 0, 5, pid=0, tid=7))).is_empty()


class TestRecordings:
    @pytest.mark.parametrize("name", RECORDINGS)
    def test_delays_are_never_negative(self, shared_root: Path, name: str):
        trace = recording(shared_root, name)
        table = launch_table(trace)
        assert (table["delay_ns"] >= 0).all()
        assert launch_statistics(trace)["activities"].sum() == table.height
        assert (queue_depth(trace)["depth"] >= 0).all()

    def test_mtia_launches(self, shared_root: Path):
        trace = recording(shared_root, MTIA)
        table = launch_table(trace)
        row = table.filter(trace.device["correlation"][table["device_row"]] == 423)
        assert table.height == 3453
        assert us(row, "call_dur_ns", "device_dur_ns", "delay_ns") == [(435.2, 124.768, 0)]

    def test_mtia_operator_delays(self, shared_root: Path):
        row = operator_delays(recording(shared_root, MTIA)).filter(
            (pl.col("operator_name") == "aten::mul")
            & (pl.col("kernel_name") == "customized_fba_mul_const-dtype_Float")
        )
        assert row["activities"].to_list() == [822]
        assert row["until_call_ns"][0] / 1000 == pytest.approx(1092.5, abs=2)
        assert row["until_device_ns"][0] / 1000 == pytest.approx(293.1, abs=2)

    def test_mtia_queues(self, shared_root: Path):
        trace = whole_microseconds(recording(shared_root, MTIA))
        depth = queue_depth(trace).filter(pl.col("stream") == "102")["depth"]
        assert (depth.len(), depth.mean(), depth.max()) == (6, 0.5, 1)
        assert depth.std() == pytest.approx(0.547723, abs=1e-6)
        summary = queue_summary(trace)
        assert summary["stream"].to_list() == ["1", "102"]
        assert summary["queued_ns"][1] == 1_060_000

    def test_mi250_launches(self, shared_root: Path):
        table = launch_table(recording(shared_root, RECORDINGS[1]))
        assert table.height == 16
        assert (table["call_name"] == "hipLaunchKernel").sum() == 12

    def test_replayed_graphs(self, shared_root: Path):
        statistics = launch_statistics(recording(shared_root, RECORDINGS[-1]))
        graphs = statistics.filter(pl.col("call_name") == "cudaGraphLaunch")
        assert (graphs["calls"] <= graphs["activities"]).all()
        assert graphs["activities"].sum() > graphs["calls"].max()

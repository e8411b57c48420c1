"""Gaps of streams and devices, and what they are due to."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given

from builders import (
    HOST_PID,
    Event,
    annotation,
    complete,
    kernel,
    memcpy,
    operator,
    runtime,
    step,
)
from cases import DATA_LOADER, read
from timelines import (
    RECORDINGS,
    patient,
    random_traces,
    recording,
    whole_microseconds,
    without_stream,
)
from timesink.analyses.device_idle import GAP_CAUSES, idle_breakdown, largest_gaps
from timesink.analyses.device_utilisation import device_time
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

PARTS = ("host_wait_ns", "kernel_wait_ns", "other_ns")


def idle_us(*events: Event) -> dict[str, float]:
    """The only stream of these events, in us."""
    (row,) = idle_breakdown(read(*events)).rows(named=True)
    return {name: value / 1000 for name, value in row.items() if name.endswith("_ns")}


def launch_events(name: str, call: float, start: float, dur: float, number: int) -> list[Event]:
    return [runtime("cudaLaunchKernel", call, 2, number), kernel(name, start, dur, number)]


class TestBreakdown:
    def test_launched_after_the_gap_began(self):
        idle = idle_us(*launch_events("a", 0, 10, 20, 1), *launch_events("b", 50, 60, 5, 2))
        assert (idle["span_ns"], idle["busy_ns"], idle["idle_ns"]) == (55, 25, 30)
        assert [idle[part] for part in PARTS] == [30, 0, 0]

    def test_short_gap_between_queued_kernels(self):
        idle = idle_us(*launch_events("a", 0, 10, 20, 1), *launch_events("b", 5, 32, 5, 2))
        assert [idle[part] for part in PARTS] == [0, 2, 0]

    def test_long_gap_between_queued_kernels(self):
        idle = idle_us(*launch_events("a", 0, 10, 20, 1), *launch_events("b", 5, 100, 5, 2))
        assert [idle[part] for part in PARTS] == [0, 0, 70]

    def test_what_counts_as_short_can_be_chosen(self):
        trace = read(*launch_events("a", 0, 10, 20, 1), *launch_events("b", 5, 100, 5, 2))
        assert idle_breakdown(trace, short_gap_ns=70_000)["kernel_wait_ns"].to_list() == [70_000]

    def test_launch_not_in_the_trace(self):
        idle = idle_us(*launch_events("a", 0, 10, 20, 1), kernel("b", 100, 5, 99))
        assert [idle[part] for part in PARTS] == [0, 0, 70]

    def test_a_long_kernel_hides_the_gap_after_a_short_one(self):
        idle = idle_us(
            *launch_events("long", 0, 10, 90, 1),
            *launch_events("short", 5, 20, 5, 2),
            kernel("c", 110, 5, 9),
        )
        assert idle["idle_ns"] == 10

    def test_streams_and_devices_apart(self):
        trace = read(
            kernel("a", 0, 10, 1, stream=13),
            kernel("b", 30, 10, 2, stream=13),
            kernel("c", 5, 10, 3, stream=7),
            kernel("d", 5, 10, 4, stream=7, device=1),
        )
        rows = idle_breakdown(trace).select("device", "stream", "activities", "idle_ns").rows()
        assert rows == [(0, "7", 1, 0), (0, "13", 2, 20_000), (1, "7", 1, 0)]


def only_gap(*events: Event) -> dict[str, object]:
    (row,) = largest_gaps(read(*events)).rows(named=True)
    return row


class TestLargestGaps:
    BEFORE = (*launch_events("before", 0, 10, 90, 1),)
    """Busy until 100."""

    def test_where_and_between_what(self):
        gap = only_gap(step(3, 0, 900), *self.BEFORE, *launch_events("after", 480, 500, 5, 2))
        assert (gap["start_ns"], gap["gap_ns"]) == (100_000, 400_000)
        assert (gap["before"], gap["after"], gap["step"]) == ("before", "after", "3")

    def test_host_was_late(self):
        gap = only_gap(
            *self.BEFORE, operator("aten::slow", 150, 340), *launch_events("after", 480, 500, 5, 2)
        )
        assert (gap["host_name"], gap["host_kind"]) == ("aten::slow", "operator")
        assert gap["cause"] == "host_wait"

    def test_the_innermost_event_that_covers_most_is_named(self):
        gap = only_gap(
            *self.BEFORE,
            annotation("forward", 50, 600),
            operator("aten::outer", 140, 350),
            operator("aten::inner", 150, 250),
            operator("aten::small", 160, 20),
            *launch_events("after", 480, 500, 5, 2),
        )
        assert gap["host_name"] == "aten::inner"

    def test_steps_do_not_explain_gaps(self):
        gap = only_gap(step(1, 0, 900), *self.BEFORE, *launch_events("after", 480, 500, 5, 2))
        assert (gap["host_name"], gap["cause"]) == (None, "host_wait")

    def test_data_loading(self):
        gap = only_gap(
            *self.BEFORE,
            annotation(DATA_LOADER, 110, 350),
            operator("aten::stack", 120, 330),
            *launch_events("after", 480, 500, 5, 2),
        )
        assert (gap["host_name"], gap["cause"]) == ("aten::stack", "data_loading")

    def test_waiting_longer_than_the_gap_lasted(self):
        gap = only_gap(
            *self.BEFORE,
            runtime("cudaStreamSynchronize", 20, 85, 9),
            *launch_events("after", 130, 150, 5, 2),
        )
        assert gap["cause"] == "sync"

    def test_a_short_wait_does_not_excuse_a_long_gap(self):
        gap = only_gap(
            *self.BEFORE,
            runtime("cudaStreamSynchronize", 80, 25, 9),
            *launch_events("after", 480, 500, 5, 2),
        )
        assert gap["cause"] == "host_wait"

    def test_waiting_during_the_gap(self):
        gap = only_gap(
            *self.BEFORE,
            runtime("hipDeviceSynchronize", 110, 360, 9),
            *launch_events("after", 480, 500, 5, 2),
        )
        assert (gap["host_name"], gap["cause"]) == ("hipDeviceSynchronize", "sync")

    def test_a_copy_that_blocks_is_a_wait(self):
        gap = only_gap(
            runtime("cudaMemcpyAsync", 0, 105, 1),
            memcpy("Memcpy DtoH (Device -> Pageable)", 10, 90, 1),
            *launch_events("after", 130, 150, 5, 2),
        )
        assert gap["cause"] == "sync"

    def test_queued(self):
        soon = only_gap(*self.BEFORE, *launch_events("after", 20, 103, 5, 2))
        late = only_gap(*self.BEFORE, *launch_events("after", 20, 300, 5, 2))
        assert (soon["cause"], late["cause"]) == ("kernel_wait", "other")

    def test_launch_not_in_the_trace(self):
        assert only_gap(*self.BEFORE, kernel("after", 300, 5, 99))["cause"] == "other"

    def test_the_launching_thread_is_asked_before_the_main_thread(self):
        other = {"pid": HOST_PID, "tid": 77}
        gap = only_gap(
            step(1, 0, 900),
            *self.BEFORE,
            operator("aten::on_main", 110, 380),
            complete("cpu_op", "aten::backward", 110, 380, **other),
            complete("cuda_runtime", "cudaLaunchKernel", 480, 2, **other, args={"correlation": 2}),
            kernel("after", 500, 5, 2),
        )
        assert gap["host_name"] == "aten::backward"

    def test_main_thread_when_the_launching_one_is_silent(self):
        other = {"pid": HOST_PID, "tid": 77}
        gap = only_gap(
            step(1, 0, 900),
            *self.BEFORE,
            operator("aten::on_main", 110, 380),
            complete("cuda_runtime", "cudaLaunchKernel", 480, 2, **other, args={"correlation": 2}),
            kernel("after", 500, 5, 2),
        )
        assert gap["host_name"] == "aten::on_main"

    def test_another_stream_fills_the_gap(self):
        gaps = largest_gaps(
            read(*self.BEFORE, kernel("beside", 100, 400, 8, stream=13), kernel("after", 500, 5, 9))
        )
        assert gaps.is_empty()

    def test_longest_first_and_no_more_than_asked_for(self):
        starts = (0, 20, 50, 90, 110)
        trace = read(*(kernel("k", start, 10, 0) for start in starts))
        assert largest_gaps(trace, count=3)["gap_ns"].to_list() == [30_000, 20_000, 10_000]
        assert largest_gaps(trace, count=3)["start_ns"].to_list() == [60_000, 30_000, 10_000]
        assert largest_gaps(trace, count=0).is_empty()


def covered_ns(activities: pl.DataFrame) -> int:
    """How many ns at least one of them covers, counted one by one."""
    return len(
        {
            moment
            for start, length in activities.select("ts_ns", "dur_ns").iter_rows()
            for moment in range(start, start + length)
        }
    )


@patient
@given(random_traces)
def test_parts_add_up_and_agree_with_counting(trace: Trace):
    idle = idle_breakdown(trace)
    assert (idle.select(PARTS).sum_horizontal() == idle["idle_ns"]).all()
    assert (idle["busy_ns"] + idle["idle_ns"] == idle["span_ns"]).all()
    assert all((idle[name] >= 0).all() for name in idle.columns if name.endswith("_ns"))
    busy = trace.device.filter(pl.col("kind").is_in(BUSY_KINDS)).with_columns(
        pl.col("device").fill_null(-1)
    )
    assert idle["activities"].sum() == busy.height
    for row in idle.iter_rows(named=True):
        stream = pl.col("stream").cast(pl.String).eq_missing(pl.lit(row["stream"]))
        stream_rows = busy.filter((pl.col("device") == row["device"]) & stream)
        assert row["busy_ns"] == covered_ns(stream_rows)


@patient
@given(random_traces)
def test_gaps_of_a_device_are_its_idle_time(trace: Trace):
    gaps = largest_gaps(trace, count=100)
    assert gaps["gap_ns"].sum() == device_time(trace)["idle_ns"].sum()
    assert (gaps["gap_ns"] > 0).all()
    assert set(gaps["cause"]) <= set(GAP_CAUSES)


class TestRecordings:
    @pytest.mark.parametrize("name", RECORDINGS[::6])
    def test_parts_add_up(self, shared_root: Path, name: str):
        trace = recording(shared_root, name)
        idle = idle_breakdown(trace)
        assert (idle.select(PARTS).sum_horizontal() == idle["idle_ns"]).all()
        assert all((idle[part] >= 0).all() for part in (*PARTS, "busy_ns"))
        assert set(largest_gaps(trace)["cause"]) <= set(GAP_CAUSES)

    def test_mtia_host_wait(self, shared_root: Path):
        trace = without_stream(recording(shared_root, RECORDINGS[0]), "801")
        idle = idle_breakdown(whole_microseconds(trace))
        assert idle["stream"].to_list() == ["1", "102"]
        assert idle["host_wait_ns"][0] == 417_937_000
        assert idle["host_wait_ns"][0] / idle["idle_ns"][0] == pytest.approx(0.07, abs=0.005)

"""Launches of kernels in launch order, from both kinds of recordings."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given

from cases import STEP, C, K, R, read
from measured_kernels import launch, trace_of_launches
from timelines import patient, random_traces
from timesink.analyses.kernels.calls import has_counters, kernel_calls
from timesink.analyses.kernels.families import load_families
from timesink.analyses.kernels.table import kernel_rows
from timesink.model.schema import KERNEL_CALLS
from timesink.model.trace import Trace

COLUMNS = [*KERNEL_CALLS.schema, "ts_ns", "device_row", "short_name", "family"]


def test_launches_of_a_profiler_keep_their_order_and_values():
    calls = kernel_calls(
        trace_of_launches(
            launch(30, {}, name="void at::native::reduce_kernel<1>(T)", tensor_pct=12.5),
            launch(None, {}, name="nvjet_tst_64x8", sm_pct=float("nan")),
        )
    )
    assert calls.columns == COLUMNS
    assert calls["short_name"].to_list() == ["reduce_kernel", "nvjet_tst_64x8"]
    assert calls["family"].to_list() == ["reduction", "gemm"]
    assert calls.select("dur_ns", "tensor_pct", "sm_pct", "ts_ns").rows() == [
        (30, 12.5, None, None),
        (None, None, None, None),
    ]


def test_kernels_of_a_timeline_come_in_launch_order():
    trace = read(
        STEP(1, 0, 900),
        R(10, 5, c=1),
        R(20, 5, c=2),
        R(30, 5, c=3),
        K("late", 500, 10, c=1),
        K("early", 300, 10, c=2),
        C(310, 10, c=3),
        K("unlaunched", 15, 3, c=77),
    )
    calls = kernel_calls(trace)
    assert calls.columns == COLUMNS
    assert calls["name"].to_list() == ["late", "unlaunched", "early"]
    assert calls["dur_ns"].to_list() == [10_000, 3_000, 10_000]
    assert calls["ts_ns"].is_sorted() is False
    assert trace.device["name"].gather(calls["device_row"]).to_list() == calls["name"].to_list()


def test_kernels_of_one_launch_come_in_the_order_they_ran():
    trace = read(R(10, 5, c=1), K("second", 60, 10, c=1), K("first", 40, 10, c=1))
    assert kernel_calls(trace)["name"].to_list() == ["first", "second"]


def test_what_a_timeline_knows_of_a_launch():
    args = {"grid": [4, 2, 1], "block": [128, 1, 1], "est. achieved occupancy %": 40}
    calls = kernel_calls(read(K("f", 100, 10, **args), K("g", 200, 10)))
    shape = calls.select("grid_x", "grid_y", "block_x", "occupancy_pct", "device").rows()
    assert shape == [(4, 2, 128, 40.0, 0), (None, None, None, None, 0)]
    assert calls.select("tensor_pct", "dram_pct", "sm_pct", "launch_id").null_count().row(0) == (
        2,
        2,
        2,
        2,
    )


def test_own_rules_change_the_families(tmp_path):
    rules_file = tmp_path / "own.txt"
    rules_file.write_text("ours  ^f$\n")
    trace = trace_of_launches(launch(1, {}, name="f"))
    assert kernel_calls(trace)["family"].to_list() == ["other"]
    assert kernel_calls(trace, load_families(rules_file))["family"].to_list() == ["ours"]


def test_nothing_recorded():
    calls = kernel_calls(Trace(trace_of_launches().metadata))
    assert calls.columns == COLUMNS
    assert calls.is_empty()


def test_a_launch_without_a_name():
    calls = kernel_calls(trace_of_launches(launch(1, {}, name=None), launch(1, {}, name="f")))
    assert calls["short_name"].to_list() == [None, "f"]


def test_which_recordings_have_counters():
    assert has_counters(trace_of_launches(launch(1, {})))
    assert not has_counters(read(K("f", 100, 10)))


@patient
@given(random_traces)
def test_every_kernel_is_in_once(trace: Trace) -> None:
    calls = kernel_calls(trace)
    assert sorted(calls["device_row"]) == kernel_rows(trace).tolist()
    assert calls["dur_ns"].sum() == trace.device["dur_ns"].gather(kernel_rows(trace)).sum()


@pytest.mark.parametrize("column", ["name", "host", "stream", "compute_capability"])
def test_both_kinds_have_the_same_types(column: str) -> None:
    kinds = (kernel_calls(trace_of_launches(launch(1, {}))), kernel_calls(read(K("f", 100, 10))))
    assert kinds[0].schema == kinds[1].schema
    assert isinstance(kinds[0].schema[column], pl.Categorical)


@pytest.mark.parametrize(("stated", "expected"), [(0, None), (1, 1.0), (-1, None)])
def test_a_kernel_that_runs_has_some_occupancy(stated: float, expected: float | None):
    args = {"est. achieved occupancy %": stated}
    calls = kernel_calls(read(K("f", 300, 10, **args)))
    assert calls["occupancy_pct"].to_list() == [expected]


def test_infinite_values_were_not_measured():
    calls = kernel_calls(
        trace_of_launches(launch(30, {}, sm_pct=float("inf"), dram_pct=-float("inf")))
    )
    assert calls.select("sm_pct", "dram_pct").row(0) == (None, None)

"""Launches grouped."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from measured_kernels import launch, trace_of_launches
from timesink.analyses.kernels.calls import Sampling, kernel_calls, with_weights
from timesink.analyses.kernels.groups import GROUP_COLUMNS, call_groups
from timesink.analyses.kernels.usage import with_class
from timesink.model.trace import Trace


def groups(trace: Trace, by: str = "short_name") -> pl.DataFrame:
    return call_groups(with_class(kernel_calls(trace)), by)


def rows(trace: Trace, *columns: str, by: str = "short_name") -> list[tuple[Any, ...]]:
    return groups(trace, by).select(columns).rows()


def test_measures_of_a_group():
    trace = trace_of_launches(
        launch(10, {}, name="f", sm_pct=90.0, dram_pct=0.0, occupancy_pct=10.0),
        launch(30, {}, name="f", sm_pct=50.0, dram_pct=40.0, occupancy_pct=50.0),
        launch(80, {}, name="f", sm_pct=10.0),
        launch(40, {}, name="g", dram_pct=20.0),
    )
    table = groups(trace)
    assert table.columns == list(GROUP_COLUMNS)
    f = table.row(0, named=True)
    assert (f["group"], f["calls"], f["launches"], f["total_ns"]) == ("f", 3, 3, 120)
    assert (f["share_pct"], f["mean_ns"], f["min_ns"], f["median_ns"]) == (75.0, 40.0, 10, 30.0)
    assert (f["max_ns"], f["sm_pct"], f["dram_pct"]) == (80, 3200 / 120, 30.0)
    assert (f["sm_min_pct"], f["sm_median_pct"], f["sm_max_pct"]) == (10.0, 50.0, 90.0)
    assert (f["tensor_pct"], f["tensor_median_pct"], f["occupancy_pct"]) == (None, None, 40.0)
    assert f["headroom_ns"] == pytest.approx(1 + 15 + 72)
    assert f["headroom_share_pct"] == pytest.approx(100 * 88 / 120)
    assert f["class"] == "mixed"


def test_full_names_are_counted():
    trace = trace_of_launches(
        launch(9, {}, name="void f<1>(T)"),
        launch(8, {}, name="void f<2>(T)"),
        launch(7, {}, name="void g(T)"),
    )
    assert rows(trace, "group", "variants") == [("f", 2), ("g", 1)]
    assert rows(trace, "group", "variants", by="name")[0] == ("void f<1>(T)", 1)


def test_the_class_of_a_group_is_where_most_of_its_time_is():
    trace = trace_of_launches(
        launch(10, {}, name="f", sm_pct=0.0, dram_pct=0.0),
        launch(10, {}, name="f", sm_pct=0.0, dram_pct=0.0),
        launch(41, {}, name="f", sm_pct=90.0, dram_pct=0.0),
    )
    assert rows(trace, "group", "class") == [("f", "low_dram")]


def test_a_group_without_a_main_class_is_mixed():
    """Two thirds and no more are not enough: its mean may lie in the other class."""
    trace = trace_of_launches(
        launch(20, {}, name="f", sm_pct=0.0, dram_pct=0.0),
        launch(40, {}, name="f", sm_pct=90.0, dram_pct=0.0),
        launch(0, {}, name="g", sm_pct=0.0, dram_pct=0.0),
        launch(0, {}, name="h", sm_pct=0.0, dram_pct=0.0),
        launch(0, {}, name="h", sm_pct=90.0, dram_pct=0.0),
    )
    assert rows(trace, "group", "class") == [("f", "mixed"), ("g", "both_low"), ("h", "mixed")]


def test_the_mean_of_equal_lengths_is_that_length():
    trace = trace_of_launches(*(launch(1000, {}, name=name) for name in "fffgggggh"))
    calls = with_weights(kernel_calls(trace), Sampling(7, "kernel"))
    assert call_groups(calls, "family")["mean_ns"].to_list() == [1000.0]


def test_devices_are_apart_and_shares_are_of_the_device():
    trace = trace_of_launches(
        launch(10, {}, name="f", device=1),
        launch(30, {}, name="f", device=0),
        launch(10, {}, name="g", device=0),
    )
    assert rows(trace, "device", "group", "total_ns", "share_pct") == [
        (0, "f", 30, 75.0),
        (0, "g", 10, 25.0),
        (1, "f", 10, 100.0),
    ]


def test_equal_groups_go_by_name():
    trace = trace_of_launches(*(launch(5, {}, name=name) for name in "cab"))
    assert [group for (group,) in rows(trace, "group")] == ["a", "b", "c"]


def test_launches_without_time_or_value():
    trace = trace_of_launches(launch(None, {}, name="f", sm_pct=5.0), launch(None, {}, name=None))
    by_group = {row["group"]: row for row in groups(trace).to_dicts()}
    assert set(by_group) == {"f", None}
    untimed = by_group["f"]
    assert untimed["calls"] == 1
    unknown = ("total_ns", "share_pct", "mean_ns", "sm_pct", "sm_max_pct", "headroom_ns", "class")
    assert [untimed[name] for name in unknown] == [None] * len(unknown)


def test_launches_without_time_are_in_no_statistics_and_come_last():
    trace = trace_of_launches(
        launch(None, {}, name="late", sm_pct=9.0),
        launch(10, {}, name="f", sm_pct=90.0, dram_pct=5.0),
        launch(None, {}, name="f", sm_pct=10.0, dram_pct=5.0),
    )
    assert rows(trace, "group", "calls", "total_ns", "sm_min_pct", "class") == [
        ("f", 2, 10, 90.0, "low_dram"),
        ("late", 1, None, None, None),
    ]


def test_headroom_is_whole_nanoseconds():
    trace = trace_of_launches(launch(7, {}, name="f", sm_pct=50.0, dram_pct=5.0))
    assert groups(trace)["headroom_ns"].to_list() == [4]


def test_no_number_is_nan():
    trace = trace_of_launches(
        launch(0, {}, name="f", sm_pct=5.0, dram_pct=5.0), launch(None, {}, name="g")
    )
    floats = groups(trace).select(pl.col(pl.Float64))
    assert not floats.select(pl.all().is_nan().any()).row(0).count(True)


def test_samples_are_scaled():
    trace = trace_of_launches(
        launch(10, {}, name="f"), launch(30, {}, name="f"), launch(5, {}, name="g")
    )
    calls = with_weights(kernel_calls(trace), Sampling(10, "launch"))
    table = call_groups(calls, "short_name").select("group", "calls", "launches", "total_ns")
    assert table.rows() == [("f", 2, 20, 400), ("g", 1, 10, 50)]


def test_nothing_recorded():
    assert groups(trace_of_launches()).columns == list(GROUP_COLUMNS)
    assert groups(trace_of_launches()).is_empty()

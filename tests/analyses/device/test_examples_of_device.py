"""Small examples of what analyses.device computes."""

from __future__ import annotations

import numpy as np
import polars as pl

import timesink
from timesink.analyses.columns import device_numbers
from timesink.analyses.device_activities import (
    busy_by,
    device_activities,
    find_gaps,
    has_device_work,
    kernels_by_annotation,
    launch_statistics,
    launch_table,
    operator_delays,
    queue_depth,
    queue_summary,
    spans_by,
)
from timesink.analyses.device_idle import (
    CAUSES,
    GAP_CAUSES,
    holding_calls,
    host_meanwhile,
    idle_breakdown,
    idle_causes,
    idle_ranges,
    largest_gaps,
)
from timesink.analyses.device_utilisation import (
    COMMUNICATION,
    COMPUTATION,
    MEMORY,
    activity_classes,
    buckets,
    device_time,
    device_utilisation,
    kernel_devices,
    kernel_kinds,
    kernel_ranges,
    overlap_by_step,
    sm_efficiency_intervals,
    timeline,
    utilisation_counters,
)
from timesink.analyses.steps import step_at


def test_device_activities() -> None:
    work = device_activities(timesink.open(timesink.sample()))
    assert (bool((work.end >= work.start).all()), work.lanes.columns) == (
        True,
        ["device", "stream"],
    )


def test_find_gaps() -> None:
    gaps = find_gaps(np.array([0, 0, 1]), np.array([10, 50, 20]), np.array([30, 60, 90]))
    assert (gaps.start.tolist(), gaps.end.tolist()) == ([30], [50])


def test_spans_by() -> None:
    assert spans_by(np.array([0, 0]), np.array([10, 50]), np.array([30, 60]), 2).tolist() == [50, 0]


def test_busy_by() -> None:
    group, start, end = np.array([0, 0, 1]), np.array([10, 20, 5]), np.array([30, 40, 6])
    assert busy_by(group, start, end, 2).tolist() == [30, 1]


def test_kernels_by_annotation() -> None:
    labels = kernels_by_annotation(timesink.open(timesink.sample()))
    assert bool((labels["busy_ns"] <= labels["device_ns"]).all())


def test_the_latest_range_that_holds_a_stretch() -> None:
    bounds = np.array([[0, 100], [10, 20], [30, 50]])
    stretches = np.array([35, 35, 35, 5]), np.array([40, 60, 120, 10])
    assert step_at(*stretches, bounds).tolist() == [2, 0, -1, 0]


def test_idle_breakdown() -> None:
    idle = idle_breakdown(timesink.open(timesink.sample()))
    parts = idle.select("host_wait_ns", "kernel_wait_ns", "other_ns").sum_horizontal()
    assert bool((parts == idle["idle_ns"]).all())


def test_largest_gaps() -> None:
    gaps = largest_gaps(timesink.open(timesink.sample()), count=3)
    assert (gaps["gap_ns"].is_sorted(descending=True), set(gaps["cause"]) <= set(GAP_CAUSES)) == (
        True,
        True,
    )


def test_idle_causes() -> None:
    idle = idle_causes(timesink.open(timesink.sample()))
    parts = idle.select(pl.sum_horizontal(f"{cause}_ns" for cause in CAUSES)).to_series()
    assert bool((parts == idle["idle_ns"]).all())


def test_idle_ranges() -> None:
    assert list(idle_ranges(timesink.open(timesink.sample()))) == [0]


def test_holding_calls() -> None:
    calls = holding_calls(timesink.open(timesink.sample()))
    assert len(calls.row) == len(calls.waits)


def test_launch_table() -> None:
    launches = launch_table(timesink.open(timesink.sample()))
    assert launches.height > 0
    assert (launches["delay_ns"] >= 0).all()


def test_launch_statistics() -> None:
    statistics = launch_statistics(timesink.open(timesink.sample()))
    assert bool(statistics["launch_bound_pct"].is_between(0, 100).all())


def test_operator_delays() -> None:
    delays = operator_delays(timesink.open(timesink.sample()))
    assert delays["activities"].sum() == launch_table(timesink.open(timesink.sample())).height


def test_queue_depth() -> None:
    queue = queue_depth(timesink.open(timesink.sample()))
    assert (bool((queue["depth"] >= 0).all()), queue["depth"][-1]) == (True, 0)


def test_queue_summary() -> None:
    summary = queue_summary(timesink.open(timesink.sample()))
    assert bool((summary["queued_ns"] <= summary["span_ns"]).all())


def test_host_meanwhile() -> None:
    trace = timesink.open(timesink.sample())
    work = device_activities(trace)
    gaps = find_gaps(work.device, work.start, work.end).longest(3)
    assert len(host_meanwhile(trace, work, gaps)) == 3


def test_device_numbers() -> None:
    assert sorted(set(device_numbers(timesink.open(timesink.sample())).tolist())) == [0]


def test_has_device_work() -> None:
    assert has_device_work(timesink.open(timesink.sample()))


def test_activity_classes() -> None:
    classes = activity_classes(timesink.open(timesink.sample()))
    assert set(classes.tolist()) <= {COMPUTATION, COMMUNICATION, MEMORY}


def test_device_time() -> None:
    time = device_time(timesink.open(timesink.sample()))
    parts = ["compute_ns", "exposed_communication_ns", "exposed_memory_ns", "idle_ns"]
    assert bool((time.select(parts).sum_horizontal() == time["span_ns"]).all())


def test_overlap_by_step() -> None:
    steps = overlap_by_step(timesink.open(timesink.sample()))
    assert bool((steps["busy_ns"] + steps["idle_ns"] == steps["span_ns"]).all())


def test_kernel_kinds() -> None:
    kinds = kernel_kinds(timesink.open(timesink.sample()))
    assert "computation" in kinds["kind"].to_list()


def test_device_utilisation() -> None:
    busy = device_utilisation(timesink.open(timesink.sample()))
    assert bool((busy["utilisation"] <= busy["any_activity"]).all())


def test_kernel_devices() -> None:
    assert kernel_devices(timesink.open(timesink.sample())) == [0]


def test_kernel_ranges() -> None:
    assert kernel_ranges(timesink.open(timesink.sample()), 0).shape[1] == 2


def test_sm_efficiency_intervals() -> None:
    assert sm_efficiency_intervals(timesink.open(timesink.sample()), 0).columns == [
        "start_ns",
        "end_ns",
        "value",
    ]


def test_utilisation_counters() -> None:
    assert utilisation_counters(timesink.open(timesink.sample())).columns == [
        "ts_ns",
        "device",
        "counter",
        "value",
    ]


def test_timeline() -> None:
    start, end = timeline(timesink.open(timesink.sample()))
    assert start < end


def test_buckets() -> None:
    assert (buckets(0, 3_500).tolist(), len(buckets(0, 120_000)) - 1) == ([0, 1000, 2000, 3500], 12)

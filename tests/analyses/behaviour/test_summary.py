"""A behaviour table in brief."""

from __future__ import annotations

import pytest

from behaviours import activity, behaviour, both, call, cycles_at, samples, trace_of_rows
from timesink.analyses.behaviour.summary import counter_summary, function_summary, metric_summary

CYCLES = cycles_at((0, 100), (100, 400))


def test_a_cycle_without_the_function_counts_in_time_and_not_in_share():
    trace = trace_of_rows([call("aten::mm", 10, 50)])
    (row,) = function_summary(behaviour(trace, CYCLES).table).to_dicts()
    assert (row["function"], row["time_ns"], row["calls"], row["cycles"]) == (
        "aten::mm",
        25,
        0.5,
        1,
    )
    assert row["beta_pct"] == pytest.approx(50)


def test_shares_are_means_over_cycles_whatever_their_lengths():
    trace = trace_of_rows([call("aten::mm", 10, 50), call("aten::mm", 110, 30)])
    (row,) = function_summary(behaviour(trace, CYCLES).table).to_dicts()
    assert row["beta_pct"] == pytest.approx((50 + 10) / 2)


def test_what_runs_in_one_cycle_does_not_come_first_for_it():
    often = [call("aten::mm", start, 40) for start in (10, 110, 210)]
    trace = trace_of_rows([*often, call("aten::once", 50, 45)])
    summary = function_summary(behaviour(trace, cycles_at((0, 100), (100, 200), (200, 300))).table)
    assert summary["function"].to_list() == ["aten::mm", "aten::once"]
    assert summary["beta_pct"].to_list() == pytest.approx([40, 45])


def test_metrics_do_not_multiply_time():
    counters = [*samples("gpu_usage", {10: 1}), *samples("gpu_temp", {10: 40})]
    trace = trace_of_rows(device=[activity("gemm", 10, 50)], counters=counters)
    (row,) = function_summary(behaviour(trace, CYCLES).table).to_dicts()
    assert (row["time_ns"], row["calls"]) == (25, 0.5)


def test_counters_are_weighted_by_time():
    trace = trace_of_rows(
        device=[activity("gemm", 0, 10), activity("relu", 10, 30), activity("gemm", 200, 10)],
        counters=samples("gpu_usage", {0: 1, 10: 1, 40: 1, 200: 5, 210: 5}),
    )
    table = behaviour(trace, CYCLES).table
    (row,) = counter_summary(table).to_dicts()
    assert row["mu"] == pytest.approx((40 * 1 + 10 * 5) / 50)
    assert (row["lowest"], row["highest"], row["functions"], row["cycles"]) == (1, 5, 2, 2)
    levels = {row["function"]: row["mu"] for row in metric_summary(table).to_dicts()}
    assert levels == {"gemm": 3, "relu": 1}


def test_processes_are_apart():
    trace = trace_of_rows([call("aten::mm", 10, 50), call("aten::mm", 10, 20, pid="2")])
    summary = function_summary(behaviour(trace, both(CYCLES, cycles_at((0, 100), pid="2"))).table)
    assert summary.select("pid", "time_ns").rows() == [("1", 25.0), ("2", 20.0)]

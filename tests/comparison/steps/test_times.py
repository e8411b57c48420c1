"""Time per step of every function, lengths of cycles, and what a comparison points at."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from behaviour_rows import behaviour
from timesink.comparison.results import TIMES
from timesink.comparison.steps.sides import key_findings
from timesink.comparison.steps.verdict import time_rows

SYNC = {"function": "cudaStreamSynchronize", "metric": None, "function_class": "cpu_sync"}


def in_cycles(durations: list[int], **more: object) -> pl.DataFrame:
    """A function with two metrics that runs where its duration is not 0, and one that always does.

    The second one has no metric.
    """
    always = [{"cycle": n, "function": "always", "metric": None} for n in range(len(durations))]
    rows = [
        {"cycle": n, "dur_ns": duration, "metric": metric, **more}
        for n, duration in enumerate(durations)
        if duration
        for metric in ("gpu_usage", "gpu_temp")
    ]
    return behaviour(*always, *rows)


DURATIONS = st.lists(st.just(0) | st.integers(1, 9), min_size=2, max_size=12)


@given(DURATIONS, DURATIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_cycles_without_the_function_count_as_zero(base, new):
    stats = pytest.importorskip("scipy.stats")
    rows = time_rows(in_cycles(base), in_cycles(new))
    assert rows.schema == pl.Schema(TIMES)
    gemm_rows = rows.filter(pl.col("function") == "gemm")
    if not any(base + new):
        assert gemm_rows.is_empty()
        return
    row = gemm_rows.row(0, named=True)
    means = np.mean(base), np.mean(new)
    assert (row["base_ns"], row["new_ns"]) == pytest.approx(means)
    assert row["calls_base"] == pytest.approx(np.count_nonzero(base) / len(base))
    assert row["rank_p"] == pytest.approx(stats.mannwhitneyu(base, new).pvalue)
    if max(np.ptp(base), np.ptp(new)) > 0:
        assert row["welch_p"] == pytest.approx(stats.ttest_ind(base, new, equal_var=False).pvalue)
    sides = {(True, True): "both", (True, False): "base", (False, True): "new"}
    assert row["runs_on"] == sides[any(base), any(new)]


def test_functions_without_a_metric_are_not_lost():
    side = behaviour(SYNC, {"function": "gemm"})
    rows = time_rows(side, side).sort("function")
    assert rows.select("function", "measured", "function_class").rows() == [
        ("cudaStreamSynchronize", False, "cpu_sync"),
        ("gemm", True, "gpu_compute"),
    ]


def test_largest_change_first():
    base = behaviour({"function": "a", "dur_ns": 10}, {"function": "b", "dur_ns": 500})
    new = behaviour({"function": "a", "dur_ns": 20}, {"function": "b", "dur_ns": 400})
    rows = time_rows(base, new)
    assert rows.select("function", "delta_ns", "change_pct").rows() == [
        ("b", -100, -20),
        ("a", 10, 100),
    ]


def test_what_is_not_defined_is_null():
    row = time_rows(behaviour(), behaviour({"cycle": 1})).row(0, named=True)
    assert [row[name] for name in ("change_pct", "welch_p", "rank_p")] == [None] * 3
    assert (row["runs_on"], row["base_ns"], row["new_ns"]) == ("new", 0, 100)


def test_the_same_name_in_two_classes_is_added_up():
    side = behaviour({"dur_ns": 10}, {"dur_ns": 30, "function_class": "gpu_comm"})
    assert time_rows(side, side)["base_ns"].to_list() == [40]


# -- findings --------------------------------------------------------------------------------------


def test_three_functions_with_three_metrics_each_at_most():
    names = ["a", "b", "a", "a", "a", "a", "c", "d"]
    rows = pl.DataFrame(
        {
            "function": names,
            "device": "GPU 0",
            "score": [90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 20.0],
            "mu_delta": [1.0, 1e-7, 0.0, -1.0, 1.0, 1.0, 1.0, 1.0],
        }
    )
    findings = key_findings(rows)
    assert [(finding.function, finding.row, finding.metrics) for finding in findings] == [
        ("a", 0, (0, 3, 4)),
        ("b", 1, ()),
        ("c", 6, (6,)),
    ]


def test_the_same_name_on_two_devices_is_two_findings():
    rows = pl.DataFrame(
        {"function": "a", "device": ["GPU 0", "GPU 1"], "score": [30.0, 20.0], "mu_delta": 1.0}
    )
    assert [(finding.device, finding.metrics) for finding in key_findings(rows)] == [
        ("GPU 0", (0,)),
        ("GPU 1", (1,)),
    ]


def test_low_scores_are_no_findings():
    rows = pl.DataFrame({"function": "a", "device": "x", "score": [10.0], "mu_delta": [1.0]})
    assert key_findings(rows) == ()

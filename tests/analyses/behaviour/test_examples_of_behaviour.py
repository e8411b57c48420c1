"""Small examples of what analyses.behaviour computes."""

from __future__ import annotations

import numpy as np
import polars as pl

import timesink
from timesink.analyses.behaviour.calls import windows_by_process, without_recorders_ranges
from timesink.analyses.behaviour.classes import load_classes
from timesink.analyses.behaviour.counters import Series, Spans, levels, place_of
from timesink.analyses.behaviour.functions import function_name, host_class
from timesink.analyses.behaviour.summary import function_summary, once_per_cycle
from timesink.analyses.behaviour.table import behaviour_table, merge_spans
from timesink.analyses.behaviour.untraced import is_waiting_call
from timesink.analyses.cycles.search import find_cycles
from timesink.analyses.cycles.spans import SCHEMA, Cycles
from timesink.model.schema import BEHAVIOUR


def test_classes_counters_of() -> None:
    assert load_classes().counters_of("gpu_memcpy_d2h", ["gpu_temp", "gpu_pcie_receive"]) == [
        "gpu_pcie_receive"
    ]


def test_classes_most_telling() -> None:
    assert load_classes().most_telling(
        "gpu_compute", ["gpu_temp", "other", "gpu_sm_frequency"]
    ) == ["gpu_sm_frequency", "gpu_temp", "other"]


def test_load_classes() -> None:
    assert load_classes().metrics["cpu_sync"] == ()


def test_function_name() -> None:
    assert (
        function_name("ProfilerStep#12"),
        function_name("oncpu_3"),
        function_name("aten::mm"),
    ) == ("ProfilerStep", "oncpu", "aten::mm")


def test_host_class() -> None:
    assert (host_class("runtime", "cudaStreamSynchronize"), host_class("operator", "aten::mm")) == (
        "cpu_sync",
        "cpu_operator",
    )
    assert (
        host_class("runtime", "hipMemcpyWithStream"),
        host_class("runtime", "cudaMemcpyAsync"),
    ) == ("cpu_copy", "cpu_copy")


def test_merged() -> None:
    times = np.array([0, 5, 10]), np.array([7, 10, 12])
    merged_spans = merge_spans(Spans(np.zeros(3, dtype=np.int64), *times, times[1] - times[0], 1))
    assert (
        merged_spans.start.tolist(),
        merged_spans.end.tolist(),
        merged_spans.weight.tolist(),
    ) == (
        [0, 10],
        [10, 12],
        [10, 2],
    )


def test_place_of() -> None:
    assert [
        place_of(label, ["4242"], [0]) for label in ("GPU 0", "pid 7", "0", "4242", "Host", None)
    ] == ["device 0", "pid 7", "device 0", "pid 4242", "host", "host"]
    assert place_of("GPU 3 on node1", [], []) == "device 3 on node1"


def test_without_recorders_ranges() -> None:
    trace = timesink.open(timesink.sample())
    assert without_recorders_ranges(trace, find_cycles(trace)) is trace


def test_once_per_cycle() -> None:
    row = {"cycle": 1, "function": "f", "function_class": "cpu_other", "device": "Host"}
    rows = [row, row, row | {"function_class": "cpu_sync"}]
    assert once_per_cycle(pl.DataFrame(rows)).height == 2


def test_levels() -> None:
    ticks = Series("load", np.array([0, 10]), np.array([1.0, 3.0]))
    start = np.array([5])
    span = Spans(np.array([0]), start, np.array([10]), start, 1)
    assert [(level.mean.tolist(), level.spread.tolist()) for _, level in levels([ticks], span)] == [
        ([2.5], [0.5])
    ]


def test_function_summary() -> None:
    assert function_summary(BEHAVIOUR.empty()).columns[-4:] == [
        "beta_pct",
        "time_ns",
        "calls",
        "cycles",
    ]


def test_behaviour_table() -> None:
    trace = timesink.open(timesink.sample())
    assert behaviour_table(trace, find_cycles(trace)).table["cycle"].n_unique() == 2


def test_is_waiting_call() -> None:
    names = ("<built-in function sleep>", "threading.py(629): wait", "Condition.wait")
    assert ([is_waiting_call(name) for name in names], is_waiting_call("awaiting_reply")) == (
        [True, True, True],
        False,
    )


def test_windows_by_process() -> None:
    row = (1, "generic", "7", "decode_step", 0, 9)
    table = pl.DataFrame([row], schema=SCHEMA, orient="row")
    windows = windows_by_process(Cycles(table, "marker", "decode_step", 1.0, ""))
    assert windows["7"].holding(np.array([3, 9])).tolist() == [0, -1]

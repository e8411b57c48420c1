"""Small examples of what analyses.anatomy computes."""

from __future__ import annotations

import numpy as np
import polars as pl

import timesink
from timesink.analyses.behaviour.anatomy import (
    CALL_TIMES,
    CYCLE_SPANS,
    PART_TIMES,
    Anatomy,
    anatomy_of,
    is_host_collective,
    is_loading,
    only_cycles,
)
from timesink.analyses.behaviour.counters import LEVELS, rounds, run_queue_share
from timesink.analyses.behaviour.recorded_anatomy import anatomies, call_rows
from timesink.analyses.cycles.search import find_cycles


def test_no_calls() -> None:
    empty = pl.DataFrame()
    calls = Anatomy(empty, empty, empty).calls
    assert (calls.height, calls.schema) == (0, pl.Schema(CALL_TIMES))


def test_anatomy_with_devices() -> None:
    levels = pl.DataFrame([(1, "temp", "GPU 7", "C", 40.0)], schema=LEVELS, orient="row")
    nothing = pl.DataFrame(schema=PART_TIMES)
    anatomy = Anatomy(nothing, nothing, levels).with_devices({"GPU 7": "GPU 0"})
    assert anatomy.levels["device"].to_list() == ["GPU 0"]


def test_only_cycles() -> None:
    empty = pl.DataFrame(schema=CYCLE_SPANS)
    assert only_cycles(Anatomy(empty, empty, empty, cycles=empty), [1]).cycles.height == 0


def test_rounds() -> None:
    assert rounds(np.array([0, 1, 1000, 1002, 2000, 2001])).tolist() == [0, 0, 1, 1, 2, 2]
    assert rounds(np.array([0, 1000, 2000, 3000, 9000])).tolist() == [0, 1, 2, 3, 4]


def test_call_rows() -> None:
    trace = timesink.open(timesink.sample())
    length = pl.col("end_ns") - pl.col("start_ns")
    spans = find_cycles(trace).table.select("cycle", ts_ns="start_ns", dur_ns=length)
    by_process = call_rows(trace, {"1525": spans})
    assert by_process["1525"].filter(name="aten::convolution")["calls"].to_list() == [19, 19]


def test_is_loading() -> None:
    assert (
        is_loading("torch/utils/data/dataloader.py(700): __next__"),
        is_loading("aten::mm"),
    ) == (True, False)


def test_is_host_collective() -> None:
    assert (is_host_collective("gloo:all_reduce"), is_host_collective("nccl:all_reduce")) == (
        True,
        False,
    )


def test_run_queue_share() -> None:
    row = (1, "process_runq_wait_pct", "Host", "%", 25.0)
    table = pl.DataFrame([row], schema=LEVELS, orient="row")
    assert run_queue_share(table, np.array([1, 2])).tolist() == [0.25, 0.0]


def test_anatomy_of() -> None:
    row = {
        "cycle": 1,
        "cycle_ts_ns": 0,
        "cycle_dur_ns": 100,
        "dur_ns": 30,
        "device": "GPU 0",
        "function": "gemm",
        "function_class": "gpu_compute",
        "metric": None,
        "mu": None,
        "unit": None,
        "anchor": None,
        "pid": "7",
    }
    assert anatomy_of(pl.DataFrame([row])).parts["dur_ns"].to_list() == [30.0, 70.0]


def test_anatomies() -> None:
    trace = timesink.open(timesink.sample())
    anatomy = next(iter(anatomies(trace, find_cycles(trace)).values()))
    assert bool(anatomy.parts["dur_ns"].sum() == anatomy.cycles["dur_ns"].sum())

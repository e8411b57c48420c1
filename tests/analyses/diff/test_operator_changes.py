"""What changed between two runs, and which call every moment of a step belongs to."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import timesink
from cases import DATA_LOADER, OTHER, STEP, K, O, R, read
from timesink.analyses.diff.operator_changes import NOBODY, OUTSIDE, operator_changes, step_shares
from timesink.analyses.operators import NO_LAUNCH
from timesink.analyses.steps import average_step, step_breakdown
from timesink.model.trace import Trace

US = 1000


def shares(trace: Trace) -> dict[str, float]:
    """Of the first step, in us."""
    first = step_shares(trace).filter(pl.col("step") == 0)
    return {name: ns / US for name, ns in first.select("name", "share_ns").iter_rows()}


# -- shares ----------------------------------------------------------------------------------------


def test_every_moment_belongs_to_one():
    trace = read(
        STEP(1, 0, 200),
        O(DATA_LOADER, 10, 40),
        O("aten::linear", 60, 60, x=1),
        O("aten::addmm", 70, 30, x=2),
        R(80, 5, c=1, x=2),
        K("gemm", 110, 50, c=1, x=2),
    )
    # Linear has 60 to 70 and 100 to 110: from then on the device is at work.
    assert shares(trace) == {
        DATA_LOADER: 40,
        "aten::linear": 20,
        "aten::addmm": 30 + 50,
        NOBODY: 10 + 10 + 40,
    }


def test_computation_hides_communication():
    trace = read(
        STEP(1, 0, 100),
        O("nccl:all_reduce", 0, 5, x=1),
        R(1, 1, c=1, x=1),
        O("aten::mm", 5, 5, x=2),
        R(6, 1, c=2, x=2),
        K("ncclDevKernel_AllReduce", 10, 60, c=1, x=1),
        K("gemm", 30, 20, c=2, x=2),
    )
    assert shares(trace) == {"nccl:all_reduce": 5 + 40, "aten::mm": 5 + 20, NOBODY: 30}


def test_other_threads_count_while_the_main_one_does_nothing():
    trace = read(STEP(1, 0, 100), O("aten::mm", 10, 30), O("MmBackward0", 20, 50, tid=OTHER))
    assert shares(trace) == {"aten::mm": 30, "MmBackward0": 30, NOBODY: 40}


def test_device_work_without_a_call():
    trace = read(STEP(1, 0, 100), R(10, 5, c=1), K("a", 20, 30, c=1), K("b", 60, 10, c=9))
    assert shares(trace) == {OUTSIDE: 30, NO_LAUNCH: 10, NOBODY: 60}


@pytest.mark.parametrize(
    "path",
    [
        "kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
        "h200/traces/resnet50_train",
        "hta/trace_diff/control",
        "tracelens/inference/vllm_decode_full.json.gz",
        "tracelens/mi210",
    ],
)
def test_shares_add_up_to_the_step(shared: Path, path: str):
    trace = timesink.open(shared / "data" / path)
    sums = step_shares(trace).group_by("step").agg(pl.col("share_ns").sum()).sort("step")
    steps = step_breakdown(trace).filter("complete")
    assert sums["share_ns"].to_list() == steps["total_ns"].to_list()


# -- changes ---------------------------------------------------------------------------------------


def loop(loader: str, *loads: int) -> Trace:
    """Steps that load for so long, then multiply for 20 us."""
    events, start = [], 0
    for number, load in enumerate(loads):
        events += [
            STEP(number, start, load + 30),
            O(loader, start, load),
            O("aten::mm", start + load, 20),
        ]
        start += load + 30
    return read(*events)


def test_changes_per_step():
    left = loop(DATA_LOADER, 100, 104)
    right = loop("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 10, 12)
    changes = operator_changes(left, right)
    assert changes.select("name", "left_calls", "right_calls", "change_ns").rows() == [
        ("data loader", 1, 1, -91.0 * US),
        ("aten::mm", 1, 1, 0),
        (NOBODY, 0, 0, 0),
    ]
    loading = changes.row(0, named=True)
    assert (loading["left_share_ns"], loading["right_share_ns"]) == (102 * US, 11 * US)
    assert loading["left_spread_ns"] == pytest.approx(8**0.5 * US)
    assert (loading["effect_size"], loading["p_value"]) == (-1, pytest.approx(1 / 3))


def test_an_operator_of_one_run_only():
    left = read(STEP(1, 0, 100), O("aten::mm", 10, 30))
    right = read(STEP(1, 0, 100), O("aten::bmm", 10, 40))
    changes = operator_changes(left, right).select("name", "left_calls", "right_calls", "change_ns")
    assert changes.rows() == [
        ("aten::bmm", 0, 1, 40 * US),
        ("aten::mm", 1, 0, -30 * US),
        (NOBODY, 0, 0, -10 * US),
    ]


def test_one_step_tells_nothing_about_spread():
    row = operator_changes(loop(DATA_LOADER, 100), loop(DATA_LOADER, 50)).row(0, named=True)
    assert [row[name] for name in ("left_spread_ns", "effect_size", "p_value")] == [None] * 3


def test_changes_add_up_to_the_change_of_the_step(shared: Path):
    data = shared / "data/kineto"
    left = timesink.open(data / "resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz")
    right = timesink.open(data / "resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz")
    changes = operator_changes(left, right)
    step = average_step(right)["total_ns"] - average_step(left)["total_ns"]
    assert changes["change_ns"].sum() == pytest.approx(step)
    assert changes["name"][0] == "data loader"

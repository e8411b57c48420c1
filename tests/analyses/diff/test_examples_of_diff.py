"""Small examples of what analyses.diff computes."""

from __future__ import annotations

import polars as pl

import timesink
from timesink.analyses.diff.operator_changes import step_shares
from timesink.analyses.diff.trees import align, compare_trees
from timesink.analyses.steps import find_steps


def test_align() -> None:
    assert align(["load", "net", "step", "load", "net"], ["net", "step", "save", "net"]) == [
        (1, 0),
        (2, 1),
        (4, 3),
    ]


def test_step_shares() -> None:
    trace = timesink.open(timesink.sample())
    lengths = find_steps(trace).filter("complete").select(pl.col("end_ns") - pl.col("start_ns"))
    assert int(step_shares(trace)["share_ns"].sum()) == int(lengths.sum().item())


def test_compare_trees() -> None:
    trace = timesink.open(timesink.sample())
    both = compare_trees(trace, trace)
    assert both.left.cost.host_ns == both.right.cost.host_ns

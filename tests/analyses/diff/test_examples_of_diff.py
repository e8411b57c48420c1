"""Small examples of what analyses.diff computes."""

from __future__ import annotations

import timesink
from timesink.analyses.diff.trees import align, compare_trees


def test_align() -> None:
    assert align(["load", "net", "step", "load", "net"], ["net", "step", "save", "net"]) == [
        (1, 0),
        (2, 1),
        (4, 3),
    ]


def test_compare_trees() -> None:
    trace = timesink.open(timesink.sample())
    both = compare_trees(trace, trace)
    assert both.left.cost.host_ns == both.right.cost.host_ns

"""Python calls of a recording, nested thread by thread."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from timesink.analyses.columns import host_columns, lane_codes, start_and_end
from timesink.analyses.cycles.waiting import is_wait
from timesink.analyses.nesting import Nodes, children_of, nest_calls, pre_order, subtree_sizes
from timesink.analyses.once import once_per_trace
from timesink.analyses.texts import Codes, encode
from timesink.model.arrays import Flags, Ints
from timesink.model.trace import Trace

_NOT_AN_ANCHOR = re.compile(
    r"(^|[.: ])_(wrapped_)?call_impl$|torch/(autograd/)?profiler|^<built-in"
)
"""Calls that are no unit of anybody's work: dispatch, the profiler itself, builtins."""


@dataclass(frozen=True, eq=False)
class PythonCalls:
    """Python calls in pre-order, thread after thread; arrays have one entry per call."""

    lane: Codes
    """Place in `lanes`."""
    name: Codes
    """Place in `names`."""
    start: Ints
    end: Ints
    parent: Nodes
    depth: Ints
    names: Sequence[str]
    lanes: Sequence[tuple[str, str]]
    """Process and thread."""

    def __len__(self) -> int:
        return len(self.lane)

    @cached_property
    def size(self) -> Ints:
        """How many calls a subtree has, the call itself included."""
        return subtree_sizes(self.depth, self.parent)

    @cached_property
    def length(self) -> Ints:
        return self.end - self.start

    def flags(self, test: Callable[[str], object]) -> Flags:
        """For each of `names`: whether it passes the test."""
        return np.array([bool(test(name)) for name in self.names] or [False], dtype=np.bool_)

    @cached_property
    def waits(self) -> Flags:
        """For each of `names`: whether such a call only waits."""
        return self.flags(is_wait)

    @cached_property
    def barred(self) -> Flags:
        """For each of `names`: whether such a call cannot mark a cycle."""
        return self.waits | self.flags(_NOT_AN_ANCHOR.search)

    def processes(self, nodes: Nodes) -> list[str]:
        """The process of each of some calls."""
        return [self.lanes[lane][0] for lane in self.lane[nodes].tolist()]

    def named(self, nodes: Nodes) -> list[str]:
        """What each of some calls is called."""
        return [self.names[code] for code in self.name[nodes].tolist()]

    def children(self, node: int) -> Nodes:
        """The calls a call makes itself."""
        return children_of(node, self.parent, self.size)

    def outermost(self, chosen: Flags) -> Nodes:
        """Of the chosen calls those that are inside no other chosen one."""
        nodes = np.flatnonzero(chosen)
        if not len(nodes):
            return nodes
        reach = np.maximum.accumulate(nodes + self.size[nodes])
        return nodes[np.insert(nodes[1:] >= reach[:-1], 0, True)]


@once_per_trace
def python_calls(trace: Trace) -> PythonCalls:
    """Nest the Python and module calls of a recording; threads with a single call are left out."""
    host = host_columns(trace)
    kinds = pl.col("kind").is_in(["python_function", "module"])
    calls = host.filter(kinds & (pl.col("dur_ns") > 0))
    calls = calls.filter(pl.len().over("pid", "tid") > 1)
    lane, lanes = lane_codes(calls) if calls.height else (np.zeros(0, dtype=np.int64), [])
    start, end = start_and_end(calls)
    none = np.zeros(len(start), dtype=np.bool_)
    order = pre_order(lane, start, end, none)
    lane, start, end = lane[order], start[order], end[order]
    nest = nest_calls(lane, start, end, none)
    name, names = encode(calls["name"])
    texts = [text or "" for text in names]
    return PythonCalls(lane, name[order], start, end, nest.parent, nest.depth, texts, lanes)

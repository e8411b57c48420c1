"""Which forward call a backward call belongs to.

The recording ties them by arrows.  Where it has none, they carry the same sequence number: the
forward call that made a gradient function is the last one with its number, as calls that make
none leave the number to the next.  Numbers count per thread, and backward calls name their
forward thread by a number of its own, so threads are matched by the numbers they share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.columns import lane_codes, once_per_trace
from timesink.analyses.forest import CallForest, Nodes, call_forest, enclosing
from timesink.model.arrays import Flags, Ints
from timesink.model.trace import Trace

_ENGINE = "autograd::engine::evaluate_function: "
_ACCUMULATE = "torch::autograd::AccumulateGrad"


@dataclass(frozen=True, eq=False)
class BackwardLinks:
    """Backward calls, each with everything below it; arrays have one entry per call."""

    node: Nodes
    """The call in the forest."""
    forward: Nodes
    """The forward call it belongs to, -1 where it is not known."""
    leader: Ints
    """Place of the call it goes with: itself, or for a gradient sum the call before it."""


@once_per_trace
def link_backward(trace: Trace) -> BackwardLinks:
    """Tie the calls of the backward pass to those of the forward pass."""
    forest = call_forest(trace)
    # Sequence number (-1: none) and forward thread (0: none) of every call.
    ids = (
        trace.lazy("host")
        .select(
            sequence=pl.col("sequence_number").fill_null(-1),
            forward_thread=pl.col("fwd_thread_id").fill_null(0),
        )
        .collect()[forest.row]
    )
    # Roots of backward trees: calls of the engine, or the functions themselves without it.
    engine = forest.named(lambda name: name.startswith(_ENGINE))
    function = (ids["forward_thread"] > 0).to_numpy()
    function = function | forest.named(lambda name: name == _ACCUMULATE)
    backward: Flags = engine | function
    # What runs inside another backward call is part of it, however deep: it would count twice.
    inside = enclosing(forest.parent, forest.parent, backward) >= 0
    node = np.flatnonzero(backward & ~inside)
    # A gradient is summed right after the call that computes it, and goes with that call.
    follows = forest.named(lambda name: name.endswith(_ACCUMULATE))[node]
    # Calls with the same caller side by side; those without one are apart by thread.
    caller = np.where(forest.parent[node] < 0, -1 - forest.thread[node], forest.parent[node])
    order = np.argsort(caller, kind="stable")
    place = np.arange(len(node))
    latest = np.maximum.accumulate(np.where(follows[order], -1, place)) if len(node) else place
    related = (latest >= 0) & (caller[order] == caller[order[latest]])
    leader = np.empty(len(node), dtype=np.int64)
    leader[order] = order[np.where(related, latest, place)]
    # The forward call at the tail of the first arrow into each backward call; -1 without one.
    forward = np.full(len(node), -1, dtype=np.int64)
    tails, heads = _arrows(trace)
    is_backward = np.zeros(len(forest), dtype=np.bool_)
    is_backward[node] = True
    source = _call_at(tails, forest)
    target = enclosing(_call_at(heads, forest), forest.parent, is_backward)
    known = np.flatnonzero((source >= 0) & (target >= 0))[::-1]
    forward[np.searchsorted(node, target[known])] = source[known]
    unknown = np.flatnonzero(forward < 0)
    forward[unknown] = _by_sequence(forest, ids, node[unknown])
    forward = np.where(forward < 0, forward[leader], forward)
    return BackwardLinks(node, forward, leader)


# -- by the arrows of the recording ----------------------------------------------------------------


def _arrows(trace: Trace) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both ends of every complete arrow from forward to backward, row by row."""
    ends = (
        trace.lazy("flows")
        .filter(pl.col("kind") == "forward_backward")
        .select("phase", "flow_id", "pid", "tid", "ts_ns")
        .collect()
    )
    tails = ends.filter(pl.col("phase") == "start").unique("flow_id", maintain_order=True)
    heads = ends.filter(pl.col("phase") == "end").unique("flow_id", maintain_order=True)
    tails = tails.join(heads.select("flow_id"), on="flow_id", how="semi").sort("flow_id")
    heads = heads.join(tails.select("flow_id"), on="flow_id", how="semi").sort("flow_id")
    return tails, heads


def _call_at(moments: pl.DataFrame, forest: CallForest) -> Nodes:
    """The innermost call of the thread at each moment; -1 where none was active."""
    lane, lanes = lane_codes(moments)
    moment = moments["ts_ns"].to_numpy()
    return forest.going_on(forest.last_begun(forest.numbers_of(lanes)[lane], moment), moment)


# -- by sequence number ----------------------------------------------------------------------------


def _by_sequence(forest: CallForest, ids: pl.DataFrame, node: Nodes) -> Nodes:
    """The last forward call with the number of each backward call; -1 where none is found."""
    calls = ids.with_columns(
        node=pl.int_range(pl.len(), dtype=pl.Int64),
        thread=pl.Series(forest.thread),
        start=pl.Series(forest.start),
    )
    numbered = calls.filter((pl.col("sequence") >= 0) & (pl.col("forward_thread") == 0))
    # Backward calls with their numbers, which some recordings put on the function inside.
    inner = np.minimum(node + 1, max(len(forest) - 1, 0))
    inner = np.where(forest.parent[inner] == node, inner, node)
    own, below = calls[node], calls[inner]
    takes_below = (own["sequence"] < 0) & (below["forward_thread"] > 0)
    candidates = (
        own.with_columns(
            place=pl.int_range(pl.len(), dtype=pl.Int64),
            sequence=pl.when(takes_below).then(below["sequence"]).otherwise(pl.col("sequence")),
            forward_thread=pl.when(takes_below)
            .then(below["forward_thread"])
            .otherwise(pl.col("forward_thread")),
        )
        .filter(pl.col("sequence") >= 0)
        .join(numbered, on="sequence", suffix="_of_forward")
        .filter(pl.col("start_of_forward") < pl.col("start"))
        .sort("start_of_forward", "node_of_forward")
        .group_by("place", "forward_thread", "thread_of_forward")
        .agg(pl.col("node_of_forward").last())
    )
    # For each number of a forward thread the thread that shares most with it, taken once each.
    shared = (
        candidates.group_by("forward_thread", "thread_of_forward")
        .len()
        .sort("len", "forward_thread", "thread_of_forward", descending=[True, False, False])
    )
    matched: dict[int, int] = {}
    for number, thread, _ in shared.iter_rows():
        if number not in matched and thread not in matched.values():
            matched[number] = thread
    chosen = candidates.join(
        pl.DataFrame(
            {"forward_thread": list(matched), "thread_of_forward": list(matched.values())},
            schema={"forward_thread": pl.Int64, "thread_of_forward": pl.Int64},
        ),
        on=["forward_thread", "thread_of_forward"],
    )
    forward = np.full(len(node), -1, dtype=np.int64)
    forward[chosen["place"].to_numpy()] = chosen["node_of_forward"].to_numpy()
    return forward

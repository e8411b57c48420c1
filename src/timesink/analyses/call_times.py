"""Host and device time of every call of the forest, its own and with what it calls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timesink.analyses.columns import device_columns, host_columns, start_and_end
from timesink.analyses.forest import CallForest, call_forest
from timesink.analyses.kernels.tensor_cores import has_tensor_cores, is_eligible, tensor_core_use
from timesink.analyses.links import Links, link_launches
from timesink.analyses.once import once_per_trace
from timesink.analyses.sums import sums_by
from timesink.model import intervals
from timesink.model.arrays import Flags, Ints
from timesink.model.schema import BUSY_KINDS, KERNEL_KINDS
from timesink.model.trace import Trace

_LONGEST_LINE = 1 << 62


@dataclass(frozen=True, eq=False)
class NodeTimes:
    """Times of every call of the forest; those merged into another call have none of their own."""

    host_total: Ints
    host_self: Ints
    """Without the time inside callees and runtime calls."""
    device_self: Ints
    """Sum over the device work the call launched itself, parallel streams counted each."""
    device_total: Ints
    """The same, with everything it called."""
    kernel_self: Ints
    """The part of `device_self` that is kernels."""
    tensor_core_self: Ints
    tensor_core_total: Ints
    eligible: Flags
    """Whether the call, or one it made, could use tensor cores."""
    eligible_by_name: Flags


@once_per_trace
def node_times(trace: Trace) -> NodeTimes:
    """Host and device time of every call of the forest."""
    forest, links = call_forest(trace), link_launches(trace)
    device = device_columns(trace)
    busy = device["kind"].is_in(BUSY_KINDS).to_numpy()
    kernels = device["kind"].is_in(KERNEL_KINDS).to_numpy()
    tensor = kernels & tensor_core_use(trace).fill_null(value=False).to_numpy()
    durations = device["dur_ns"].to_numpy()
    device_self = _launched(forest, links, durations, busy)
    tensor_self = _launched(forest, links, durations, tensor)
    by_name = forest.named(is_eligible) & has_tensor_cores(trace)
    # Time of each call that no callee and no runtime call covers.
    callees = np.flatnonzero((forest.parent >= 0) & (forest.stands_for == np.arange(len(forest))))
    made = np.flatnonzero(links.call_node >= 0)
    rows = links.calls[made]
    call_start, call_end = start_and_end(host_columns(trace), rows)
    owner = np.concatenate([forest.parent[callees], links.call_node[made]]).astype(np.int64)
    inner = _Inner(
        owner=forest.stands_for[owner],
        start=np.concatenate([forest.start[callees], call_start]),
        end=np.concatenate([forest.end[callees], call_end]),
        callees=len(callees),
    )
    own = forest.end - np.minimum(forest.self_start, forest.end)
    own -= sums_by(inner.owner, inner.end - inner.start, len(forest))
    # Ranges rarely overlap; where they may, their union is taken instead of their sum.
    unsure = np.flatnonzero(_may_overlap(forest, links, inner))
    if len(unsure):
        own[unsure] = _uncovered(forest, unsure, inner)
    return NodeTimes(
        host_total=forest.end - forest.start,
        host_self=own,
        device_self=device_self,
        device_total=forest.subtree_sum(device_self),
        kernel_self=_launched(forest, links, durations, kernels),
        tensor_core_self=tensor_self,
        tensor_core_total=forest.subtree_sum(tensor_self),
        eligible=forest.subtree_sum((by_name | (tensor_self > 0)).astype(np.int64)) > 0,
        eligible_by_name=by_name,
    )


def _launched(forest: CallForest, links: Links, durations: Ints, chosen: Flags) -> Ints:
    """Device time launched by each call itself, including the calls merged into it."""
    mine = chosen & (links.node >= 0)
    owner = forest.stands_for[links.node[mine]]
    return sums_by(owner, durations[mine], len(forest))


@dataclass(frozen=True, slots=True)
class _Inner:
    """Ranges inside calls: first those of their callees, then those of runtime calls."""

    owner: Ints
    start: Ints
    end: Ints
    callees: int


def _may_overlap(forest: CallForest, links: Links, inner: _Inner) -> Flags:
    """Calls whose inner ranges may overlap each other, or reach out of the call."""
    unsure = forest.crossing.copy()
    crossed = forest.parent[forest.crossing]
    unsure[forest.stands_for[crossed[crossed >= 0]]] = True
    owner, start, end = (
        column[inner.callees :] for column in (inner.owner, inner.start, inner.end)
    )
    unsure[owner[~links.call_alone[links.call_node >= 0]]] = True
    order = np.lexsort((start, owner))
    owner, start, end = owner[order], start[order], end[order]
    overlaps = (owner[1:] == owner[:-1]) & (start[1:] < end[:-1])
    unsure[owner[1:][overlaps]] = True
    return unsure


def _uncovered(forest: CallForest, nodes: Ints, inner: _Inner) -> Ints:
    """How much of some calls their inner ranges leave uncovered; overlaps count once."""
    place = np.full(len(forest), -1, dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    mine = np.flatnonzero(place[inner.owner] >= 0)
    owner = place[inner.owner[mine]]
    own_start = np.minimum(forest.self_start, forest.end)[nodes]
    # All calls side by side on one line, so that a single union serves them all.
    length = np.minimum(forest.end[nodes] - own_start, _LONGEST_LINE // len(nodes))
    offset = np.cumsum(length + 1) - (length + 1)
    first = np.clip(inner.start[mine] - own_start[owner], 0, length[owner]) + offset[owner]
    last = np.clip(inner.end[mine] - own_start[owner], 0, length[owner]) + offset[owner]
    line = np.stack([first, np.maximum(first, last)]).T
    return length - intervals.coverage_within(line, np.stack([offset, offset + length]).T)

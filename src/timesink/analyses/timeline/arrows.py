"""Arrows between slices: from a call to the device work it launched, and along flows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.links import launching_calls
from timesink.analyses.timeline.lanes import Lanes
from timesink.model.intervals import Ints
from timesink.model.schema import FLOW_KINDS
from timesink.model.trace import Trace

LAUNCH, FORWARD_BACKWARD = (FLOW_KINDS.index(kind) for kind in ("launch", "forward_backward"))


@dataclass(frozen=True, slots=True, eq=False)
class Arrows:
    """Pairs of slices; `kind` is a place in `FLOW_KINDS`."""

    tail: NDArray[np.int32]
    """Id of the slice an arrow starts at."""
    head: NDArray[np.int32]
    kind: NDArray[np.uint8]
    tail_ns: Ints
    head_ns: Ints

    def __len__(self) -> int:
        return len(self.tail)

    def at(self, slice_id: int) -> Iterator[tuple[str, str, int]]:
        """Kind, direction ("to" or "from") and the other slice of each arrow at a slice."""
        for direction, here, other in (
            ("to", self.tail, self.head),
            ("from", self.head, self.tail),
        ):
            for place in np.flatnonzero(here == slice_id).tolist():
                yield FLOW_KINDS[self.kind[place]], direction, int(other[place])

    def between(self, from_ns: int, to_ns: int) -> NDArray[np.intp]:
        """Arrows that start or end in a range."""
        starts = (self.tail_ns >= from_ns) & (self.tail_ns <= to_ns)
        ends = (self.head_ns >= from_ns) & (self.head_ns <= to_ns)
        return np.flatnonzero(starts | ends)


def find_arrows(trace: Trace, lanes: Lanes, hosts: int) -> Arrows:
    """All arrows between slices that are shown, by the time they start; `hosts` are host rows."""
    launching = launching_calls(trace)
    launched = np.flatnonzero(launching >= 0)
    forward, backward = _passes(trace)
    tail = np.concatenate([launching[launched], forward]).astype(np.int32)
    head = np.concatenate([launched + hosts, backward]).astype(np.int32)
    kinds = np.array([LAUNCH, FORWARD_BACKWARD], dtype=np.uint8)
    kind = np.repeat(kinds, [len(launched), len(forward)])
    is_drawn = (lanes.place[tail] >= 0) & (lanes.place[head] >= 0)
    tail, head, kind = tail[is_drawn], head[is_drawn], kind[is_drawn]
    tail_ns, head_ns = (lanes.slices.start[lanes.place[side]] for side in (tail, head))
    order = np.argsort(tail_ns, kind="stable")
    return Arrows(tail[order], head[order], kind[order], tail_ns[order], head_ns[order])


def _passes(trace: Trace) -> tuple[Ints, Ints]:
    """Ids of the operators of forward passes, and of what the backward pass made of each."""
    ends = (
        trace.lazy("flows")
        .filter(pl.col("kind") == "forward_backward")
        .select("phase", "flow_id", "pid", "tid", "ts_ns")
        .sort("ts_ns", maintain_order=True)
        .collect()
    )
    if ends.is_empty():
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    # The outermost operator that starts where an arrow does, by process, thread and time.
    place = ["pid", "tid", "ts_ns"]
    host = trace.lazy("host").select("kind", *place, "dur_ns").with_row_index("id")
    operators = host.filter(pl.col("kind") == "operator").sort("dur_ns", maintain_order=True)
    nearest = operators.unique(place, keep="last").select(pl.col("id").cast(pl.Int64), *place)
    at = ends.lazy().join(nearest, on=place, how="left", maintain_order="left")
    passes = at.drop_nulls("id").collect()
    forward, backward = (
        passes.filter(pl.col("phase") == phase).select("pid", "flow_id", "ts_ns", "id")
        for phase in ("start", "end")
    )
    # Ids are used again by other processes and, in long recordings, by the same one.
    pairs = backward.join_asof(
        forward, on="ts_ns", by=["pid", "flow_id"], suffix="_forward", check_sortedness=False
    ).drop_nulls("id_forward")
    return pairs["id_forward"].to_numpy(), pairs["id"].to_numpy()

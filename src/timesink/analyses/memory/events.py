"""Single blocks of memory: who took them, when they were given back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.forest import CallForest, call_forest
from timesink.analyses.gathering import names_of, values_at
from timesink.analyses.memory.devices import memory_records, within
from timesink.analyses.memory.operators import record_operators
from timesink.analyses.nesting import Nodes
from timesink.analyses.once import once_per_trace
from timesink.analyses.texts import encode
from timesink.model.arrays import Ints
from timesink.model.trace import Trace


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks by the places of their records in `memory_records`; -1 where there is no record.

    First those given back, in that order; then those that stay, in the order they were taken; then
    those taken before the recording, in the order they were given back.
    """

    taken: Ints
    released: Ints

    def __len__(self) -> int:
        return len(self.taken)


@once_per_trace
def memory_blocks(trace: Trace) -> Blocks:
    """Match releases with allocations: same process, device and address, one right after the other.

    Records without an address match nothing and are left out.
    """
    records = memory_records(trace)
    addressed = np.flatnonzero(records["address"].is_not_null().to_numpy())
    keys = _keys(records[addressed])
    order = np.lexsort(keys)
    place, keys = addressed[order], [key[order] for key in keys]
    takes = (records["bytes"] > 0).to_numpy()[place]
    same = np.logical_and.reduce([key[1:] == key[:-1] for key in keys])
    pairs = np.flatnonzero(same & takes[:-1] & ~takes[1:])
    closed = np.zeros(len(place), dtype=np.bool_)
    closed[pairs] = closed[pairs + 1] = True
    pairs = pairs[np.argsort(place[pairs + 1])]
    stay, foreign = np.sort(place[takes & ~closed]), np.sort(place[~takes & ~closed])
    return Blocks(
        taken=np.concatenate([place[pairs], stay, np.full(len(foreign), -1)]),
        released=np.concatenate([place[pairs + 1], np.full(len(stay), -1), foreign]),
    )


def _keys(records: pl.DataFrame) -> list[Ints]:
    """Process, device and address as numbers; records that name no process are of one."""
    process, _ = encode(records["pid"])
    return [process, records["device"].to_physical().to_numpy(), records["address"].to_numpy()]


def memory_events(
    trace: Trace, start_ns: int | None = None, end_ns: int | None = None
) -> pl.DataFrame:
    """Blocks with the operator that took them, its caller, and when they were taken and released.

    Within a window, both ends included, are blocks taken or released inside it.  What is not in
    the recording is null: an operator outside of which a block was taken, the release of a block
    that stays, the allocation of one that was there before.
    """
    records, blocks = memory_records(trace), memory_blocks(trace)
    taken, released = blocks.taken, blocks.released
    # The operators that took the blocks, -1 where there is none.
    operators: Nodes = np.append(record_operators(trace), -1)[taken]
    forest, operator = call_forest(trace), operators
    at_start, at_end = (
        {name: values_at(records[name], places) for name in ("device", "bytes", "ts_ns")}
        for places in (taken, released)
    )
    events = pl.DataFrame(
        {
            "device": at_start["device"].fill_null(at_end["device"]),
            "operator": names_of(forest, operator),
            "caller": names_of(forest, _callers(forest, operator)),
            "bytes": (-at_end["bytes"]).fill_null(at_start["bytes"]),
            "allocated_ts_ns": at_start["ts_ns"],
            "released_ts_ns": at_end["ts_ns"],
        }
    ).with_columns(duration_ns=pl.col("released_ts_ns") - pl.col("allocated_ts_ns"))
    ends = ("allocated_ts_ns", "released_ts_ns")
    inside = [within(pl.col(end), start_ns, end_ns) for end in ends]
    return events.filter(pl.any_horizontal(inside))


def _callers(forest: CallForest, node: Nodes) -> Nodes:
    return np.where(node >= 0, forest.parent[node], -1) if len(forest) else node

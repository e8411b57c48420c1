"""Single blocks of memory: who took them, when they were given back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.forest import Nodes, call_forest
from timesink.analyses.memory.devices import memory_records, within
from timesink.analyses.memory.operators import record_operators
from timesink.analyses.once import once_per_trace
from timesink.model.trace import Trace

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks by the places of their records in `memory_records`; -1 where there is no record.

    First those given back, in that order; then those that stay, in the order they were taken; then
    those taken before the recording, in the order they were given back.
    """

    taken: Places
    released: Places

    def __len__(self) -> int:
        return len(self.taken)


@once_per_trace
def memory_blocks(trace: Trace) -> Blocks:
    """Match releases with allocations: same process, device and address, one right after the other.

    Records without an address match nothing and are left out.

    >>> import timesink
    >>> blocks = memory_blocks(timesink.open(timesink.sample()))
    >>> bool((blocks.taken[blocks.released >= 0] < blocks.released[blocks.released >= 0]).all())
    True
    """
    records = memory_records(trace)
    addressed = np.flatnonzero(records["address"].is_not_null().to_numpy())
    keys = records.select(pl.col("pid", "device").to_physical(), "address")[addressed]
    order = np.lexsort([keys[name].fill_null(0).to_numpy() for name in keys.columns])
    place, keys = addressed[order], keys[order]
    same = (keys == keys.shift(-1)).select(pl.all_horizontal(pl.all()).fill_null(value=False))
    takes = (records["bytes"] > 0).to_numpy()[place]
    pairs = np.flatnonzero(same.to_series().to_numpy() & takes & ~np.append(takes[1:], True))
    closed = np.zeros(len(place), dtype=np.bool_)
    closed[pairs] = closed[pairs + 1] = True
    pairs = pairs[np.argsort(place[pairs + 1])]
    stay, foreign = np.sort(place[takes & ~closed]), np.sort(place[~takes & ~closed])
    return Blocks(
        taken=np.concatenate([place[pairs], stay, np.full(len(foreign), -1)]),
        released=np.concatenate([place[pairs + 1], np.full(len(stay), -1), foreign]),
    )


def memory_events(
    trace: Trace, start_ns: int | None = None, end_ns: int | None = None
) -> pl.DataFrame:
    """Blocks with the operator that took them, its caller, and when they were taken and released.

    Within a window, both ends included, are blocks taken or released inside it.  What is not in
    the recording is null: an operator outside of which a block was taken, the release of a block
    that stays, the allocation of one that was there before.

    >>> import timesink
    >>> events = memory_events(timesink.open(timesink.sample()))
    >>> bool((events["duration_ns"].drop_nulls() >= 0).all())
    True
    """
    records, blocks = memory_records(trace), memory_blocks(trace)
    taken, released = _optional(blocks.taken), _optional(blocks.released)
    operator = _at(pl.Series(record_operators(trace)), taken).fill_null(-1).to_numpy()
    events = pl.DataFrame(
        {
            "device": _at(records["device"], taken).fill_null(_at(records["device"], released)),
            "operator": _names(trace, operator),
            "caller": _names(trace, _callers(trace, operator)),
            "bytes": (-_at(records["bytes"], released)).fill_null(_at(records["bytes"], taken)),
            "allocated_ts_ns": _at(records["ts_ns"], taken),
            "released_ts_ns": _at(records["ts_ns"], released),
        }
    ).with_columns(duration_ns=pl.col("released_ts_ns") - pl.col("allocated_ts_ns"))
    ends = ("allocated_ts_ns", "released_ts_ns")
    inside = [within(pl.col(end), start_ns, end_ns) for end in ends]
    return events.filter(pl.any_horizontal(inside))


def _optional(places: Places) -> pl.Series:
    return pl.Series(places).replace(-1, None)


def _at(column: pl.Series, places: pl.Series) -> pl.Series:
    """The values at these places; null where there is no place."""
    return column.gather(places)


def _callers(trace: Trace, node: Nodes) -> Nodes:
    forest = call_forest(trace)
    return np.where(node >= 0, forest.parent[node], -1) if len(forest) else node


def _names(trace: Trace, node: Nodes) -> pl.Series:
    forest = call_forest(trace)
    code = np.where(node >= 0, forest.name[node], -1) if len(forest) else node
    return _at(pl.Series(forest.names, dtype=pl.String), _optional(code))

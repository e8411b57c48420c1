"""Which operators took and gave back memory, on every device."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.columns import lane_codes
from timesink.analyses.forest import CallForest, call_forest
from timesink.analyses.memory.devices import memory_records, within
from timesink.analyses.nesting import Nodes
from timesink.analyses.once import once_per_trace
from timesink.model.arrays import Flags
from timesink.model.trace import Trace

AMOUNTS = ("size_increase_bytes", "allocation_count", "allocation_bytes")
"""What is summed: the first over all records, the others over allocations alone."""

SUMS = tuple(column for amount in AMOUNTS for column in (amount, f"self_{amount}"))


# -- the call around a record ----------------------------------------------------------------------


@once_per_trace
def record_nodes(trace: Trace) -> Nodes:
    """For each record the innermost call around it on its thread, a node of the forest, or -1.

    A call holds what happens from its start until before its end; one that is merged into its
    caller passes its records on.
    """
    forest, records = call_forest(trace), memory_records(trace)
    if not len(forest) or records.is_empty():
        return np.full(records.height, -1, dtype=np.int64)
    times = records["ts_ns"].to_numpy()
    lane, lanes = lane_codes(records)
    latest = forest.last_begun(forest.numbers_of(lanes)[lane], times)
    node = forest.going_on(latest, times + 1)
    return np.where(node >= 0, forest.stands_for[node], -1)


@once_per_trace
def record_operators(trace: Trace) -> Nodes:
    """For each record the operator it happened in; -1 where the innermost call is none."""
    node, is_operator = record_nodes(trace), call_forest(trace).is_operator
    if not len(is_operator):
        return node
    return np.where((node >= 0) & is_operator[node], node, -1)


# -- sums ------------------------------------------------------------------------------------------


# Not kept: whoever drags a window over the curve asks for hundreds of them.
def memory_by_operator(
    trace: Trace, start_ns: int | None = None, end_ns: int | None = None
) -> pl.DataFrame:
    """What each operator took and gave back: itself (`self_...`) and with all it called.

    Within a window, both ends included: records by their time, calls if they touch it.  Sorted by
    device and name; operators that moved no memory of a device are left out.  `calls` are all
    calls of the operator, whatever the device.
    """
    forest = call_forest(trace)
    touching = np.ones(len(forest), dtype=np.bool_)
    if start_ns is not None:
        touching &= forest.end >= start_ns
    if end_ns is not None:
        touching &= forest.start <= end_ns
    shown = forest.is_operator & touching
    moved = _moved(trace, start_ns, end_ns).filter(pl.col("node") >= 0)
    devices = moved.partition_by("device", as_dict=True)
    parts = [
        _by_name(forest, shown, mine).with_columns(pl.lit(name).alias("device"))
        for (name,), mine in devices.items()
    ]
    names = pl.Series("name", forest.names, dtype=pl.String)
    calls = np.bincount(forest.name[shown], minlength=len(names))
    listed = pl.DataFrame({"code": np.arange(len(names)), "name": names, "calls": calls})
    whole = dict.fromkeys(("code", *SUMS), pl.Int64)
    return (
        pl.concat([pl.DataFrame(schema={**whole, "device": pl.String}), *parts])
        .filter(pl.any_horizontal(pl.col(SUMS) != 0))
        .join(listed, on="code", how="left")
        .select(pl.col("device").cast(moved["device"].dtype), "name", "calls", *SUMS)
        .sort("device", "name")
    )


def memory_outside_operators(
    trace: Trace, start_ns: int | None = None, end_ns: int | None = None
) -> pl.DataFrame:
    """What was taken and given back in no operator, so that operators and this add up."""
    return (
        _moved(trace, start_ns, end_ns)
        .filter(pl.col("node") < 0)
        .group_by("device")
        .agg(pl.len().cast(pl.Int64).alias("records"), pl.col(AMOUNTS).sum())
        .sort("device")
    )


def _moved(trace: Trace, start_ns: int | None, end_ns: int | None) -> pl.DataFrame:
    """The amounts of the records inside the window, and the operators they happened in."""
    taken = pl.col("bytes") > 0
    return (
        memory_records(trace)
        .lazy()
        .with_columns(pl.Series("node", record_operators(trace)))
        .filter(within(pl.col("ts_ns"), start_ns, end_ns))
        .select(
            "device",
            "node",
            size_increase_bytes="bytes",
            allocation_count=taken.cast(pl.Int64),
            allocation_bytes=pl.when(taken).then("bytes").otherwise(0),
        )
        .collect()
    )


def _by_name(forest: CallForest, shown: Flags, moved: pl.DataFrame) -> pl.DataFrame:
    """Sums over the calls of each operator, by the code of its name."""
    moved = moved[np.argsort(moved["node"].to_numpy(), kind="stable")]
    counts = np.bincount(moved["node"].to_numpy(), minlength=len(forest))
    before = np.concatenate([[0], np.cumsum(counts)])
    node = np.arange(len(forest))
    # In the order of nodes the records of a call, and those of all it calls, are one stretch.
    node = node[shown & (before[node + forest.size] > before[node])]
    first, own, last = before[node], before[node + 1], before[node + forest.size[node]]
    columns = {"code": forest.name[node]}
    for amount in AMOUNTS:
        sums = np.concatenate([[0], np.cumsum(moved[amount].to_numpy())])
        columns[amount] = sums[last] - sums[first]
        columns[f"self_{amount}"] = sums[own] - sums[first]
    return pl.DataFrame(columns).group_by("code").agg(pl.col(SUMS).sum())

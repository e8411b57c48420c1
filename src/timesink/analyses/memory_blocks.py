"""Single blocks of memory: who took them, when they were given back."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import encode, memoize_per_trace, values_at
from timesink.analyses.forest import DATA_LOADER, MODULE, OPTIMIZER, CallForest, call_forest
from timesink.analyses.memory_curve import (
    in_window,
    memory_device_names,
    memory_peaks,
    memory_records,
    peak_records,
)
from timesink.analyses.snapshot.modules import nodes_at
from timesink.model.arrays import prefix_sums, wide
from timesink.model.intervals import Flags, Ints
from timesink.model.nested_calls import Nodes, enclosing_calls
from timesink.model.trace import Trace
from timesink.patterns import regex

AMOUNTS = ("size_increase_bytes", "allocation_count", "allocation_bytes")
"""What is summed: the first over all records, the others over allocations alone."""

SUMS = tuple(column for amount in AMOUNTS for column in (amount, f"self_{amount}"))


@memoize_per_trace
def record_nodes(trace: Trace) -> Nodes:
    """For each record the innermost call around it on its thread, a node of the forest, or -1.

    A call holds what happens from its start until before its end; one that is merged into its
    caller passes its records on.
    """
    forest, records = call_forest(trace), memory_records(trace)
    if not len(forest) or records.is_empty():
        return np.full(records.height, -1, dtype=np.int64)
    if records["tid"].null_count() == records.height and trace.has_snapshot:
        # An allocator does not say which thread asked it.
        return nodes_at(trace, records["ts_ns"])
    node = forest.at(records, beyond_ns=1)
    return np.where(node >= 0, forest.stands_for[node], -1)


@memoize_per_trace
def record_operators(trace: Trace) -> Nodes:
    """For each record the operator it happened in; -1 where the innermost call is none."""
    node, is_operator = record_nodes(trace), call_forest(trace).is_operator
    if not len(is_operator):
        return node
    return np.where((node >= 0) & is_operator[node], node, -1)


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
    chosen = forest.is_operator & touching
    moved = _moved_amounts(trace, start_ns, end_ns).filter(pl.col("node") >= 0)
    devices = moved.partition_by("device", as_dict=True)
    parts = [
        _by_name(forest, chosen, mine).with_columns(pl.lit(name).alias("device"))
        for (name,), mine in devices.items()
    ]
    names = pl.Series("name", forest.names, dtype=pl.String)
    calls = np.bincount(forest.name[chosen], minlength=len(names))
    listed = pl.DataFrame({"code": np.arange(len(names)), "name": names, "calls": calls})
    schema = dict.fromkeys(("code", *SUMS), pl.Int64)
    return (
        pl.concat([pl.DataFrame(schema={**schema, "device": pl.String}), *parts])
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
        _moved_amounts(trace, start_ns, end_ns)
        .filter(pl.col("node") < 0)
        .group_by("device")
        .agg(pl.len().cast(pl.Int64).alias("records"), pl.col(AMOUNTS).sum())
        .sort("device")
    )


def _moved_amounts(trace: Trace, start_ns: int | None, end_ns: int | None) -> pl.DataFrame:
    """The amounts of the records inside the window, and the operators they happened in."""
    taken = pl.col("bytes") > 0
    return (
        memory_records(trace)
        .lazy()
        .with_columns(pl.Series("node", record_operators(trace)))
        .filter(in_window(pl.col("ts_ns"), start_ns, end_ns))
        .select(
            "device",
            "node",
            size_increase_bytes="bytes",
            allocation_count=taken.cast(pl.Int64),
            allocation_bytes=pl.when(taken).then("bytes").otherwise(0),
        )
        .collect()
    )


def _by_name(forest: CallForest, chosen: Flags, moved: pl.DataFrame) -> pl.DataFrame:
    """Sums over the calls of each operator, by the code of its name."""
    moved = moved[np.argsort(moved["node"].to_numpy(), kind="stable")]
    counts = np.bincount(moved["node"].to_numpy(), minlength=len(forest))
    before = prefix_sums(counts)
    node = np.arange(len(forest))
    # In the order of nodes the records of a call, and those of all it calls, are one stretch.
    node = node[chosen & (before[node + forest.size] > before[node])]
    first, self_end, last = before[node], before[node + 1], before[node + forest.size[node]]
    columns = {"code": wide(forest.name[node])}
    for amount in AMOUNTS:
        sums = prefix_sums(moved[amount].to_numpy())
        columns[amount] = sums[last] - sums[first]
        columns[f"self_{amount}"] = sums[self_end] - sums[first]
    return pl.DataFrame(columns).group_by("code").agg(pl.col(SUMS).sum())


class Blocks(msgspec.Struct, frozen=True, eq=False):
    """Blocks by the places of their records in `memory_records`; -1 where there is no record.

    First those given back, in that order; then those that stay, in the order they were taken; then
    those taken before the recording, in the order they were given back.
    """

    taken: Ints
    released: Ints

    def __len__(self) -> int:
        return len(self.taken)


@memoize_per_trace
def memory_blocks(trace: Trace) -> Blocks:
    """Match releases with allocations: same process, device and address, one right after the other.

    Records without an address match nothing and are left out.
    """
    records = memory_records(trace)
    addressed = np.flatnonzero(records["address"].is_not_null().to_numpy())
    rows = records[addressed]
    # Process, device and address as numbers; records that name no process are of one.
    keys = [
        encode(rows["pid"])[0],
        rows["device"].to_physical().to_numpy(),
        rows["address"].to_numpy(),
    ]
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


def memory_events(
    trace: Trace, start_ns: int | None = None, end_ns: int | None = None
) -> pl.DataFrame:
    """Blocks with the operator that took them, its caller, and when they were taken and released.

    Within a window, both ends included, are blocks taken or released inside it.  What is not in
    the recording is null: an operator outside of which a block was taken, the release of a block
    that stays, the allocation of one that was there before.
    """
    records, blocks = memory_records(trace), memory_blocks(trace)
    taken, released, forest = blocks.taken, blocks.released, call_forest(trace)
    # The operators that took the blocks, -1 where there is none.
    operator: Nodes = np.append(record_operators(trace), -1)[taken]
    at_start, at_end = (
        {name: values_at(records[name], places) for name in ("device", "bytes", "ts_ns")}
        for places in (taken, released)
    )
    callers = np.where(operator >= 0, forest.parent[operator], -1) if len(forest) else operator
    events = pl.DataFrame(
        {
            "device": at_start["device"].fill_null(at_end["device"]),
            "operator": forest.names_of(operator),
            "caller": forest.names_of(callers),
            "bytes": (-at_end["bytes"]).fill_null(at_start["bytes"]),
            "allocated_ts_ns": at_start["ts_ns"],
            "released_ts_ns": at_end["ts_ns"],
        }
    ).with_columns(duration_ns=pl.col("released_ts_ns") - pl.col("allocated_ts_ns"))
    ends = ("allocated_ts_ns", "released_ts_ns")
    inside = [in_window(pl.col(end), start_ns, end_ns) for end in ends]
    return events.filter(pl.any_horizontal(inside))


FORWARD, BACKWARD, OPTIMIZING, LOADING = "forward", "backward", "optimizer", "data_loader"
OUTSIDE, BEFORE, UNKNOWN = "outside_operators", "before_recording", "no_addresses"
CATEGORIES = (FORWARD, BACKWARD, OPTIMIZING, LOADING, OUTSIDE, BEFORE, UNKNOWN)
_IS_BACKWARD = regex(r"autograd::engine::evaluate_function|Backward\d*$")


@memoize_per_trace
def live_at_peak(trace: Trace) -> pl.DataFrame:
    """What was allocated at the highest point of each device, the largest first.

    By the operator that took it, the innermost module around that and the part of the step
    (`category`).  The rows of a device add up to its peak: what was there before the recording is
    a row of its own, and so is everything in recordings without addresses.  Only where records
    are missing may more be live than the peak.
    """
    # Blocks taken up to the peak of their device and not released by then.
    records, blocks = memory_records(trace), memory_blocks(trace)
    peak_of = peak_records(trace)
    peak = np.array([peak_of.get(name, -1) for name in memory_device_names(trace)])
    allocated = np.flatnonzero(blocks.taken >= 0)
    taken, released = blocks.taken[allocated], blocks.released[allocated]
    at = peak[records["device"].to_physical().to_numpy()[taken]] if len(taken) else taken
    taken = taken[(taken <= at) & ((released < 0) | (released > at))]
    forest, node = call_forest(trace), record_nodes(trace)[taken]
    operator = record_operators(trace)[taken]
    category = np.where(operator >= 0, CATEGORIES.index(FORWARD), CATEGORIES.index(OUTSIDE))
    for part, calls in (
        (BACKWARD, forest.named(lambda name: _IS_BACKWARD.search(name) is not None)),
        (OPTIMIZING, forest.role == OPTIMIZER),
        (LOADING, forest.role == DATA_LOADER),
    ):
        category[enclosing_calls(node, forest.parent, calls) >= 0] = CATEGORIES.index(part)
    live = records.select("device", "bytes")[taken].with_columns(
        category=pl.Series(CATEGORIES, dtype=pl.Enum(CATEGORIES)).gather(category),
        operator=forest.names_of(operator),
        module=forest.names_of(enclosing_calls(node, forest.parent, forest.role == MODULE)),
    )
    named = (
        live.group_by("device", "category", "operator", "module")
        .agg(pl.len().cast(pl.Int64).alias("blocks"), pl.col("bytes").sum())
        .select("device", "category", "operator", "module", "blocks", "bytes")
    )
    return pl.concat([named, _rest(trace, live)]).sort(
        "device", "bytes", "category", "operator", "module", descending=[False, True] + [False] * 3
    )


def _rest(trace: Trace, blocks: pl.DataFrame) -> pl.DataFrame:
    """What the peaks hold beyond the blocks that are known."""
    sums = blocks.group_by("device").agg(pl.col("bytes").sum())
    addressed = memory_records(trace).group_by("device").agg(pl.col("address").is_not_null().any())
    category = pl.when("address").then(pl.lit(BEFORE)).otherwise(pl.lit(UNKNOWN))
    missing = pl.lit(None, dtype=pl.String)
    return (
        memory_peaks(trace)
        .join(sums, on="device", how="left")
        .join(addressed, on="device", how="left")
        .with_columns(rest=pl.col("peak_allocated_bytes") - pl.col("bytes").fill_null(0))
        .filter(pl.col("rest") > 0)
        .select(
            "device",
            category=category.cast(pl.Enum(CATEGORIES)),
            operator=missing,
            module=missing,
            blocks=pl.lit(None, dtype=pl.Int64),
            bytes="rest",
        )
    )

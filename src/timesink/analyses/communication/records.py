"""Collective calls of one worker: what each moved, for whom, and when."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.columns import once_per_trace, union_by, values_at
from timesink.analyses.communication.calls import (
    HOST_LIBRARIES,
    CollectiveCalls,
    collective_calls,
    collective_work,
    recorded_arguments,
    with_meaning,
)
from timesink.analyses.forest import call_forest
from timesink.analyses.steps import find_steps
from timesink.model.arrays import Flags, Ints
from timesink.model.trace import Trace

RECORD_SCHEMA: dict[str, pl.DataType] = {
    "record": pl.Int64(),
    **dict.fromkeys(("name", "collective", "library", "group", "group_ranks"), pl.String()),
    **dict.fromkeys(("group_size", "sequence", "src_rank", "dst_rank"), pl.Int64()),
    "dtype": pl.String(),
    **dict.fromkeys(("size_bytes", "out_bytes", "host_start_ns", "host_end_ns"), pl.Int64()),
    "step": pl.String(),
    **dict.fromkeys(("start_ns", "end_ns", "latency_ns"), pl.Int64()),
}
RANGE_SCHEMA = {
    "record": pl.Int64(),
    "on_device": pl.Boolean(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
}


def communication_records(trace: Trace) -> pl.DataFrame:
    """One row per collective call, in order of start.

    `name` is as recorded, `collective` what it means.  `size_bytes` is what the rank puts in and
    null where the source does not tell; host times are null for work known from the device only.
    `step` is the step the call lies in, null if in none.  `latency_ns` is the time covered by
    the call and its kernels together.
    """
    return _communication(trace)[0]


def communication_ranges(trace: Trace) -> pl.DataFrame:
    """When each record was active: the range of its host call and one of each kernel and copy."""
    return _communication(trace)[1]


@once_per_trace
def _communication(trace: Trace) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Records and ranges."""
    calls, work = collective_calls(trace), collective_work(trace)
    if not len(calls.node) and work.is_empty():
        return pl.DataFrame(schema=RECORD_SCHEMA), pl.DataFrame(schema=RANGE_SCHEMA)
    described = _described(trace, calls, work)
    on_host = described["call"].to_numpy() < len(calls.node)
    ranges = _ranges(described, on_host, work)
    # The step each call was made in; for work of the device alone, the step it lies in.
    steps = find_steps(trace)
    start, end = described["start_ns"].to_numpy(), described["end_ns"].to_numpy()
    made_in = _inside(start, start, steps["host_start_ns"], steps["host_end_ns"])
    # A step starts when the device is done with the one before; the host may be ahead of that.
    lies_in = _inside(start, end, steps["start_ns"], steps["end_ns"])
    step = values_at(steps["name"], np.where(on_host & (made_in >= 0), made_in, lies_in))
    records = (
        described.lazy()
        .with_columns(step=step, **_spans(described, ranges))
        .select(pl.col(name).cast(dtype) for name, dtype in RECORD_SCHEMA.items())
    )
    return records.collect(), ranges


def _described(trace: Trace, calls: CollectiveCalls, work: pl.DataFrame) -> pl.DataFrame:
    """One row per call, numbered in order of start: names, arguments and host times."""
    forest, carried = call_forest(trace), recorded_arguments(trace)
    # Those that stand for themselves.
    alone = np.flatnonzero(calls.call == np.arange(len(calls.node)))
    node = calls.node[alone]
    times = {"start_ns": forest.start[node], "end_ns": forest.end[node]}
    found = pl.DataFrame(
        {
            "call": alone,
            "name": forest.names_of(node),
            "carries_arguments": calls.carries_arguments[alone],
            **times,
            **{name: carried[name].gather(alone) for name in ("input_dims", "input_types")},
            **{f"host_{name}": values for name, values in times.items()},
        },
        schema_overrides={"name": pl.String, "input_dims": pl.String, "input_types": pl.String},
    )
    own_work = work["call"].to_numpy() >= len(calls.node)
    if own_work.any():
        own = work.select("call", "name", "start_ns", "end_ns").filter(own_work)
        found = pl.concat([found, own], how="diagonal_relaxed")
    described = with_meaning(found, trace)
    # A call that only carries arguments may also wait or set up: nothing is moved then.
    moves = ~found["carries_arguments"].fill_null(value=False).to_numpy()
    moves |= described["collective"].is_not_null().to_numpy()
    moves |= np.isin(described["call"].to_numpy(), work["call"].to_numpy())
    order = np.lexsort((-described["end_ns"].to_numpy(), described["start_ns"].to_numpy()))
    chosen: pl.DataFrame = described[order[moves[order]]]
    return chosen.with_row_index("record")


def _ranges(described: pl.DataFrame, on_host: Flags, work: pl.DataFrame) -> pl.DataFrame:
    """The host call of each record and, where the library works on the device, its kernels."""
    call, work_call = described["call"].to_numpy(), work["call"].to_numpy()
    record_of = np.full(1 + max(call.max(initial=0), work_call.max(initial=0)), -1)
    record_of[call] = np.arange(len(call))
    works_on_host = [library in HOST_LIBRARIES for library in described["library"].to_list()]
    record_of[call[works_on_host]] = -1
    of_work = record_of[work_call]
    known = of_work >= 0
    record = np.concatenate([np.flatnonzero(on_host), of_work[known]])
    start, end = (
        np.concatenate([described[time].to_numpy()[on_host], work[time].to_numpy()[known]])
        for time in ("start_ns", "end_ns")
    )
    order = np.lexsort((-end, start, record))
    return pl.DataFrame(
        {
            "record": record[order],
            "on_device": order >= np.count_nonzero(on_host),
            "start_ns": start[order],
            "end_ns": end[order],
        },
        schema=RANGE_SCHEMA,
    )


def _spans(described: pl.DataFrame, ranges: pl.DataFrame) -> dict[str, pl.Series]:
    """From the first start to the last end of each record, and what of it its ranges cover."""
    ends = ranges.group_by("record").agg(pl.col("start_ns").min(), pl.col("end_ns").max())
    every = described.select(pl.col("record").cast(pl.Int64))
    spans = every.join(ends, on="record", how="left", maintain_order="left")
    record, start, end = (ranges[name].to_numpy() for name in ("record", "start_ns", "end_ns"))
    latency = union_by(record, start, end, described.height)
    return {"start_ns": spans["start_ns"], "end_ns": spans["end_ns"], "latency_ns": latency}


def _inside(start: Ints, end: Ints, first: pl.Series, last: pl.Series) -> Ints:
    """The first step that ends after each start, if the whole range lies in it; else -1."""
    if first.is_empty():
        return np.full(len(start), -1, dtype=np.int64)
    begins, ends = first.to_numpy(), np.maximum.accumulate(last.to_numpy())
    step = np.minimum(np.searchsorted(ends, start, side="right"), len(ends) - 1)
    return np.where((start >= begins[step]) & (end <= ends[step]), step, -1)


def volume() -> pl.Expr:
    """The bytes a collective is about: of those that gather, what all ranks give together."""
    gathered = pl.coalesce("out_bytes", pl.col("size_bytes") * pl.col("group_size"))
    gathers = pl.col("collective").is_in(["all_gather", "gather"])
    return pl.when(gathers).then(gathered).otherwise("size_bytes")


def bus_share() -> pl.Expr:
    """What the busiest link carries for each byte, at best; null where the group is not known."""
    kind, ranks = pl.col("collective"), pl.col("group_size")
    to_others = (ranks - 1) / ranks
    return (
        pl.when(kind == "all_reduce")
        .then(2 * to_others)
        .when(kind.is_in(["all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"]))
        .then(to_others)
        .when(kind.is_in(["broadcast", "reduce", "send", "recv", "send_recv"]))
        .then(1.0)
    )


def sum_if_known(column: str) -> pl.Expr:
    """The sum of a column, null where any of it is not known."""
    return pl.when(pl.col(column).is_not_null().all()).then(pl.col(column).sum())


def per_second(volumes: str, times_ns: str) -> pl.Expr:
    """Bytes over the time they took; null where either is not known."""
    seconds = pl.col(times_ns).sum() / 1e9
    return pl.when(seconds > 0).then(sum_if_known(volumes) / seconds)

"""Tables about a memory snapshot: live at the peak, never given back, held in reserve, per step."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.columns import memoize_per_trace
from timesink.analyses.memory_curve import memory_device
from timesink.analyses.names import device_word
from timesink.analyses.snapshot import stacks
from timesink.analyses.snapshot.blocks import (
    ACTIVATIONS,
    CATEGORIES,
    GRADIENTS,
    OPTIMIZER_STATE,
    PARAMETERS,
    blocks_at_peak,
    live_changes,
    snapshot_blocks,
    snapshot_peaks,
)
from timesink.analyses.steps import find_steps
from timesink.analyses.thresholds import SnapshotLimits
from timesink.model.trace import Trace

_BY_SIZE = ("device", "bytes")


def _sums(blocks: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Blocks added up by some columns, the largest first, with their share of their device."""
    sums = blocks.group_by(*keys, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("blocks"), pl.col("bytes").sum()
    )
    share = 100 * pl.col("bytes") / pl.col("bytes").sum().over("device")
    return sums.with_columns(share_pct=share.fill_nan(None)).sort(
        *_BY_SIZE, descending=[False, True], maintain_order=True
    )


def live_by_category(trace: Trace) -> pl.DataFrame:
    """What is live at the peak of each device, by what it is for; rows add up to the peak.

    >>> import timesink
    >>> live_by_category(timesink.open(timesink.sample())).columns
    ['device', 'category', 'blocks', 'bytes', 'share_pct']
    """
    return _sums(blocks_at_peak(trace), "device", "category")


def live_by_module(trace: Trace) -> pl.DataFrame:
    """What is live at the peak, by the module that was running; null outside of modules."""
    of_category = [
        pl.col("bytes").filter(pl.col("category") == name).sum().alias(f"{name}_bytes")
        for name in (PARAMETERS, GRADIENTS, OPTIMIZER_STATE, ACTIVATIONS)
    ]
    live = blocks_at_peak(trace)
    parts = live.group_by("device", "module", maintain_order=True).agg(of_category)
    return _sums(live, "device", "module").join(
        parts, on=("device", "module"), how="left", nulls_equal=True, maintain_order="left"
    )


def live_by_stack(trace: Trace) -> pl.DataFrame:
    """What is live at the peak, by the calls that took it."""
    return _by_stack(blocks_at_peak(trace))


def _by_stack(blocks: pl.DataFrame) -> pl.DataFrame:
    keys = ("device", "category", "place", "module", "call_stack")
    named = blocks.with_columns(pl.col("call_stack").cast(pl.String))
    return _sums(named, *keys).select(
        *("device", "category", "place", "module", "blocks", "bytes", "share_pct", "call_stack")
    )


def unfreed_blocks(trace: Trace) -> pl.DataFrame:
    """What was taken within the history and not given back, by the calls that took it.

    `steps` is in how many steps that happened: a place that keeps memory in each of them grows.
    """
    blocks = snapshot_blocks(trace).filter(
        pl.col("released_index").is_null() & pl.col("allocated_ts_ns").is_not_null()
    )
    bounds = memory_step_bounds(trace)
    start = bounds["start_ns"].to_numpy()
    step = np.searchsorted(start, blocks["allocated_ts_ns"].to_numpy(), side="right")
    keys = ("device", "category", "place", "module", "call_stack")
    spans = (
        blocks.with_columns(pl.col("call_stack").cast(pl.String), pl.Series("step", step))
        .group_by(*keys)
        .agg(
            steps=pl.col("step").filter(pl.col("step") > 0).n_unique().cast(pl.Int64),
            first_ts_ns=pl.col("allocated_ts_ns").min(),
            last_ts_ns=pl.col("allocated_ts_ns").max(),
        )
    )
    joined = _by_stack(blocks).join(
        spans, on=keys, how="left", nulls_equal=True, maintain_order="left"
    )
    return joined.select(
        *("device", "category", "place", "module", "blocks", "bytes", "share_pct", "steps"),
        *("first_ts_ns", "last_ts_ns", "call_stack"),
    )


# -- what the allocator holds ----------------------------------------------------------------------


def reserved_memory(trace: Trace) -> pl.DataFrame:
    """Memory that the allocator held of each device when the snapshot was taken, by pool and size.

    `free_bytes` is reserved and used by nothing; the largest request that still fits into it is
    `largest_free_bytes`.  What blocks have beyond what was asked for is `rounding_bytes`.
    """
    segments = trace.lazy("memory_segments").collect()
    word = device_word(trace)
    names = [
        memory_device(row[0], row[1], word)
        for row in segments.select("device_type", "device").rows()
    ]
    whole_free = pl.col("bytes").filter(pl.col("active_bytes") == 0)
    return (
        segments.with_columns(
            pl.Series("device", names, dtype=pl.String),
            pl.col("pool", "segment_type").cast(pl.String),
        )
        .group_by("device", "pool", "segment_type")
        .agg(
            segments=pl.len().cast(pl.Int64),
            reserved_bytes=pl.col("bytes").sum(),
            allocated_bytes=pl.col("allocated_bytes").sum(),
            pending_bytes=(pl.col("active_bytes") - pl.col("allocated_bytes")).sum(),
            free_bytes=(pl.col("bytes") - pl.col("active_bytes")).sum(),
            largest_free_bytes=pl.col("largest_free_bytes").max(),
            free_blocks=pl.col("free_blocks").sum(),
            empty_segments_bytes=whole_free.sum(),
            rounding_bytes=(pl.col("active_bytes") - pl.col("requested_bytes")).sum(),
        )
        .with_columns(
            fragmentation_pct=pl.when(pl.col("free_bytes") > 0).then(
                100 * (pl.col("free_bytes") - pl.col("largest_free_bytes")) / pl.col("free_bytes")
            )
        )
        .sort(
            "device",
            "reserved_bytes",
            "pool",
            "segment_type",
            descending=[False, True, False, False],
        )
    )


def failed_allocations(trace: Trace) -> pl.DataFrame:
    """Allocations that failed: how much was asked for, and how much the device had left."""
    word = device_word(trace)
    failures = trace.metadata.extra.get("out_of_memory") or ()
    rows = [
        (
            *(memory_device(1, row["device"], word), row["ts_ns"], row["bytes"]),
            *(row["device_free_bytes"], _place(row["call_stack"]), row["call_stack"]),
        )
        for row in failures
    ]
    names = ("device", "ts_ns", "requested_bytes", "device_free_bytes", "place", "call_stack")
    texts = ("device", "place", "call_stack")
    schema = {name: pl.String if name in texts else pl.Int64 for name in names}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _place(stack: str) -> str | None:
    return stacks.stack_facts(stack).place or None


# -- step by step ----------------------------------------------------------------------------------


@memoize_per_trace
def memory_step_bounds(trace: Trace) -> pl.DataFrame:
    """Where steps begin and end: `name`, `start_ns`, `end_ns`.

    Those of a recording where there is one; else ranges that the program marked as steps; else from
    one pass of the optimizer to the next, as far as the stacks show it.
    """
    schema = {"name": pl.String, "start_ns": pl.Int64, "end_ns": pl.Int64}
    if not trace.has_only_memory:
        steps = find_steps(trace).filter("marked").select("name", "host_start_ns", "host_end_ns")
        return pl.DataFrame(steps.rows(), schema=schema, orient="row")
    marks = [
        (row["name"].partition("#")[2].strip(), row["start_ns"], row["end_ns"])
        for row in trace.metadata.extra.get("annotations") or ()
        if row["name"].startswith("ProfilerStep#")
    ]
    if marks:
        return (
            pl.DataFrame(marks, schema=schema, orient="row")
            .sort("start_ns")
            .unique("name", keep="first", maintain_order=True)
        )
    return pl.DataFrame(_optimizer_steps(trace), schema=schema, orient="row")


def _optimizer_steps(trace: Trace) -> list[tuple[str, int, int]]:
    """Each pass of the optimizer ends a step; what runs at the end is not complete."""
    blocks = snapshot_blocks(trace).filter(pl.col("begin") >= 0)
    if blocks.is_empty():
        return []
    blocks = blocks.sort("allocated_ts_ns", maintain_order=True)
    part, times = blocks["part"], blocks["allocated_ts_ns"].to_numpy()
    is_optimizer = (part == stacks.OPTIMIZER).to_numpy()
    is_other = part.is_in([stacks.FORWARD, stacks.BACKWARD]).to_numpy()
    rows = np.flatnonzero(is_optimizer | is_other)
    flags = is_optimizer[rows]
    if not flags.any():
        return []
    # The last allocation of each pass.
    ends = np.flatnonzero(flags & ~np.append(flags[1:], False))
    moments = times[rows[ends]]
    starts = np.concatenate([[times[0]], moments[:-1] + 1])
    return [
        (str(number), int(start), int(end) + 1)
        for number, (start, end) in enumerate(zip(starts, moments, strict=True))
    ]


def memory_by_step(trace: Trace) -> pl.DataFrame:
    """The peak of each step, what is live at its ends, and the module that holds most then."""
    bounds = memory_step_bounds(trace)
    rows: list[tuple[Any, ...]] = []
    for (name,), blocks in _by_device(trace):
        changes = live_changes(blocks)
        seen = changes.filter(pl.col("place") >= 0)
        before = int(changes.filter(pl.col("place") < 0)["change"].sum() or 0)
        times, live = seen["ts_ns"].to_numpy(), seen["live"].to_numpy()
        levels = np.append(before, live)
        for step, start, end in bounds.iter_rows():
            first, last = np.searchsorted(times, [start, end], side="left")
            within = levels[first : last + 1]
            peak = int(within.argmax()) + int(first)
            place = int(seen["place"][peak - 1]) if peak else -1
            rows.append(
                (
                    *(name, step, int(levels[peak]), int(times[peak - 1]) if peak else None),
                    *(int(levels[first]), int(levels[last]), int(levels[last] - levels[first])),
                    *_largest_module(blocks, place, len(rows)),
                )
            )
    schema = {
        "device": pl.String,
        "step": pl.String,
        "peak_bytes": pl.Int64,
        "peak_ts_ns": pl.Int64,
        **dict.fromkeys(("start_bytes", "end_bytes", "growth_bytes"), pl.Int64),
        "module": pl.String,
        "module_bytes": pl.Int64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _largest_module(blocks: pl.DataFrame, place: int, number: int) -> tuple[str | None, int | None]:
    """The module that holds most after an event, of the first steps."""
    if number >= SnapshotLimits.max_steps_in_detail:
        return None, None
    live = blocks.filter(
        (pl.col("begin") <= place) & (pl.col("end") > place) & pl.col("module").is_not_null()
    )
    sums = live.group_by("module", maintain_order=True).agg(pl.col("bytes").sum())
    row = sums["bytes"].arg_max()
    return (None, None) if row is None else (sums["module"][row], int(sums["bytes"][row]))


def memory_growth(trace: Trace) -> pl.DataFrame:
    """What made live memory grow most from the end of one step to that of the next.

    Rows are calls whose blocks were taken in between and are still live, less those of the same
    calls that were given back; of each device the two steps with the largest growth.
    """
    bounds = memory_step_bounds(trace)
    parts = []
    for (name,), blocks in _by_device(trace):
        ends = bounds["end_ns"].to_numpy()
        if len(ends) < 2:
            continue
        begin = blocks["allocated_ts_ns"].fill_null(np.iinfo(np.int64).min).to_numpy()
        end = blocks["released_ts_ns"].fill_null(np.iinfo(np.int64).max).to_numpy()
        size = blocks["bytes"].to_numpy()
        live = np.array([size[(begin < moment) & (end >= moment)].sum() for moment in ends])
        grown = np.diff(live)
        row = int(grown.argmax())
        if grown[row] <= 0:
            continue
        before = (begin < ends[row]) & (end >= ends[row])
        after = (begin < ends[row + 1]) & (end >= ends[row + 1])
        sign = after.astype(np.int64) - before.astype(np.int64)
        changed = blocks.with_columns(pl.Series("sign", sign)).filter(pl.col("sign") != 0)
        parts.append(
            changed.group_by("category", "place", "module", pl.col("call_stack").cast(pl.String))
            .agg(
                blocks=pl.col("sign").sum(),
                growth_bytes=(pl.col("bytes") * pl.col("sign")).sum(),
            )
            .filter(pl.col("growth_bytes") != 0)
            .with_columns(
                device=pl.lit(name),
                from_step=pl.lit(bounds["name"][row]),
                to_step=pl.lit(bounds["name"][row + 1]),
            )
            .sort("growth_bytes", "place", descending=[True, False])
        )
    columns: dict[str, Any] = {
        **dict.fromkeys(("device", "from_step", "to_step"), pl.String),
        "category": pl.Enum(CATEGORIES),
        **dict.fromkeys(("place", "module"), pl.String),
        **dict.fromkeys(("blocks", "growth_bytes"), pl.Int64),
        "call_stack": pl.String,
    }
    table = pl.concat(parts) if parts else pl.DataFrame(schema=columns)
    return table.select(pl.col(name).cast(dtype) for name, dtype in columns.items())


def _by_device(trace: Trace) -> list[tuple[tuple[str], pl.DataFrame]]:
    blocks = snapshot_blocks(trace)
    parts = blocks.partition_by("device", as_dict=True, maintain_order=True)
    return [((str(name),), part) for (name,), part in parts.items()]


def peak_of_all(trace: Trace) -> tuple[str, int] | None:
    """The device with the highest peak, and that peak; None where the snapshot knows no block."""
    peaks = snapshot_peaks(trace)
    if not peaks:
        return None
    name = max(peaks, key=lambda device: peaks[device].bytes)
    return name, peaks[name].bytes

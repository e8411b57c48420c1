"""Blocks of device memory with what they are for, and which of them are live at the peak."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.columns import memoize_per_trace
from timesink.analyses.memory_curve import memory_device
from timesink.analyses.names import device_word
from timesink.analyses.snapshot import stacks
from timesink.analyses.snapshot.modules import recorded_modules
from timesink.analyses.snapshot.stacks import PARTS, stack_facts
from timesink.model.trace import Trace

PARAMETERS, GRADIENTS, OPTIMIZER_STATE = "parameters", "gradients", "optimizer_state"
ACTIVATIONS, WORKSPACE, INPUTS = "activations", "workspace", "inputs"
OTHER, BEFORE = "other", "before_history"
CATEGORIES = (
    *(PARAMETERS, GRADIENTS, OPTIMIZER_STATE, ACTIVATIONS, WORKSPACE, INPUTS, OTHER, BEFORE),
)
"""What memory is for, by what allocated it and when it is given back."""
NEVER = np.iinfo(np.int64).max
_CODE = {name: code for code, name in enumerate(PARTS)}


@memoize_per_trace
def snapshot_blocks(trace: Trace) -> pl.DataFrame:
    """Every block of a snapshot, in the order they were taken.

    `begin` and `end` are the places of its allocation and release among all events: -1 and a large
    number where they are not in the history.
    """
    blocks = trace.lazy("memory_blocks").collect()
    word = device_word(trace)
    places = blocks.select("device_type", "device").unique().sort("device_type", "device")
    names = {row: memory_device(row[0], row[1], word) for row in places.rows()}
    keys = blocks.select("device_type", "device").rows()
    device = pl.Series("device", [names[key] for key in keys], dtype=pl.String)
    unique = blocks["call_stack"].unique().cast(pl.String).fill_null("").to_list()
    facts = {text: stack_facts(text) for text in unique}
    stack = blocks["call_stack"].cast(pl.String).fill_null("")
    looked_up = {
        field: stack.replace_strict(
            {text: getattr(fact, field) for text, fact in facts.items()}, return_dtype=pl.String
        )
        for field in ("part", "module", "place")
    }
    recorded = recorded_modules(trace, blocks["allocated_ts_ns"])
    frame = blocks.with_columns(
        device,
        looked_up["part"].alias("part"),
        pl.coalesce(recorded, _or_null(looked_up["module"])).alias("module"),
        _or_null(looked_up["place"]).alias("place"),
        begin=pl.when(pl.col("allocated_ts_ns").is_null()).then(-1).otherwise("index"),
        end=pl.col("released_index").cast(pl.Int64).fill_null(NEVER),
    ).with_columns(pl.col("begin").cast(pl.Int64))
    parts = [
        of_device.with_columns(_categories(of_device))
        for (_,), of_device in frame.partition_by(
            "device", as_dict=True, maintain_order=True
        ).items()
    ]
    none = frame.with_columns(_categories(frame)) if frame.is_empty() else frame.clear()
    return pl.concat(parts) if parts else none


def _or_null(texts: pl.Series) -> pl.Series:
    """Texts, null in place of empty ones."""
    return texts.set(texts == "", None)


def _categories(blocks: pl.DataFrame) -> pl.Series:
    """What each block of a device is for.

    By the part of the program that took it, and by which parts it outlives: what the forward pass
    takes and the backward pass still finds is an activation; what the backward pass takes and the
    optimizer still finds is a gradient.  Where stacks are recorded, work without any is the
    backward pass: its threads have no Python frames.
    """
    part = blocks["part"].replace_strict(_CODE, return_dtype=pl.Int64).to_numpy()
    begin, end = blocks["begin"].to_numpy(), blocks["end"].to_numpy()
    is_seen = begin >= 0
    has_stacks = bool((part[is_seen] != _CODE[stacks.NO_STACK]).any())
    if has_stacks:
        part = np.where(is_seen & (part == _CODE[stacks.NO_STACK]), _CODE[stacks.BACKWARD], part)
    backward = np.sort(begin[is_seen & (part == _CODE[stacks.BACKWARD])])
    optimizer = np.sort(begin[is_seen & (part == _CODE[stacks.OPTIMIZER])])
    outlives_backward = _holds_any(begin, end, backward)
    outlives_optimizer = _holds_any(begin, end, optimizer)
    stays = end == NEVER
    is_lasting = stays | outlives_optimizer
    # Of a part, what lasts and what does not.
    meaning = {
        stacks.SETUP: (PARAMETERS, WORKSPACE),
        stacks.OPTIMIZER: (OPTIMIZER_STATE, WORKSPACE),
        stacks.BACKWARD: (GRADIENTS, WORKSPACE),
        stacks.FORWARD: (ACTIVATIONS, WORKSPACE),
        stacks.LIBRARY: (WORKSPACE, WORKSPACE),
        stacks.LOADING: (INPUTS, INPUTS),
        stacks.OTHER: (OTHER, OTHER),
        stacks.NO_STACK: (OTHER, OTHER),
    }
    code = {name: number for number, name in enumerate(CATEGORIES)}
    result = np.full(len(part), code[OTHER])
    for name, (lasting, brief) in meaning.items():
        lasts = is_lasting
        if name == stacks.OPTIMIZER:
            # Temporaries of one optimizer step outlive others of it, and not what follows it.
            lasts = stays | (outlives_backward & outlives_optimizer)
        elif name == stacks.FORWARD:
            lasts = stays | outlives_backward
        elif name == stacks.SETUP:
            lasts = is_lasting | outlives_backward
        chosen = part == _CODE[name]
        result[chosen] = np.where(lasts[chosen], code[lasting], code[brief])
    unseen = ~is_seen & np.isin(part, [_CODE[stacks.NO_STACK], _CODE[stacks.OTHER]])
    result[unseen] = code[BEFORE]
    return pl.Series("category", CATEGORIES, dtype=pl.Enum(CATEGORIES)).gather(result)


def _holds_any(
    begin: NDArray[np.int64], end: NDArray[np.int64], moments: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether a block is live at any of some moments after its allocation."""
    first = np.searchsorted(moments, begin, side="right")
    inside: NDArray[np.bool_] = np.searchsorted(moments, end, side="left") > first
    return inside


class Peak(msgspec.Struct, frozen=True):
    """When most memory of a device was in use."""

    place: int
    """Of the event after which it was."""
    ts_ns: int | None
    bytes: int


@memoize_per_trace
def snapshot_peaks(trace: Trace) -> dict[str, Peak]:
    """The peak of each device: blocks from before the history count from its begin."""
    blocks = snapshot_blocks(trace)
    return {
        str(name): _peak_of(of_device)
        for (name,), of_device in blocks.partition_by(
            "device", as_dict=True, maintain_order=True
        ).items()
    }


def live_changes(blocks: pl.DataFrame) -> pl.DataFrame:
    """Every change of what is live of a device: `place`, `ts_ns`, `change`, and `live` after it."""
    taken = blocks.select(place="begin", ts_ns="allocated_ts_ns", change="bytes")
    freed = blocks.filter(pl.col("end") != NEVER).select(
        place="end", ts_ns="released_ts_ns", change=-pl.col("bytes")
    )
    changes = pl.concat([taken, freed]).sort("place", maintain_order=True)
    return changes.with_columns(live=pl.col("change").cum_sum())


def _peak_of(blocks: pl.DataFrame) -> Peak:
    changes = live_changes(blocks)
    # What was there before came one after the other, and was there at once.
    before = changes.filter(pl.col("place") < 0)
    seen = changes.filter(pl.col("place") >= 0)
    start = int(before["change"].sum() or 0)
    row = seen["live"].arg_max()
    if row is None or int(seen["live"][row]) < start:
        return Peak(-1, None, start)
    return Peak(int(seen["place"][row]), int(seen["ts_ns"][row]), int(seen["live"][row]))


@memoize_per_trace
def blocks_at_peak(trace: Trace) -> pl.DataFrame:
    """Blocks that are live at the peak of their device."""
    peaks = snapshot_peaks(trace)
    blocks = snapshot_blocks(trace)
    names = list(peaks)
    at = (
        blocks["device"].replace_strict(
            names, [peaks[name].place for name in names], return_dtype=pl.Int64, default=None
        )
        if names
        else pl.Series([], dtype=pl.Int64)
    )
    return blocks.filter((blocks["begin"] <= at) & (blocks["end"] > at))

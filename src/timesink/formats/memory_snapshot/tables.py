"""From events and segments of a snapshot to tables: memory over time, blocks, segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.formats.memory_snapshot.collection import CODE_OF, Collection, EventColumns
from timesink.formats.plain_pickle import plain_text

ROUNDING_BYTES = 512
"""What the allocator rounds requests up to; events have what was asked for, not what was taken."""
_ALLOC, _REQUESTED, _COMPLETED = (
    CODE_OF[action] for action in ("alloc", "free_requested", "free_completed")
)
_GROWS = [CODE_OF["segment_alloc"], CODE_OF["segment_map"]]
_SHRINKS = [CODE_OF["segment_free"], CODE_OF["segment_unmap"]]
_LIVE, _FREE = "active_allocated", "inactive"
_PENDING = ("active_pending_free", "active_awaiting_free")

Ints = NDArray[np.int64]


def snapshot_tables(
    collection: Collection, traces: Sequence[EventColumns], device_type: int
) -> dict[str, pl.DataFrame]:
    """The tables of a snapshot; what does not fit together is counted in the collection."""
    segments = _segment_rows(collection, device_type)
    held = _held_blocks(collection)
    devices = sorted({*range(len(traces)), *segments["device"].drop_nulls().to_list()})
    first, memory, blocks = 0, [], []
    total = sum(map(len, traces))
    for device in devices:
        events = traces[device].columns() if device < len(traces) else EventColumns().columns()
        of_device = held.filter(pl.col("device") == device)
        part = _DeviceHistory(collection, events, of_device, first, total)
        blocks.append(part.blocks().with_columns(device=pl.lit(device, pl.Int64)))
        mine = segments.filter(pl.col("device") == device)
        memory.append(part.records(mine).with_columns(device=pl.lit(device, pl.Int64)))
        first += len(events["action"])
    kind = pl.lit(device_type, pl.Int64).alias("device_type")
    return {
        "memory": pl.concat(memory).with_columns(kind) if memory else pl.DataFrame(),
        "memory_blocks": pl.concat(blocks).with_columns(kind) if blocks else pl.DataFrame(),
        "memory_segments": segments.drop("held"),
    }


# -- what the allocator holds at the end -----------------------------------------------------------


def _segment_rows(collection: Collection, device_type: int) -> pl.DataFrame:
    """A row for each segment; its figures are those of its blocks where it has none."""
    rows = []
    for index, segment in enumerate(collection.segments):
        blocks = segment["blocks"]
        live = [block for block in blocks if block[3] == _LIVE]
        active = [block for block in blocks if block[3] in {_LIVE, *_PENDING}]
        free = [block[1] for block in blocks if block[3] == _FREE]
        pool = segment["segment_pool_id"]
        rows.append(
            {
                "index": index,
                "device": _number(segment["device"]) or 0,
                "address": _number(segment["address"]),
                "bytes": _number(segment["total_size"]),
                "allocated_bytes": _number(segment["allocated_size"], sum(b[1] for b in live)),
                "active_bytes": _number(segment["active_size"], sum(b[1] for b in active)),
                "requested_bytes": _number(segment["requested_size"], sum(b[2] for b in active)),
                "blocks": len(blocks),
                "free_blocks": len(free),
                "largest_free_bytes": max(free, default=0),
                "stream": plain_text(segment["stream"]),
                "segment_type": plain_text(segment["segment_type"]),
                "pool": "/".join(map(plain_text, pool[:8]))
                if isinstance(pool, tuple | list)
                else None,
                "expandable": bool(segment["is_expandable"]),
                "call_stack": collection.stacks.texts[segment["frames"]] or None,
                "held": sum(block[1] for block in live),
            }
        )
    schema = {
        **dict.fromkeys(("index", "device"), pl.Int64),
        "address": pl.UInt64,
        **dict.fromkeys(_SIZES, pl.Int64),
        **dict.fromkeys(("stream", "segment_type", "pool"), pl.String),
        "expandable": pl.Boolean,
        "call_stack": pl.String,
        "held": pl.Int64,
    }
    frame = pl.DataFrame(rows, schema=schema, strict=False)
    odd = frame.filter(pl.col("held") != pl.col("allocated_bytes"))
    if odd.height:
        collection.lose(
            "memory_contradiction",
            f"segment {odd['index'][0]}: {odd['allocated_bytes'][0]} bytes in use, and its blocks "
            f"have {odd['held'][0]}",
            odd.height,
        )
    return frame.with_columns(device_type=pl.lit(device_type, pl.Int64))


_SIZES = (
    *("bytes", "allocated_bytes", "active_bytes", "requested_bytes"),
    *("blocks", "free_blocks", "largest_free_bytes"),
)


def _number(value: Any, default: int | None = None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _held_blocks(collection: Collection) -> pl.DataFrame:
    """Blocks that tensors use when the snapshot is taken."""
    rows = [
        (
            _number(segment["device"]) or 0,
            address,
            size,
            requested,
            stack,
            plain_text(segment["stream"]),
        )
        for segment in collection.segments
        for address, size, requested, state, stack in segment["blocks"]
        if state == _LIVE
    ]
    schema = {
        "device": pl.Int64,
        "address": pl.UInt64,
        "bytes": pl.Int64,
        "requested_bytes": pl.Int64,
        "stack": pl.Int64,
        "stream": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row", strict=False)


# -- what happened before --------------------------------------------------------------------------


class _DeviceHistory:
    """EventColumns of one device, and the blocks that are in use at their end."""

    def __init__(
        self,
        collection: Collection,
        events: Mapping[str, NDArray[Any]],
        held: pl.DataFrame,
        first: int,
        beyond: int,
    ) -> None:
        self._collection, self._events, self._held = collection, events, held
        self._first, self._beyond = first, beyond
        self._pair()

    def _pair(self) -> None:
        """Find the allocation and the releases of each block: neighbours at its address."""
        action, address = self._events["action"], self._events["address"]
        mine = np.flatnonzero(action <= _COMPLETED)
        order = mine[np.lexsort((mine, address[mine]))]
        kind, place = action[order], address[order]
        same = np.zeros(len(order) + 2, dtype=np.bool_)
        same[1:-2] = place[1:] == place[:-1] if len(order) else False
        padded = np.append(kind, [_ALLOC, _ALLOC])
        takes = kind == _ALLOC
        count = np.arange(len(order))
        # What follows at the same address; an allocation is followed by its releases.
        follows = same[count + 1] & (padded[count + 1] != _ALLOC)
        then = same[count + 1] & same[count + 2] & (padded[count + 2] == _COMPLETED)
        taken = np.flatnonzero(takes)
        is_first = np.ones(len(order), dtype=np.bool_)
        is_first[1:] = ~same[1 : len(order)]
        before = np.append(_ALLOC, kind)[: len(order)]
        # Releases without an allocation: of blocks from before the history.
        stray = ~takes & (is_first | (before == _COMPLETED))
        stray |= ~takes & (kind == _REQUESTED) & (before == _REQUESTED)
        stray = np.flatnonzero(stray)
        self.taken = np.concatenate([order[taken], np.full(len(stray), -1)])
        begins = np.concatenate([taken, stray - 1])
        is_released = np.concatenate([follows[taken], np.ones(len(stray), dtype=np.bool_)])
        released = np.full(len(begins), -1)
        released[is_released] = order[begins[is_released] + 1]
        is_ended = np.concatenate(
            [then[taken], same[stray + 1] & (padded[stray + 1] == _COMPLETED)]
        )
        completed = np.full(len(begins), -1)
        is_ended &= is_released & (padded[begins + 1] == _REQUESTED)
        completed[is_ended] = order[begins[is_ended] + 2]
        at_once = is_released & (padded[begins + 1] == _COMPLETED)
        completed[at_once] = released[at_once]
        self.released, self.completed = released, completed

    def blocks(self) -> pl.DataFrame:
        """A row for each block, in the order they were taken; then those from before."""
        events, has = self._events, self.taken >= 0
        origin = np.where(has, self.taken, self.released)
        requested = events["bytes"][origin].astype(np.int64)
        stack = np.where(has, events["stack"][origin].astype(np.int64), 0)
        frame = pl.DataFrame(
            {
                "index": np.where(has, self.taken + self._first, self._beyond + origin),
                "address": events["address"][origin],
                "requested_bytes": requested,
                "bytes": _rounded(requested),
                "stream": events["stream"][origin],
                "released_index": _absent_as_null(self.released, self._first),
                "allocated_ts_ns": self._times(self.taken),
                "released_ts_ns": self._times(self.released),
                "reusable_ts_ns": self._times(self.completed),
                "stack": stack,
                "annotation": np.where(has, events["annotation"][origin].astype(np.int64), 0),
            }
        ).with_columns(pl.col("stream").cast(pl.String))
        frame = self._with_held(frame)
        texts = pl.Series("text", self._collection.stacks.texts, dtype=pl.Categorical)
        notes = pl.Series("note", list(self._collection.annotations), dtype=pl.Categorical)
        return (
            frame.with_columns(
                texts.gather(frame["stack"]).alias("call_stack"),
                notes.gather(frame["annotation"]).alias("annotation"),
            )
            .with_columns(
                pl.when(pl.col(name) != "").then(pl.col(name)).alias(name)
                for name in ("call_stack", "annotation")
            )
            .sort("index")
            .select(*_BLOCK_COLUMNS)
        )

    def _with_held(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Blocks in use at the end with the size they have; those without an event as well."""
        held = self._held.unique("address", keep="first", maintain_order=True)
        live = frame.filter(pl.col("released_ts_ns").is_null())
        ended = frame.filter(pl.col("released_ts_ns").is_not_null())
        # The last allocation at an address is the one that is there.
        last = live.unique("address", keep="last", maintain_order=True)
        gone = live.height - last.height
        sized = last.join(held, on="address", how="left", suffix="_held", maintain_order="left")
        missing = sized["bytes_held"].null_count() if self._held.height else 0
        if gone or missing:
            self._collection.lose(
                "memory_contradiction",
                f"{gone + missing} blocks were taken, never given back, and are not there",
                gone + missing,
            )
        sized = sized.with_columns(
            bytes=pl.coalesce("bytes_held", "bytes"),
            requested_bytes=pl.coalesce("requested_bytes_held", "requested_bytes"),
        ).select(frame.columns)
        before = held.join(last, on="address", how="anti", maintain_order="left")
        start = self._beyond + len(self._events["action"])
        old = before.with_columns(
            pl.int_range(start, start + pl.len(), dtype=pl.Int64).alias("index"),
            *(pl.lit(None, pl.Int64).alias(name) for name in ("released_index", *_TIMES)),
            annotation=pl.lit(0, pl.Int64),
        ).select(frame.columns)
        lost = live.join(last, on="index", how="anti")
        return pl.concat([ended, sized, lost, old], how="vertical_relaxed")

    def _times(self, places: Ints) -> pl.Series:
        """Times of events in ns; null where there is no event."""
        time_us = self._events["time_us"]
        values = np.minimum(time_us, _MAX_US).astype(np.int64) * 1000
        if not len(values):
            return pl.Series([None] * len(places), dtype=pl.Int64)
        series = pl.Series(values[places], dtype=pl.Int64)
        return series.zip_with(pl.Series(places >= 0), pl.Series([None], dtype=pl.Int64))

    def records(self, segments: pl.DataFrame) -> pl.DataFrame:
        """Each allocation and release, with what is allocated and reserved after it.

        What is allocated is the sum of the blocks, as tables of blocks have it.  What is reserved
        is recorded at the end, so it is counted back from there.
        """
        events = self._events
        action = events["action"]
        change = np.zeros(len(action), dtype=np.int64)
        blocks = self.blocks()
        size_of = dict(blocks.select("index", "bytes").iter_rows())
        for places, sign in ((self.taken, 1), (self.released, -1)):
            has = np.flatnonzero(places >= 0)
            keys = np.where(
                self.taken[has] >= 0,
                self.taken[has] + self._first,
                self._beyond + self.released[has],
            )
            change[places[has]] = sign * np.array(
                [size_of[key] for key in keys.tolist()], dtype=np.int64
            )
        sizes = events["bytes"].astype(np.int64)
        reserved = np.where(np.isin(action, _GROWS), sizes, 0)
        reserved -= np.where(np.isin(action, _SHRINKS), sizes, 0)
        rows = np.flatnonzero(change)
        frame = pl.DataFrame(
            {
                "index": rows + self._first,
                "ts_ns": self._times(rows),
                "address": events["address"][rows],
                "bytes": change[rows],
            }
        )
        if not segments.height:
            nothing = pl.lit(None, pl.Int64)
            return frame.with_columns(total_allocated_bytes=nothing, total_reserved_bytes=nothing)
        before = blocks.filter(pl.col("allocated_ts_ns").is_null())["bytes"].sum() or 0
        allocated = int(before) + np.cumsum(change)
        ended = int(segments["allocated_bytes"].sum() or 0)
        if len(allocated) and allocated[-1] != ended:
            self._collection.lose(
                "memory_contradiction",
                f"{allocated[-1]} bytes of blocks at the end, {ended} allocated in segments",
            )
        after = int(segments["bytes"].sum() or 0) - (reserved.sum() - np.cumsum(reserved))
        is_usable = not len(after) or after.min() >= 0
        if not is_usable:
            self._collection.lose(
                "memory_contradiction",
                f"total reserved bytes: {-after.min()} below zero, counted back from the end",
            )
        return frame.with_columns(
            pl.Series("total_allocated_bytes", allocated[rows], dtype=pl.Int64),
            pl.Series("total_reserved_bytes", after[rows], dtype=pl.Int64)
            if is_usable
            else pl.lit(None, pl.Int64).alias("total_reserved_bytes"),
        )


_MAX_US = 2**62 // 1000
_TIMES = ("allocated_ts_ns", "released_ts_ns", "reusable_ts_ns")
_BLOCK_COLUMNS = (
    *("index", "address", "bytes", "requested_bytes", "stream"),
    *("released_index", *_TIMES, "call_stack", "annotation"),
)


def _absent_as_null(places: Ints, first: int) -> pl.Series:
    """Places of events among those of all devices; null where there is none."""
    series = pl.Series(places + first, dtype=pl.Int64)
    return series.zip_with(pl.Series(places >= 0), pl.Series([None], dtype=pl.Int64))


def _rounded(requested: Ints) -> Ints:
    """What a block takes at least."""
    rounded: Ints = np.maximum(-(-requested // ROUNDING_BYTES), 1) * ROUNDING_BYTES
    return rounded

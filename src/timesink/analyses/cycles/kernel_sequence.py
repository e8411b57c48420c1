"""Device work in the order of its starts, process by process."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import (
    Codes,
    Texts,
    device_columns,
    encode,
    host_processes,
    memoize_per_trace,
    memoize_structure,
    start_and_end,
)
from timesink.analyses.links import link_launches
from timesink.analyses.thresholds import KernelSequenceLimits
from timesink.model.intervals import Ints
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace


@memoize_per_trace
def launching_process(trace: Trace) -> pl.Series:
    """For each row of `trace.device` the process that launched it, or its own where unknown."""
    named = launching_processes(trace)
    return pl.Series("pid", named.texts, dtype=pl.String)[named.codes]


@memoize_structure
def launching_processes(trace: Trace) -> Texts:
    """The same as numbers and what they stand for."""
    codes, own_texts = encode(device_columns(trace)["pid"])
    own = Texts(codes, [text or "" for text in own_texts])
    row = link_launches(trace).call_row
    linked = row >= 0
    if not linked.any():
        return own.renamed(str)
    callers = host_processes(trace)
    caller = callers.codes[np.maximum(row, 0)]
    if linked.all():
        return Texts(caller, callers.texts)
    # Work whose launch was not recorded belongs to whoever launched the rest of its lane: of
    # several that launched as much, to the first by name.
    many = len(callers.texts)
    counts = np.bincount(codes[linked] * many + caller[linked], minlength=many * len(own_texts))
    by_name = np.array(sorted(range(many), key=callers.texts.__getitem__), dtype=np.int64)
    lanes = counts.reshape(-1, many)
    usual = by_name[lanes[:, by_name].argmax(axis=1)]
    other = np.where(lanes.any(axis=1), usual, many + np.arange(len(lanes)))
    named = Texts(np.where(linked, caller, other[codes]), [*callers.texts, *own.texts])
    return named.renamed(str)


class KernelSequence(msgspec.Struct, frozen=True, eq=False):
    """Device work of one process in the order of its starts; arrays have one entry per event."""

    pid: str
    symbol: Codes
    """Place in `names`."""
    start: Ints
    end: Ints
    names: list[str]

    def __len__(self) -> int:
        return len(self.symbol)


def kernel_sequences(trace: Trace, *, every_stream: bool = False) -> Iterator[KernelSequence]:
    """One sequence per process: of the device, and the stream, on which it did most.

    With `every_stream` of all streams of that device.  The process is that of the launching calls;
    that of the device's lane where none are known.
    """
    every = device_columns(trace).with_columns(
        launching_process(trace).alias("launched_by"),
        pl.col("stream").cast(pl.String).fill_null(""),
        pl.col("device").fill_null(-1),
    )
    every = every.filter(pl.col("kind").is_in(BUSY_KINDS)).sort("ts_ns", maintain_order=True)
    by_process = every.partition_by("launched_by", as_dict=True) if every.height else {}
    for (process,), events in sorted(by_process.items()):
        busiest = events.group_by("device").len().sort("len", "device")["device"][-1]
        mine = events.filter(pl.col("device") == busiest)
        streams = mine.group_by("stream").len().sort("len", "stream")
        if (
            not every_stream
            and streams["len"][-1] >= KernelSequenceLimits.main_stream * mine.height
        ):
            mine = mine.filter(pl.col("stream") == streams["stream"][-1])
        symbol, names = encode(mine["name"])
        called = [name or "" for name in names]
        yield KernelSequence(str(process), symbol, *start_and_end(mine), called)

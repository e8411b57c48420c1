"""The kernels of one device, in the order they ran."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from timesink.analyses.columns import device_columns
from timesink.analyses.cycles.launching import launching_process
from timesink.analyses.texts import Codes, encode
from timesink.model.arrays import Ints
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

_MAIN_STREAM = 0.5
"""A stream with this share of a device's work shows the order of it; else all streams together."""


@dataclass(frozen=True, eq=False)
class KernelSequence:
    """Device work of one process in the order of its starts; arrays have one entry per event."""

    pid: str
    symbol: Codes
    """Place in `names`."""
    start: Ints
    end: Ints
    names: list[str]

    def __len__(self) -> int:
        return len(self.symbol)


def kernel_sequences(trace: Trace) -> list[KernelSequence]:
    """One sequence per process: of the device, and the stream, on which it did most.

    The process is that of the launching calls; that of the device's lane where none are known.
    """
    device = device_columns(trace)
    events = device.with_columns(
        launching_process(trace).alias("launched_by"),
        pl.col("stream").cast(pl.String).fill_null(""),
        pl.col("device").fill_null(-1),
    )
    events = events.filter(pl.col("kind").is_in(BUSY_KINDS)).sort("ts_ns", maintain_order=True)
    found = events.partition_by("launched_by", as_dict=True) if events.height else {}
    return [_sequence(str(process), part) for (process,), part in sorted(found.items())]


def _sequence(pid: str, events: pl.DataFrame) -> KernelSequence:
    busiest = events.group_by("device").len().sort("len", "device")["device"][-1]
    events = events.filter(pl.col("device") == busiest)
    streams = events.group_by("stream").len().sort("len", "stream")
    if streams["len"][-1] >= _MAIN_STREAM * events.height:
        events = events.filter(pl.col("stream") == streams["stream"][-1])
    symbol, names = encode(events["name"])
    start = events["ts_ns"].to_numpy()
    return KernelSequence(
        pid, symbol, start, start + events["dur_ns"].to_numpy(), [name or "" for name in names]
    )

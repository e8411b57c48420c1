"""How busy each device was over time, as counter samples to show above a timeline."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from timesink.analyses.columns import device_columns, host_columns
from timesink.analyses.device.utilisation import (
    kernel_devices,
    kernel_ranges,
    sm_efficiency_intervals,
)
from timesink.analyses.once import once_per_trace
from timesink.model import intervals
from timesink.model.arrays import Flags, Floats, Ints
from timesink.model.trace import Trace

UTILISATION = "utilisation"
SM_EFFICIENCY = "sm_efficiency"
SCHEMA = {
    "ts_ns": pl.Int64(),
    "device": pl.Int64(),
    "counter": pl.String(),
    "value": pl.Float64(),
}

MOST_BUCKETS = 100
_SHORTEST_BUCKET_NS = 1_000
_WHOLE_RECORDING = "PyTorch Profiler (0)"
_NOT_WORK = ("trace", "instant")


@once_per_trace
def utilisation_counters(trace: Trace) -> pl.DataFrame:
    """Samples of `utilisation` and `sm_efficiency` per device, from 0 to 1, as they are shown.

    Utilisation is the part of a bucket with a kernel running, given at the start of the bucket.
    SM efficiency is given wherever it changes.  Each counter starts with a 1 and a 0, so that
    every viewer scales it alike, and falls to 0 at its end.  No rows without kernels.
    """
    samples = [
        pl.DataFrame(
            {"ts_ns": times, "device": device, "counter": counter, "value": values}, schema=SCHEMA
        )
        for device in kernel_devices(trace)
        for counter, times, values in _counters(trace, device)
    ]
    return pl.concat([pl.DataFrame(schema=SCHEMA), *samples])


@once_per_trace
def timeline(trace: Trace) -> tuple[int, int]:
    """What the recording covers: as the profiler states it, else from first to last event."""
    host = host_columns(trace)
    frames = host[np.flatnonzero((host["kind"] == "trace").to_numpy())]
    stated = frames.filter(pl.col("name") == _WHOLE_RECORDING)
    if stated.height:
        start = int(stated["ts_ns"][0])
        return start, start + int(stated["dur_ns"][0])
    work = ~host["kind"].is_in(_NOT_WORK).to_numpy()
    spans = [_span(host, work), _span(device_columns(trace), np.s_[:])]
    known = [span for span in spans if span is not None]
    return (
        min((start for start, _ in known), default=0),
        max((end for _, end in known), default=0),
    )


def _span(events: pl.DataFrame, chosen: Flags | slice) -> tuple[int, int] | None:
    start = events["ts_ns"].to_numpy()[chosen]
    if not len(start):
        return None
    return int(start.min()), int((start + events["dur_ns"].to_numpy()[chosen]).max())


def buckets(start: int, end: int) -> Ints:
    """Borders of at most a hundred buckets of 1, 10, 100, ... us; the last takes the rest."""
    width = _SHORTEST_BUCKET_NS
    while end - start > MOST_BUCKETS * width:
        width *= 10
    count = max((end - start) // width, 1)
    return np.append(start + width * np.arange(count), end)


def _counters(trace: Trace, device: int) -> Iterator[tuple[str, Ints, Floats]]:
    start, end = timeline(trace)
    borders = buckets(start, end)
    windows = np.stack([borders[:-1], borders[1:]], axis=1)
    covered = intervals.coverage_within(kernel_ranges(trace, device), windows)
    parts = covered / np.maximum(windows[:, 1] - windows[:, 0], 1)
    for counter, (times, values) in (
        (UTILISATION, (borders, np.append(parts, 0.0))),
        (SM_EFFICIENCY, _sm_efficiency(trace, device)),
    ):
        if len(times):
            yield counter, np.insert(times, 0, [start, start]), np.insert(values, 0, [1.0, 0.0])


def _sm_efficiency(trace: Trace, device: int) -> tuple[Ints, Floats]:
    pieces = sm_efficiency_intervals(trace, device)
    times = pieces.select("start_ns", "end_ns").to_numpy().ravel()
    values = np.zeros(2 * pieces.height)
    values[::2] = pieces["value"].to_numpy()
    return times, values

"""A trace, or a range of it, as a file that other viewers open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl
from isal import isal_zlib

from timesink.model.trace import Trace
from timesink.reports.plugin.query import Query
from timesink.reports.timeline.asked import asked_range
from timesink.reports.timeline.opening import Timeline
from timesink.writers.chrome_json import json_texts

_FAST = 1
_GZIP_WINDOW = 31
_BLOCK_BYTES = 256 * 1024
_SLICES = ("host", "device")
_MOMENTS = ("memory", "flows")
_ARGUMENTS = ("collectives", "event_args")


def export(timeline: Timeline, query: Query) -> Iterator[bytes]:
    """Chrome-format JSON, gzipped, in blocks; of a range everything that overlaps it."""
    trace = timeline.trace
    if "from" in query.params or "to" in query.params:
        start = timeline.layout.start_ns
        first, last = asked_range(query, timeline)
        trace = between(trace, start + first, start + last)
    return _gzipped(json_texts(trace))


def between(trace: Trace, start_ns: int, end_ns: int) -> Trace:
    """The events of a trace that overlap a range, with all their arguments."""
    ts, end = pl.col("ts_ns"), pl.col("ts_ns") + pl.col("dur_ns")
    inside = ts.is_between(start_ns, end_ns)
    frames = {
        **{
            name: trace.lazy(name).filter((ts <= end_ns) & (end >= start_ns)).collect().lazy()
            for name in _SLICES
        },
        **{name: trace.lazy(name).filter(inside) for name in _MOMENTS},
    }
    kept = pl.concat([frames[name].select("index") for name in _SLICES])
    for name in _ARGUMENTS:
        frames[name] = trace.lazy(name).join(kept, on="index", how="semi")
    of_slices = trace.lazy("counters").join(kept, on="index", how="semi")
    sampled = trace.lazy("counters").filter(inside & (pl.col("source") != "profiler_range"))
    of_slices = of_slices.filter(pl.col("source") == "profiler_range")
    frames["counters"] = pl.concat([sampled, of_slices])
    return replace(trace, frames={**trace.frames, **frames})


def _gzipped(texts: Iterator[bytes]) -> Iterator[bytes]:
    packer = isal_zlib.compressobj(_FAST, wbits=_GZIP_WINDOW)
    waiting: list[bytes] = []
    size = 0
    for text in texts:
        waiting.append(text)
        size += len(text)
        if size >= _BLOCK_BYTES:
            block = packer.compress(b"".join(waiting))
            waiting, size = [], 0
            if block:
                yield block
    yield packer.compress(b"".join(waiting)) + packer.flush()

"""Random recordings for properties of the device timeline, and the clock of another analyser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import settings
from hypothesis import strategies as st

import timesink
from timesink.model.schema import TABLES
from timesink.model.trace import Metadata, Trace

RECORDINGS = (
    "hta/mtia_trace_single_rank/mtia_rank_0.json.gz",
    "hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    "hta/rank_non_gpu/rank_non_gpu.json.gz",
    "tracelens/mi210/gpu_only_trace.json.gz",
    "mlu/mlu_metrics_input.json",
    "nsys/output-file.sqlite",
    "rocprof/908_results.json.gz",
    "h200/traces/cuda_graph/graph.1794703828349873378.pt.trace.json.gz",
)
"""Real recordings of many makers, with and without host, device and correlation."""

patient = settings(deadline=None)
"""For properties: machines that run tests may be busy."""

Analysis = Callable[[Trace], pl.DataFrame]
Row = dict[str, Any]


@lru_cache(maxsize=len(RECORDINGS))
def recording(shared: Path, name: str) -> Trace:
    return timesink.open(shared / "data" / name)


# -- tables instead of files -----------------------------------------------------------------------


def trace_of(
    host: Sequence[Row] = (),
    device: Sequence[Row] = (),
    steps: Sequence[Row] = (),
    counters: Sequence[Row] = (),
) -> Trace:
    """A trace with these rows; what they leave out is null."""
    rows = {"host": host, "device": device, "steps": steps, "counters": counters}
    frames = {
        name: pl.DataFrame(list(table_rows), schema_overrides=TABLES[name].schema, strict=False)
        for name, table_rows in rows.items()
    }
    full = {
        name: pl.concat([TABLES[name].empty(), frame], how="diagonal").lazy()
        for name, frame in frames.items()
    }
    return Trace(Metadata("random", "kineto", "nvidia", len(host) + len(device)), (), full)


_TIMES = {"ts_ns": st.integers(0, 60), "dur_ns": st.integers(0, 15)}
_IDS = st.none() | st.integers(1, 6)

_activities = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["kernel", "memcpy", "memset", "collective", "annotation"]),
        "name": st.sampled_from(["gemm", "add", "ncclDevKernel_AllReduce"]),
        "device": st.sampled_from([0, 0, 0, 1, None]),
        "stream": st.sampled_from(["7", "7", "13", None]),
        "correlation": _IDS,
        **_TIMES,
    }
)
_HOST_NAMES = (
    "cudaLaunchKernel",
    "cudaStreamSynchronize",
    "aten::mm",
    "forward",
    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
)
_host_events = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["runtime", "runtime", "operator", "annotation", "driver"]),
        "name": st.sampled_from(_HOST_NAMES),
        "pid": st.just("1"),
        "tid": st.sampled_from(["1", "1", "2"]),
        "correlation": _IDS,
        **_TIMES,
    }
)
_steps = st.integers(0, 2).map(
    lambda count: [
        {"step": n, "name": f"ProfilerStep#{n}", "pid": "1", "tid": "1", "ts_ns": 25 * n}
        | {"dur_ns": 20}
        for n in range(count)
    ]
)
random_traces = st.builds(
    trace_of,
    host=st.lists(_host_events, max_size=8),
    device=st.lists(_activities, max_size=8),
    steps=_steps,
)
"""Recordings of a few events that overlap, cross, miss their launch or start before it."""


# -- another clock ---------------------------------------------------------------------------------


def whole_microseconds(trace: Trace) -> Trace:
    """Starts rounded up and ends rounded down, as analysers that count microseconds do."""
    frames = {name: _round_times(trace.lazy(name)) for name in ("host", "device")}
    return Trace(trace.metadata, trace.health, {**trace.frames, **frames})


def without_stream(trace: Trace, stream: str) -> Trace:
    device = trace.lazy("device").filter(pl.col("stream").cast(pl.String) != stream)
    return Trace(trace.metadata, trace.health, {**trace.frames, "device": device})


def _round_times(frame: pl.LazyFrame) -> pl.LazyFrame:
    start = -(-pl.col("ts_ns") // 1000) * 1000
    end = (pl.col("ts_ns") + pl.col("dur_ns")) // 1000 * 1000
    return frame.with_columns(ts_ns=start, dur_ns=(end - start).clip(0))

"""Recordings of a kernel profiler as Python values: launches with their metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from timesink.model.schema import KERNEL_CALLS, KERNEL_METRICS
from timesink.model.trace import Device, Metadata, Trace

H200 = Device(0, "NVIDIA H200", compute_capability="9.0", multiprocessors=132)

Launch = tuple[Mapping[str, Any], Mapping[str, float | None]]


def launch(dur_ns: int | None, metrics: Mapping[str, float | None], **columns: Any) -> Launch:
    """One launch: its columns of `kernel_calls`, and its further metrics."""
    columns = {"name": "kernel", "device": 0, "compute_capability": "9.0", **columns}
    return {**columns, "dur_ns": dur_ns}, metrics


def use(
    name: str,
    ns: int | None,
    *,
    tensor: float | None = 0.0,
    dram: float | None = 0.0,
    sm: float | None = 0.0,
    **columns: Any,
) -> Launch:
    """One launch and how much of the hardware it used, in percent."""
    return launch(ns, {}, name=name, tensor_pct=tensor, dram_pct=dram, sm_pct=sm, **columns)


def trace_of_launches(
    *launches: Launch, devices: Iterable[Device] = (H200,), **extra: Any
) -> Trace:
    """A trace of these launches, in this order."""
    calls = [{"index": index, **columns} for index, (columns, _) in enumerate(launches)]
    metrics = [
        {"index": index, "metric": metric, "value": value, "unit": ""}
        for index, (_, values) in enumerate(launches)
        for metric, value in values.items()
    ]
    about = Metadata("k.csv", "ncu", "nvidia", len(calls), devices=tuple(devices), extra=extra)
    frames = {
        "kernel_calls": pl.DataFrame(calls, schema=KERNEL_CALLS.schema).lazy(),
        "kernel_metrics": pl.DataFrame(metrics, schema=KERNEL_METRICS.schema).lazy(),
    }
    return Trace(about, (), frames)

"""`/memory_peak`: the highest point of each device, and what was live then."""

from __future__ import annotations

from typing import Any

import polars as pl

from timesink.analyses.memory.curve import memory_peaks, recording_start
from timesink.analyses.memory.devices import default_device
from timesink.analyses.memory.live import live_at_peak
from timesink.model.trace import Trace
from timesink.reports.plugin.memory_form import (
    Units,
    address_notes,
    in_units,
    number_column,
    recorded_devices,
    rounded,
    rows_by_device,
)
from timesink.reports.plugin.query import Query


def memory_peak(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/memory_peak`: the highest point of each device, and what was live then."""
    devices, units = recorded_devices(trace), Units.asked(query, memory="MB")
    start = recording_start(trace)
    peaks = in_units(memory_peaks(trace), units)
    since_start = [name for name in peaks.columns if name.endswith("_ts_ns")]
    peaks = peaks.with_columns(
        pl.Series(name, rounded(units.ns(peaks[name] - start)), dtype=pl.Float64)
        for name in since_start
    )
    live = live_at_peak(trace)
    live = live.with_columns(pl.Series("bytes", rounded(units.bytes(live["bytes"]))))
    plain = {name: name.removesuffix("_bytes").replace("_ts_ns", "_time") for name in peaks.columns}
    return {
        "metadata": {
            "title": "Peak Memory",
            "default_device": default_device(devices),
            "time_metric": units.time,
            "memory_metric": units.memory,
            "peaks": {str(row.pop("device")): row for row in peaks.rename(plain).to_dicts()},
            "notes": address_notes(trace),
        },
        "columns": [
            {"name": "Category", "type": "string", "tooltip": "The part of a step it belongs to."},
            {"name": "Operator", "type": "string", "tooltip": "Which operator took it."},
            {"name": "Module", "type": "string", "tooltip": "The innermost module around that."},
            number_column("Blocks", "How many blocks it is."),
            number_column(f"Size ({units.memory})", "How large they are together."),
        ],
        "rows": rows_by_device(live, devices),
    }

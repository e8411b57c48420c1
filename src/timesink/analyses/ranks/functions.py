"""What each function of a rank did in all of its steps: a row per function, never per call."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses import names
from timesink.analyses.columns import device_columns, device_names, host_columns, host_names
from timesink.analyses.kernel_names.normalised import normalised_name
from timesink.analyses.roles import is_communication
from timesink.analyses.texts import Texts
from timesink.model.intervals import IntervalSet
from timesink.model.trace import Trace

FUNCTION_SCHEMA = {
    "place": pl.Enum(["kernel", "copy", "host", "loading", "waiting"]),
    "function": pl.String(),
    "calls": pl.Int64(),
    "dur_ns": pl.Int64(),
    "typical_ns": pl.Float64(),
    "work": pl.Float64(),
}
"""`typical_ns` is the median of the calls, `work` the blocks or bytes they were given."""

_GRID = ("grid_x", "grid_y", "grid_z")


def function_times(trace: Trace, bounds: IntervalSet) -> pl.DataFrame:
    """Rows of `FUNCTION_SCHEMA`: kernels, copies and host calls that start in the steps.

    >>> import timesink
    >>> found = function_times(timesink.open(timesink.sample()), np.array([[0, 2**62]]))
    >>> sorted(found["place"].cast(str).unique())
    ['copy', 'host', 'kernel', 'waiting']
    """
    on_device, on_host = _device_calls(trace, bounds), _host_calls(trace, bounds)
    calls = pl.concat([on_device, on_host])
    return (
        calls.group_by("place", "function")
        .agg(
            calls=pl.len().cast(pl.Int64),
            dur_ns=pl.col("dur_ns").sum(),
            typical_ns=pl.col("dur_ns").median(),
            work=pl.col("work").sum(),
        )
        .sort("place", "function")
        .select(pl.col(name).cast(dtype) for name, dtype in FUNCTION_SCHEMA.items())
    )


def _device_calls(trace: Trace, bounds: IntervalSet) -> pl.DataFrame:
    device = device_columns(trace)
    kernel = (device["kind"] == "kernel").to_numpy() & ~is_communication(trace)
    copy = device["kind"].is_in(["memcpy", "memset"]).to_numpy()
    rows = np.flatnonzero((kernel | copy) & _inside(device, bounds))
    given = trace.lazy("device").select(*_GRID, "bytes").collect()[rows]
    blocks = pl.col(_GRID[0]).cast(pl.Float64)
    for axis in _GRID[1:]:
        blocks = blocks * pl.col(axis).fill_null(1)
    return given.select(
        pl.Series("place", np.where(kernel[rows], "kernel", "copy"), dtype=pl.String),
        _functions(device_names(trace), rows),
        pl.Series("dur_ns", device["dur_ns"].to_numpy()[rows]),
        work=pl.coalesce(pl.col("bytes").cast(pl.Float64), blocks).fill_null(0.0),
    )


def _host_calls(trace: Trace, bounds: IntervalSet) -> pl.DataFrame:
    """Operators, runtime calls, those that wait for the device, and data loading."""
    host, named = host_columns(trace), host_names(trace)
    calls = host["kind"].is_in(["operator", "runtime", "driver"]).to_numpy()
    loads = named.matching(names.is_data_loader)
    waits = named.matching(names.waits_for_device) & calls
    chosen = (calls & ~named.matching(_tells_nothing)) | loads
    rows = np.flatnonzero(chosen & _inside(host, bounds))
    place = np.where(loads[rows], "loading", np.where(waits[rows], "waiting", "host"))
    return pl.DataFrame(
        {
            "place": place,
            "function": _functions(named, rows),
            "dur_ns": host["dur_ns"].to_numpy()[rows],
            "work": np.zeros(len(rows)),
        },
        schema_overrides={"place": pl.String},
    )


def _tells_nothing(name: str) -> bool:
    return names.is_collective_call(name) or names.is_profiler_step(name)


def _inside(events: pl.DataFrame, bounds: IntervalSet) -> NDArray[np.bool_]:
    """Which events start in a step; steps are in order and apart."""
    start = events["ts_ns"].to_numpy()
    if not len(bounds):
        return np.zeros(len(start), dtype=np.bool_)
    step = np.searchsorted(bounds[:, 0], start, side="right") - 1
    inside: NDArray[np.bool_] = (step >= 0) & (start < bounds[np.maximum(step, 0), 1])
    return inside


def _functions(named: Texts, rows: NDArray[np.intp]) -> pl.Series:
    plain = [normalised_name(text) for text in named.texts]
    codes = named.codes[rows] if len(named.codes) else rows
    return pl.Series("function", plain, dtype=pl.String).gather(codes)

"""Every launch of a kernel, in launch order, from a kernel profiler's file or from a timeline."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.columns import device_columns, host_columns
from timesink.analyses.device.numbers import UNKNOWN_DEVICE, device_numbers
from timesink.analyses.kernel_calls.families import Families, load_families
from timesink.analyses.kernel_names.short import short_name
from timesink.analyses.kernels.table import kernel_rows
from timesink.analyses.links import link_launches
from timesink.analyses.once import once_per_trace
from timesink.analyses.texts import encode
from timesink.model.arrays import Ints
from timesink.model.schema import KERNEL_CALLS
from timesink.model.trace import Trace

UTILISATIONS = ("tensor_pct", "dram_pct", "sm_pct")
"""Columns that say how much of the hardware a launch used."""
_RECORDED = (
    *("index", "pid", "stream", "name", "ts_ns", "dur_ns"),
    *(f"{shape}_{axis}" for shape in ("grid", "block") for axis in "xyz"),
)


@once_per_trace
def kernel_calls(trace: Trace, families: Families | None = None) -> pl.DataFrame:
    """One row per launch, in launch order: the columns of `kernel_calls` and a few more.

    `short_name` and `family` come from the name.  A timeline says when a kernel ran, in `ts_ns`,
    and `device_row` is its row in `trace.device`; a kernel profiler says how well it used the
    hardware.  What the source does not say is null.
    """
    calls = _launches(trace)
    return calls.with_columns(_from_names(calls["name"], families or load_families()))


def has_counters(trace: Trace) -> bool:
    """Whether the launches were measured by a kernel profiler."""
    height = trace.lazy("kernel_calls").select(pl.len()).collect().item()
    return bool(height)


@once_per_trace
def _launches(trace: Trace) -> pl.DataFrame:
    return _measured(trace) if has_counters(trace) else _timed(trace)


def _measured(trace: Trace) -> pl.DataFrame:
    calls = trace.kernel_calls
    return calls.with_columns(
        *(_finite(name) for name, dtype in calls.schema.items() if dtype == pl.Float64()),
        ts_ns=pl.lit(None, pl.Int64()),
        device_row=pl.lit(None, pl.Int64()),
    )


def _finite(column: str) -> pl.Expr:
    """What is no number, or beyond all, was not measured."""
    return pl.when(pl.col(column).is_finite()).then(pl.col(column)).alias(column)


def _timed(trace: Trace) -> pl.DataFrame:
    rows = _in_launch_order(trace)
    recorded = trace.lazy("device").select(*_RECORDED, "occupancy_pct").collect()[rows]
    number = device_numbers(trace)[rows]
    device = pl.Series(number).replace(UNKNOWN_DEVICE, None).cast(pl.Int32())
    known = recorded.with_columns(
        _known_occupancy(),
        device.alias("device"),
        _capabilities(trace, device).alias("compute_capability"),
        device_row=pl.Series(rows, dtype=pl.Int64()),
    )
    schema = KERNEL_CALLS.schema
    unknown = [pl.lit(None, schema[name]).alias(name) for name in schema if name not in known]
    return known.with_columns(unknown).select(*schema, "ts_ns", "device_row")


def _known_occupancy() -> pl.Expr:
    """Profilers write 0 for kernels they cannot estimate; one that runs has warps in flight."""
    occupancy, nothing_ran = pl.col("occupancy_pct"), pl.col("dur_ns") == 0
    known = occupancy.is_finite() & ((occupancy > 0) | ((occupancy == 0) & nothing_ran))
    return pl.when(known).then(occupancy).alias("occupancy_pct")


def _capabilities(trace: Trace, device: pl.Series) -> pl.Series:
    known = {one.id: one.compute_capability for one in trace.metadata.devices}
    return device.replace_strict(
        list(known), list(known.values()), default=None, return_dtype=pl.String()
    ).cast(pl.Categorical())


def _in_launch_order(trace: Trace) -> Ints:
    """Kernels by the time of the call that launched them, else by their start."""
    rows = kernel_rows(trace)
    start = device_columns(trace)["ts_ns"].to_numpy()[rows]
    call = link_launches(trace).call_row[rows]
    launched = start.copy()
    launched[call >= 0] = host_columns(trace)["ts_ns"].to_numpy()[call[call >= 0]]
    return np.asarray(rows[np.lexsort((rows, start, launched))])


def _from_names(names: pl.Series, families: Families) -> list[pl.Series]:
    """What a name tells, found once per distinct name."""
    codes, texts = encode(names)
    short = [None if text is None else short_name(text) for text in texts]
    family = [
        None if text is None else families.of(text, own)
        for text, own in zip(texts, short, strict=True)
    ]
    return [
        pl.Series(column, values, dtype=pl.String()).cast(pl.Categorical()).gather(codes)
        for column, values in (("short_name", short), ("family", family))
    ]

"""Memory over time: what is allocated, what the allocator holds, and when both were highest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from timesink.analyses.device.utilisation_counters import timeline
from timesink.analyses.gathering import values_at
from timesink.analyses.memory.devices import memory_capacities, memory_device_names, memory_records
from timesink.analyses.memory.thinning import largest_triangles
from timesink.analyses.once import once_per_trace
from timesink.analyses.steps import find_steps, step_at
from timesink.model.trace import Trace

RECORDED, SUMMED = "recorded", "summed"
MOST_POINTS = 10_240


def recording_start(trace: Trace) -> int:
    """When the recording began, in ns; no record is before it."""
    start, end = timeline(trace)
    records = memory_records(trace)["ts_ns"]
    first = int(records[0]) if len(records) else start
    return first if start == end else min(start, first)


def memory_curve(trace: Trace) -> pl.DataFrame:
    """Allocated and reserved memory after each record, by device and time.

    `source` is `recorded` where the allocator's own totals are in the trace.  Else it is `summed`:
    the changes are added up, and raised so that the lowest point is not below zero, which is the
    least that must have been allocated; what was reserved is then unknown.
    """
    return _curve(trace).drop("record")


def peak_records(trace: Trace) -> dict[str, int]:
    """The record after which most was allocated, by device: its place in `memory_records`."""
    highest = pl.col("record").get(pl.col("allocated_bytes").arg_max())
    peaks = _curve(trace).group_by("device", maintain_order=True).agg(highest)
    return {str(device): int(record) for device, record in peaks.iter_rows()}


@once_per_trace
def _curve(trace: Trace) -> pl.DataFrame:
    records = memory_records(trace).with_row_index("record")
    names = memory_device_names(trace)
    lines = [_line(records.filter(records["device"] == name)) for name in names]
    return pl.concat(lines or [_line(records)])


def _line(records: pl.DataFrame) -> pl.DataFrame:
    """The curve of one device."""
    totals, sums = records["total_allocated_bytes"], records["bytes"].cum_sum()
    source = RECORDED
    if totals.null_count() == records.height:
        source, totals = SUMMED, sums - pl.Series([sums.min(), 0]).min()
    return records.select(
        "record",
        "device",
        "ts_ns",
        totals.alias("allocated_bytes"),
        pl.col("total_reserved_bytes").alias("reserved_bytes"),
        pl.lit(source, dtype=pl.Enum([RECORDED, SUMMED])).alias("source"),
    ).drop_nulls("allocated_bytes")


# -- for drawing -----------------------------------------------------------------------------------


def as_steps(curve: pl.DataFrame) -> pl.DataFrame:
    """The curve as a line of steps: before each change a point with the values until then."""
    return _per_device(curve, _line_of_steps)


def thin_curve(curve: pl.DataFrame, points: int = MOST_POINTS) -> pl.DataFrame:
    """At most so many points a device, chosen so that the line of what is allocated looks the same.

    The highest points of both lines are always among them.  `points_before` is how many points the
    device had: more than it has now if it was thinned.
    """
    return _per_device(curve, lambda line: _thinned(line, points))


def _per_device(
    curve: pl.DataFrame, change: Callable[[pl.DataFrame], pl.DataFrame]
) -> pl.DataFrame:
    devices = curve["device"].unique(maintain_order=True)
    lines = [curve.filter(curve["device"] == device) for device in devices]
    return pl.concat([change(line) for line in lines] or [change(curve)])


def _line_of_steps(line: pl.DataFrame) -> pl.DataFrame:
    twice = np.repeat(np.arange(line.height), 2)
    return line[twice[:-1]].with_columns(line["ts_ns"][twice[1:]])


def _thinned(line: pl.DataFrame, points: int) -> pl.DataFrame:
    before = pl.lit(line.height, dtype=pl.Int64).alias("points_before")
    if line.height <= points:
        return line.with_columns(before)
    # Differences: times of today are beyond what a float holds exactly.
    ts = line["ts_ns"].to_numpy()
    kept = largest_triangles(
        (ts - ts[0]).astype(np.float64),
        line["allocated_bytes"].cast(pl.Float64).to_numpy(),
        points,
    )
    # The kept points with the highest of both lines in place of their nearest neighbours.
    highest = [line[name].arg_max() for name in ("allocated_bytes", "reserved_bytes")]
    peaks = {place for place in highest if place is not None}
    for place in sorted(peaks.difference(kept.tolist())):
        distance = np.abs(kept - place)
        distance[np.isin(kept, [0, line.height - 1, *peaks])] = line.height
        kept[distance.argmin()] = place
    return line[np.sort(kept)].with_columns(before)


# -- peaks -----------------------------------------------------------------------------------------


@once_per_trace
def memory_peaks(trace: Trace) -> pl.DataFrame:
    """When each device had most allocated and most reserved, and in which step.

    `fragmentation_bytes` is what the allocator held beyond what was allocated at that peak; null
    where reserved memory is not known.  `capacity_bytes` is what the device has.
    """
    highest = pl.col("allocated_bytes").arg_max()
    most_reserved = pl.col("reserved_bytes").arg_max()
    spare = pl.col("reserved_at_peak_bytes") - pl.col("peak_allocated_bytes")
    peaks = (
        memory_curve(trace)
        .group_by("device", maintain_order=True)
        .agg(
            pl.col("source").first(),
            peak_allocated_bytes=pl.col("allocated_bytes").max(),
            peak_allocated_ts_ns=pl.col("ts_ns").get(highest),
            reserved_at_peak_bytes=pl.col("reserved_bytes").get(highest),
            peak_reserved_bytes=pl.col("reserved_bytes").max(),
            peak_reserved_ts_ns=pl.col("ts_ns").get(most_reserved),
        )
    )
    capacities = memory_capacities(trace)
    sizes = [capacities.get(name) for name in peaks["device"].to_list()]
    # Names of the steps the host was in at these times.
    steps, moments = find_steps(trace), peaks["peak_allocated_ts_ns"].to_numpy()
    bounds = steps.select("host_start_ns", "host_end_ns").to_numpy()
    return peaks.with_columns(
        pl.when(spare >= 0).then(spare).alias("fragmentation_bytes"),
        pl.Series("capacity_bytes", sizes, dtype=pl.Int64),
        values_at(steps["name"], step_at(moments, moments + 1, bounds)).alias("peak_step"),
    )

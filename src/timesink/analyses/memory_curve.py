"""Memory over time: what is allocated, what the allocator holds, and when both were highest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from timesink.analyses.columns import memoize_per_trace, values_at
from timesink.analyses.device_utilisation import timeline
from timesink.analyses.names import device_word
from timesink.analyses.steps import find_steps, step_at
from timesink.model.arrays import exclusive_cumsum
from timesink.model.intervals import Floats, Ints
from timesink.model.trace import Trace
from timesink.model.vendors import PRIVATE_TORCH_TYPE, TORCH_DEVICE_WORDS

# Fewer points for a drawn line that still looks the same: largest triangles of three buckets.

_PASSES = 20
"""How often all runs are looked at together before the rest is done one by one.

Each choice depends on the one before it, yet hardly ever on the choices far before.  So all are
made at once, from the means of the runs before, and made again where the one before has changed.
Only very regular lines need the choices in order.
"""


def largest_triangles(x: Floats, y: Floats, count: int) -> Ints:
    """Places of at most `count` points (three or more) that keep the shape of a line.

    First and last stay.  The rest is cut into runs of nearly equal length, the longer ones first;
    of each run stays the point that spans the largest triangle with the point kept before it and
    the mean of the next run; of equal ones the first.
    """
    if len(x) <= count:
        return np.arange(len(x))
    runs = np.arange(count - 2)
    shortest, longer = divmod(len(x) - 2, len(runs))
    length = np.where(runs < longer, shortest + 1, shortest)
    first = 1 + exclusive_cumsum(length)
    # One row per run, one column per point; the last point again where a run is shorter.
    places = first[:, None] + np.minimum(np.arange(length[0]), length[:, None] - 1)
    rows_x, rows_y = x[places], y[places]
    # Of the point before the runs, of each run, and of the point after them.
    mean_x, mean_y = (
        np.concatenate([line[:1], np.add.reduceat(line[1:-1], first - 1) / length, line[-1:]])
        for line in (x, y)
    )

    def best(of: Ints, before_x: Floats, before_y: Floats) -> Ints:
        area = rows_y[of]
        area -= before_y[:, None]
        area *= (before_x - mean_x[of + 2])[:, None]
        other = rows_x[of]
        other -= before_x[:, None]
        other *= (mean_y[of + 2] - before_y)[:, None]
        area += other
        return np.asarray(first[of] + np.abs(area, out=area).argmax(axis=1))

    chosen, stale = best(runs, mean_x[:-2], mean_y[:-2]), runs
    for _ in range(_PASSES):
        before = np.where(stale > 0, chosen[stale - 1], 0)
        better = best(stale, x[before], y[before])
        changed = stale[better != chosen[stale]]
        chosen[stale] = better
        stale = changed[changed + 1 < len(chosen)] + 1
    # What is left: one run after the other, until a choice stays as it was.
    at = -1
    for run in stale.tolist():
        if run <= at:
            continue
        at = run
        while at < len(chosen):
            last = chosen[at - 1] if at else 0
            area = (rows_y[at] - y[last]) * (x[last] - mean_x[at + 2])
            area += (rows_x[at] - x[last]) * (mean_y[at + 2] - y[last])
            place = first[at] + np.abs(area).argmax()
            if place == chosen[at]:
                break
            chosen[at] = place
            at += 1
    return np.concatenate([[0], chosen, [len(x) - 1]])


# Memory records in the order of time, under the names of the devices they belong to.

CPU = "CPU"
_HOST_TYPE = 0
_NOT_PRIVATE = ("CPU", "GPU")
_COLUMNS = (
    "ts_ns",
    "pid",
    "tid",
    "device",
    "address",
    "bytes",
    "total_allocated_bytes",
    "total_reserved_bytes",
)


def memory_device(device_type: int | None, number: int | None, vendor_word: str) -> str:
    """The name of the device a record belongs to.

    PyTorch keeps one type for devices it does not know itself; what it means is up to the vendor.
    """
    if device_type == _HOST_TYPE:
        return CPU
    digits = "" if number is None or number < 0 else str(number)
    word = TORCH_DEVICE_WORDS.get(-1 if device_type is None else device_type)
    if device_type == PRIVATE_TORCH_TYPE and vendor_word not in _NOT_PRIVATE:
        word = vendor_word
    if word is not None:
        return f"{word}{digits}"
    return f"type {'unknown' if device_type is None else device_type}:{digits}"


@memoize_per_trace
def memory_records(trace: Trace) -> pl.DataFrame:
    """Allocations and releases in the order of time, and of the source where times are equal.

    `device` is the name of the device, an enumeration in the order devices are listed.  A release
    whose size is not known counts as one of 0 bytes.
    """
    records = trace.lazy("memory").select(*_COLUMNS, "device_type").collect()
    names = memory_device_names(trace)
    codes = np.zeros(records.height, dtype=np.int64)
    for kind, number, name in _places(trace).select("device_type", "device", "name").rows():
        same = records["device_type"].eq_missing(kind) & records["device"].eq_missing(number)
        codes[same.to_numpy()] = names.index(name)
    named = records.with_columns(
        pl.Series("device", names, dtype=pl.Enum(names)).gather(codes), pl.col("bytes").fill_null(0)
    ).drop("device_type")
    times = named["ts_ns"]
    return named if times.is_sorted() else named[np.argsort(times.to_numpy(), kind="stable")]


def in_window(time: pl.Expr, start_ns: int | None, end_ns: int | None) -> pl.Expr:
    """Whether a time is inside a window, both ends included; an open end bounds nothing."""
    inside = time.is_not_null()
    if start_ns is not None:
        inside &= time >= start_ns
    if end_ns is not None:
        inside &= time <= end_ns
    return inside


@memoize_per_trace
def _places(trace: Trace) -> pl.DataFrame:
    """Types and numbers of the devices with records, and their names, in the order of names."""
    word = device_word(trace)
    devices = trace.lazy("memory").select("device_type", "device").unique().collect()
    names = [memory_device(kind, number, word) for kind, number in devices.rows()]
    return (
        devices.with_columns(pl.Series("name", names, dtype=pl.String))
        .with_columns(word=pl.col("name").str.strip_chars_end("0123456789"))
        .sort("word", "device", "name")
    )


def memory_device_names(trace: Trace) -> list[str]:
    """The devices with records, by name; the second GPU comes before the tenth."""
    return list(dict.fromkeys(_places(trace)["name"].to_list()))


def default_device(names: Sequence[str]) -> str:
    """The device to show first: the first accelerator, else the host."""
    return next((name for name in names if name != CPU), CPU)


def memory_capacities(trace: Trace) -> dict[str, int]:
    """The memory each device has, as far as the recording says.

    It describes the devices of its vendor; others may have the same numbers.
    """
    listed = {device.id: device.memory_bytes for device in trace.metadata.devices}
    described = _places(trace).filter(pl.col("word") == device_word(trace))
    sizes = {name: listed.get(number) for number, name in described.select("device", "name").rows()}
    return {name: size for name, size in sizes.items() if size}


RECORDED, SUMMED = "recorded", "summed"
MAX_POINTS = 10_240


def recording_start(trace: Trace) -> int:
    """When the recording began, in ns; no record is before it."""
    start, end = timeline(trace)
    if not trace.holds("memory"):
        return start
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


def peak_memory(trace: Trace) -> int | None:
    """Most that was allocated at a time on one accelerator, else on the host; None if unknown."""
    if not trace.holds("memory"):
        return None
    peaks = _curve(trace).group_by("device").agg(pl.col("allocated_bytes").max())
    most_by_device = {str(device): int(most) for device, most in peaks.iter_rows()}
    on_devices = [most for name, most in most_by_device.items() if name != CPU]
    return max(on_devices or most_by_device.values(), default=None)


@memoize_per_trace
def _curve(trace: Trace) -> pl.DataFrame:
    records = memory_records(trace).with_row_index("record")
    names = memory_device_names(trace)
    if len(names) <= 1:
        return _line(records)
    return pl.concat([_line(records.filter(records["device"] == name)) for name in names])


def _line(records: pl.DataFrame) -> pl.DataFrame:
    """The curve of one device."""
    totals, sums = records["total_allocated_bytes"], records["bytes"].cum_sum()
    source = RECORDED
    if totals.null_count() == records.height:
        source, totals = SUMMED, sums - int(sums.to_numpy().min(initial=0))
    named = pl.Series("source", [source], pl.Enum([RECORDED, SUMMED]))
    curve = pl.DataFrame(
        [
            *(records["record"], records["device"], records["ts_ns"]),
            totals.alias("allocated_bytes"),
            records["total_reserved_bytes"].alias("reserved_bytes"),
            named.new_from_index(0, records.height),
        ]
    )
    return curve.drop_nulls("allocated_bytes") if totals.null_count() else curve


# -- for drawing -----------------------------------------------------------------------------------


def as_steps(curve: pl.DataFrame) -> pl.DataFrame:
    """The curve as a line of steps: before each change a point with the values until then."""

    def line_of_steps(line: pl.DataFrame) -> pl.DataFrame:
        twice = np.repeat(np.arange(line.height), 2)
        return line[twice[:-1]].with_columns(line["ts_ns"][twice[1:]])

    return _per_device(curve, line_of_steps)


def thin_curve(curve: pl.DataFrame, points: int = MAX_POINTS) -> pl.DataFrame:
    """At most so many points a device, chosen so that the line of what is allocated looks the same.

    The highest points of both lines are always among them.  `points_before` is how many points the
    device had: more than it has now if it was thinned.
    """
    return _per_device(curve, lambda line: _thin_line(line, points))


def _per_device(
    curve: pl.DataFrame, change: Callable[[pl.DataFrame], pl.DataFrame]
) -> pl.DataFrame:
    devices = curve["device"].unique(maintain_order=True)
    lines = [curve.filter(curve["device"] == device) for device in devices]
    return pl.concat([change(line) for line in lines] or [change(curve)])


def _thin_line(line: pl.DataFrame, points: int) -> pl.DataFrame:
    before = pl.lit(line.height, dtype=pl.Int64).alias("points_before")
    if line.height <= points:
        return line.with_columns(before)
    # Differences: times of today are beyond what a float holds exactly.
    ts = line["ts_ns"].to_numpy()
    chosen = largest_triangles(
        (ts - ts[0]).astype(np.float64), line["allocated_bytes"].cast(pl.Float64).to_numpy(), points
    )
    # The kept points with the highest of both lines in place of their nearest neighbours.
    highest = [line[name].arg_max() for name in ("allocated_bytes", "reserved_bytes")]
    peaks = {place for place in highest if place is not None}
    for place in sorted(peaks.difference(chosen.tolist())):
        distance = np.abs(chosen - place)
        distance[np.isin(chosen, [0, line.height - 1, *peaks])] = line.height
        chosen[distance.argmin()] = place
    return line[np.sort(chosen)].with_columns(before)


# -- peaks -----------------------------------------------------------------------------------------


@memoize_per_trace
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

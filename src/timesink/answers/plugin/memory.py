"""`/memory`, `/memory_curve`, `/memory_events`: who takes memory, when and for how long."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from timesink.analyses import memory_blocks as blocks
from timesink.analyses import memory_curve as curves
from timesink.answers.plugin.query import Query, microseconds
from timesink.errors import NotFoundError
from timesink.model.data_files import csv_rows
from timesink.model.trace import Trace

# What the answers of the memory view share: units, clock, rounding, rows and columns.

TIME_FACTORS = {"us": 1.0, "ms": 1e-3, "s": 1e-6}
"""What turns microseconds into each unit."""

MEMORY_FACTORS = {"B": 1.0, "KB": 1024**-1, "MB": 1024**-2, "GB": 1024**-3}
"""What turns bytes into each unit."""

NO_ADDRESSES = (
    "{device}: the records have no addresses, so single blocks cannot be followed "
    "(recorded by PyTorch before 1.10)."
)

_HALF_MICROSECOND = 500
_SMALLEST_ERROR, _PRODUCT_ERROR = 1e-6, 1e-15


class Units(msgspec.Struct, frozen=True):
    """The units a request asks for."""

    time: str
    memory: str

    @classmethod
    def of_query(cls, query: Query, memory: str) -> Units:
        """Milliseconds and the given unit of memory where the request does not say."""
        return cls(
            query.choice("time_metric", *TIME_FACTORS) or "ms",
            query.choice("memory_metric", *MEMORY_FACTORS) or memory,
        )

    def ns(self, lengths: pl.Series) -> pl.Series:
        """Nanoseconds in the unit of time."""
        return lengths / 1000 * TIME_FACTORS[self.time]

    def bytes(self, sizes: pl.Series) -> pl.Series:
        """Bytes in the unit of memory."""
        return sizes.cast(pl.Float64) * MEMORY_FACTORS[self.memory]


def asked_window(trace: Trace, query: Query) -> tuple[int | None, int | None]:
    """The window `start_ts` to `end_ts` in ns on the clock of the tables.

    Requests count microseconds on the clock of the file, as `first_ts` of the curve does, rounded
    to whole ones; so each end reaches half a microsecond further, lest it cut off its own point.
    """
    offset = trace.metadata.clock_offset_ns
    start, end = query.integer("start_ts"), query.integer("end_ts")
    return (
        None if start is None else start * 1000 + offset - _HALF_MICROSECOND,
        None if end is None else end * 1000 + offset + _HALF_MICROSECOND,
    )


def round_values(values: pl.Series) -> list[float | None]:
    """Two decimals; small numbers keep one digit that is not zero."""
    numbers = values.fill_null(0.0).to_numpy()
    hundredths = numbers * 100
    result = np.rint(hundredths) / 100
    # Halves are judged by the exact binary value, as Python does, and not by the product.
    error = _SMALLEST_ERROR + _PRODUCT_ERROR * np.abs(hundredths)
    tie = np.abs(hundredths - np.floor(hundredths) - 0.5) <= error
    small = (np.abs(numbers) < 0.01) & (numbers != 0)
    for place in np.flatnonzero(tie | small):
        number = float(numbers[place])
        is_plain = abs(number) >= 0.01 or number == 0
        digits = 2 if is_plain else abs(int(np.floor(np.log10(abs(number)))))
        result[place] = round(number, digits)
    return pl.Series(result).set(values.is_null(), None).to_list()


def in_units(table: pl.DataFrame, units: Units) -> pl.DataFrame:
    """Sizes in the unit asked for, rounded."""
    sizes = [name for name in table.columns if name.endswith("_bytes")]
    return table.with_columns(
        pl.Series(name, round_values(units.bytes(table[name])), dtype=pl.Float64) for name in sizes
    )


def recorded_devices(trace: Trace) -> list[str]:
    """The devices with memory records; there is no memory view without."""
    names = curves.memory_device_names(trace)
    if not names:
        raise NotFoundError(
            "the recording has no memory events", "record with profile(profile_memory=True)"
        )
    return names


def columns(units: Units, view: str) -> list[dict[str, str]]:
    """How the columns of a view are announced, by title and what they mean: `columns.csv`."""
    of = {"time": units.time, "memory": units.memory}
    return [
        {"name": row["title"].format(**of), "type": row["type"]}
        | ({"tooltip": row["tooltip"]} if row["tooltip"] else {})
        for row in csv_rows(Path(__file__).with_name("columns.csv"))
        if row["view"] == view
    ]


def rows_by_device(table: pl.DataFrame, devices: list[str]) -> dict[str, list[list[Any]]]:
    """The rows of each device, without its name."""
    rows: dict[str, list[list[Any]]] = {device: [] for device in devices}
    for device, *values in table.iter_rows():
        rows[device].append(values)
    return rows


def address_notes(trace: Trace) -> list[str]:
    """Which devices have records that cannot be matched, and why."""
    followed = (
        curves.memory_records(trace)
        .group_by("device", maintain_order=True)
        .agg(pl.col("address").is_not_null().any())
    )
    return [
        NO_ADDRESSES.format(device=device)
        for device, addressed in followed.sort("device").iter_rows()
        if not addressed
    ]


UNNAMED = "<unknown>"
_FRESH_MEMORY = "aten::empty"


_OUTSIDE = {"size_increase_bytes": "size_increase", "allocation_bytes": "allocation_size"}
"""Sizes in `outside_operators`, which are in the unit asked for and not in bytes."""

_SUMMED = (
    "{device}: the recording has no totals. The curve adds up what was taken and given back since "
    "its start; what was there before is missing unless it was given back."
)


def memory_table(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/memory`: memory of each operator, by device."""
    devices, units = recorded_devices(trace), Units.of_query(query, memory="KB")
    window = asked_window(trace, query)
    table = blocks.memory_by_operator(trace, *window)
    outside = blocks.memory_outside_operators(trace, *window)
    return {
        "metadata": {
            "title": "Memory View",
            "default_device": curves.default_device(devices),
            "search": "Operator Name",
            "sort": f"Self Size Increase ({units.memory})",
            "memory_metric": units.memory,
            "outside_operators": {
                str(row.pop("device")): row
                for row in in_units(outside, units).rename(_OUTSIDE).to_dicts()
            },
        },
        "columns": columns(units, "memory"),
        "rows": rows_by_device(in_units(table, units), devices),
    }


def memory_curve(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/memory_curve`: memory in use over time, by device, as lines of steps."""
    devices, units = recorded_devices(trace), Units.of_query(query, memory="MB")
    start = curves.recording_start(trace)
    steps = curves.as_steps(curves.memory_curve(trace))
    drawn = curves.thin_curve(steps)
    points = drawn.select(
        "device",
        units.ns(drawn["ts_ns"] - start),
        units.bytes(drawn["allocated_bytes"]),
        units.bytes(drawn["reserved_bytes"]),
    )
    peaks = curves.memory_peaks(trace)
    sizes = units.bytes(peaks["peak_allocated_bytes"])
    capacities = {name: pl.Series([size]) for name, size in curves.memory_capacities(trace).items()}
    lines = drawn.group_by("device", maintain_order=True).agg(
        pl.col("source", "points_before").first(), pl.len().alias("kept")
    )
    notes = []
    for device, source, before, drawn_count in lines.iter_rows():
        if source == curves.SUMMED:
            notes.append(_SUMMED.format(device=device))
        if drawn_count < before:
            notes.append(
                f"{device}: {drawn_count} of {before} points are drawn; the peaks are exact."
            )
    return {
        "metadata": {
            "default_device": curves.default_device(devices),
            "devices": devices,
            "peaks": {
                device: f"Peak Memory Usage: {size:.1f}{units.memory}"
                for device, size in zip(peaks["device"], sizes, strict=True)
            },
            "totals": {name: units.bytes(size)[0] for name, size in capacities.items()},
            "first_ts": microseconds(start - trace.metadata.clock_offset_ns),
            "time_metric": units.time,
            "memory_metric": units.memory,
            "time_factor": TIME_FACTORS[units.time],
            "memory_factor": MEMORY_FACTORS[units.memory],
            "sources": dict(drawn.select("device", "source").unique(maintain_order=True).rows()),
            "notes": notes,
        },
        "columns": columns(units, "memory_curve"),
        "rows": rows_by_device(points, devices),
    }


def memory_events(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/memory_events`: single blocks, from taking to giving back."""
    devices, units = recorded_devices(trace), Units.of_query(query, memory="KB")
    start = curves.recording_start(trace)
    events = blocks.memory_events(trace, *asked_window(trace, query))
    # Operators that only fetch memory are told apart by who called them.
    operator, caller = pl.col("operator"), pl.col("caller")
    fetches = operator.str.starts_with(_FRESH_MEMORY) & caller.is_not_null()
    whose = pl.format("{} ({})", caller, operator)
    name = pl.when(fetches).then(whose).otherwise(operator.fill_null(UNNAMED))
    event_rows = pl.DataFrame(
        {
            "device": events["device"],
            "operator": events.select(operator=name).to_series(),
            "size": round_values(units.bytes(events["bytes"])),
            "allocated": round_values(units.ns(events["allocated_ts_ns"] - start)),
            "released": round_values(units.ns(events["released_ts_ns"] - start)),
            "duration": round_values(units.ns(events["duration_ns"])),
        }
    )
    return {
        "metadata": {
            "title": "Memory Events",
            "default_device": curves.default_device(devices),
            "notes": address_notes(trace),
        },
        "columns": columns(units, "memory_events"),
        "rows": rows_by_device(event_rows, devices),
    }


def memory_peak(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/memory_peak`: the highest point of each device, and what was live then."""
    devices, units = recorded_devices(trace), Units.of_query(query, memory="MB")
    start = curves.recording_start(trace)
    peaks = in_units(curves.memory_peaks(trace), units)
    since_start = [name for name in peaks.columns if name.endswith("_ts_ns")]
    peaks = peaks.with_columns(
        pl.Series(name, round_values(units.ns(peaks[name] - start)), dtype=pl.Float64)
        for name in since_start
    )
    live = blocks.live_at_peak(trace)
    live = live.with_columns(pl.Series("bytes", round_values(units.bytes(live["bytes"]))))
    plain = {name: name.removesuffix("_bytes").replace("_ts_ns", "_time") for name in peaks.columns}
    return {
        "metadata": {
            "title": "Peak Memory",
            "default_device": curves.default_device(devices),
            "time_metric": units.time,
            "memory_metric": units.memory,
            "peaks": {str(row.pop("device")): row for row in peaks.rename(plain).to_dicts()},
            "notes": address_notes(trace),
        },
        "columns": columns(units, "memory_peak"),
        "rows": rows_by_device(live, devices),
    }

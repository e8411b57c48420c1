"""`/memory`, `/memory_curve`, `/memory_events`: who takes memory, when and for how long."""

from __future__ import annotations

from typing import Any

import polars as pl

from timesink.analyses.memory import curve as curves
from timesink.analyses.memory import events as blocks
from timesink.analyses.memory.devices import default_device, memory_capacities
from timesink.analyses.memory.operators import memory_by_operator, memory_outside_operators
from timesink.model.trace import Trace
from timesink.reports.plugin.memory_form import (
    MEMORY_FACTORS,
    TIME_FACTORS,
    Units,
    address_notes,
    asked_window,
    in_units,
    number_column,
    recorded_devices,
    rounded,
    rows_by_device,
)
from timesink.reports.plugin.query import Query, microseconds

UNNAMED = "<unknown>"
_FRESH_MEMORY = "aten::empty"

_TABLE = {
    "Calls": ("calls", "How often the operator was called."),
    "Size Increase": (
        "size_increase_bytes",
        "Memory taken less memory given back during the operator and all it calls.",
    ),
    "Self Size Increase": (
        "self_size_increase_bytes",
        "Memory taken less memory given back by the operator itself.",
    ),
    "Allocation Count": (
        "allocation_count",
        "How often the operator and all it calls took memory.",
    ),
    "Self Allocation Count": (
        "self_allocation_count",
        "How often the operator itself took memory.",
    ),
    "Allocation Size": (
        "allocation_bytes",
        "Memory the operator and all it calls took, whether or not it was given back.",
    ),
    "Self Allocation Size": (
        "self_allocation_bytes",
        "Memory the operator itself took, whether or not it was given back.",
    ),
}
"""Title of each column of numbers, without its unit: column of the analysis, what it means."""

_OUTSIDE = {"size_increase_bytes": "size_increase", "allocation_bytes": "allocation_size"}
"""Sizes in `outside_operators`, which are in the unit asked for and not in bytes."""

_NOTES = {
    curves.SUMMED: "{device}: the recording has no totals. The curve adds up what was taken and "
    "given back since its start; what was there before is missing unless it was given back.",
    "thinned": "{device}: {kept} of {points} points are drawn; the peaks are exact.",
}


# -- by operator -----------------------------------------------------------------------------------


def memory_table(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/memory`: memory of each operator, by device."""
    devices, units = recorded_devices(trace), Units.asked(query, memory="KB")
    window = asked_window(trace, query)
    table = memory_by_operator(trace, *window)
    outside = memory_outside_operators(trace, *window)
    return {
        "metadata": {
            "title": "Memory View",
            "default_device": default_device(devices),
            "search": "Operator Name",
            "sort": f"Self Size Increase ({units.memory})",
            "memory_metric": units.memory,
            "outside_operators": {
                str(row.pop("device")): row
                for row in in_units(outside, units).rename(_OUTSIDE).to_dicts()
            },
        },
        "columns": [
            {"name": "Operator Name", "type": "string"},
            *(
                number_column(
                    f"{title} ({units.memory})" if column.endswith("_bytes") else title, tip
                )
                for title, (column, tip) in _TABLE.items()
            ),
        ],
        "rows": rows_by_device(in_units(table, units), devices),
    }


# -- over time -------------------------------------------------------------------------------------


def memory_curve(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/memory_curve`: memory in use over time, by device, as lines of steps."""
    devices, units = recorded_devices(trace), Units.asked(query, memory="MB")
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
    capacities = {name: pl.Series([size]) for name, size in memory_capacities(trace).items()}
    return {
        "metadata": {
            "default_device": default_device(devices),
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
            "notes": _curve_notes(drawn),
        },
        "columns": [
            number_column(f"Time ({units.time})", "Time since the recording began."),
            number_column(f"Allocated ({units.memory})", "Memory in use by tensors."),
            number_column(
                f"Reserved ({units.memory})", "Memory the allocator holds, in use or free."
            ),
        ],
        "rows": rows_by_device(points, devices),
    }


def _curve_notes(drawn: pl.DataFrame) -> list[str]:
    lines = drawn.group_by("device", maintain_order=True).agg(
        pl.col("source", "points_before").first(), pl.len().alias("kept")
    )
    notes = []
    for device, source, points, kept in lines.iter_rows():
        if source == curves.SUMMED:
            notes.append(_NOTES[curves.SUMMED].format(device=device))
        if kept < points:
            notes.append(_NOTES["thinned"].format(device=device, kept=kept, points=points))
    return notes


# -- single blocks ---------------------------------------------------------------------------------


def memory_events(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/memory_events`: single blocks, from taking to giving back."""
    devices, units = recorded_devices(trace), Units.asked(query, memory="KB")
    start = curves.recording_start(trace)
    events = blocks.memory_events(trace, *asked_window(trace, query))
    shown = pl.DataFrame(
        {
            "device": events["device"],
            "operator": events.select(_block_name()).to_series(),
            "size": rounded(units.bytes(events["bytes"])),
            "allocated": rounded(units.ns(events["allocated_ts_ns"] - start)),
            "released": rounded(units.ns(events["released_ts_ns"] - start)),
            "duration": rounded(units.ns(events["duration_ns"])),
        }
    )
    return {
        "metadata": {
            "title": "Memory Events",
            "default_device": default_device(devices),
            "notes": address_notes(trace),
        },
        "columns": [
            {"name": "Operator", "type": "string", "tooltip": "Which operator took the block."},
            number_column(f"Size ({units.memory})", "How large the block is."),
            number_column(f"Allocation Time ({units.time})", "When it was taken, since the start."),
            number_column(
                f"Release Time ({units.time})", "When it was given back, since the start."
            ),
            number_column(f"Duration ({units.time})", "How long it was in use."),
        ],
        "rows": rows_by_device(shown, devices),
    }


def _block_name() -> pl.Expr:
    """Operators that only fetch memory are told apart by who called them."""
    operator, caller = pl.col("operator"), pl.col("caller")
    fetches = operator.str.starts_with(_FRESH_MEMORY) & caller.is_not_null()
    return (
        pl.when(fetches)
        .then(pl.format("{} ({})", caller, operator))
        .otherwise(operator.fill_null(UNNAMED))
        .alias("operator")
    )

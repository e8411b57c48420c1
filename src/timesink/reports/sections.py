"""The sections of an analysis: one function each, from a trace to plain values.

A section without data says why, and what to record to fill it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

import polars as pl

from timesink.analyses.breakdown import PARTS, average_step, step_breakdown
from timesink.analyses.columns import device_columns, host_columns
from timesink.analyses.device.idle import idle_breakdown, largest_gaps
from timesink.analyses.device.idle_causes import idle_causes
from timesink.analyses.device.launches import launch_statistics, queue_summary
from timesink.analyses.device.time import device_time, overlap_by_step
from timesink.analyses.device.utilisation import device_utilisation
from timesink.analyses.device.utilisation_counters import timeline
from timesink.analyses.kernels.table import kernel_groups, kernel_table
from timesink.analyses.kernels.tensor_core_share import tensor_core_share
from timesink.analyses.memory.curve import memory_curve, memory_peaks, thin_curve
from timesink.analyses.memory.live import live_at_peak
from timesink.analyses.memory.operators import memory_by_operator
from timesink.analyses.modules.table import module_table
from timesink.analyses.operators import eligible_share, launch_sites
from timesink.analyses.ranks.rank_set import RankSet
from timesink.analyses.ranks.telling import set_health
from timesink.analyses.steps import find_steps
from timesink.model.trace import Device, Trace
from timesink.reports.absent import NO_MEMORY, NO_MODULES
from timesink.reports.ranks.section import distributed
from timesink.reports.rows import microseconds, percent, to_rows

__all__ = [
    "breakdown",
    "device",
    "distributed",
    "health",
    "kernels",
    "memory",
    "modules",
    "operators",
    "source",
    "steps",
]

Row: TypeAlias = dict[str, Any]

CURVE_POINTS = 1000
GAPS = 20
LAUNCH_ROWS = 200


def source(trace: Trace, path: str, ranks: RankSet | None, notes: Sequence[str]) -> dict[str, Any]:
    """What was read."""
    metadata, device, host = trace.metadata, device_columns(trace), host_columns(trace)
    start, end = timeline(trace)
    return {
        "path": path or metadata.source,
        "file": metadata.source,
        "format": metadata.format,
        "vendor": metadata.vendor,
        "worker": metadata.worker,
        "span": metadata.span,
        "workers": [metadata.worker] if ranks is None else ranks.names,
        "rank": metadata.distributed.rank,
        "world_size": metadata.distributed.world_size,
        "backend": metadata.distributed.backend,
        "framework": metadata.framework,
        "versions": dict(metadata.versions),
        "clock": metadata.clock,
        "events": metadata.events,
        "operator_events": int((host["kind"] == "operator").sum()),
        "kernel_events": int((device["kind"] == "kernel").sum()),
        "start_ns": start,
        "span_us": microseconds(end - start),
        "recording": None if metadata.run is None else asdict(metadata.run),
        "notes": list(notes),
    }


def health(trace: Trace, ranks: RankSet | None) -> list[dict[str, Any]]:
    """What is odd about the recording; of a set each sort once, and on how many of its ranks."""
    if ranks is None:
        return [entry.to_dict() for entry in trace.health]
    return [{**entry.to_dict(), "ranks": many} for entry, many in set_health(ranks)]


def device(trace: Trace) -> list[dict[str, Any]]:
    """Each device: what it is, how busy it was, and why it was idle."""
    described = {item.id: item for item in trace.metadata.devices}
    causes = _by_device(to_rows(idle_causes(trace)))
    times = _by_device(to_rows(device_time(trace)))
    streams = _by_device(to_rows(idle_breakdown(trace)))
    usage = _by_device(to_rows(device_utilisation(trace)))
    # One that the recording does not name comes last.
    known = sorted({*times, *usage}, key=lambda number: (number is None, number or 0))
    return [
        {
            "device": number,
            **_described(described.get(number) if number is not None else None),
            **_percentages(*usage.get(number, [{}])),
            "time": _without_device(*times.get(number, [{}])),
            "idle_in_steps": _without_device(*causes.get(number, [{}])),
            "streams": streams.get(number, []),
        }
        for number in known
    ]


def _by_device(rows: Sequence[Row]) -> dict[int | None, list[Row]]:
    found: defaultdict[int | None, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["device"]].append(row)
    return found


def _described(item: Device | None) -> Row:
    return {
        name: None if item is None else getattr(item, name)
        for name in ("name", "memory_bytes", "compute_capability", "multiprocessors")
    }


_RATIOS = {
    "utilisation_pct": "utilisation",
    "any_activity_pct": "any_activity",
    "utilisation_within_steps_pct": "within_steps",
    "sm_efficiency_pct": "sm_efficiency",
    "tensor_core_pct": "tensor_core_ratio",
}


def _percentages(usage: Row) -> Row:
    return {
        **{key: percent(usage.get(name)) for key, name in _RATIOS.items()},
        "occupancy_pct": usage.get("occupancy_pct"),
        "window_us": usage.get("window_us"),
    }


def _without_device(row: Row) -> Row:
    return {key: value for key, value in row.items() if key != "device"}


def steps(trace: Trace) -> dict[str, Any]:
    """Every step with its parts, and how much they vary."""
    found = find_steps(trace)
    table = step_breakdown(trace).hstack(found.select("start_ns", "end_ns", "device_events"))
    whole = table.filter("complete")["total_ns"]
    figures = {name: getattr(whole, name)() for name in ("mean", "median", "std", "min", "max")}
    return {
        "marked": bool(found["marked"].any()),
        "count": found.height,
        "complete": whole.len(),
        **{f"{name}_us": microseconds(figure) for name, figure in figures.items()},
        "rows": to_rows(table),
        "overlap": to_rows(overlap_by_step(trace)),
    }


def breakdown(trace: Trace) -> dict[str, Any]:
    """The average complete step; its parts add up to it."""
    average = average_step(trace)
    total = average.get("total_ns", 0.0)
    lengths = {part: average.get(f"{part}_ns", 0.0) for part in PARTS}
    return {
        "step_us": microseconds(total),
        "parts": [
            {
                "part": part,
                "mean_us": microseconds(length),
                "share_pct": percent(length / total) if total else None,
            }
            for part, length in lengths.items()
        ],
    }


def operators(trace: Trace, table: pl.DataFrame, group_by: str) -> dict[str, Any]:
    """Operators, and where device work was launched from: all of it, so that it adds up."""
    return {
        "group_by": group_by or "name",
        "rows": to_rows(table),
        "launched_from": to_rows(launch_sites(trace)),
        "tensor_core_eligible_pct": percent(eligible_share(trace)),
    }


def kernels(trace: Trace) -> dict[str, Any]:
    """Kernels by name and by launch, how they were launched, and the gaps between them."""
    return {
        "rows": to_rows(kernel_table(trace)),
        "launches": to_rows(kernel_groups(trace)),
        "tensor_core_pct": percent(tensor_core_share(trace).ratio),
        "launch_delays": to_rows(launch_statistics(trace), LAUNCH_ROWS),
        "queues": to_rows(queue_summary(trace)),
        "largest_gaps": to_rows(largest_gaps(trace, GAPS)),
    }


def memory(trace: Trace) -> dict[str, Any]:
    """Peaks, operators, what is live at the peak, and the curve."""
    if trace.lazy("memory").head(1).collect().is_empty():
        return NO_MEMORY.to_dict()
    curve = thin_curve(memory_curve(trace), CURVE_POINTS)
    return {
        "peaks": to_rows(memory_peaks(trace)),
        "operators": to_rows(memory_by_operator(trace)),
        "live_at_peak": to_rows(live_at_peak(trace)),
        "curve": to_rows(curve),
    }


def modules(trace: Trace) -> dict[str, Any]:
    """Modules along their hierarchy."""
    table = module_table(trace)
    if table.is_empty():
        return NO_MODULES.to_dict()
    return {"rows": to_rows(table)}

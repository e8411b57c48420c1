"""The sections of an analysis: one function each, from a trace to plain values.

A section without data says why, and what to record to fill it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from timesink.analyses.breakdown import PARTS, average_step, step_breakdown
from timesink.analyses.columns import device_columns, host_columns
from timesink.analyses.communication.ranks import compared
from timesink.analyses.communication.records import communication_records
from timesink.analyses.communication.workers import overlap_by_step
from timesink.analyses.device import time as over_time
from timesink.analyses.device.idle import idle_breakdown, largest_gaps
from timesink.analyses.device.idle_causes import idle_causes
from timesink.analyses.device.launches import launch_statistics, queue_summary
from timesink.analyses.device.utilisation import device_utilisation
from timesink.analyses.device.utilisation_counters import timeline
from timesink.analyses.kernels.table import kernel_groups, kernel_table
from timesink.analyses.kernels.tensor_core_share import tensor_core_share
from timesink.analyses.memory.curve import memory_curve, memory_peaks, thin_curve
from timesink.analyses.memory.live import live_at_peak
from timesink.analyses.memory.operators import memory_by_operator
from timesink.analyses.modules.table import module_table
from timesink.analyses.operators import eligible_share, launch_sites
from timesink.analyses.steps import find_steps
from timesink.model.trace import Trace
from timesink.reports.rows import to_rows

CURVE_POINTS = 1000
GAPS = 20
LAUNCH_ROWS = 200


def source(
    trace: Trace, path: str, workers: Mapping[str, Trace], notes: Sequence[str]
) -> dict[str, Any]:
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
        "workers": sorted(workers) or [metadata.worker],
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
        "span_us": (end - start) / 1000,
        "notes": list(notes),
    }


def device(trace: Trace) -> list[dict[str, Any]]:
    """Each device: what it is, how busy it was, and why it was idle."""
    described = {item.id: item for item in trace.metadata.devices}
    causes = {row["device"]: row for row in to_rows(idle_causes(trace))}
    times = {row["device"]: row for row in to_rows(over_time.device_time(trace))}
    usage = {row["device"]: row for row in device_utilisation(trace).to_dicts()}
    known = sorted(set(times) | set(usage))
    return [
        {
            "device": number,
            **_described(described.get(number)),
            **_percentages(usage.get(number, {})),
            "time": _without_device(times.get(number, {})),
            "idle_in_steps": _without_device(causes.get(number, {})),
            "streams": [row for row in to_rows(idle_breakdown(trace)) if row["device"] == number],
        }
        for number in known
    ]


def _described(item: Any) -> dict[str, Any]:
    return {
        "name": item.name if item else None,
        "memory_bytes": item.memory_bytes if item else None,
        "compute_capability": item.compute_capability if item else None,
        "multiprocessors": item.multiprocessors if item else None,
    }


_RATIOS = {
    "utilisation_pct": "utilisation",
    "any_activity_pct": "any_activity",
    "utilisation_within_steps_pct": "within_steps",
    "sm_efficiency_pct": "sm_efficiency",
    "tensor_core_pct": "tensor_core_ratio",
}


def _percentages(usage: Mapping[str, Any]) -> dict[str, Any]:
    percent = {
        key: None if usage.get(name) is None else 100 * usage[name] for key, name in _RATIOS.items()
    }
    window = usage.get("window_ns")
    return {
        **percent,
        "occupancy_pct": usage.get("occupancy_pct"),
        "window_us": None if window is None else window / 1000,
    }


def _without_device(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "device"}


def steps(trace: Trace) -> dict[str, Any]:
    """Every step with its parts, and how much they vary."""
    found = find_steps(trace)
    table = step_breakdown(trace).hstack(found.select("start_ns", "end_ns", "device_events"))
    whole = table.filter("complete")["total_ns"] / 1000
    return {
        "marked": bool(found["marked"].any()),
        "count": found.height,
        "complete": whole.len(),
        "mean_us": whole.mean(),
        "median_us": whole.median(),
        "std_us": whole.std(),
        "min_us": whole.min(),
        "max_us": whole.max(),
        "rows": to_rows(table),
        "overlap": to_rows(over_time.overlap_by_step(trace)),
    }


def breakdown(trace: Trace) -> dict[str, Any]:
    """The average complete step; its parts add up to it."""
    average = average_step(trace)
    total = average.get("total_ns", 0.0)
    return {
        "step_us": total / 1000,
        "parts": [
            {
                "part": part,
                "mean_us": average.get(f"{part}_ns", 0.0) / 1000,
                "share_pct": 100 * average.get(f"{part}_ns", 0.0) / total if total else None,
            }
            for part in PARTS
        ],
    }


def operators(trace: Trace, table: pl.DataFrame, group_by: str) -> dict[str, Any]:
    """Operators, and where device work was launched from: all of it, so that it adds up."""
    return {
        "group_by": group_by or "name",
        "rows": to_rows(table.drop("first_place")),
        "launched_from": to_rows(launch_sites(trace)),
        "tensor_core_eligible_pct": _percent(eligible_share(trace)),
    }


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else 100 * ratio


def kernels(trace: Trace) -> dict[str, Any]:
    """Kernels by name and by launch, how they were launched, and the gaps between them."""
    return {
        "rows": to_rows(kernel_table(trace)),
        "launches": to_rows(kernel_groups(trace)),
        "tensor_core_pct": _percent(tensor_core_share(trace).ratio),
        "launch_delays": to_rows(launch_statistics(trace), LAUNCH_ROWS),
        "queues": to_rows(queue_summary(trace)),
        "largest_gaps": to_rows(largest_gaps(trace, GAPS)),
    }


def memory(trace: Trace) -> dict[str, Any] | None:
    """Peaks, operators, what is live at the peak, and the curve."""
    if trace.lazy("memory").head(1).collect().is_empty():
        return _absent("no memory was recorded", "profile with profile_memory=True")
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
        return _absent("no modules were recorded", "profile with with_stack=True")
    return {"rows": to_rows(table)}


def _absent(reason: str, hint: str) -> dict[str, Any]:
    return {"rows": [], "reason": reason, "hint": hint}


def distributed(trace: Trace, workers: Mapping[str, Trace]) -> dict[str, Any]:
    """How much of the steps is communication; with all workers, who waits and who transfers."""
    traces = workers or {trace.metadata.worker or "worker0": trace}
    if not any(communication_records(one).height for one in traces.values()):
        return _absent("nothing in this run communicates", "give the folder of all ranks")
    found = compared(traces)
    return {
        "workers": sorted(traces),
        "overlap": {name: to_rows(overlap_by_step(one)) for name, one in traces.items()},
        "steps": to_rows(found.by_step),
        "collectives": to_rows(found.by_name),
        "mismatched_calls": to_rows(found.mismatches),
    }

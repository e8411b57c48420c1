"""The JSON of an analysis: a function per section, from a trace to plain values.

A section without data says why, and what to record to fill it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import islice
from typing import Any, TypeAlias

import polars as pl

from timesink.analyses import device_utilisation
from timesink.analyses.columns import device_columns, host_columns
from timesink.analyses.communication_workers import WorkerSummary, compare_workers, summarise_worker
from timesink.analyses.cycles.search import unmarked_repetitions
from timesink.analyses.device_activities import launch_statistics, queue_summary
from timesink.analyses.device_idle import idle_breakdown, idle_causes
from timesink.analyses.fitness import recording_fitness
from timesink.analyses.kernels.table import kernel_groups, kernel_table, tensor_core_shares
from timesink.analyses.memory_curve import memory_curve, thin_curve
from timesink.analyses.operators import eligible_share, node_times
from timesink.analyses.program_traits import has_shapes, program_traits
from timesink.analyses.ranks.rank_set import RankSet, set_health
from timesink.analyses.replay.critical_path import PlayedRun, path_kinds
from timesink.analyses.steps import PARTS, average_step, find_steps, step_breakdown
from timesink.analyses.work.calls import NO_CALL, NO_SHAPES, known_times
from timesink.analyses.work.efficiency import Efficiency
from timesink.answers.tables import microseconds, percent, to_rows, view_rows
from timesink.answers.views import (
    NO_COMMUNICATION,
    NO_MEMORY,
    NO_MODULES,
    NO_PATH,
    NO_SHAPES_HERE,
    NO_SHAPES_IN_GRAPHS,
    NO_SHAPES_LINKED,
    Absent,
    find_view,
)
from timesink.model.fitness import CRITICAL_PATH, STEP_TIME, Fitness
from timesink.model.trace import Device, Trace
from timesink.rules.run_findings import find_all

# The long analyses of a large trace, started at once: what they share is found by the first.

MIN_EVENTS = 100_000
"""Below this, starting threads takes longer than they save."""


def start_side_by_side(trace: Trace, timeline: Trace) -> None:
    """Do the host side and the device side of an analysis in two threads.

    The work is NumPy and Polars on whole columns, which runs outside the interpreter's lock.  What
    is found on the clock of the answer is found in its `timeline`.
    """
    if trace.metadata.events < MIN_EVENTS:
        return
    work = [(trace, _HOST_SIDE), (trace, _DEVICE_SIDE), (timeline, (find_all,))]
    if timeline is not trace:
        work += [(timeline, _HOST_SIDE), (timeline, _OF_CLOCK)]
    with ThreadPoolExecutor(2) as threads:
        sides = [
            threads.submit(lambda of, side: [analysis(of) for analysis in side], of, side)
            for of, side in work
        ]
    for side in sides:
        side.result()


_HOST_SIDE: Sequence[Callable[[Trace], object]] = (node_times,)
_OF_CLOCK: Sequence[Callable[[Trace], object]] = (
    *(device_utilisation.device_utilisation, idle_causes, idle_breakdown),
)
_DEVICE_SIDE: Sequence[Callable[[Trace], object]] = (
    *(kernel_table, kernel_groups, launch_statistics, queue_summary, *_OF_CLOCK),
)


def distributed_values(trace: Trace, ranks: RankSet | None) -> dict[str, Any]:
    """How much of the steps is communication; of a set, who waits for whom and why."""
    name = trace.metadata.worker or "worker0"
    summaries = {name: summarise_worker(trace)} if ranks is None else ranks.summaries
    set_values = {} if ranks is None else _of_set(ranks)
    if not any(summary.records.height for summary in summaries.values()):
        return {**NO_COMMUNICATION.to_dict(), **set_values}
    comparison = compare_workers(summaries) if ranks is None else ranks.communication
    return {
        "workers": list(summaries),
        "overlap": _overlap(summaries),
        "steps": to_rows(comparison.by_step),
        "collectives": to_rows(comparison.by_name),
        "mismatched_calls": to_rows(comparison.mismatches),
        **set_values,
    }


def _overlap(workers: Mapping[str, WorkerSummary]) -> dict[str, Any]:
    # One table for all: with a thousand ranks, a query for each would take most of the time.
    rows = iter(to_rows(pl.concat([summary.steps for summary in workers.values()])))
    return {name: [*islice(rows, worker.steps.height)] for name, worker in workers.items()}


def _of_set(ranks: RankSet) -> dict[str, Any]:
    """What only several ranks tell."""
    return {
        "stragglers": view_rows("stragglers", ranks),
        "ranks": view_rows("ranks", ranks),
        "matched_collectives": view_rows("collectives-matched", ranks),
        "clocks": view_rows("clocks", ranks),
        "groups": view_rows("process-groups", ranks),
        "rank_groups": view_rows("rank-groups", ranks),
        "missing_ranks": list(ranks.missing),
        "damaged": [
            {"worker": recording.worker, "source": recording.source, "reason": recording.reason}
            for recording in ranks.damaged
        ],
    }


Row: TypeAlias = dict[str, Any]

CURVE_POINTS = 1000
LAUNCH_ROWS = 200
SNAPSHOT_ROWS = 200
LOG_ROWS = 10_000


def source(trace: Trace, path: str, ranks: RankSet | None, notes: Sequence[str]) -> dict[str, Any]:
    """What was read."""
    metadata, device, host = trace.metadata, device_columns(trace), host_columns(trace)
    start, end = device_utilisation.timeline(trace)
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
    described: dict[int | None, Device] = {item.id: item for item in trace.metadata.devices}
    causes = _by_device(view_rows("idle-causes", trace))
    times = _by_device(view_rows("device-time", trace))
    streams = _by_device(view_rows("idle", trace))
    usage = _by_device(view_rows("devices", trace))
    # One that the recording does not name comes last.
    numbers = sorted({*times, *usage}, key=lambda number: (number is None, number or 0))
    return [
        {
            "device": number,
            **{name: getattr(described.get(number), name, None) for name in _OF_DEVICE},
            **{key: percent(used.get(name)) for key, name in _RATIOS.items()},
            **{key: used.get(key) for key in ("occupancy_pct", "window_us")},
            "time": _without_device(*times.get(number, [{}])),
            "idle_in_steps": _without_device(*causes.get(number, [{}])),
            "streams": streams.get(number, []),
        }
        for number in numbers
        for used in usage.get(number, [{}])
    ]


def _by_device(rows: Sequence[Row]) -> dict[int | None, list[Row]]:
    by_device: defaultdict[int | None, list[Row]] = defaultdict(list)
    for row in rows:
        by_device[row["device"]].append(row)
    return by_device


_OF_DEVICE = ("name", "memory_bytes", "compute_capability", "multiprocessors")
_RATIOS = {
    "utilisation_pct": "utilisation",
    "any_activity_pct": "any_activity",
    "utilisation_within_steps_pct": "within_steps",
    "sm_efficiency_pct": "sm_efficiency",
    "tensor_core_pct": "tensor_core_ratio",
}


def _without_device(row: Row) -> Row:
    return {key: value for key, value in row.items() if key != "device"}


def steps(trace: Trace) -> dict[str, Any]:
    """Every step with its parts, and how much they vary."""
    all_steps = find_steps(trace)
    table = step_breakdown(trace).hstack(all_steps.select("start_ns", "end_ns", "device_events"))
    total_ns = table.filter("complete")["total_ns"]
    figures = {name: getattr(total_ns, name)() for name in ("mean", "median", "std", "min", "max")}
    return {
        "marked": bool(all_steps["marked"].any()),
        "count": all_steps.height,
        "complete": total_ns.len(),
        **{f"{name}_us": microseconds(figure) for name, figure in figures.items()},
        "rows": to_rows(table),
        "repetitions": _repetitions(trace),
        "overlap": view_rows("overlap", trace),
    }


def _repetitions(trace: Trace) -> dict[str, Any] | None:
    """What repeats where no steps are marked, if the recording tells how long that takes."""
    cycles = unmarked_repetitions(trace)
    if cycles is None or not recording_fitness(trace).answers(STEP_TIME):
        return None
    return {
        "method": cycles.method,
        "anchor": cycles.anchor,
        "confidence": round(cycles.confidence, 4),
        "count": cycles.count,
        "processes": cycles.processes,
        "median_us": microseconds(cycles.median_ns),
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
        "launched_from": view_rows("launch-sites", trace),
        "tensor_core_eligible_pct": percent(eligible_share(trace)),
    }


def kernels(trace: Trace) -> dict[str, Any]:
    """Kernels by name and by launch, how they were launched, and the gaps between them."""
    return {
        "rows": view_rows("kernels", trace),
        "launches": view_rows("kernel-launches", trace),
        "tensor_core_pct": percent(tensor_core_shares(trace)[0]),
        "launch_delays": view_rows("launches", trace, LAUNCH_ROWS),
        "queues": view_rows("queue", trace),
        "largest_gaps": view_rows("gaps", trace),
    }


def memory(trace: Trace) -> dict[str, Any]:
    """Peaks, operators, what is live at the peak, and the curve."""
    snapshot = {"snapshot": snapshot_values(trace)} if trace.has_snapshot else {}
    if trace.lazy("memory").head(1).collect().is_empty():
        return {**NO_MEMORY.to_dict(), **snapshot}
    curve = thin_curve(memory_curve(trace), CURVE_POINTS)
    return {
        **snapshot,
        "peaks": view_rows("memory-peaks", trace),
        "operators": view_rows("memory", trace),
        "live_at_peak": view_rows("memory-live", trace),
        "curve": to_rows(curve),
    }


def log_values(trace: Trace) -> dict[str, Any]:
    """What logs of collectives say; nothing where there are none."""
    if not trace.has_only_collectives:
        return {}
    return {
        "log": {
            "ranks": view_rows("collective-log-ranks", trace),
            "sizes": view_rows("collective-log-sizes", trace, LAUNCH_ROWS),
            "calls": view_rows("collective-log", trace, LOG_ROWS),
        }
    }


def snapshot_values(trace: Trace) -> dict[str, Any]:
    """What a memory snapshot says: live at the peak, by step, never given back, reserved."""
    return {
        "categories": view_rows("memory-categories", trace),
        "modules": view_rows("memory-modules", trace, SNAPSHOT_ROWS),
        "stacks": view_rows("memory-stacks", trace, SNAPSHOT_ROWS),
        "steps": view_rows("memory-steps", trace),
        "growth": view_rows("memory-growth", trace, SNAPSHOT_ROWS),
        "unfreed": view_rows("memory-unfreed", trace, SNAPSHOT_ROWS),
        "reserved": view_rows("memory-reserved", trace),
        "failures": view_rows("memory-failures", trace, SNAPSHOT_ROWS),
    }


def on_own_clock(timeline: Trace) -> dict[str, Any]:
    """What depends on the clock, of a program by itself."""
    return {"steps": steps(timeline), "breakdown": breakdown(timeline), "device": device(timeline)}


def critical_path(run: PlayedRun, fitness: Fitness) -> dict[str, Any]:
    """What decides how long a cycle takes: by kind, which add up to it, and by name.

    Empty, with the codes of the reasons, where the recording cannot tell; without any row it says
    why.
    """
    withheld = [reason.code for reason in fitness.against(CRITICAL_PATH)]
    if withheld:
        return {"cycle_us": None, "kinds": [], "rows": [], "modules": [], "withheld": withheld}
    rows = view_rows("critical-path", run)
    absent = {} if rows else {"reason": NO_PATH.reason, "hint": NO_PATH.hint}
    return {
        "cycle_us": microseconds(run.cycle_ns),
        "kinds": [
            {
                "kind": kind,
                "time_us": microseconds(ns),
                "share_pct": percent(ns / run.cycle_ns) if run.cycle_ns else None,
            }
            for kind, ns in path_kinds(run).items()
        ],
        "rows": rows,
        "modules": view_rows("critical-path-modules", run),
        **absent,
    }


def modules(table: pl.DataFrame) -> dict[str, Any]:
    """Modules along their hierarchy."""
    if table.is_empty():
        return NO_MODULES.to_dict()
    return {"rows": to_rows(table)}


def absence(view: str, efficiency: Efficiency) -> Absent:
    """Why a table is empty, and what to record instead: never what is recorded already."""
    about = find_view(view)
    if not about.is_of_roofs or efficiency.modelled.kernels.is_empty():
        return about.absent
    times = known_times(efficiency.modelled.kernels)
    total = sum(times.values())
    is_unlinked = 2 * times.get(NO_CALL, 0) > total
    is_shapeless = 2 * times.get(NO_SHAPES, 0) > total
    if not is_shapeless and "graphs" in program_traits(efficiency.trace):
        return NO_SHAPES_IN_GRAPHS
    if not has_shapes(efficiency.trace):
        return about.absent
    return NO_SHAPES_LINKED if is_unlinked else NO_SHAPES_HERE

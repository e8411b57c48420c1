"""The sections of an analysis: one function each, from a trace to plain values.

A section without data says why, and what to record to fill it.
"""

from __future__ import annotations

import re
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
from timesink.analyses.device_idle import idle_breakdown, idle_causes, largest_gaps
from timesink.analyses.fitness import recording_fitness
from timesink.analyses.kernels.table import kernel_groups, kernel_table, tensor_core_shares
from timesink.analyses.memory_blocks import live_at_peak, memory_by_operator
from timesink.analyses.memory_curve import memory_curve, memory_peaks, thin_curve
from timesink.analyses.operators import eligible_share, launch_sites, node_times
from timesink.analyses.program_traits import has_shapes, program_traits
from timesink.analyses.ranks import tables as views
from timesink.analyses.ranks.rank_set import RankSet, set_health
from timesink.analyses.replay.critical_path import PlayedRun, path_kinds, path_modules, path_table
from timesink.analyses.steps import PARTS, average_step, find_steps, step_breakdown
from timesink.analyses.work.calls import NO_CALL, NO_SHAPES, known_times
from timesink.analyses.work.efficiency import Efficiency
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
from timesink.errors import UsageError
from timesink.model.fitness import CRITICAL_PATH, STEP_TIME, Fitness
from timesink.model.trace import Device, Trace
from timesink.output.numbers import is_length, is_ratio
from timesink.rules.run_findings import find_all

# Tables as rows of plain values, times in microseconds.

_UNIT = re.compile("_(ns|bytes|pct)$")
_DIGITS = 6
"""Decimals of numbers that were divided: beyond them is only noise."""


def to_rows(frame: pl.DataFrame, top: int | None = None) -> list[dict[str, Any]]:
    """Rows with the unit of each number in its key."""
    rows = frame if top is None else frame.head(top)
    return in_microseconds(rows).to_dicts()


def in_microseconds(frame: pl.DataFrame) -> pl.DataFrame:
    """The table as users get it: lengths of time in microseconds, named so; text as text.

    A device that the recording does not name is null.
    """
    return frame.select(_json_column(name, dtype) for name, dtype in frame.schema.items())


def chosen_rows(frame: pl.DataFrame, sort: str | None, fits: str | None) -> pl.DataFrame:
    """Rows that hold a text in a column, ordered by a column: `host_self` or its whole name.

    Numbers come with the largest first, texts in their order.
    """
    if fits:
        texts = (pl.String, pl.Categorical, pl.Enum)
        named = [name for name, dtype in frame.schema.items() if isinstance(dtype, texts)]
        holds = (pl.col(name).cast(pl.String).str.to_lowercase() for name in named)
        wanted = pl.any_horizontal(
            column.str.contains(fits.lower(), literal=True) for column in holds
        )
        fitting_rows = frame.filter(wanted.fill_null(value=False)) if named else frame.clear()
        if fitting_rows.is_empty() and not frame.is_empty():
            raise UsageError(f"no row holds {fits!r}", "try a part of the name with --filter")
        frame = fitting_rows
    if not sort:
        return frame
    column_of = {name: name for name in frame.columns}
    column_of |= {user_name(name): name for name in column_of} | {
        _UNIT.sub("", name): name for name in column_of
    }
    if sort not in column_of:
        column_names = ", ".join(map(user_name, frame.columns))
        raise UsageError(f"the table has no column {sort!r}", f"sort by one of {column_names}")
    largest = frame.schema[column_of[sort]].is_numeric()
    return frame.sort(column_of[sort], descending=largest, nulls_last=True, maintain_order=True)


def lists_as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with lists of names and numbers written out, for formats without lists."""
    lists = pl.col(pl.List(pl.String), pl.List(pl.Int64))
    return frame.with_columns(lists.cast(pl.List(pl.String)).list.join(" "))


def user_name(name: str) -> str:
    """The name under which users get a column."""
    return f"{name.removesuffix('_ns')}_us" if is_length(name) else name


def microseconds(ns: float | None) -> float | None:
    """A length of time in microseconds, without the noise of dividing."""
    return None if ns is None else round(ns / 1000, _DIGITS)


def percent(ratio: float | None) -> float | None:
    """A ratio in percent, without the noise of multiplying."""
    return None if ratio is None else round(100 * ratio, _DIGITS)


def _json_column(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return column.cast(pl.String)
    if is_length(name):
        # Whole nanoseconds have three decimals, and the nearest float prints them.
        decimals = 3 if dtype.is_integer() else _DIGITS
        return (column / 1000).round(decimals).alias(user_name(name))
    if dtype.is_float() and not is_ratio(name):
        return column.round(_DIGITS)
    if name == "device" and dtype.is_integer():
        return pl.when(column >= 0).then(column).alias(name)
    return column


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
        "stragglers": to_rows(views.straggler_rows(ranks)),
        "ranks": to_rows(views.rank_rows(ranks)),
        "matched_collectives": to_rows(views.matched_collectives(ranks)),
        "clocks": to_rows(views.clock_rows(ranks)),
        "groups": to_rows(views.process_groups(ranks)),
        "rank_groups": to_rows(views.rank_groups(ranks)),
        "missing_ranks": list(ranks.missing),
        "damaged": [
            {"worker": recording.worker, "source": recording.source, "reason": recording.reason}
            for recording in ranks.damaged
        ],
    }


Row: TypeAlias = dict[str, Any]

CURVE_POINTS = 1000
GAPS = 20
LAUNCH_ROWS = 200


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
    causes = _by_device(to_rows(idle_causes(trace)))
    times = _by_device(to_rows(device_utilisation.device_time(trace)))
    streams = _by_device(to_rows(idle_breakdown(trace)))
    usage = _by_device(to_rows(device_utilisation.device_utilisation(trace)))
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
        "overlap": to_rows(device_utilisation.overlap_by_step(trace)),
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
        "launched_from": to_rows(launch_sites(trace)),
        "tensor_core_eligible_pct": percent(eligible_share(trace)),
    }


def kernels(trace: Trace) -> dict[str, Any]:
    """Kernels by name and by launch, how they were launched, and the gaps between them."""
    return {
        "rows": to_rows(kernel_table(trace)),
        "launches": to_rows(kernel_groups(trace)),
        "tensor_core_pct": percent(tensor_core_shares(trace)[0]),
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
    rows = to_rows(path_table(run))
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
        "modules": to_rows(path_modules(run)),
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

"""What the time of a run is spent on: ranges of kernels, copies, communication, calls, loading.

Threads and devices are pooled: a range says that at least one of them was at it.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses import names
from timesink.analyses.columns import (
    device_columns,
    device_kinds,
    device_names,
    event_ranges,
    host_columns,
    host_kinds,
    host_names,
    numbers,
    once_per_trace,
    remember,
)
from timesink.analyses.forest import call_forest, is_python_region
from timesink.analyses.links import LAUNCH_KINDS, link_launches
from timesink.analyses.steps import find_steps, step_at, step_names
from timesink.errors import NotFoundError, UsageError
from timesink.model import intervals, vendors
from timesink.model.arrays import Flags, Ints
from timesink.model.intervals import IntervalSet
from timesink.model.trace import Trace

ROLES = (
    "kernel",
    "memcpy",
    "memset",
    "communication",
    "runtime",
    "data_loader",
    "cpu_exec",
)
"""In order of priority: a moment counts for the first role that covers it."""


@once_per_trace
def role_ranges(trace: Trace) -> dict[str, IntervalSet]:
    """When each role was active, as disjoint ranges in time order."""
    device, host = device_columns(trace), host_columns(trace)
    talks = is_communication(trace)
    kinds = device_kinds(trace)
    calls = _outermost(trace)
    launching = host_kinds(trace).among(*LAUNCH_KINDS)
    parts = {
        "kernel": [_ranges(device, kinds.among("kernel") & ~talks)],
        "memcpy": [_ranges(device, kinds.among("memcpy") & ~talks)],
        "memset": [_ranges(device, kinds.among("memset"))],
        "communication": [_ranges(device, talks), _ranges(host, calls == _COMMUNICATION)],
        "runtime": [_ranges(host, launching)],
        "data_loader": [_ranges(host, calls == _DATA_LOADER)],
        "cpu_exec": [_ranges(host, calls == _OTHER)],
    }
    return {role: intervals.merge(np.concatenate(found)) for role, found in parts.items()}


@once_per_trace
def is_communication(trace: Trace) -> Flags:
    """Which rows of `trace.device` are communication: by name, or by the call they serve."""
    kinds = device_kinds(trace)
    by_name = device_names(trace).matching(vendors.is_collective_kernel) & kinds.among("kernel")
    # Device events without a known place of launch that carry the id of a collective call.
    named = link_launches(trace).node < 0
    if named.any():
        talks = _host_calls(trace) == _COMMUNICATION
        ids = numbers(host_columns(trace)["external_id"])[talks]
        wanted = numbers(device_columns(trace)["external_id"])[named]
        named[named] = (wanted != 0) & np.isin(wanted, ids)
    serves = _launched_by_collective(trace) | named
    return kinds.among("collective") | by_name | (serves & kinds.among("kernel", "memcpy"))


def _launched_by_collective(trace: Trace) -> Flags:
    forest, node = call_forest(trace), link_launches(trace).node
    if not len(forest):
        return np.zeros(len(node), dtype=np.bool_)
    return (node >= 0) & forest.named(vendors.is_collective_call)[node]


_NO_WORK, _OTHER, _COMMUNICATION, _DATA_LOADER = range(4)


@once_per_trace
def _host_calls(trace: Trace) -> NDArray[np.int8]:
    """What the host events that do the program's work are for."""
    named, kinds = host_names(trace), host_kinds(trace)
    purpose = np.array([_purpose(text) for text in named.texts] or [_NO_WORK], dtype=np.int8)
    calls = kinds.among("operator", "annotation") | is_python_region(trace)
    return np.where(calls, purpose[named.codes], np.int8(_NO_WORK))


def _outermost(trace: Trace) -> NDArray[np.int8]:
    """The same without calls inside others of their purpose: those add nothing to the ranges."""
    forest, calls = call_forest(trace), _host_calls(trace)
    callees = np.flatnonzero((forest.parent >= 0) & ~forest.crossing)
    rows, callers = forest.row[callees], forest.row[forest.parent[callees]]
    kept = calls.copy()
    kept[rows[calls[rows] == calls[callers]]] = _NO_WORK
    return kept


def _purpose(name: str) -> int:
    if names.is_profiler_step(name):
        return _NO_WORK
    if vendors.is_collective_call(name):
        return _COMMUNICATION
    return _DATA_LOADER if names.is_data_loader(name) else _OTHER


def _ranges(events: pl.DataFrame, chosen: Flags) -> IntervalSet:
    return event_ranges(events, chosen)


# How the time of each step divides: device work first, then what the host did meanwhile.

PARTS = (*ROLES, "other")
"""The parts of a step, in order of priority; `other` is what no role covers."""


@once_per_trace
def step_breakdown(trace: Trace) -> pl.DataFrame:
    """One row per step: its length and its parts, which add up to it.

    A moment in which several things happened counts for the first of `PARTS` among them.
    """
    steps = find_steps(trace)
    bounds = steps.select("start_ns", "end_ns").to_numpy().reshape(-1, 2)
    parts, left = intervals.waterfall(role_ranges(trace), bounds)
    parts["other"] = left
    return steps.select(
        "name",
        (pl.col("end_ns") - pl.col("start_ns")).alias("total_ns"),
        *(pl.Series(f"{part}_ns", parts[part].astype(np.int64)) for part in PARTS),
        "complete",
    )


def average_step(trace: Trace) -> dict[str, float]:
    """Mean length of the complete steps and of their parts, in ns; empty without steps."""
    complete = step_breakdown(trace).filter("complete")
    if complete.is_empty():
        return {}
    columns = ["total_ns", *(f"{part}_ns" for part in PARTS)]
    # Sums stay whole numbers; only the division is rounded.
    return {name: int(complete[name].sum()) / complete.height for name in columns}


# A trace cut down to some of its steps.

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def chosen_steps(names: list[str], wanted: str) -> list[str]:
    """Steps of a choice such as `5-8` or `5,7,10-12`."""
    numbers: set[int] = set()
    for part in wanted.split(","):
        found = _RANGE.fullmatch(part.strip())
        if found is None:
            raise UsageError(f"{wanted!r} is not a choice of steps", "try --steps 5-8 or 5,7,9")
        first, last = int(found[1]), int(found[2] or found[1])
        numbers.update(int(name) for name in names if first <= int(name) <= last)
    return [name for name in names if int(name) in numbers]


def within_steps(trace: Trace, wanted: str) -> Trace:
    """The part of a trace that belongs to some of its steps.

    Host events are kept that lie in one of the steps, and device work that was launched there;
    device work without a launch, memory records, flows and counters by their time.  A step keeps
    the bounds and the parts it has in the whole trace.
    """
    steps = find_steps(trace)
    kept = chosen_steps(steps["name"].to_list(), wanted)
    if not kept:
        held = ", ".join(steps["name"].head(12)) or "no step"
        raise NotFoundError(
            f"{trace.metadata.source}: none of the steps {wanted}", f"the trace holds {held}"
        )
    chosen = steps.filter(pl.col("name").is_in(kept))
    on_host = chosen.select("host_start_ns", "host_end_ns").to_numpy()
    on_device = chosen.select("start_ns", "end_ns").to_numpy()
    frames = {
        name: _at_times(trace.lazy(name), on_device) for name in ("memory", "flows", "counters")
    }
    # By name: steps touch, so the end of one is the time of the next.
    frames["steps"] = trace.lazy("steps").filter(step_names().is_in(kept))
    host, device = _host_rows(trace, on_host), _device_rows(trace, on_host, on_device)
    frames["host"] = trace.host.filter(pl.Series(host)).lazy()
    frames["device"] = trace.device.filter(pl.Series(device)).lazy()
    part = replace(trace, frames={**trace.frames, **frames})
    parts = step_breakdown(trace).filter(steps["name"].is_in(kept))
    remember(part, find_steps, _counted(chosen))
    remember(part, step_breakdown, _counted(parts))
    return part


def _counted(steps: pl.DataFrame) -> pl.DataFrame:
    """Cut steps count as well where no other was asked for; averages would be empty."""
    return steps if steps["complete"].any() else steps.with_columns(complete=pl.lit(value=True))


def _at_times(frame: pl.LazyFrame, bounds: Ints) -> pl.LazyFrame:
    inside = pl.any_horizontal(
        pl.col("ts_ns").is_between(int(start), int(end), closed="left") for start, end in bounds
    )
    return frame.filter(inside)


def _inside(start: Ints, end: Ints, bounds: Ints) -> Flags:
    return np.asarray(step_at(start, end, bounds) >= 0)


def _host_rows(trace: Trace, bounds: Ints) -> Flags:
    host = host_columns(trace)
    start = host["ts_ns"].to_numpy()
    return _inside(start, start + host["dur_ns"].to_numpy(), bounds)


def _device_rows(trace: Trace, on_host: Ints, on_device: Ints) -> Flags:
    device, call = device_columns(trace), link_launches(trace).call_row
    start = device["ts_ns"].to_numpy()
    by_time = _inside(start, start + device["dur_ns"].to_numpy(), on_device)
    launched = _host_rows(trace, on_host)
    if not len(launched):
        return by_time
    return np.where(call >= 0, launched[call], by_time)

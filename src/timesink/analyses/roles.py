"""What the time of a run is spent on: ranges of kernels, copies, communication, calls, loading.

Threads and devices are pooled: a range says that at least one of them was at it.
"""

from __future__ import annotations

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
)
from timesink.analyses.forest import call_forest, is_python_region
from timesink.analyses.links import LAUNCH_KINDS, link_launches
from timesink.analyses.once import once_per_trace
from timesink.model import intervals
from timesink.model.arrays import Flags
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
    by_name = device_names(trace).matching(names.is_collective_kernel) & kinds.among("kernel")
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
    return (node >= 0) & forest.named(names.is_collective_call)[node]


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
    if names.is_collective_call(name):
        return _COMMUNICATION
    return _DATA_LOADER if names.is_data_loader(name) else _OTHER


def _ranges(events: pl.DataFrame, chosen: Flags) -> IntervalSet:
    return event_ranges(events, chosen)

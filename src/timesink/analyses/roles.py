"""What the time of a run is spent on: ranges of kernels, copies, communication, calls, loading.

Threads and devices are pooled: a range says that at least one of them was at it.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses import names
from timesink.analyses.columns import device_columns, device_names, host_columns, host_names
from timesink.analyses.forest import call_forest
from timesink.analyses.links import LAUNCH_KINDS, link_launches
from timesink.analyses.once import once_per_trace
from timesink.model import intervals
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
    """When each role was active, as disjoint ranges in time order.

    >>> import timesink
    >>> ranges = role_ranges(timesink.open(timesink.sample()))
    >>> list(ranges) == list(ROLES)
    True
    """
    device, host = device_columns(trace), host_columns(trace)
    talks = is_communication(trace)
    kind = device["kind"]
    calls = _outermost(trace)
    launching = host["kind"].is_in(LAUNCH_KINDS).to_numpy()
    parts = {
        "kernel": [_ranges(device, (kind == "kernel").to_numpy() & ~talks)],
        "memcpy": [_ranges(device, (kind == "memcpy").to_numpy() & ~talks)],
        "memset": [_ranges(device, (kind == "memset").to_numpy())],
        "communication": [_ranges(device, talks), _ranges(host, calls == _COMMUNICATION)],
        "runtime": [_ranges(host, launching)],
        "data_loader": [_ranges(host, calls == _DATA_LOADER)],
        "cpu_exec": [_ranges(host, calls == _OTHER)],
    }
    return {role: intervals.merge(np.concatenate(found)) for role, found in parts.items()}


@once_per_trace
def is_communication(trace: Trace) -> NDArray[np.bool_]:
    """Which rows of `trace.device` are communication: by name, or by the call they serve."""
    kind = device_columns(trace)["kind"]
    work = kind.is_in(["kernel", "memcpy"]).to_numpy()
    by_name = device_names(trace).matching(names.is_collective_kernel)
    by_name &= (kind == "kernel").to_numpy()
    serves = work & (_launched_by_collective(trace) | _named_by_collective(trace))
    return (kind == "collective").to_numpy() | by_name | serves


def _launched_by_collective(trace: Trace) -> NDArray[np.bool_]:
    forest, node = call_forest(trace), link_launches(trace).node
    if not len(forest):
        return np.zeros(len(node), dtype=np.bool_)
    return (node >= 0) & forest.named(names.is_collective_call)[node]


def _named_by_collective(trace: Trace) -> NDArray[np.bool_]:
    """Device events without a known place of launch that carry the id of a collective call."""
    device, rows = device_columns(trace), np.flatnonzero(_host_calls(trace) == _COMMUNICATION)
    calls = host_columns(trace)["external_id"][rows]
    ids = calls.filter(calls != 0).unique()
    if not len(ids):
        return np.zeros(device.height, dtype=np.bool_)
    named = device["external_id"].is_in(ids.implode()).fill_null(value=False).to_numpy()
    return named & (link_launches(trace).node < 0)


_NO_WORK, _OTHER, _COMMUNICATION, _DATA_LOADER = range(4)


@once_per_trace
def _host_calls(trace: Trace) -> NDArray[np.int8]:
    """What the host events that do the program's work are for."""
    host, named = host_columns(trace), host_names(trace)
    purpose = np.array([_purpose(text) for text in named.texts] or [_NO_WORK], dtype=np.int8)
    works = host["kind"].is_in(["operator", "annotation"]).to_numpy()
    regions = (host["kind"] == "python_function") & (
        host["category"].is_in(["Python", "python"]).fill_null(value=False)
    )
    calls = works | regions.to_numpy()
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


def _ranges(events: pl.DataFrame, chosen: NDArray[np.bool_]) -> IntervalSet:
    return intervals.from_starts(
        events["ts_ns"].to_numpy()[chosen], events["dur_ns"].to_numpy()[chosen]
    )

"""`/module` and `/tree`: time per module, and the calls of a thread as a tree."""

from __future__ import annotations

from typing import Any

import polars as pl

from timesink.analyses.call_tree import Thread, call_tree, threads
from timesink.analyses.modules.table import module_table
from timesink.analyses.names import ROOT
from timesink.errors import NotFoundError
from timesink.model.trace import Trace
from timesink.reports.plugin.nesting import nested
from timesink.reports.plugin.query import Query, microseconds

_COLUMNS = (
    ("Module Name", "string", "name"),
    ("Occurences", "number", "occurences"),
    ("Operators", "number", "operators"),
    ("Host Total Time", "number", "host_duration"),
    ("Host Self Time", "number", "self_host_duration"),
    ("Device Total Time", "number", "device_duration"),
    ("Device Self Time", "number", "self_device_duration"),
)
_BACKWARD_COLUMNS = (
    ("Backward Host Time", "number", "backward_host_duration"),
    ("Backward Device Time", "number", "backward_device_duration"),
)
"""Only where the recording ties the backward pass to the forward pass."""

_SHOWN_THREADS = 6

_DURATIONS = {
    "host_duration": "host_total_ns",
    "self_host_duration": "host_self_ns",
    "device_duration": "device_total_ns",
    "self_device_duration": "device_with_operators_ns",
    "own_device_duration": "device_self_ns",
    "backward_host_duration": "backward_host_ns",
    "backward_device_duration": "backward_device_ns",
}


def module_view(trace: Trace, _query: Query) -> dict[str, Any]:
    """The response to `/module`.  `occurences` is spelled as its readers expect."""
    table = module_table(trace)
    if table.is_empty():
        raise NotFoundError(
            "no calls of modules were recorded",
            "record with torch.profiler.profile(with_stack=True, with_modules=True)",
        )
    backward = (table["backward_host_ns"] > 0).any()
    columns = _COLUMNS + (_BACKWARD_COLUMNS if backward else ())
    return {
        "columns": [{"name": name, "type": kind, "key": key} for name, kind, key in columns],
        "data": nested(((row, row["parent_id"]) for row in table.to_dicts()), _module),
    }


def _module(row: dict[str, Any]) -> dict[str, Any]:
    module = {
        "name": row["name"],
        "id": row["module_id"],
        "occurences": row["occurrences"],
        "operators": row["operators"],
    }
    module |= {key: microseconds(row[column]) for key, column in _DURATIONS.items()}
    return module | {"avg_duration": row["avg_duration_ns"] / 1000}


# -- /tree -----------------------------------------------------------------------------------------


def tree_view(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/tree`: one thread, the main one if the request names none.

    `threads` lists those that can be asked for with `thread` and, where several processes have a
    thread of that name, `pid`.
    """
    order = threads(trace)
    if not order:
        raise NotFoundError("no calls were recorded", "record with ProfilerActivity.CPU")
    thread = _chosen(order, query)
    return _root(trace, call_tree(trace, thread), thread) | {
        "threads": [{"pid": pid, "tid": tid} for pid, tid in order]
    }


def _chosen(order: list[Thread], query: Query) -> Thread:
    tid, pid = query.text("thread"), query.text("pid")
    for thread in order:
        if tid in ("", thread[1]) and pid in ("", thread[0]):
            return thread
    asked = " ".join(f"{key}={value}" for key, value in (("thread", tid), ("pid", pid)) if value)
    known = ", ".join(f"thread={tid}&pid={pid}" for pid, tid in order[:_SHOWN_THREADS])
    raise NotFoundError(f"the recording has no {asked}", f"it has {known}")


def _root(trace: Trace, tree: pl.DataFrame, thread: Thread) -> dict[str, Any]:
    # Times as in the file: a clock that counts from 1970 has no digits left for nanoseconds.
    offset = trace.metadata.clock_offset_ns

    def call(row: tuple[Any, ...]) -> dict[str, Any]:
        name, start, end, kind, tid = row
        return {
            "name": name,
            "start_time": microseconds(start - offset),
            "end_time": microseconds(end - offset),
            "type": kind,
            "tid": tid,
        }

    rows = tree.select("name", "start_ns", "end_ns", "type", "tid").iter_rows()
    calls = nested(zip(rows, tree["parent_id"], strict=True), call)
    return {
        "name": ROOT,
        "start_time": calls[0]["start_time"] if calls else 0,
        "end_time": calls[-1]["end_time"] if calls else 0,
        "type": "Python",
        "tid": thread[1],
        "children": calls,
    }

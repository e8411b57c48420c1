"""`/distributed/*`: the workers of one span side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from timesink.analyses.call_tree import Cost, Stretch, TreeSection, compare_trees
from timesink.analyses.communication_workers import WorkerComparison, mean_over_steps
from timesink.analyses.ranks.rank_set import RankSet
from timesink.answers.plugin.operators import nest_rows
from timesink.answers.plugin.query import Query, microseconds
from timesink.errors import NotFoundError, UsageError
from timesink.model.trace import Device, Trace
from timesink.patterns import regex

_NODE_AND_PROCESS = regex(r"^(.*)_(\d+)")
_GIGABYTE = 1024**3
_OVERLAP_PARTS = {
    "Computation": "computation_only_ns",
    "Overlapping": "overlap_ns",
    "Communication": "communication_only_ns",
    "Other": "other_ns",
}
_WAITING_PARTS = {"Data Transfer Time": "transfer_ns", "Synchronizing Time": "waiting_ns"}
_PARTS_OF_ONE_WORKER = {"Communication Time": "communication_ns"}
_COLUMNS = (
    "Name",
    "Calls",
    "Total Size (bytes)",
    "Avg Size (bytes)",
    "Total Latency (us)",
    "Avg Latency (us)",
    "Data Transfer Time (us)",
    "Avg Data Transfer Time (us)",
)
_COLUMNS_OF_ONE_WORKER = _COLUMNS[:-2]


def overlap(ranks: RankSet, _query: Query) -> dict[str, Any]:
    """The response to `/distributed/overlap`: computation and communication of every step."""
    _check_communication(ranks)
    steps = pl.concat(
        [
            summary.steps.with_columns(worker=pl.lit(worker)).rename({"name": "step"})
            for worker, summary in ranks.summaries.items()
        ]
    ).with_columns(
        computation_only_ns=pl.col("computation_ns") - pl.col("overlap_ns"),
        communication_only_ns=pl.col("communication_ns") - pl.col("overlap_ns"),
    )
    return _chart("Computation/Communication Overview", steps, _OVERLAP_PARTS)


def wait_time(ranks: RankSet, _query: Query) -> dict[str, Any]:
    """The response to `/distributed/waittime`: transfer and waiting of every step.

    Of a single worker nobody can tell how long it waited, so all of it is communication.
    """
    _check_communication(ranks)
    communication = ranks.communication
    parts = _WAITING_PARTS if len(ranks.ranks) > 1 else _PARTS_OF_ONE_WORKER
    title = "Synchronizing/Communication Overview"
    return _chart(title, communication.by_step, parts, **_mismatches(communication))


def communication_operations(ranks: RankSet, _query: Query) -> dict[str, Any]:
    """The response to `/distributed/commops`: what every worker spent on each collective."""
    _check_communication(ranks)
    communication = ranks.communication
    names = _COLUMNS if len(ranks.ranks) > 1 else _COLUMNS_OF_ONE_WORKER
    columns = [{"type": "string" if name == "Name" else "number", "name": name} for name in names]
    rows: dict[str, list[list[Any]]] = {worker: [] for worker in ranks.names}
    for operation in communication.by_name.iter_rows(named=True):
        calls, size = operation["calls"], operation["size_bytes"]
        row = [operation["name"], calls, size, None if size is None else round(size / calls)]
        for column in ("latency_ns", "transfer_ns"):
            time = operation[column]
            time_us = None if time is None else microseconds(time)
            row += [time_us, None if time is None else round(time / calls / 1000)]
        rows[operation["worker"]].append(row[: len(names)])
    return {
        "metadata": {"title": "Communication Operations Stats"} | _mismatches(communication),
        "data": {
            worker: {"columns": columns, "rows": worker_rows}
            for worker, worker_rows in rows.items()
        },
    }


def device_info(ranks: RankSet, _query: Query) -> dict[str, Any] | None:
    """The response to `/distributed/gpuinfo`: accelerators by node and process, if described."""
    nodes: dict[str, dict[str, dict[str, Any]]] = {}
    for rank, worker in ranks.workers.items():
        about = ranks.ranks[rank].about
        if about.device:
            # Node and process, as far as the name of the worker tells.
            named = _NODE_AND_PROCESS.match(worker)
            node, process = (named[1], named[2]) if named else (worker, str(about.rank or 0))
            nodes.setdefault(node, {})[f"Process {process}"] = {
                f"{about.device_word}{device.id}": _description(device)
                for device in about.devices
                if device.name
            }
    return {"metadata": {"title": "Device Information"}, "data": nodes} if nodes else None


def _check_communication(ranks: RankSet) -> None:
    if not ranks.communicates:
        raise NotFoundError(
            "no worker communicates with others in this span",
            "record a run with several ranks, with communication inside the profiled steps",
        )


def _mismatches(comparison: WorkerComparison) -> dict[str, Any]:
    """How many calls some worker lacks; nothing where all is well."""
    count = comparison.mismatches.height
    return {"mismatched_calls": count} if count else {}


def _chart(
    title: str, steps: pl.DataFrame, parts: Mapping[str, str], **extra: Any
) -> dict[str, Any]:
    """Values in us: the mean of each worker under `all`, then every step by its name.

    `parts` are the columns by what they are called.
    """
    columns = list(parts.values())
    means = mean_over_steps(steps, *columns).iter_rows()
    chart: dict[str, dict[str, list[Any]]] = {
        "all": {worker: [round(mean / 1000) for mean in values] for worker, *values in means}
    }
    for step, worker, *values in steps.select("step", "worker", *columns).iter_rows():
        chart.setdefault(step, {})[worker] = [microseconds(value) for value in values]
    metadata = {"title": title, "legends": list(parts), "units": "us", **extra}
    return {"metadata": metadata, "data": chart}


def _description(device: Device) -> dict[str, Any]:
    memory = device.memory_bytes
    fields = {
        "Name": device.name,
        "Memory": None if memory is None else f"{round(memory / _GIGABYTE, 2)} GB",
        "Memory Raw": memory,
        "Compute Capability": device.compute_capability,
    }
    return {key: value for key, value in fields.items() if value is not None}


# `/diff` and `/diffnode`: the call trees of two runs side by side.

ROOT_PATH = "0"


def diff(left: Trace, right: Trace, _query: Query) -> dict[str, Any]:
    """The response to `/diff`: every section with all sections inside it."""
    # Every section with the place of the one around it, which comes before it.
    every: list[tuple[TreeSection, int | None]] = []
    waiting: list[tuple[TreeSection, int | None]] = [(_compare_traces(left, right), None)]
    while waiting:
        section, around = waiting.pop()
        waiting.extend((child, len(every)) for child in reversed(section.children))
        every.append((section, around))
    (root,) = nest_rows(every, _section)
    return root


def diff_node(left: Trace, right: Trace, query: Query) -> dict[str, Any]:
    """The response to `/diffnode`: the section at `path`, and the sections directly inside it.

    A path gives the places to go down, separated by hyphens, and starts with `0`, the whole.
    """
    path = query.text("path", ROOT_PATH)
    section = _at(_compare_traces(left, right), path)
    children = [
        _section(child) | {"path": f"{path}-{place}", "children": []}
        for place, child in enumerate(section.children)
    ]
    return _section(section) | {"path": path, "children": children}


def _compare_traces(left: Trace, right: Trace) -> TreeSection:
    section = compare_trees(left, right)
    if not len(section.left.calls) and not len(section.right.calls):
        raise NotFoundError("neither run has recorded calls", "record with ProfilerActivity.CPU")
    return section


def _at(section: TreeSection, path: str) -> TreeSection:
    places = path.split("-")
    if places[0] != ROOT_PATH or not all(place.isdecimal() for place in places):
        raise UsageError(f"{path!r} is not a path to a section", "give path=0-1 or similar")
    for place in map(int, places[1:]):
        if place >= len(section.children):
            raise NotFoundError(f"no section at {path!r}", "paths are those of /diffnode")
        section = section.children[place]
    return section


def _section(section: TreeSection) -> dict[str, Any]:
    return {"left": _stretch(section.left), "right": _stretch(section.right)}


def _stretch(stretch: Stretch) -> dict[str, Any]:
    """Times of the main thread; what other threads did meanwhile stands apart."""
    other_cost = stretch.cost_of_other_threads
    answer = {"name": stretch.name} | _cost(stretch.cost)
    return answer | ({"other_threads": _cost(other_cost)} if other_cost.host_ns else {})


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "duration": microseconds(cost.host_ns),
        "device_duration": microseconds(cost.device_ns),
        "total_duration": microseconds(cost.total_ns),
        "aggs": [
            {
                "name": operator.name,
                "calls": operator.calls,
                "host_duration": microseconds(operator.host_ns),
                "device_duration": microseconds(operator.device_ns),
                "self_host_duration": microseconds(operator.host_self_ns),
                "self_device_duration": microseconds(operator.device_self_ns),
            }
            for operator in cost.operators
        ],
    }

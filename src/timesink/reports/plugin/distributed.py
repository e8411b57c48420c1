"""`/distributed/*`: the workers of one span side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from timesink.analyses.communication.comparison import Comparison, mean_over_steps
from timesink.analyses.ranks.rank_set import RankSet
from timesink.errors import NotFoundError
from timesink.model.trace import Device
from timesink.reports.plugin.query import Query, microseconds

_NODE_AND_PROCESS = re.compile(r"^(.*)_(\d+)")
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
    return {
        "metadata": {
            "title": "Computation/Communication Overview",
            "legends": list(_OVERLAP_PARTS),
            "units": "us",
        },
        "data": _chart(steps, list(_OVERLAP_PARTS.values())),
    }


def wait_time(ranks: RankSet, _query: Query) -> dict[str, Any]:
    """The response to `/distributed/waittime`: transfer and waiting of every step.

    Of a single worker nobody can tell how long it waited, so all of it is communication.
    """
    _check_communication(ranks)
    found = ranks.communication
    parts = _WAITING_PARTS if len(ranks.ranks) > 1 else _PARTS_OF_ONE_WORKER
    metadata = {
        "title": "Synchronizing/Communication Overview",
        "legends": list(parts),
        "units": "us",
    }
    return {
        "metadata": metadata | _mismatches(found),
        "data": _chart(found.by_step, list(parts.values())),
    }


def communication_operations(ranks: RankSet, _query: Query) -> dict[str, Any]:
    """The response to `/distributed/commops`: what every worker spent on each collective."""
    _check_communication(ranks)
    found = ranks.communication
    names = _COLUMNS if len(ranks.ranks) > 1 else _COLUMNS_OF_ONE_WORKER
    columns = [{"type": "string" if name == "Name" else "number", "name": name} for name in names]
    rows: dict[str, list[list[Any]]] = {worker: [] for worker in ranks.names}
    for operation in found.by_name.iter_rows(named=True):
        rows[operation["worker"]].append(_operation(operation)[: len(names)])
    return {
        "metadata": {"title": "Communication Operations Stats"} | _mismatches(found),
        "data": {worker: {"columns": columns, "rows": own} for worker, own in rows.items()},
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


# -- workers ---------------------------------------------------------------------------------------


def _check_communication(ranks: RankSet) -> None:
    if not ranks.communicates:
        raise NotFoundError(
            "no worker communicates with others in this span",
            "record a run with several ranks, with communication inside the profiled steps",
        )


def _mismatches(found: Comparison) -> dict[str, Any]:
    """How many calls some worker lacks; nothing where all is well."""
    count = found.mismatches.height
    return {"mismatched_calls": count} if count else {}


# -- steps -----------------------------------------------------------------------------------------


def _chart(steps: pl.DataFrame, parts: Sequence[str]) -> dict[str, dict[str, list[Any]]]:
    """Values in us: the mean of each worker under `all`, then every step by its name."""
    means = mean_over_steps(steps, *parts).iter_rows()
    chart: dict[str, dict[str, list[Any]]] = {
        "all": {worker: [round(mean / 1000) for mean in values] for worker, *values in means}
    }
    for step, worker, *values in steps.select("step", "worker", *parts).iter_rows():
        chart.setdefault(step, {})[worker] = [microseconds(value) for value in values]
    return chart


# -- operations ------------------------------------------------------------------------------------


def _operation(operation: Mapping[str, Any]) -> list[Any]:
    calls, size = operation["calls"], operation["size_bytes"]
    row = [operation["name"], calls, size, None if size is None else round(size / calls)]
    for column in ("latency_ns", "transfer_ns"):
        time = operation[column]
        row += [None, None] if time is None else [microseconds(time), round(time / calls / 1000)]
    return row


def _description(device: Device) -> dict[str, Any]:
    memory = device.memory_bytes
    known = {
        "Name": device.name,
        "Memory": None if memory is None else f"{round(memory / _GIGABYTE, 2)} GB",
        "Memory Raw": memory,
        "Compute Capability": device.compute_capability,
    }
    return {key: value for key, value in known.items() if value is not None}

"""`/operation*`, `/module`, `/tree`, `/kernel*`: time per operator, module, call and kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

import msgspec
import polars as pl

from timesink.analyses.call_tree import Thread, call_tree, threads
from timesink.analyses.device_activities import has_device_work
from timesink.analyses.kernels.table import kernel_groups, kernel_table, tensor_core_shares
from timesink.analyses.modules import module_table
from timesink.analyses.names import ROOT, has_tensor_cores
from timesink.analyses.operators import NO_LAUNCH, operator_table
from timesink.answers.plugin.query import Query, microseconds
from timesink.errors import NotFoundError
from timesink.model.trace import Trace

BY_NAME, BY_SHAPE = "Operation", "OperationAndInputShape"
_PIE_COLUMNS = [{"type": "string", "name": "name"}, {"type": "number", "name": "value"}]
_PIES = {
    "device_total_time": ("Device Total Time (us)", "device_total_ns"),
    "device_self_time": ("Device Self Time (us)", "device_self_ns"),
    "host_total_time": ("Host Total Time (us)", "host_total_ns"),
    "host_self_time": ("Host Self Time (us)", "host_self_ns"),
}
_DURATIONS = ("device_self", "device_total", "host_self", "host_total")
_TOOLTIPS = {
    "tc_eligible": "Whether the operator can run on tensor cores at all",
    "tc_self_ratio": "Share of the operator's own kernel time spent in tensor-core kernels",
    "tc_total_ratio": "The same share with the kernels of everything it calls",
}


def operation_pie(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/operation`: the four pies."""
    table = operator_table(trace, by_shape=_by_shape(query), as_plugin=True)
    table = table.sort("first_place")
    return {key: _pie(table, title, column) for key, (title, column) in _PIES.items()}


def _by_shape(query: Query) -> bool:
    return query.choice("group_by", BY_NAME, BY_SHAPE) == BY_SHAPE


def _pie(table: pl.DataFrame, title: str, column: str) -> dict[str, Any] | None:
    slices = table.filter(pl.col(column) > 0).sort(column, descending=True, maintain_order=True)
    if slices.is_empty():
        return None
    return {
        "title": title,
        "columns": _PIE_COLUMNS,
        "rows": [[name, microseconds(ns)] for name, ns in slices.select("name", column).rows()],
    }


def operation_table(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/operation/table`."""
    return _table(trace, operator_table(trace, by_shape=_by_shape(query), as_plugin=True))


def operation_stack(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/operation/stack`: one operator, by the stacks it was called from."""
    name, by_shape = query.required("op_name"), _by_shape(query)
    table = operator_table(trace, by_shape=by_shape, by_stack=True, as_plugin=True)
    table = table.filter(pl.col("name") == name)
    if by_shape:
        shapes = table["input_dims"].cast(pl.String).map_elements(shape_text, pl.String)
        table = table.filter(shapes.fill_null("[]") == query.text("input_shape", "[]"))
    if table.is_empty():
        raise NotFoundError(
            f"no operator {name!r} with this shape" if by_shape else f"no operator {name!r}",
            "names and shapes are those of operation/table",
        )
    return _table(trace, table.filter("has_call_stack"))


def _table(trace: Trace, table: pl.DataFrame) -> dict[str, Any]:
    on_device = has_device_work(trace)
    durations = {
        f"{sort}_duration": f"{sort}_ns"
        for sort in _DURATIONS
        if on_device or not sort.startswith("device")
    }
    data = []
    for operator in table.to_dicts():
        row: dict[str, Any] = {"name": operator["name"]}
        if "input_dims" in operator:
            row["input_shape"] = shape_text(operator["input_dims"])
        row["calls"] = operator["calls"]
        row |= {key: round(operator[column] / 1000) for key, column in durations.items()}
        row["tc_eligible"] = "Yes" if operator["tensor_core_eligible"] else "No"
        for part in ("self", "total"):
            ratio = operator[f"tensor_core_{part}_ratio"]
            row[f"tc_{part}_ratio"] = 0 if ratio is None else round(100 * ratio, 2)
        stack = "call_stack" if "call_stack" in operator else "has_call_stack"
        data.append(row | {stack: operator[stack]})
    return {"metadata": {"sort": next(iter(durations)), "tooltips": dict(_TOOLTIPS)}, "data": data}


def shape_text(dims: str | None) -> str:
    """Shapes as people write them."""
    if not dims:
        return "[]"
    try:
        return str(msgspec.json.decode(dims))
    except msgspec.DecodeError:
        return dims


# Rows of a tree put under one another, as deep as readers of JSON can follow.

Item = TypeVar("Item")
Row: TypeAlias = dict[str, Any]

MAX_LEVELS = 400
"""Each level is two brackets, and readers, Python's own among them, give up at a thousand."""


def nest_rows(items: Iterable[tuple[Item, int | None]], show: Callable[[Item], Row]) -> list[Row]:
    """Items with the places of their parents, which come before them, as rows with `children`.

    Below the deepest level nothing is shown; rows there tell in `truncated` how many are left out.
    """
    tops: list[Row] = []
    rows: list[Row] = []
    below: list[int] = []  # the level of each row's children
    for item, parent in items:
        level = 0 if parent is None else below[parent]
        if parent is not None and level == MAX_LEVELS:
            bottom = rows[parent]
            bottom["truncated"] = bottom.get("truncated", 0) + 1
            rows.append(bottom)
            below.append(level)
            continue
        row = show(item)
        row["children"] = []
        (tops if parent is None else rows[parent]["children"]).append(row)
        rows.append(row)
        below.append(level + 1)
    return tops


# `/module` and `/tree`: time per module, and the calls of a thread as a tree.

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

_MODULE_DURATIONS = {
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
        "data": nest_rows(((row, row["parent_id"]) for row in table.to_dicts()), _module),
    }


def _module(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": row["name"],
        "id": row["module_id"],
        "occurences": row["occurrences"],
        "operators": row["operators"],
        **{key: microseconds(row[column]) for key, column in _MODULE_DURATIONS.items()},
        "avg_duration": row["avg_duration_ns"] / 1000,
    }


def tree_view(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/tree`: one thread, the main one if the request names none.

    `threads` lists those that can be asked for with `thread` and, where several processes have a
    thread of that name, `pid`.
    """
    order = threads(trace)
    if not order:
        raise NotFoundError("no calls were recorded", "record with ProfilerActivity.CPU")
    tid, pid = query.text("thread"), query.text("pid")
    fitting = [key for key in order if tid in ("", key[1]) and pid in ("", key[0])]
    if not fitting:
        request = " ".join(
            f"{key}={value}" for key, value in (("thread", tid), ("pid", pid)) if value
        )
        choices = ", ".join(f"thread={tid}&pid={pid}" for pid, tid in order[:_SHOWN_THREADS])
        raise NotFoundError(f"the recording has no {request}", f"it has {choices}")
    thread = fitting[0]
    return _root(trace, call_tree(trace, thread), thread) | {
        "threads": [{"pid": pid, "tid": tid} for pid, tid in order]
    }


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
    calls = nest_rows(zip(rows, tree["parent_id"], strict=True), call)
    return {
        "name": ROOT,
        "start_time": calls[0]["start_time"] if calls else 0,
        "end_time": calls[-1]["end_time"] if calls else 0,
        "type": "Python",
        "tid": thread[1],
        "children": calls,
    }


# `/kernel`, `/kernel/table` and `/kernel/tc_pie`: where kernel time goes.

BY_KERNEL, BY_LAUNCH = "Kernel", "KernelNameAndOpName"
_USES = (
    "Whether the kernel runs on tensor cores (matrix units), judged by its name. "
    "Unknown: the name is in none of the lists."
)
_ON_SM, _IN_FLIGHT = "Mean Blocks Per SM", "Mean Est. Achieved Occupancy (%)"
_LENGTHS = ("total", "mean", "max", "min")
_MLU_LAUNCH = ("DimXYZ", "Kernel Type", "Kernel Uses Tensor Cores")
_LAUNCH = (
    *("Grid", "Block", "Register Per Thread", "Shared Memory", "Kernel Uses Tensor Cores"),
    "Op is Tensor Cores eligible",
)
_TEXTS = frozenset(
    {"Name", "Operator", "Tensor Cores Used", *_MLU_LAUNCH, "Grid", "Block", _LAUNCH[-1]}
)
_NEVER = "MLU devices have no tensor cores, so this is always No."
_ELIGIBLE = "Whether the operator that launched the kernel can run on tensor cores."
_BLOCKS = (
    "Blocks of a launch divided by the multiprocessors of the device. Below 1, some "
    "multiprocessors have nothing to do. Mean over the calls, weighted by their duration."
)
_OCCUPANCY = (
    "Warps in flight per multiprocessor as a part of what it can hold, estimated from the launch. "
    "Low values leave memory latency uncovered. Mean over the calls, weighted by their duration."
)


def kernel_pie(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/kernel`: total time of each kernel."""
    _kernel_group(query)
    table = _with_kernels(kernel_table(trace))
    rows = table.select("name", "total_ns").iter_rows()
    return _kernel_pie([[name, microseconds(total_ns)] for name, total_ns in rows])


def tensor_core_pie(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/kernel/tc_pie`: parts of the kernel time that use tensor cores or not."""
    _kernel_group(query)
    _with_kernels(kernel_table(trace))
    using, not_using, unknown = tensor_core_shares(trace)
    rows: list[list[Any]] = [["Using Tensor Cores", using], ["Not Using Tensor Cores", not_using]]
    if unknown:
        rows.append(["Unknown", unknown])
    return _kernel_pie(rows)


def kernel_table_view(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/kernel/table`: by name, or by name, operator and launch properties."""
    by_name = _kernel_group(query) == BY_KERNEL
    kernels = kernel_table(trace, zeros=True)
    table = _with_kernels(kernels if by_name else kernel_groups(trace, zeros=True))
    tips = {"Op is Tensor Cores eligible": _ELIGIBLE, _ON_SM: _BLOCKS, _IN_FLIGHT: _OCCUPANCY}
    if by_name:
        titles = ["Name", "Tensor Cores Used"]
        tips["Tensor Cores Used"] = _USES if has_tensor_cores(trace) else _NEVER
    else:
        on_mlu = "dim" in table.columns
        titles = ["Name", "Operator", *(_MLU_LAUNCH if on_mlu else _LAUNCH)]
        tips["Kernel Uses Tensor Cores"] = _NEVER if on_mlu else _USES
    titles += ["Calls", *(f"{what.capitalize()} Duration (us)" for what in _LENGTHS)]
    # Estimates that some kernel states.
    titles += [_ON_SM] if (kernels["blocks_per_sm"] > 0).any() else []
    titles += [_IN_FLIGHT] if kernels["occupancy_pct"].is_not_null().any() else []
    rows = (_kernel_cells(kernel, by_name=by_name) for kernel in table.to_dicts())
    return {
        "metadata": {"sort": "Total Duration (us)"},
        "data": {
            "columns": [
                {"type": "string" if title in _TEXTS else "number", "name": title}
                | ({"tooltip": tips[title]} if title in tips else {})
                for title in titles
            ],
            "rows": [[cells[title] for title in titles] for cells in rows],
        },
    }


def _kernel_cells(kernel: Row, *, by_name: bool) -> Row:
    """All that may be shown of a kernel, by the titles of columns."""
    words = {True: "Yes", False: "No", None: "Unknown"}
    cells = {"Name": kernel["name"], "Calls": kernel["calls"]}
    for what in _LENGTHS:
        # Means are always whole microseconds, others where kernels of a name are together.
        ns, exact = kernel[f"{what}_ns"], not by_name and what != "mean"
        cells[f"{what.capitalize()} Duration (us)"] = (
            microseconds(ns) if exact else round(ns / 1000)
        )
    for title, name in ((_ON_SM, "blocks_per_sm"), (_IN_FLIGHT, "occupancy_pct")):
        cells[title] = None if kernel[name] is None else round(kernel[name], 2)
    if by_name:
        return cells | {"Tensor Cores Used": words[kernel["tensor_cores"]]}
    sizes = {of: [kernel.get(f"{of}_{axis}") for axis in "xyz"] for of in ("grid", "block")}
    return cells | {
        "Operator": str(kernel["operator"]) if kernel["launched"] else NO_LAUNCH,
        "DimXYZ": kernel.get("dim"),
        "Kernel Type": kernel.get("kernel_type"),
        **{
            of.capitalize(): None if dimensions == [None] * 3 else str(dimensions)
            for of, dimensions in sizes.items()
        },
        "Register Per Thread": kernel.get("registers_per_thread"),
        "Shared Memory": kernel.get("shared_memory_bytes"),
        "Kernel Uses Tensor Cores": words[kernel["tensor_cores"]],
        "Op is Tensor Cores eligible": words[kernel.get("eligible")],
    }


def _kernel_group(query: Query) -> str:
    return query.choice("group_by", BY_KERNEL, BY_LAUNCH)


def _with_kernels(table: pl.DataFrame) -> pl.DataFrame:
    if table.is_empty():
        raise NotFoundError(
            "the trace has no kernels",
            "record with ProfilerActivity.CUDA (or that of your device) to see them",
        )
    return table


def _kernel_pie(rows: list[list[Any]]) -> dict[str, Any]:
    return {"total": {"columns": _PIE_COLUMNS, "rows": rows}}

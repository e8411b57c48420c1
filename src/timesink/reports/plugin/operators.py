"""`/operation`, `/operation/table`, `/operation/stack`: time per operator."""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl

from timesink.analyses.device.presence import has_device_work
from timesink.analyses.operators import operator_table
from timesink.errors import NotFoundError
from timesink.model.trace import Trace
from timesink.reports.plugin.query import Query, microseconds

BY_NAME, BY_SHAPE = "Operation", "OperationAndInputShape"
_PIES = {
    "device_total_time": ("Device Total Time (us)", "device_total_ns"),
    "device_self_time": ("Device Self Time (us)", "device_self_ns"),
    "host_total_time": ("Host Total Time (us)", "host_total_ns"),
    "host_self_time": ("Host Self Time (us)", "host_self_ns"),
}
_DURATIONS = {
    "device_self_duration": "device_self_ns",
    "device_total_duration": "device_total_ns",
    "host_self_duration": "host_self_ns",
    "host_total_duration": "host_total_ns",
}
_TOOLTIPS = {
    "tc_eligible": "Whether the operator can run on tensor cores at all",
    "tc_self_ratio": "Share of the operator's own kernel time spent in tensor-core kernels",
    "tc_total_ratio": "The same share with the kernels of everything it calls",
}


def operation_pie(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/operation`: the four pies."""
    table = operator_table(trace, by_shape=_by_shape(query)).sort("first_place")
    return {key: _pie(table, title, column) for key, (title, column) in _PIES.items()}


def _by_shape(query: Query) -> bool:
    return query.choice("group_by", BY_NAME, BY_SHAPE) == BY_SHAPE


def _pie(table: pl.DataFrame, title: str, column: str) -> dict[str, Any] | None:
    slices = table.filter(pl.col(column) > 0).sort(column, descending=True, maintain_order=True)
    if slices.is_empty():
        return None
    return {
        "title": title,
        "columns": [{"type": "string", "name": "name"}, {"type": "number", "name": "value"}],
        "rows": [[name, microseconds(ns)] for name, ns in slices.select("name", column).rows()],
    }


def operation_table(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/operation/table`."""
    return _table(trace, operator_table(trace, by_shape=_by_shape(query)))


def operation_stack(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/operation/stack`: one operator, by the stacks it was called from."""
    name, by_shape = query.required("op_name"), _by_shape(query)
    table = operator_table(trace, by_shape=by_shape, by_stack=True).filter(pl.col("name") == name)
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
        key: column for key, column in _DURATIONS.items() if on_device or "device" not in key
    }
    return {
        "metadata": {"sort": next(iter(durations)), "tooltips": dict(_TOOLTIPS)},
        "data": [_row(operator, durations) for operator in table.to_dicts()],
    }


def _row(operator: dict[str, Any], durations: dict[str, str]) -> dict[str, Any]:
    row: dict[str, Any] = {"name": operator["name"]}
    if "input_dims" in operator:
        row["input_shape"] = shape_text(operator["input_dims"])
    row["calls"] = operator["calls"]
    row |= {key: round(operator[column] / 1000) for key, column in durations.items()}
    row["tc_eligible"] = "Yes" if operator["tensor_core_eligible"] else "No"
    row["tc_self_ratio"] = _percent(operator["tensor_core_self_ratio"])
    row["tc_total_ratio"] = _percent(operator["tensor_core_total_ratio"])
    if "call_stack" in operator:
        return row | {"call_stack": operator["call_stack"]}
    return row | {"has_call_stack": operator["has_call_stack"]}


def _percent(ratio: float | None) -> float:
    return round(100 * ratio, 2) if ratio is not None else 0


def shape_text(dims: str | None) -> str:
    """Shapes as people write them."""
    if not dims:
        return "[]"
    try:
        return str(msgspec.json.decode(dims))
    except msgspec.DecodeError:
        return dims

"""`/kernel`, `/kernel/table` and `/kernel/tc_pie`: where kernel time goes."""

from __future__ import annotations

from typing import Any

import polars as pl

from timesink.analyses.kernels.table import kernel_groups, kernel_table
from timesink.analyses.kernels.tensor_core_share import tensor_core_share
from timesink.analyses.kernels.tensor_cores import has_tensor_cores
from timesink.analyses.operators import NO_LAUNCH
from timesink.errors import NotFoundError
from timesink.model.trace import Trace
from timesink.reports.plugin.query import Query, microseconds

BY_NAME, BY_LAUNCH = "Kernel", "KernelNameAndOpName"
_PIE_COLUMNS = (("string", "name"), ("number", "value"))
_USES = (
    "Whether the kernel runs on tensor cores (matrix units), judged by its name. "
    "Unknown: the name is in none of the lists."
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
_DURATIONS = (
    "Total Duration (us)",
    "Mean Duration (us)",
    "Max Duration (us)",
    "Min Duration (us)",
)


def kernel_pie(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/kernel`: total time of each kernel."""
    _group(query)
    table = _with_kernels(kernel_table(trace))
    rows = table.select("name", "total_ns").iter_rows()
    return _pie([[name, microseconds(total_ns)] for name, total_ns in rows])


def tensor_core_pie(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/kernel/tc_pie`: parts of the kernel time that use tensor cores or not."""
    _group(query)
    _with_kernels(kernel_table(trace))
    share = tensor_core_share(trace)
    rows: list[list[Any]] = [
        ["Using Tensor Cores", share.ratio],
        ["Not Using Tensor Cores", share.not_using_ratio],
    ]
    if share.unknown_ns:
        rows.append(["Unknown", share.unknown_ratio])
    return _pie(rows)


def kernel_table_view(trace: Trace, query: Query) -> dict[str, Any]:
    """The response to `/kernel/table`: by name, or by name, operator and launch properties."""
    by_name = _group(query) == BY_NAME
    table = _with_kernels(kernel_table(trace) if by_name else kernel_groups(trace))
    estimates = _estimates(kernel_table(trace))
    if by_name:
        columns, rows = _by_name(table, _USES if has_tensor_cores(trace) else _NEVER)
    elif "dim" in table.columns:
        columns, rows = _by_mlu_properties(table)
    else:
        columns, rows = _by_properties(table)
    return {
        "metadata": {"sort": "Total Duration (us)"},
        "data": {
            "columns": [*columns, *(column for column, _ in estimates)],
            "rows": [
                [*cells, *(_rounded(kernel[name]) for _, name in estimates)]
                for cells, kernel in zip(rows, table.to_dicts(), strict=True)
            ],
        },
    }


def _group(query: Query) -> str:
    return query.choice("group_by", BY_NAME, BY_LAUNCH)


def _with_kernels(table: pl.DataFrame) -> pl.DataFrame:
    if table.is_empty():
        raise NotFoundError(
            "the trace has no kernels",
            "record with ProfilerActivity.CUDA (or that of your device) to see them",
        )
    return table


def _pie(rows: list[list[Any]]) -> dict[str, Any]:
    columns = [{"type": kind, "name": name} for kind, name in _PIE_COLUMNS]
    return {"total": {"columns": columns, "rows": rows}}


# -- the three tables ------------------------------------------------------------------------------


def _by_name(table: pl.DataFrame, hint: str) -> tuple[list[dict[str, str]], list[list[Any]]]:
    columns = [_text("Name"), _text("Tensor Cores Used", hint), *_measure_columns()]
    rows = [
        [
            kernel["name"],
            _answer(uses=kernel["tensor_cores"]),
            kernel["calls"],
            *(round(kernel[name] / 1000) for name in ("total_ns", "mean_ns", "max_ns", "min_ns")),
        ]
        for kernel in table.to_dicts()
    ]
    return columns, rows


def _by_properties(table: pl.DataFrame) -> tuple[list[dict[str, str]], list[list[Any]]]:
    columns = [
        *(_text(name) for name in ("Name", "Operator", "Grid", "Block")),
        *(_number(name) for name in ("Register Per Thread", "Shared Memory")),
        _text("Kernel Uses Tensor Cores", _USES),
        _text("Op is Tensor Cores eligible", _ELIGIBLE),
        *_measure_columns(),
    ]
    rows = [
        [
            kernel["name"],
            _operator(kernel),
            _shape(kernel, "grid"),
            _shape(kernel, "block"),
            kernel["registers_per_thread"],
            kernel["shared_memory_bytes"],
            _answer(uses=kernel["tensor_cores"]),
            _answer(uses=kernel["eligible"]),
            *_measures(kernel),
        ]
        for kernel in table.to_dicts()
    ]
    return columns, rows


def _by_mlu_properties(table: pl.DataFrame) -> tuple[list[dict[str, str]], list[list[Any]]]:
    columns = [
        *(_text(name) for name in ("Name", "Operator", "DimXYZ", "Kernel Type")),
        _text("Kernel Uses Tensor Cores", _NEVER),
        *_measure_columns(),
    ]
    rows = [
        [
            kernel["name"],
            _operator(kernel),
            kernel["dim"],
            kernel["kernel_type"],
            _answer(uses=kernel["tensor_cores"]),
            *_measures(kernel),
        ]
        for kernel in table.to_dicts()
    ]
    return columns, rows


# -- columns ---------------------------------------------------------------------------------------


def _text(name: str, tooltip: str | None = None) -> dict[str, str]:
    return {"type": "string", "name": name} | ({"tooltip": tooltip} if tooltip else {})


def _number(name: str, tooltip: str | None = None) -> dict[str, str]:
    return {"type": "number", "name": name} | ({"tooltip": tooltip} if tooltip else {})


def _measure_columns() -> list[dict[str, str]]:
    return [_number("Calls"), *(_number(name) for name in _DURATIONS)]


def _estimates(table: pl.DataFrame) -> list[tuple[dict[str, str], str]]:
    """Columns of the estimates that some kernel states, and where their values are."""
    shown = []
    if (table["blocks_per_sm"] > 0).any():
        shown.append((_number("Mean Blocks Per SM", _BLOCKS), "blocks_per_sm"))
    if table["occupancy_pct"].is_not_null().any():
        occupancy = _number("Mean Est. Achieved Occupancy (%)", _OCCUPANCY)
        shown.append((occupancy, "occupancy_pct"))
    return shown


# -- cells -----------------------------------------------------------------------------------------


def _measures(kernel: dict[str, Any]) -> list[Any]:
    return [
        kernel["calls"],
        microseconds(kernel["total_ns"]),
        round(kernel["mean_ns"] / 1000),
        microseconds(kernel["max_ns"]),
        microseconds(kernel["min_ns"]),
    ]


def _answer(*, uses: bool | None) -> str:
    return {True: "Yes", False: "No", None: "Unknown"}[uses]


def _operator(kernel: dict[str, Any]) -> str:
    return str(kernel["operator"]) if kernel["launched"] else NO_LAUNCH


def _shape(kernel: dict[str, Any], what: str) -> str | None:
    sizes = [kernel[f"{what}_{axis}"] for axis in "xyz"]
    return None if sizes == [None] * 3 else str(sizes)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)

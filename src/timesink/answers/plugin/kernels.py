"""`/kernel`, `/kernel/table` and `/kernel/tc_pie`: where kernel time goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import itemgetter
from typing import Any, TypeAlias

import polars as pl

from timesink.analyses.kernels.table import kernel_groups, kernel_table, tensor_core_share
from timesink.analyses.operators import NO_LAUNCH
from timesink.analyses.tensor_cores import has_tensor_cores
from timesink.answers.plugin.query import Query, microseconds
from timesink.errors import NotFoundError
from timesink.model.trace import Trace

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
    if by_name:
        hint = _USES if has_tensor_cores(trace) else _NEVER
        columns = [_NAME, _text("Tensor Cores Used", _yes_or_no("tensor_cores"), hint)]
    elif "dim" in table.columns:
        columns = [
            *(_NAME, _OPERATOR),
            *(_text("DimXYZ", itemgetter("dim")), _text("Kernel Type", itemgetter("kernel_type"))),
            _text("Kernel Uses Tensor Cores", _yes_or_no("tensor_cores"), _NEVER),
        ]
    else:
        columns = [
            *(_NAME, _OPERATOR),
            *(_text("Grid", partial(_shape, "grid")), _text("Block", partial(_shape, "block"))),
            _number("Register Per Thread", itemgetter("registers_per_thread")),
            _number("Shared Memory", itemgetter("shared_memory_bytes")),
            _text("Kernel Uses Tensor Cores", _yes_or_no("tensor_cores"), _USES),
            _text("Op is Tensor Cores eligible", _yes_or_no("eligible"), _ELIGIBLE),
        ]
    columns += [_number("Calls", itemgetter("calls")), *_durations(exact=not by_name)]
    # Estimates that some kernel states.
    known = kernel_table(trace)
    if (known["blocks_per_sm"] > 0).any():
        columns.append(_number("Mean Blocks Per SM", partial(_rounded, "blocks_per_sm"), _BLOCKS))
    if known["occupancy_pct"].is_not_null().any():
        title = "Mean Est. Achieved Occupancy (%)"
        columns.append(_number(title, partial(_rounded, "occupancy_pct"), _OCCUPANCY))
    return {
        "metadata": {"sort": "Total Duration (us)"},
        "data": {
            "columns": [told for told, _ in columns],
            "rows": [[cell(kernel) for _, cell in columns] for kernel in table.to_dicts()],
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


# -- columns: how each is announced, and its cell of a kernel -------------------------------------

_Cell: TypeAlias = Callable[[dict[str, Any]], Any]
_KernelColumn: TypeAlias = tuple[dict[str, str], _Cell]


def _text(name: str, cell: _Cell, tooltip: str = "", kind: str = "string") -> _KernelColumn:
    return {"type": kind, "name": name} | ({"tooltip": tooltip} if tooltip else {}), cell


def _number(name: str, cell: _Cell, tooltip: str = "") -> _KernelColumn:
    return _text(name, cell, tooltip, "number")


def _operator(kernel: dict[str, Any]) -> str:
    return str(kernel["operator"]) if kernel["launched"] else NO_LAUNCH


def _yes_or_no(column: str) -> _Cell:
    return lambda kernel: {True: "Yes", False: "No", None: "Unknown"}[kernel[column]]


def _shape(what: str, kernel: dict[str, Any]) -> str | None:
    sizes = [kernel[f"{what}_{axis}"] for axis in "xyz"]
    return None if sizes == [None] * 3 else str(sizes)


def _rounded(column: str, kernel: dict[str, Any]) -> float | None:
    return None if kernel[column] is None else round(kernel[column], 2)


def _durations(*, exact: bool) -> Iterator[_KernelColumn]:
    """Microseconds; means are always whole ones, others where kernels of a name are together."""
    for what in ("total", "mean", "max", "min"):
        keeps = exact and what != "mean"

        def cell(kernel: dict[str, Any], what: str = what, keeps: bool = keeps) -> int | float:  # noqa: FBT001
            time_ns = kernel[f"{what}_ns"]
            return microseconds(time_ns) if keeps else round(time_ns / 1000)

        yield _number(f"{what.capitalize()} Duration (us)", cell)


_NAME = _text("Name", itemgetter("name"))
_OPERATOR = _text("Operator", _operator)

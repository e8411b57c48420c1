"""The tables of an analysis as cells of text; where they appear is up to others."""

from __future__ import annotations

from typing import Any

import polars as pl

from timesink.analyses.operators import launch_sites
from timesink.model import units
from timesink.output.names import told_apart
from timesink.render.cells import Cells, top_title
from timesink.reports.analysis import Analysis

NOT_BY_OPERATORS = "(not launched by an operator)"


def cells_of(analysis: Analysis, top: int) -> list[Cells]:
    """The tables of the report, each with its most important rows."""
    made = [
        operator_cells(analysis.table("operators"), launch_sites(analysis.trace), top),
        kernel_cells(analysis.table("kernels"), top),
        module_cells(analysis.table("modules"), top),
        memory_cells(analysis.table("memory-peaks")),
    ]
    return [cells for cells in made if cells.rows]


def operator_cells(table: pl.DataFrame, sites: pl.DataFrame, top: int) -> Cells:
    """Operators by device time and their share of all device work; by host time without any.

    The last row is the device work that no operator launched, so that the shares add up.
    """
    by_device = bool(_sum(sites, "device_ns")) and bool(_sum(table, "device_self_ns"))
    measures = ["host_self_ns", "host_total_ns"]
    if by_device:
        measures = ["device_self_ns", "device_total_ns", *measures]
    whole = _sum(sites, "device_ns") if by_device else _sum(table, measures[0])
    rows = [
        (
            _operator_name(row),
            units.count(row["calls"]),
            units.share(row[measures[0]], whole),
            *(units.duration_ns(row[name]) for name in measures),
        )
        for row in table.head(top).to_dicts()
    ]
    rest = whole - _sum(table, measures[0])
    if by_device and rest > 0:
        length = units.duration_ns(rest)
        rows.append(
            (NOT_BY_OPERATORS, "-", units.share(rest, whole), length, *["-"] * (len(measures) - 1))
        )
    titles = ["operator", "calls", "share" if by_device else "host share"]
    titles += [name.removesuffix("_ns").replace("_", " ") for name in measures]
    return Cells(top_title("operators", table.height, top), tuple(titles), tuple(rows))


def _operator_name(row: dict[str, Any]) -> str:
    name = str(row["name"])
    if row.get("input_dims"):
        name += f" {row['input_dims']}"
    return f"{name} < {row['call_stack'].split(';')[0]}" if row.get("call_stack") else name


def kernel_cells(table: pl.DataFrame, top: int) -> Cells:
    whole = _sum(table, "total_ns")
    yes_no = {True: "yes", False: "no", None: "?"}
    names = told_apart([str(name) for name in table["short_name"].head(top)])
    rows = [
        (
            name,
            units.count(row["calls"]),
            units.share(row["total_ns"], whole),
            units.duration_ns(row["total_ns"]),
            units.duration_ns(row["mean_ns"]),
            yes_no[row["tensor_cores"]],
            "-" if row["occupancy_pct"] is None else f"{row['occupancy_pct']:.0f} %",
        )
        for name, row in zip(names, table.head(top).to_dicts(), strict=True)
    ]
    columns = ("kernel", "calls", "share", "total", "mean", "tensor", "occup.")
    return Cells(top_title("kernels", table.height, top), columns, tuple(rows))


def module_cells(table: pl.DataFrame, top: int) -> Cells:
    time = "device_total_ns" if _sum(table, "device_total_ns") else "host_total_ns"
    ordered = table.sort(time, descending=True, maintain_order=True)
    rows = [
        (
            str(row["name"]),
            units.count(row["occurrences"]),
            units.duration_ns(row["host_total_ns"]),
            units.duration_ns(row["device_total_ns"]),
            units.duration_ns(row["backward_device_ns"] or 0),
        )
        for row in ordered.head(top).to_dicts()
    ]
    columns = ("module", "calls", "host total", "device total", "backward device")
    return Cells(top_title("modules", table.height, top), columns, tuple(rows))


def memory_cells(peaks: pl.DataFrame) -> Cells:
    rows = [
        (
            str(row["device"]),
            units.size_bytes(row["peak_allocated_bytes"]),
            _size(row["peak_reserved_bytes"]),
            _size(row["capacity_bytes"]),
            str(row["peak_step"] or "-"),
        )
        for row in peaks.to_dicts()
    ]
    columns = ("device", "peak allocated", "peak reserved", "capacity", "step")
    return Cells("Memory", columns, tuple(rows))


def _size(value: int | None) -> str:
    return "-" if value is None else units.size_bytes(value)


def _sum(table: pl.DataFrame, column: str) -> int:
    return int(table[column].sum() or 0)

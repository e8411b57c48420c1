"""What an analysis has to say, as titles and cells; where they appear is up to others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from timesink.analyses.breakdown import PARTS, average_step, step_breakdown
from timesink.analyses.communication.comparison import mean_over_steps
from timesink.analyses.device.utilisation import device_utilisation
from timesink.analyses.findings import Finding
from timesink.analyses.findings.finding import Evidence
from timesink.analyses.kernels.names import short_kernel_name
from timesink.analyses.names import device_word
from timesink.analyses.operators import launch_sites
from timesink.analyses.steps import find_steps
from timesink.model import units
from timesink.model.trace import Trace
from timesink.reports.analysis import Analysis

PART_NAMES = {
    "kernel": "kernels",
    "memcpy": "copies",
    "memset": "memsets",
    "communication": "communication",
    "runtime": "runtime calls",
    "data_loader": "data loading",
    "cpu_exec": "host code",
    "other": "other",
}


NOT_BY_OPERATORS = "(not launched by an operator)"


@dataclass(frozen=True, slots=True)
class Cells:
    """A table for people: titles, cells as text, and which columns are numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def numeric(self) -> list[bool]:
        return [column not in _TEXT_COLUMNS for column in self.columns]


_TEXT_COLUMNS = ("operator", "kernel", "module", "device", "step", "part", "collective", "worker")


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the average step."""

    name: str
    length: str
    share: str
    fraction: float


def subject(analysis: Analysis) -> str:
    """What was analysed: file or folder, worker, span, device."""
    metadata = analysis.trace.metadata
    name = Path(analysis.path or metadata.source).resolve().name
    pieces = [name]
    if metadata.worker and metadata.worker not in name:
        pieces.append(metadata.worker)
    if metadata.span is not None:
        pieces.append(f"span {metadata.span}")
    pieces += sorted({device.name for device in metadata.devices if device.name})[:2]
    return ", ".join(pieces)


def parts(trace: Trace) -> list[Part]:
    """The average step, part by part; those that take no time are left out."""
    average = average_step(trace)
    total = average.get("total_ns", 0.0)
    return [
        Part(
            PART_NAMES[part],
            units.duration_ns(average[f"{part}_ns"]),
            units.share(average[f"{part}_ns"], total),
            average[f"{part}_ns"] / total,
        )
        for part in PARTS
        if total and average[f"{part}_ns"]
    ]


def breakdown_title(trace: Trace) -> str:
    """Heading of the parts: of a step, or of all that was recorded."""
    steps = find_steps(trace)
    marked = steps.is_empty() or bool(steps["marked"][0])
    return "Where a step goes" if marked else "Where the time goes"


def steps_sentence(trace: Trace) -> str:
    """How many steps there are and how much they vary."""
    found = find_steps(trace)
    whole = step_breakdown(trace).filter("complete")["total_ns"]
    if whole.is_empty():
        return "no steps"
    if not found["marked"][0]:
        return f"no steps are marked; the recorded {units.duration_ns(int(whole[0]))} count as one"
    cut = found.height - whole.len()
    text = units.counted(whole.len(), "steps")
    if whole.len() > 1:
        shortest, longest = int(whole.to_numpy().min()), int(whole.to_numpy().max())
        text += f", {units.duration_ns(shortest)} to {units.duration_ns(longest)}"
    return text + (f", {units.counted(cut, 'more steps')} cut by the end" if cut else "")


def device_lines(trace: Trace) -> list[str]:
    """How busy each device was, one line each."""
    word = device_word(trace)
    return [_device_line(word, row) for row in device_utilisation(trace).to_dicts()]


def _device_line(word: str, row: dict[str, Any]) -> str:
    said = [f"kernels {_percent(row['utilisation'])}"]
    if row["any_activity"] is not None:
        said.append(f"any work {_percent(row['any_activity'])}")
    if row["sm_efficiency"] is not None:
        said.append(f"SM efficiency {_percent(row['sm_efficiency'])}")
    if row["occupancy_pct"] is not None:
        said.append(f"occupancy {row['occupancy_pct']:.1f} %")
    if row["tensor_core_ratio"] is not None:
        said.append(f"tensor cores {_percent(row['tensor_core_ratio'])}")
    number = row["device"]
    name = f"{word} {number}" if number is not None and number >= 0 else f"{word} without number"
    return f"{name}: {', '.join(said)}"


def _percent(ratio: float | None) -> str:
    return "-" if ratio is None else units.share(ratio, 1)


# -- tables ----------------------------------------------------------------------------------------


def tables(analysis: Analysis, top: int) -> list[Cells]:
    """The tables of the report, each with its most important rows."""
    made = [
        operator_cells(analysis.table("operators"), launch_sites(analysis.trace), top),
        kernel_cells(analysis.table("kernels"), top),
        module_cells(analysis.table("modules"), top),
        memory_cells(analysis.table("memory-peaks")),
        worker_cells(analysis, top),
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
    return Cells(_top_title("operators", table.height, top), tuple(titles), tuple(rows))


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
    return Cells(_top_title("kernels", table.height, top), columns, tuple(rows))


def told_apart(names: Sequence[str]) -> list[str]:
    """Names of different things, numbered where two would look the same.

    >>> told_apart(["gemm", "relu", "gemm"])
    ['gemm', 'relu', 'gemm #2']
    """
    seen: Counter[str] = Counter()
    told = []
    for name in names:
        seen[name] += 1
        told.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return told


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
    return Cells(_top_title("modules", table.height, top), columns, tuple(rows))


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


def worker_cells(analysis: Analysis, top: int) -> Cells:
    """Workers by how long others waited for them: who waits least keeps the rest waiting."""
    if len(analysis.workers) < 2:
        return Cells("", (), ())
    steps = analysis.table("workers")
    means = mean_over_steps(steps, "communication_ns", "transfer_ns", "waiting_ns")
    rows = [
        (str(worker), *(units.duration_ns(value or 0) for value in values))
        for worker, *values in means.sort("waiting_ns", "worker").rows()
    ]
    columns = ("worker", "communication a step", "transfer", "waiting")
    title = _top_title("workers", len(rows), top)
    return Cells(f"{title}; who waits least is waited for", columns, tuple(rows[:top]))


def _size(value: int | None) -> str:
    return "-" if value is None else units.size_bytes(value)


def _sum(table: pl.DataFrame, column: str) -> int:
    return int(table[column].sum() or 0)


def _top_title(what: str, height: int, top: int) -> str:
    shown = f"the first {top} of {units.count(height)}" if height > top else units.count(height)
    return f"{what.capitalize()} ({shown})"


# -- findings --------------------------------------------------------------------------------------


def gain_text(finding: Finding) -> str:
    """What mending it may save; empty where nothing can be said."""
    gains = []
    if finding.gain_ns:
        gains.append(units.duration_ns(finding.gain_ns) + (" a step" if finding.marked else ""))
    if finding.between_ns:
        gains.append(f"{units.duration_ns(finding.between_ns)} between two steps")
    return f"may save {' and '.join(gains)} if {finding.gain_basis}" if gains else ""


def evidence_lines(finding: Finding, most: int = 3) -> list[str]:
    """The first pieces of evidence, a line each."""
    shown = finding.evidence[:most]
    names = told_apart([f"{item.kind} {_evidence_name(item)}" for item in shown])
    return [
        f"{name}{_numbers(item, marked=finding.marked)}"
        for name, item in zip(names, shown, strict=True)
    ]


def _evidence_name(item: Evidence) -> str:
    return short_kernel_name(item.name) if item.kind == "kernel" else item.name


def _numbers(item: Evidence, *, marked: bool) -> str:
    numbers = ", ".join(
        _numbered(key, value, marked=marked)
        for key, value in item.numbers.items()
        if key != "start_ns"
    )
    return f": {numbers}" if numbers else ""


_UNITS: Mapping[str, Callable[[float], str]] = {
    "_us": lambda value: units.duration_ns(1000 * value),
    "_ns": lambda value: f"{units.count(int(value))} ns",
    "_bytes": units.size_bytes,
    "_pct": lambda value: f"{value:.1f} %",
}


def _numbered(key: str, value: float, *, marked: bool) -> str:
    """A number with its unit in words; those of a step are all there is where none is marked."""
    name = key.removesuffix("_per_step")
    each = " a step" if marked and name != key else ""
    unit = next((ending for ending in _UNITS if f"_{name}".endswith(ending)), "")
    shown = _UNITS[unit](value) if unit else units.count(round(value))
    spoken = name.removesuffix(unit).replace("_", " ")
    return f"{spoken} {shown}{each}"


def health_sentences(entries: Sequence[Any]) -> list[str]:
    """Trace health in a line each."""
    return [
        f"{entry.rule.severity.value}: {units.count(entry.count)} x {entry.rule.title}; "
        f"{entry.rule.consequence}"
        for entry in entries
    ]

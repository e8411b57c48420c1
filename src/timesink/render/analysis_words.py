"""What an analysis has to say, as titles and cells; where they appear is up to others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from timesink.analyses.breakdown import PARTS, average_step, step_breakdown
from timesink.analyses.communication.workers import mean_over_steps
from timesink.analyses.device.utilisation import device_utilisation
from timesink.analyses.findings import Finding
from timesink.analyses.findings.finding import Evidence
from timesink.analyses.kernels.names import short_kernel_name
from timesink.analyses.names import device_word
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
    return f"{word} {row['device']}: {', '.join(said)}"


def _percent(ratio: float | None) -> str:
    return "-" if ratio is None else units.share(ratio, 1)


# -- tables ----------------------------------------------------------------------------------------


def tables(analysis: Analysis, top: int) -> list[Cells]:
    """The tables of the report, each with its most important rows."""
    made = [
        operator_cells(analysis.table("operators"), top),
        kernel_cells(analysis.table("kernels"), top),
        module_cells(analysis.table("modules"), top),
        memory_cells(analysis.table("memory-peaks")),
        worker_cells(analysis, top),
    ]
    return [cells for cells in made if cells.rows]


def operator_cells(table: pl.DataFrame, top: int) -> Cells:
    device, host = _sum(table, "device_self_ns"), _sum(table, "host_self_ns")
    by_device = device > 0
    own, whole = ("device_self_ns", device) if by_device else ("host_self_ns", host)
    titles = ["operator", "calls", "share"]
    measures = ["host_self_ns", "host_total_ns"]
    if by_device:
        measures = ["device_self_ns", "device_total_ns", *measures]
    rows = [
        (
            _operator_name(row),
            units.count(row["calls"]),
            units.share(row[own], whole),
            *(units.duration_ns(row[name]) for name in measures),
        )
        for row in table.head(top).to_dicts()
    ]
    titles += [name.removesuffix("_ns").replace("_", " ") for name in measures]
    title = _top_title("operators", table.height, top)
    return Cells(title, tuple(titles), tuple(rows))


def _operator_name(row: dict[str, Any]) -> str:
    name = str(row["name"])
    if row.get("input_dims"):
        name += f" {row['input_dims']}"
    return f"{name} < {row['call_stack'].split(';')[0]}" if row.get("call_stack") else name


def kernel_cells(table: pl.DataFrame, top: int) -> Cells:
    whole = _sum(table, "total_ns")
    yes_no = {True: "yes", False: "no", None: "?"}
    rows = [
        (
            str(row["short_name"]),
            units.count(row["calls"]),
            units.share(row["total_ns"], whole),
            units.duration_ns(row["total_ns"]),
            units.duration_ns(row["mean_ns"]),
            yes_no[row["tensor_cores"]],
            "-" if row["occupancy_pct"] is None else f"{row['occupancy_pct']:.0f} %",
        )
        for row in table.head(top).to_dicts()
    ]
    columns = ("kernel", "calls", "share", "total", "mean", "tensor", "occup.")
    return Cells(_top_title("kernels", table.height, top), columns, tuple(rows))


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
    if not finding.gain_ns:
        return ""
    return f"may save {units.duration_ns(finding.gain_ns)} a step if {finding.gain_basis}"


def evidence_lines(finding: Finding, most: int = 3) -> list[str]:
    return [evidence_text(item) for item in finding.evidence[:most]]


def evidence_text(item: Evidence) -> str:
    """One piece of evidence in a line."""
    numbers = ", ".join(
        _numbered(key, value) for key, value in item.numbers.items() if key != "start_ns"
    )
    name = short_kernel_name(item.name) if item.kind == "kernel" else item.name
    return f"{item.kind} {name}" + (f": {numbers}" if numbers else "")


def _numbered(key: str, value: float) -> str:
    if key.endswith("_us_per_step"):
        return f"{_spoken(key, '_us_per_step')} {units.duration_ns(1000 * value)} a step"
    if key.endswith("_us"):
        return f"{_spoken(key, '_us')} {units.duration_ns(1000 * value)}"
    if key.endswith("bytes"):
        return f"{_spoken(key, '_bytes')} {units.size_bytes(value)}"
    if key.endswith("_pct"):
        return f"{_spoken(key, '_pct')} {value:.1f} %"
    if key.endswith("_ns"):
        return f"{_spoken(key, '_ns')} {units.count(int(value))} ns"
    return f"{key.replace('_', ' ')} {units.count(round(value))}"


def _spoken(key: str, unit: str) -> str:
    return key.removesuffix(unit).replace("_", " ")


def health_sentences(entries: Sequence[Any]) -> list[str]:
    """Trace health in a line each."""
    return [
        f"{entry.rule.severity.value}: {units.count(entry.count)} x {entry.rule.title}; "
        f"{entry.rule.consequence}"
        for entry in entries
    ]

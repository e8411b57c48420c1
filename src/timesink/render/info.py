"""The answer of `timesink info` for the terminal, as JSON and as a page."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from html import escape
from io import StringIO
from pathlib import Path
from string import Template

import polars as pl
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from timesink.model.health import HealthEntry
from timesink.render import units
from timesink.render.table import cell
from timesink.reports.info import Info, TraceInfo

_COLOURS = {"error": "red", "warning": "yellow", "info": "dim"}
_VENDORS = {
    "nvidia": "NVIDIA (CUDA)",
    "amd": "AMD (ROCm)",
    "cambricon": "Cambricon (MLU)",
    "ascend": "Huawei Ascend (NPU)",
    "intel": "Intel (XPU)",
    "mtia": "Meta MTIA",
    "cpu": "CPU only",
}
_TEMPLATES = Path(__file__).parent / "templates"


def to_json(info: Info) -> str:
    return json.dumps(info.to_dict(), indent=2)


def to_text(info: Info) -> str:
    out = StringIO()
    Console(file=out, width=100).print(_renderable(info))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def print_text(info: Info) -> None:
    width = min(max(shutil.get_terminal_size((100, 24)).columns, 60), 140)
    Console(width=width).print(_renderable(info))


def _renderable(info: Info) -> RenderableType:
    parts: list[RenderableType] = [Text(headline(info), style="bold"), ""]
    if len(info.traces) == 1:
        parts.append(_facts_table(facts(info.traces[0])))
    else:
        parts.append(_folder_table(info.traces))
    parts += ["", _health_block(info.all_health)]
    return Group(*parts)


def headline(info: Info) -> str:
    """The answer in a sentence."""
    busy = sum(trace.summary.device_busy_ns for trace in info.traces)
    span = sum(trace.summary.device_span.length_ns for trace in info.traces)
    events = units.count(sum(trace.summary.events for trace in info.traces))
    name = Path(info.path).name or info.path
    what = f"{name}: {events} events"
    if len(info.traces) > 1:
        what += f" in {len(info.traces)} traces"
    if not span:
        return f"{what}, no device activity"
    return (
        f"{what}; the device was busy {units.share(busy, span)} of {units.duration_ns(span)}"
    )


def facts(trace: TraceInfo) -> list[tuple[str, str]]:
    """Label and value of everything worth saying about one trace."""
    metadata, summary = trace.metadata, trace.summary
    distributed = metadata.distributed
    rank = "not named, 0 assumed" if distributed.rank is None else str(distributed.rank)
    if distributed.world_size:
        rank += f" of {distributed.world_size}"
    listed = [
        ("device", device_text(trace)),
        ("vendor", _VENDORS.get(metadata.vendor, metadata.vendor)),
        ("framework", ", ".join(filter(None, (metadata.framework, versions_text(metadata.versions))))),
        ("rank", rank + (f" ({distributed.backend})" if distributed.backend else "")),
        ("steps", units.count(summary.steps)),
        ("span", units.duration_ns(summary.span.length_ns)),
        ("device span", units.duration_ns(summary.device_span.length_ns)),
        ("device busy", _busy_text(trace)),
        ("host", _counted(summary, "operators", "annotations", "python_calls", "runtime_calls", "driver_calls")),
        ("device work", _counted(summary, "kernels", "memcpys", "memsets", "collectives")),
        ("other", _counted(summary, "memory_events", "counters", "flows")),
        ("format", f"{metadata.format}, {metadata.clock} clock"),
    ]
    return [(label, value) for label, value in listed if value]


def device_text(trace: TraceInfo) -> str:
    devices = trace.metadata.devices
    if not devices:
        return "none listed"
    used = [d for d in devices if d.id in trace.summary.devices_used] or list(devices)
    name = used[0].name or "name not recorded"
    memory = f", {units.size_bytes(used[0].memory_bytes)}" if used[0].memory_bytes else ""
    return f"{name}{memory} ({len(used)} used of {len(devices)} listed)"


def versions_text(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{key.removesuffix('_version')} {value}" for key, value in sorted(versions.items()))


def _busy_text(trace: TraceInfo) -> str:
    busy, span = trace.summary.device_busy_ns, trace.summary.device_span.length_ns
    return f"{units.duration_ns(busy)} ({units.share(busy, span)})" if span else "-"


def _counted(summary: object, *names: str) -> str:
    counted = ((name, getattr(summary, name)) for name in names)
    return ", ".join(f"{units.count(n)} {name.replace('_', ' ')}" for name, n in counted if n)


def _facts_table(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in rows:
        table.add_row(label, Text(value))
    return table


_FOLDER_COLUMNS = ("trace", "rank", "events", "kernels", "steps", "device span", "busy")


def folder_rows(traces: Iterable[TraceInfo]) -> list[tuple[str, ...]]:
    """One row per trace of a folder, in the order of its columns."""
    return [
        (
            _label(trace),
            str(trace.rank),
            units.count(trace.summary.events),
            units.count(trace.summary.kernels),
            units.count(trace.summary.steps),
            units.duration_ns(trace.summary.device_span.length_ns),
            units.share(trace.summary.device_busy_ns, trace.summary.device_span.length_ns),
        )
        for trace in traces
    ]


def _label(trace: TraceInfo) -> str:
    worker = trace.metadata.worker or Path(trace.metadata.source).name
    return worker if trace.metadata.span is None else f"{worker} span {trace.metadata.span}"


def _folder_table(traces: Iterable[TraceInfo]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for place, name in enumerate(_FOLDER_COLUMNS):
        table.add_column(name, justify="left" if place == 0 else "right", no_wrap=place > 0)
    for row in folder_rows(traces):
        table.add_row(*(Text(value) for value in row))
    return table


def _health_block(entries: Iterable[HealthEntry]) -> RenderableType:
    listed = list(entries)
    if not listed:
        return Text("health: nothing odd found", style="green")
    lines: list[RenderableType] = [Text("trace health", style="bold")]
    for entry in listed:
        rule = entry.rule
        title = Text(f"{rule.severity.value:<8}", style=_COLOURS[rule.severity.value])
        title.append(f"{units.count(entry.count)} x {rule.title}", style="default")
        details = Text(f"{rule.consequence}; {rule.advice}", style="dim")
        if entry.example:
            details.append(f"\ne.g. {entry.example}")
        lines += [title, Padding(details, (0, 0, 0, 8))]
    return Group(*lines)


def to_html(info: Info, tables: Mapping[str, pl.DataFrame] | None = None) -> str:
    """One self-contained page."""
    if len(info.traces) == 1:
        body = _html_table(("", ""), facts(info.traces[0]), css="facts")
    else:
        body = _html_table(_FOLDER_COLUMNS, folder_rows(info.traces))
    sections = [
        f"<h2>{escape(title)}</h2>{_html_frame(frame)}" for title, frame in (tables or {}).items()
    ]
    page = Template((_TEMPLATES / "info.html").read_text(encoding="utf-8"))
    return page.substitute(
        title=escape(Path(info.path).name or info.path),
        headline=escape(headline(info)),
        body=body,
        sections="".join(sections),
        health=_html_health(info.all_health),
    )


def _html_table(columns: Iterable[str], rows: Iterable[Iterable[str]], css: str = "") -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    lines = "".join(
        "<tr>" + "".join(f"<td>{escape(value)}</td>" for value in row) + "</tr>" for row in rows
    )
    return f'<table class="{css}"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>'


def _html_frame(frame: pl.DataFrame) -> str:
    numeric = [dtype.is_numeric() for dtype in frame.dtypes]
    head = "".join(f"<th>{escape(name)}</th>" for name in frame.columns)
    lines = "".join(
        "<tr>"
        + "".join(
            f'<td class="{"number" if right else "text"}">{escape(cell(value))}</td>'
            for value, right in zip(row, numeric, strict=True)
        )
        + "</tr>"
        for row in frame.iter_rows()
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _html_health(entries: Iterable[HealthEntry]) -> str:
    items = "".join(
        f'<li class="{entry.rule.severity.value}"><strong>{units.count(entry.count)} &times; '
        f"{escape(entry.rule.title)}</strong> {escape(entry.rule.consequence)}; "
        f"{escape(entry.rule.advice)}."
        + (f" <code>{escape(entry.example)}</code>" if entry.example else "")
        + "</li>"
        for entry in entries
    )
    return f"<ul>{items}</ul>" if items else "<p>Nothing odd found.</p>"


RENDERERS: dict[str, Callable[[Info], str]] = {"text": to_text, "json": to_json, "html": to_html}

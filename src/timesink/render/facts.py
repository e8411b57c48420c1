"""What `timesink info` has to say, in words; where they appear is up to others."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from timesink.analyses.behaviour.counts import BehaviourCounts
from timesink.analyses.kernel_calls.sampling import stated_sampling
from timesink.analyses.summary import Summary
from timesink.model import units
from timesink.model.health import HealthEntry
from timesink.model.trace import Device, Metadata
from timesink.model.vendors import TITLES
from timesink.render.recording_facts import counter_facts, counters_headline, recording_facts
from timesink.reports.info import Info, TraceInfo

_FOLDER_COLUMNS = ("trace", "rank", "events", "kernels", "steps", "device span", "busy")
_BEHAVIOUR_COLUMNS = ("table", "processes", "cycles", "cycle", "functions", "metrics", "rows")


def title(info: Info) -> str:
    """Name of the file or folder."""
    name = Path(info.path).resolve().name or info.path
    return os.fsencode(name).decode("utf-8", "replace")


def headline(info: Info) -> str:
    """The answer in a sentence."""
    summaries = [trace.summary for trace in info.traces]
    busy = sum(summary.device_busy_ns for summary in summaries)
    span = sum(summary.device_span.length_ns for summary in summaries)
    what = f"{title(info)}: {units.counted(sum(s.events for s in summaries), 'events')}"
    subject, whole = "the device was", units.duration_ns(span)
    if len(summaries) > 1:
        what += f" in {units.counted(len(summaries), 'traces')}"
        subject, whole = "devices were", f"{whole} in all"
    tables = [summary.behaviour for summary in summaries if summary.behaviour is not None]
    if tables:
        return f"{title(info)}: {_behaviour_text(tables)}; no timeline"
    if all(trace.has_only_counters for trace in info.traces):
        return f"{title(info)}: {counters_headline(info.traces)}; no timeline"
    if any(summary.kernel_calls for summary in summaries):
        return f"{title(info)}: {_measured(info.traces)}; no timeline"
    if not span:
        return f"{what}, no device activity"
    return f"{what}; {subject} busy {units.share(busy, span)} of {whole}"


def _behaviour_text(tables: Sequence[BehaviourCounts]) -> str:
    """How many cycles there are, of how many functions, in a sentence."""
    cycles = units.counted(sum(table.cycles for table in tables), "cycles")
    if len(tables) > 1:
        return f"{cycles} in {units.counted(len(tables), 'behaviour tables')}"
    (table,) = tables
    functions = units.counted(table.functions, "functions")
    return f"behaviour of {functions} in {cycles} of about {units.duration_ns(table.cycle_ns)}"


def _measured(traces: Sequence[TraceInfo]) -> str:
    """How many launches were measured, and how long they took where that is of one device."""
    launches = sum(trace.summary.kernel_calls for trace in traces)
    times = [time for trace in traces for time in trace.summary.kernel_times]
    said = f"{units.counted(launches, 'kernel launches')} measured"
    if len(times) > 1:
        return f"{said} on {units.counted(len(times), 'devices')}"
    total = units.duration_ns(times[0].total_ns)
    sampled = any(stated_sampling(trace.metadata) for trace in traces)
    return f"{said}, which stand for about {total}" if sampled else f"{said}, {total} in all"


def facts(trace: TraceInfo) -> list[tuple[str, str]]:
    """Label and value of everything worth saying about one trace."""
    metadata, summary = trace.metadata, trace.summary
    if summary.behaviour is not None:
        return _behaviour_facts(trace, summary.behaviour)
    if summary.kernel_calls:
        return _counter_facts(trace)
    if trace.has_only_counters:
        return counter_facts(trace)
    listed = [
        ("device", _device_text(trace)),
        ("vendor", TITLES.get(metadata.vendor, metadata.vendor)),
        ("framework", _framework_text(metadata)),
        ("rank", _rank_text(metadata)),
        ("steps", units.count(summary.steps) if summary.steps else "none marked"),
        ("span", units.duration_ns(summary.span.length_ns)),
        ("device span", units.duration_ns(summary.device_span.length_ns)),
        ("device busy", _busy_text(summary)),
        ("host", _listed(summary, "operators", "annotations", "python_calls")),
        ("calls", _listed(summary, "runtime_calls", "driver_calls")),
        ("device work", _listed(summary, "kernels", "memcpys", "memsets", "collectives")),
        ("other", _listed(summary, "memory_events", "counters", "flows")),
        *recording_facts(metadata.run),
        ("format", f"{metadata.format}, {metadata.clock} clock"),
    ]
    return [(label, value) for label, value in listed if value]


def _behaviour_facts(trace: TraceInfo, table: BehaviourCounts) -> list[tuple[str, str]]:
    """What there is to say about a behaviour table: it has cycles and no timeline."""
    metadata = trace.metadata
    listed = [
        ("vendor", TITLES.get(metadata.vendor, metadata.vendor)),
        (
            "cycles",
            f"{units.count(table.cycles)}, marked by {units.listed(table.anchors) or 'nothing'}",
        ),
        ("cycle", f"{units.duration_ns(table.cycle_ns)} (median)"),
        ("processes", units.listed(table.processes)),
        ("devices", units.listed(table.devices)),
        ("functions", units.count(table.functions)),
        ("metrics", units.count(table.metrics)),
        ("rows", units.count(table.rows)),
        ("other", _listed(trace.summary, "counters")),
        ("timeline", "none: see  timesink compare"),
        ("format", f"{metadata.format}, {metadata.clock} clock"),
    ]
    return [(label, value) for label, value in listed if value]


def _counter_facts(trace: TraceInfo) -> list[tuple[str, str]]:
    """What there is to say about counters of kernels: they have no timeline and no rank."""
    metadata, summary = trace.metadata, trace.summary
    collected = metadata.extra.get("collected", {})
    listed = [
        ("device", "; ".join(map(_measured_device, metadata.devices)) or "not named"),
        ("vendor", TITLES.get(metadata.vendor, metadata.vendor)),
        ("kernels", f"{units.counted(summary.kernel_calls, 'launches')} measured one by one"),
        ("kernel time", _kernel_time_text(trace)),
        ("sampled", str(stated_sampling(metadata) or "")),
        ("command", _command_text(collected.get("command"))),
        ("timeline", "none: see  timesink kernels"),
        ("versions", _versions_text(metadata.versions)),
        ("format", ", ".join(filter(None, (metadata.format, metadata.extra.get("layout"))))),
    ]
    return [(label, value) for label, value in listed if value]


def _command_text(command: object) -> str:
    return shlex.join(map(str, command)) if isinstance(command, list) else ""


def _kernel_time_text(trace: TraceInfo) -> str:
    """Time of the launches of each device, scaled where they are a sample."""
    times = trace.summary.kernel_times
    sampled = stated_sampling(trace.metadata) is not None
    about, how = (
        ("about ", "estimated from a sample") if sampled else ("", "sum of single launches")
    )
    told = [f"{about}{units.duration_ns(time.total_ns)}" for time in times]
    if len(times) > 1:
        several = len({time.host for time in times}) > 1
        places = [_place(time.host if several else None, time.device) for time in times]
        told = [f"{place}: {time}" for place, time in zip(places, told, strict=True)]
    return f"{', '.join(told)} ({how})"


def _place(host: str | None, device: int | None) -> str:
    name = "device without number" if device is None else f"device {device}"
    return f"{host} {name}" if host else name


def _measured_device(device: Device) -> str:
    known = [device.name or f"device {device.id}"]
    if device.memory_bytes:
        known.append(units.size_bytes(device.memory_bytes))
    if device.compute_capability:
        known.append(f"compute capability {device.compute_capability}")
    if device.multiprocessors:
        known.append(f"{device.multiprocessors} multiprocessors")
    return ", ".join(known)


def _device_text(trace: TraceInfo) -> str:
    devices = trace.metadata.devices
    if not devices:
        return "none listed"
    used = trace.summary.devices_used
    # Some runtimes number devices in another way than they list them.
    shown = next((device for device in devices if device.id in used), devices[0])
    name = shown.name or "name not recorded"
    memory = f", {units.size_bytes(shown.memory_bytes)}" if shown.memory_bytes else ""
    return f"{name}{memory} ({len(used)} used of {len(devices)} listed)"


def _framework_text(metadata: Metadata) -> str:
    return ", ".join(filter(None, (metadata.framework, _versions_text(metadata.versions))))


def _versions_text(versions: Mapping[str, str]) -> str:
    return ", ".join(
        f"{key.removesuffix('_version')} {value}" for key, value in sorted(versions.items())
    )


def _has_no_rank(metadata: Metadata) -> bool:
    """Whether a recorder saw that the process is no part of a larger job."""
    return metadata.distributed.rank is None and metadata.run is not None


def _rank_text(metadata: Metadata) -> str:
    distributed = metadata.distributed
    if _has_no_rank(metadata):
        return ""
    rank = "not named, 0 assumed" if distributed.rank is None else str(distributed.rank)
    size = f" of {distributed.world_size}" if distributed.world_size else ""
    backend = f" ({distributed.backend})" if distributed.backend else ""
    return rank + size + backend


def _busy_text(summary: Summary) -> str:
    busy, span = summary.device_busy_ns, summary.device_span.length_ns
    return f"{units.duration_ns(busy)} ({units.share(busy, span)})" if span else "-"


def _listed(summary: Summary, *names: str) -> str:
    numbers = ((name.replace("_", " "), getattr(summary, name)) for name in names)
    return ", ".join(units.counted(number, name) for name, number in numbers if number)


def folder_table(
    traces: Sequence[TraceInfo],
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns, and one row per trace of a folder; behaviour tables have columns of their own."""
    tables = [trace.summary.behaviour for trace in traces]
    if any(table is None for table in tables):
        return _FOLDER_COLUMNS, _trace_rows(traces)
    known = [table for table in tables if table is not None]
    labels = trace_labels(traces)
    return _BEHAVIOUR_COLUMNS, [_table_row(*pair) for pair in zip(labels, known, strict=True)]


def _table_row(label: str, table: BehaviourCounts) -> tuple[str, ...]:
    length = units.duration_ns(table.cycle_ns)
    counts = (table.functions, table.metrics, table.rows)
    return (
        label,
        units.listed(table.processes),
        units.count(table.cycles),
        length,
        *map(units.count, counts),
    )


def _trace_rows(traces: Sequence[TraceInfo]) -> list[tuple[str, ...]]:
    return [
        (
            label,
            "-" if _has_no_rank(trace.metadata) else str(trace.rank),
            units.count(trace.summary.events),
            units.count(trace.summary.kernels),
            units.count(trace.summary.steps),
            units.duration_ns(trace.summary.device_span.length_ns),
            units.share(trace.summary.device_busy_ns, trace.summary.device_span.length_ns),
        )
        for label, trace in zip(trace_labels(traces), traces, strict=True)
    ]


def trace_labels(traces: Sequence[TraceInfo]) -> list[str]:
    """Worker and span of each trace, with its folder where that alone is not telling."""
    labels = [_label(trace.metadata) for trace in traces]
    folders = [Path(trace.metadata.source).parent for trace in traces]
    # As many folders as it takes, but no more than there are.
    for _ in range(max((len(folder.parts) for folder in folders), default=0)):
        often = Counter(labels)
        if len(often) == len(labels):
            break
        labels = [
            f"{folder.name}/{label}" if often[label] > 1 and folder.name else label
            for folder, label in zip(folders, labels, strict=True)
        ]
        folders = [folder.parent for folder in folders]
    return labels


def _label(metadata: Metadata) -> str:
    worker = metadata.worker or Path(metadata.source).name
    return worker if metadata.span is None else f"{worker} span {metadata.span}"


def health_title(entry: HealthEntry) -> str:
    times = f"{units.count(entry.count)} x " if entry.count > 1 else ""
    return times + entry.rule.title

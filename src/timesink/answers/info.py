"""What is in a recording, or in a folder of them, as a document."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from timesink.analyses.behaviour.summary import BehaviourCounts
from timesink.analyses.fitness import BACKLOG
from timesink.analyses.kernels.calls import sampling_of
from timesink.analyses.summary import Summary
from timesink.answers import info_report
from timesink.answers.fitness import fit_words, fitness_of_sides, fitness_sections
from timesink.answers.info_untimed import UNTIMED_FACTS, untimed_facts, untimed_headline
from timesink.answers.views import listed_table, meanings_of
from timesink.model import units
from timesink.model.diagnosis import PLAIN
from timesink.model.fitness import IDLE
from timesink.model.health import HealthEntry, Severity
from timesink.model.trace import Device, Metadata
from timesink.model.vendors import TITLES
from timesink.output.blocks import Document, Facts, Health, HealthItem, Section, Table, Text


def info_document(info: info_report.Info) -> Document:
    """Facts of one trace, or a table of several and what they share; then health."""
    name = Path(info.path).resolve().name or info.path
    traces, title = info.traces, os.fsencode(name).decode("utf-8", "replace")
    sections = [] if len(traces) == 1 else [Section("traces", "Traces", (_folder(traces),))]
    # Of several traces, what the recorder says where they are of one run.
    first, *other_runs = (trace.metadata.run for trace in traces)
    shared = first if all(run == first for run in other_runs) else None
    about = info_report.recording_facts(shared) if other_runs else facts(traces[0])
    if about or len(traces) == 1:
        sections.append(recording_section(about))
    sections.append(health_section(info.all_health))
    first_sections = (
        fitness_sections(info.fitness)
        if len(traces) == 1
        else fitness_of_sides(
            dict(zip(_trace_labels(traces), (t.fitness for t in traces), strict=True))
        )
    )
    return Document(
        "info", title, title, _headline(info, title), sections=(*first_sections, *sections)
    )


def recording_section(rows: Sequence[tuple[str, str]]) -> Section:
    """What a recording says about itself, fact by fact."""
    return Section("recording", "Recording", (Facts(tuple(rows)),))


def _folder(traces: Sequence[info_report.TraceInfo]) -> Table:
    """A row per trace, or per behaviour table where all of them are."""
    counts, labels = [trace.summary for trace in traces], _trace_labels(traces)
    tables = [summary.behaviour for summary in counts if summary.behaviour is not None]
    meanings = meanings_of("traces")
    if len(tables) == len(traces):
        values = {
            "table": labels,
            "processes": [units.join_names(behaviour.processes) for behaviour in tables],
            "cycle": [behaviour.cycle_ns for behaviour in tables],
        }
        return listed_table(
            "behaviour-tables", "traces", "Behaviour tables", tables, values, meanings=meanings
        )
    spans = [summary.device_span.length_ns for summary in counts]
    trace_values = {
        "trace": labels,
        "rank": [None if _has_no_rank(trace.metadata) else trace.rank for trace in traces],
        "device_span": spans,
        "busy": [
            summary.device_busy_ns / span if span else None
            for summary, span in zip(counts, spans, strict=True)
        ],
    }
    return listed_table("traces", "traces", "Traces", counts, trace_values, meanings=meanings)


_APART = 0.1
"""Of a recording: how much the device may stand still at its ends before that is worth a word."""


def _headline(info: info_report.Info, title: str) -> str:
    """The answer in a sentence."""
    summaries = [trace.summary for trace in info.traces]
    busy = sum(summary.device_busy_ns for summary in summaries)
    span = sum(summary.device_span.length_ns for summary in summaries)
    first = info.traces[0]
    if first.metadata.format in UNTIMED_FACTS and len(summaries) == 1:
        return f"{title}: {untimed_headline(first)}; no timeline"
    what = f"{title}: {units.count_noun(sum(s.events for s in summaries), 'events')}"
    if len(summaries) > 1:
        what += f" in {units.count_noun(len(summaries), 'traces')}"
    tables = [summary.behaviour for summary in summaries if summary.behaviour is not None]
    if tables:
        return f"{title}: {_behaviour_text(tables)}; no timeline"
    if all(trace.has_only_counters or _is_plain(trace) for trace in info.traces):
        plain = info_report.plain_headline(info.traces[0].metadata.run)
        return f"{title}: {plain or info_report.counters_headline(info.traces)}; no timeline"
    if any(summary.kernel_calls for summary in summaries):
        return f"{title}: {_launches_text(info.traces)}; no timeline"
    if not span:
        return f"{what}, no device activity"
    return f"{what}; {_busy_words(info, busy, span)}"


def _busy_words(info: info_report.Info, busy: int, span: int) -> str:
    """How busy the devices were, as far as the recordings tell."""
    summaries = [trace.summary for trace in info.traces]
    subject, total_text = "the device was", units.brief_ns(span)
    if len(summaries) > 1:
        subject, total_text = "devices were", f"{total_text} in all"
    unfit = [trace.fitness for trace in info.traces if not trace.fitness.answers(IDLE)]
    if unfit and any(
        reason.code != BACKLOG for fitness in unfit for reason in fitness.against(IDLE)
    ):
        recorded_work = f"{units.brief_ns(busy)} of device work were recorded"
        return f"{recorded_work}; idle time cannot be measured"
    text = f"{subject} busy {units.share(busy, span)} of {total_text}"
    if unfit:
        return text
    recorded = summaries[0].span.length_ns
    if len(summaries) > 1 or summaries[0].steps or recorded - span < _APART * recorded:
        return text
    # Without steps `analyze` takes all that was recorded as one.
    return f"{text}, {units.share(busy, recorded)} of the recorded {units.brief_ns(recorded)}"


def _is_plain(trace: info_report.TraceInfo) -> bool:
    return trace.metadata.format == PLAIN


def _behaviour_text(tables: Sequence[BehaviourCounts]) -> str:
    """How many cycles there are, of how many functions, in a sentence."""
    cycles = units.count_noun(sum(table.cycles for table in tables), "steps")
    if len(tables) > 1:
        return f"{cycles} in {units.count_noun(len(tables), 'behaviour tables')}"
    (table,) = tables
    functions = units.count_noun(table.functions, "functions")
    return f"behaviour of {functions} in {cycles} of about {units.brief_ns(table.cycle_ns)}"


def _launches_text(traces: Sequence[info_report.TraceInfo]) -> str:
    """How many launches were measured, and how long they took where that is of one device."""
    launches = sum(trace.summary.kernel_calls for trace in traces)
    times = [time for trace in traces for time in trace.summary.kernel_times]
    text = f"{units.count_noun(launches, 'kernel launches')} measured"
    if len(times) > 1:
        return f"{text} on {units.count_noun(len(times), 'devices')}"
    total = units.brief_ns(times[0].total_ns)
    sampled = any(sampling_of(trace.metadata) for trace in traces)
    return (
        f"{text}, a sample that stands for about {total}" if sampled else f"{text}, {total} in all"
    )


def facts(trace: info_report.TraceInfo) -> list[tuple[str, str]]:
    """Label and value of everything worth saying about one trace."""
    metadata, summary = trace.metadata, trace.summary
    if summary.behaviour is not None:
        return _behaviour_facts(trace, summary.behaviour)
    if summary.kernel_calls:
        return _counter_facts(trace)
    if trace.metadata.format in UNTIMED_FACTS:
        return untimed_facts(trace)
    if trace.has_only_counters:
        return info_report.counter_facts(trace)
    if _is_plain(trace):
        versions = _versions_text(metadata.versions)
        return [*info_report.recording_facts(metadata.run), ("versions", versions)]
    span = summary.device_span.length_ns
    framework = metadata.framework, _versions_text(metadata.versions)
    listed = [
        ("fit", fit_words(trace.fitness)),
        ("device", _device_text(trace)),
        ("vendor", TITLES.get(metadata.vendor, metadata.vendor)),
        ("framework", ", ".join(filter(None, framework))),
        ("rank", _rank_text(metadata)),
        ("steps", units.count(summary.steps) if summary.steps else "none marked"),
        ("span", f"{units.duration_ns(summary.span.length_ns)}, first to last event, as recorded"),
        ("device span", f"{units.duration_ns(span)}, first to last device work" if span else "-"),
        ("device busy", _busy_text(trace)),
        ("host", _count_list(summary, "operators", "annotations", "python_calls")),
        ("calls", _count_list(summary, "runtime_calls", "driver_calls")),
        ("device work", _count_list(summary, "kernels", "memcpys", "memsets", "collectives")),
        ("other", _count_list(summary, "memory_events", "counters", "flows")),
        *info_report.recording_facts(metadata.run),
        ("format", f"{metadata.format}, {metadata.clock} clock"),
    ]
    return [(label, value) for label, value in listed if value]


def _busy_text(trace: info_report.TraceInfo) -> str:
    """How long the device worked, and its share where that tells how idle it was."""
    busy, span = trace.summary.device_busy_ns, trace.summary.device_span.length_ns
    if not span:
        return "-"
    hidden = any(reason.code != BACKLOG for reason in trace.fitness.against(IDLE))
    return units.duration_ns(busy) + ("" if hidden else f" ({units.share(busy, span)})")


def _behaviour_facts(trace: info_report.TraceInfo, table: BehaviourCounts) -> list[tuple[str, str]]:
    """What there is to say about a behaviour table: it has cycles and no timeline."""
    metadata = trace.metadata
    listed = [
        ("vendor", TITLES.get(metadata.vendor, metadata.vendor)),
        (
            "steps",
            (
                f"{units.count(table.cycles)}, marked by "
                f"{units.join_names(table.anchors) or 'nothing'}"
            ),
        ),
        ("step", f"{units.duration_ns(table.cycle_ns)} (median)"),
        ("processes", units.join_names(table.processes)),
        ("devices", units.join_names(table.devices)),
        ("functions", units.count(table.functions)),
        ("metrics", units.count(table.metrics)),
        ("rows", units.count(table.rows)),
        ("other", _count_list(trace.summary, "counters")),
        ("timeline", "none: see  timesink compare"),
        ("format", f"{metadata.format}, {metadata.clock} clock"),
    ]
    return [(label, value) for label, value in listed if value]


def _counter_facts(trace: info_report.TraceInfo) -> list[tuple[str, str]]:
    """What there is to say about counters of kernels: they have no timeline and no rank."""
    metadata, summary = trace.metadata, trace.summary
    command = metadata.extra.get("collected", {}).get("command")
    listed = [
        ("device", "; ".join(map(_measured_device, metadata.devices)) or "not named"),
        ("vendor", TITLES.get(metadata.vendor, metadata.vendor)),
        ("kernels", f"{units.count_noun(summary.kernel_calls, 'launches')} measured one by one"),
        ("kernel time", _kernel_time_text(trace)),
        ("sampled", str(sampling_of(metadata) or "")),
        ("command", shlex.join(map(str, command)) if isinstance(command, list) else ""),
        ("timeline", "none: see  timesink kernels"),
        ("versions", _versions_text(metadata.versions)),
        ("format", ", ".join(filter(None, (metadata.format, metadata.extra.get("layout"))))),
    ]
    return [(label, value) for label, value in listed if value]


def _kernel_time_text(trace: info_report.TraceInfo) -> str:
    """Time of the launches of each device, scaled where they are a sample."""
    times = trace.summary.kernel_times
    sampled = sampling_of(trace.metadata) is not None
    about, how = (
        ("about ", "estimated from a sample") if sampled else ("", "sum of single launches")
    )
    texts = [f"{about}{units.duration_ns(time.total_ns)}" for time in times]
    if len(times) > 1:
        several = len({time.host for time in times}) > 1
        hosts = [f"{time.host} " if several and time.host else "" for time in times]
        numbers = ["without number" if time.device is None else time.device for time in times]
        texts = [
            f"{host}device {number}: {time}"
            for host, number, time in zip(hosts, numbers, texts, strict=True)
        ]
    return f"{', '.join(texts)} ({how})"


def _measured_device(device: Device) -> str:
    parts = [device.name or f"device {device.id}"]
    if device.memory_bytes:
        parts.append(units.size_bytes(device.memory_bytes))
    if device.compute_capability:
        parts.append(f"compute capability {device.compute_capability}")
    if device.multiprocessors:
        parts.append(f"{device.multiprocessors} multiprocessors")
    return ", ".join(parts)


def _device_text(trace: info_report.TraceInfo) -> str:
    devices = trace.metadata.devices
    if not devices:
        return "none listed"
    used = trace.summary.devices_used
    # Some runtimes number devices in another way than they list them.
    main_device = next((device for device in devices if device.id in used), devices[0])
    name = main_device.name or "name not recorded"
    memory = f", {units.size_bytes(main_device.memory_bytes)}" if main_device.memory_bytes else ""
    return f"{name}{memory} ({len(used)} used of {len(devices)} listed)"


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


def _count_list(summary: Summary, *names: str) -> str:
    numbers = ((name.replace("_", " "), getattr(summary, name)) for name in names)
    return ", ".join(units.count_noun(number, name) for name, number in numbers if number)


def _trace_labels(traces: Sequence[info_report.TraceInfo]) -> list[str]:
    """Worker and span of each trace, with its folder where that alone is not telling."""
    abouts = [trace.metadata for trace in traces]
    labels = [
        (about.worker or Path(about.source).name)
        + ("" if about.span is None else f" span {about.span}")
        for about in abouts
    ]
    folders = [Path(about.source).parent for about in abouts]
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


_LONGEST_CASE = 160


def health_section(entries: Iterable[HealthEntry], *, brief: bool = False) -> Section:
    """What was repaired, lost or looks wrong; a sentence where nothing is.

    In brief, without advice, and only the cases that say more than their title.
    """
    items = tuple(_item(entry, brief=brief) for entry in entries)
    block = Health(items) if items else Text("No problems found in the recording.", "good")
    return Section("health", "Trace health", (block,))


def grave_entries(entries: Iterable[HealthEntry]) -> list[str]:
    """What makes the figures those of a part of the recording: errors, by their titles."""
    return [entry.rule.title for entry in entries if entry.rule.severity is Severity.ERROR]


def _item(entry: HealthEntry, *, brief: bool) -> HealthItem:
    rule, example = entry.rule, "; ".join(entry.example.splitlines())
    if brief and len(example) > _LONGEST_CASE:
        example = f"{example[:_LONGEST_CASE].rpartition(' ')[0]} ..."
    return HealthItem(
        code=entry.code,
        severity=rule.severity.value,
        count=entry.count,
        title=rule.title,
        told=example if entry.is_told or not brief else "",
        consequence=rule.consequence,
        advice="" if brief else rule.advice,
        is_example=not (entry.is_told or brief or not example),
    )

"""What is in a recording, or in a folder of them, as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from timesink import __version__
from timesink.analyses.behaviour.counts import BehaviourCounts
from timesink.model import units
from timesink.output.blocks import Document, Facts, Section, Table
from timesink.output.columns import column, table
from timesink.render.document.health import health_section
from timesink.render.document.meanings import TRACES
from timesink.render.facts import facts, headline, title, trace_labels
from timesink.render.recording_facts import shared_facts
from timesink.reports.info import Info, TraceInfo


def info_document(info: Info) -> Document:
    """Facts of one trace, or a table of several and what they share; then health.

    >>> import timesink
    >>> from timesink.reports.info import describe_trace
    >>> trace = timesink.open(timesink.sample())
    >>> document = info_document(Info(str(timesink.sample()), (describe_trace(trace),)))
    >>> [section.id for section in document.sections]
    ['recording', 'health']
    """
    return Document(
        kind="info",
        title=title(info),
        subject=title(info),
        headline=headline(info),
        version=__version__,
        sections=(*_sections(info.traces), health_section(info.all_health)),
    )


def _sections(traces: Sequence[TraceInfo]) -> Iterator[Section]:
    if len(traces) == 1:
        yield recording_section(facts(traces[0]))
        return
    yield Section("traces", "Traces", (_folder(traces),))
    shared = shared_facts(traces)
    if shared:
        yield recording_section(shared)


def recording_section(rows: Sequence[tuple[str, str]]) -> Section:
    """What a recording says about itself, fact by fact.

    >>> recording_section([("steps", "2")]).id
    'recording'
    """
    return Section("recording", "The recording", (Facts(tuple(rows)),))


def _folder(traces: Sequence[TraceInfo]) -> Table:
    tables = [trace.summary.behaviour for trace in traces]
    known = [one for one in tables if one is not None]
    return _behaviour(traces, known) if len(known) == len(tables) else _timelines(traces)


def _timelines(traces: Sequence[TraceInfo]) -> Table:
    counts = [trace.summary for trace in traces]
    spans = [one.device_span.length_ns for one in counts]
    busy = [
        one.device_busy_ns / span if span else None for one, span in zip(counts, spans, strict=True)
    ]
    columns = [
        column("trace", "trace", "text", trace_labels(traces)),
        column("rank", "rank", "count", [trace.rank for trace in traces]),
        column("events", "events", "count", [one.events for one in counts]),
        column("kernels", "kernels", "count", [one.kernels for one in counts]),
        column("steps", "steps", "count", [one.steps for one in counts]),
        column("device_span", "device span", "time_ns", spans),
        column("busy", "busy", "share", busy, bar=True),
    ]
    return table("traces", "Traces", columns, meanings=TRACES)


def _behaviour(traces: Sequence[TraceInfo], tables: Sequence[BehaviourCounts]) -> Table:
    columns = [
        column("table", "table", "text", trace_labels(traces)),
        column("processes", "processes", "text", [units.listed(one.processes) for one in tables]),
        column("cycles", "cycles", "count", [one.cycles for one in tables]),
        column("cycle", "cycle", "time_ns", [one.cycle_ns for one in tables]),
        column("functions", "functions", "count", [one.functions for one in tables]),
        column("metrics", "metrics", "count", [one.metrics for one in tables]),
        column("rows", "rows", "count", [one.rows for one in tables]),
    ]
    return table("traces", "Behaviour tables", columns, meanings=TRACES)

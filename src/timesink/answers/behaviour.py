"""What functions cost cycle by cycle, and how loaded the hardware was, as a document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import polars as pl

from timesink.analyses.behaviour.calls import without_recorders_ranges
from timesink.analyses.behaviour.classes import Classes, load_classes
from timesink.analyses.behaviour.summary import (
    counter_summary,
    distinct_texts,
    function_summary,
    metric_summary,
)
from timesink.analyses.behaviour.table import behaviour_table
from timesink.analyses.cycles.search import find_cycles
from timesink.analyses.cycles.spans import Cycles
from timesink.answers.common_json import Rows
from timesink.answers.tables import short_labels
from timesink.answers.views import listed_table
from timesink.comparison.reading import with_faults
from timesink.errors import UnreadableError, UsageError
from timesink.formats.read_options import Progress
from timesink.formats.small_files import plain_values
from timesink.model import units
from timesink.model.schema import HOST_DEVICE
from timesink.model.trace import Trace
from timesink.model.units import amount, per_cycle
from timesink.model.vendors import DEVICE_WORDS
from timesink.output.blocks import Document, Section, Table, Text
from timesink.sources.opening import open_trace

SCHEMA = "timesink/behaviour/1"


class BehaviourReport(msgspec.Struct, frozen=True, eq=False):
    """The behaviour of a run, and how its cycles were found."""

    source: str
    table: pl.DataFrame
    """Rows of `model.schema.BEHAVIOUR`."""
    notes: tuple[str, ...] = ()
    cycles: Cycles | None = None
    """None where the source is a behaviour table, which does not say."""
    classes: Classes = msgspec.field(default_factory=load_classes)
    """Which counters matter to which functions."""

    def to_dict(self) -> dict[str, Any]:
        """The summary for programs; the rows themselves are for CSV and Parquet."""
        return plain_values(BehaviourJson.of(self))


class BehaviourCyclesJson(msgspec.Struct, frozen=True, kw_only=True):
    """How many steps there are, and how they were found."""

    count: int
    processes: tuple[str, ...]
    median_ns: float | None
    anchors: tuple[str, ...]
    method: str | None
    """Null for a behaviour table, which does not say; so are the next two."""
    confidence: float | None
    reason: str | None

    @classmethod
    def of(cls, report: BehaviourReport) -> BehaviourCyclesJson:
        rows, cycles = report.table.unique(["host", "pid", "cycle"]), report.cycles
        return cls(
            count=rows.height,
            processes=distinct_texts(rows["pid"]),
            median_ns=cast("float | None", rows["cycle_dur_ns"].median()),
            anchors=distinct_texts(report.table["anchor"]),
            method=None if cycles is None else cycles.method,
            confidence=None if cycles is None else cycles.confidence,
            reason=None if cycles is None else cycles.reason,
        )


class BehaviourJson(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `timesink functions`."""

    schema: str
    source: str
    rows: int
    """Of the behaviour table."""
    cycles: BehaviourCyclesJson
    functions: Rows
    """Every function with its counters, the most telling first."""
    counters: Rows
    notes: tuple[str, ...]

    @classmethod
    def of(cls, report: BehaviourReport) -> BehaviourJson:
        return cls(
            schema=SCHEMA,
            source=report.source,
            rows=report.table.height,
            cycles=BehaviourCyclesJson.of(report),
            functions=_function_values(report.table, report.classes),
            counters=counter_summary(report.table).to_dicts(),
            notes=tuple(report.notes),
        )


def behaviour(
    source: str | Path | Trace,
    *,
    marker: str | None = None,
    by: str | None = None,
    metric_map: str | Path | None = None,
    worker: str | None = None,
    span: int | None = None,
    rank: int | None = None,
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> BehaviourReport:
    """What each function of a run cost in each cycle, and what the counters read meanwhile.

    The source is a trace, a path to one, or a behaviour table.  `marker` and `by` say what a cycle
    is, as in `timesink.cycles`; `metric_map` is a CSV that says which counters matter to which
    functions.

    >>> import timesink
    >>> report = timesink.behaviour(timesink.sample())
    >>> report.table["cycle"].n_unique()
    2
    """
    classes = load_classes(metric_map)
    trace = (
        source
        if isinstance(source, Trace)
        else open_trace(
            source, worker=worker, span=span, rank=rank, cache=cache, jobs=jobs, progress=progress
        )
    )
    path = trace.metadata.source if isinstance(source, Trace) else str(source)
    if trace.behaviour.height:
        # A behaviour table is what it is.
        options = {"--marker": marker, "--by": by, "--map": metric_map}
        option = next((name for name, value in options.items() if value is not None), None)
        if option:
            raise UsageError(
                f"{path}: a behaviour table, to which {option} cannot apply",
                f"leave out {option}, or give the trace it was made from",
            )
        return BehaviourReport(path, trace.behaviour, with_faults(trace))
    if not trace.has_timeline:
        raise UnreadableError.no_timeline(path)
    cycles = find_cycles(trace, marker=marker, by=by)
    result = behaviour_table(without_recorders_ranges(trace, cycles), cycles, classes)
    notes = with_faults(trace, [*cycles.notes, *result.notes])
    return BehaviourReport(path, result.table, notes, cycles, classes)


def _function_values(table: pl.DataFrame, classes: Classes) -> list[dict[str, Any]]:
    """Every function with its counters, the most telling first."""
    key = ("host", "pid", "function", "function_class", "device")
    read: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for row in metric_summary(table).iter_rows(named=True):
        level = {name: row[name] for name in ("metric", "mu", "unit")}
        read.setdefault(tuple(row[name] for name in key), {})[row["metric"]] = level
    rows = []
    for row in function_summary(table).iter_rows(named=True):
        levels = read.get(tuple(row[name] for name in key), {})
        order = classes.most_telling(row["function_class"] or "", levels)
        rows.append({**row, "metrics": [levels[metric] for metric in order]})
    return rows


_MAX_ANCHORS = 3
_COUNTERS = 60
"""Characters for counters beside a function."""
_PREFIXES = ("process_", "host_", *(f"{word}_" for word in DEVICE_WORDS.split("|")))


def behaviour_document(report: BehaviourReport, top: int) -> Document:
    """The functions that take most, counters, and what is to be known of them."""
    answer = report.to_dict()
    sections = [
        Section(
            "functions",
            "Functions by share of the step time",
            (_functions(answer, top),),
            "Mean over the steps in which the function ran.",
        )
    ]
    if answer["counters"]:
        title = "Counters while functions ran, by step"
        sections.append(Section("counters", title, (_counters(answer["counters"]),)))
    if report.notes:
        sections.append(Section("notes", "Notes", tuple(Text(note) for note in report.notes)))
    return Document(
        kind="behaviour",
        title=report.source,
        subject="",
        headline=_headline(answer),
        sections=tuple(sections),
        notes=(answer["cycles"]["reason"],) if answer["cycles"]["reason"] else (),
    )


def _functions(answer: dict[str, Any], top: int) -> Table:
    functions, labels = answer["functions"][:top], _labels(answer["functions"])
    several = len(answer["cycles"]["processes"]) > 1
    values = {
        "function": [labels[row["function"]] for row in functions],
        "process": [row["pid"] for row in functions] if several else None,
        "share": [f"{row['beta_pct']:.2f} %" for row in functions],
        "calls": [None if row["calls"] is None else per_cycle(row["calls"]) for row in functions],
        "counters": [_metrics(row["metrics"]) or None for row in functions],
    }
    rest = len(answer["functions"]) - len(functions)
    return listed_table(
        "behaviour", "functions", "", functions, values, total_rows=len(answer["functions"]),
        rest=f"and {units.count(rest)} more: --top N, or --format csv" if rest else "",
    )  # fmt: skip


def _counters(counters: Sequence[dict[str, Any]]) -> Table:
    levels = {
        name: [amount(row[name], row["unit"]) for row in counters]
        for name in ("mu", "lowest", "highest")
    }
    return listed_table("behaviour-counters", "counters", "", counters, levels)


def _headline(answer: dict[str, Any]) -> str:
    """How many cycles there are and what takes most of them."""
    cycles = answer["cycles"]
    several = len(cycles["processes"])
    where = f" in {several} processes" if several > 1 else ""
    anchors = units.join_names(cycles["anchors"], _MAX_ANCHORS) or "unknown anchor"
    what = f"{units.count_noun(cycles['count'], 'steps')} marked by {anchors}"
    median = cycles["median_ns"]
    length = "of unknown length" if median is None else f"median {units.brief_ns(median)}"
    first = next(iter(answer["functions"]), None)
    most = (
        f"; largest share: {_labels(answer['functions'])[first['function']]} on "
        f"{first['device']}, {units.percent(first['beta_pct'])}"
        if first
        else ""
    )
    return f"{what}{where}, {length}{most}"


def _labels(functions: Sequence[dict[str, Any]]) -> dict[str, str]:
    """A short name for every function."""
    host = {row["function"] for row in functions if row["device"] == HOST_DEVICE}
    return short_labels([row["function"] for row in functions], host)


def _metrics(metrics: Sequence[dict[str, Any]]) -> str:
    """As many whole counters as there is room for."""
    text = ""
    for metric in metrics:
        # What a counter counts; the device beside it says of what.
        prefix = next(
            (candidate for candidate in _PREFIXES if metric["metric"].startswith(candidate)), ""
        )
        name = metric["metric"].removeprefix("" if prefix == "process_" else prefix)
        level = f"{name} {amount(metric['mu'], metric['unit'])}"
        if text and len(text) + len(level) + len(", , …") > _COUNTERS:
            return f"{text}, …"
        text = f"{text}, {level}" if text else level
    return text

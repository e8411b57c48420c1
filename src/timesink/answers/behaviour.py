"""What functions cost cycle by cycle, and how loaded the hardware was, as a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from timesink import __version__
from timesink.model import units
from timesink.model.amounts import amount, per_cycle
from timesink.model.schema import HOST_DEVICE
from timesink.model.vendors import DEVICE_WORDS
from timesink.output.blocks import Document, Section, Table, Text
from timesink.output.columns import column, table
from timesink.reports.behaviour import BehaviourReport
from timesink.reports.function_names import short_labels

_MOST_ANCHORS = 3
_COUNTERS = 60
"""Characters for counters beside a function."""
_PREFIXES = ("process_", "host_", *(f"{word}_" for word in DEVICE_WORDS.split("|")))


def behaviour_document(report: BehaviourReport, top: int) -> Document:
    """The functions that take most, counters, and what is to be known of them."""
    told = report.to_dict()
    sections = [
        Section(
            "functions",
            "Functions by share of the cycle",
            (_functions(told, top),),
            "Mean over the cycles with the function.",
        )
    ]
    if told["counters"]:
        title = "Counters while functions ran, cycle by cycle"
        sections.append(Section("counters", title, (_counters(told["counters"]),)))
    if report.notes:
        sections.append(Section("notes", "Notes", tuple(Text(note) for note in report.notes)))
    return Document(
        kind="behaviour",
        title=report.source,
        subject="",
        headline=_headline(told),
        version=__version__,
        sections=tuple(sections),
        notes=(told["cycles"]["reason"],) if told["cycles"]["reason"] else (),
    )


def _functions(told: dict[str, Any], top: int) -> Table:
    shown, labels = told["functions"][:top], _labels(told["functions"])
    several = len(told["cycles"]["processes"]) > 1
    calls = [None if row["calls"] is None else per_cycle(row["calls"]) for row in shown]
    meanwhile = [_metrics(row["metrics"]) or None for row in shown]
    columns = [
        column("function", "function", "text", [labels[row["function"]] for row in shown]),
        column("device", "on", "text", [row["device"] for row in shown], cut="nothing"),
        column("share", "share", "percent", [row["beta_pct"] for row in shown]),
        column("time_ns", "time", "time_ns", [row["time_ns"] for row in shown]),
        column("calls", "calls", "text", calls, right=True),
        column("counters", "counters meanwhile", "text", meanwhile, spare=4),
    ]
    if several:
        columns.insert(1, column("process", "process", "text", [row["pid"] for row in shown]))
    rest = len(told["functions"]) - len(shown)
    return table(
        "functions",
        "",
        columns,
        total_rows=len(told["functions"]),
        rest=f"and {units.count(rest)} more: --top N, or --format csv" if rest else "",
    )


def _counters(counters: Sequence[dict[str, Any]]) -> Table:
    columns = [
        column("metric", "counter", "text", [row["metric"] for row in counters]),
        column("device", "of", "text", [row["device"] for row in counters]),
    ]
    for name, title in (("mu", "mean"), ("lowest", "lowest"), ("highest", "highest")):
        levels = [amount(row[name], row["unit"]) for row in counters]
        columns.append(column(name, title, "text", levels, right=True))
    columns.append(column("cycles", "cycles", "count", [row["cycles"] for row in counters]))
    return table("counters", "", columns)


def _headline(told: dict[str, Any]) -> str:
    """How many cycles there are and what takes most of them."""
    cycles = told["cycles"]
    several = len(cycles["processes"])
    where = f" in {several} processes" if several > 1 else ""
    what = units.counted(cycles["count"], f"cycles of {_anchors(cycles['anchors'])}")
    if cycles["count"] == 1:
        what = what.replace("cycles", "cycle", 1)
    median = cycles["median_ns"]
    length = "of unknown length" if median is None else f"{units.brief_ns(median)} each"
    first = next(iter(told["functions"]), None)
    most = (
        f"; {_labels(told['functions'])[first['function']]} on {first['device']} takes most, "
        f"{first['beta_pct']:.1f} %"
        if first
        else ""
    )
    return f"{what}{where}, {length}{most}"


def _labels(functions: Sequence[dict[str, Any]]) -> dict[str, str]:
    """A short name for every function."""
    host = {row["function"] for row in functions if row["device"] == HOST_DEVICE}
    return short_labels([row["function"] for row in functions], host)


def _anchors(anchors: Sequence[str]) -> str:
    if not anchors:
        return "unknown anchor"
    return units.listed(anchors, _MOST_ANCHORS)


def _metrics(metrics: Sequence[dict[str, Any]]) -> str:
    """As many whole counters as there is room for."""
    shown = ""
    for each in metrics:
        level = f"{_without_prefix(each['metric'])} {amount(each['mu'], each['unit'])}"
        if shown and len(shown) + len(level) + len(", , …") > _COUNTERS:
            return f"{shown}, …"
        shown = f"{shown}, {level}" if shown else level
    return shown


def _without_prefix(metric: str) -> str:
    """What a counter counts; the device beside it says of what."""
    prefix = next((each for each in _PREFIXES if metric.startswith(each)), "")
    return metric if prefix == "process_" else metric.removeprefix(prefix)

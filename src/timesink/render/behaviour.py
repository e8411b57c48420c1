"""The answer of `timesink behaviour` for the terminal, and as JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType

from timesink.model import units
from timesink.model.amounts import amount, per_cycle
from timesink.model.schema import HOST_DEVICE
from timesink.model.vendors import DEVICE_WORDS
from timesink.render.shown import FILE_WIDTH, WIDEST, note_lines
from timesink.render.table import GAP, natural_width, text_table
from timesink.render.terminal import show, terminal_width, text, to_plain
from timesink.render.told_apart import cut_apart
from timesink.reports.behaviour import BehaviourReport
from timesink.reports.function_names import short_labels
from timesink.writers.behaviour import behaviour_csv

_TOP = 15
_MOST_ANCHORS = 3
_NAME, _SHORTEST_NAME, _NARROWEST = 36, 20, 40
"""Characters for names of functions, and the fewest for them and for a column of counters."""
_NUMBERS = ("share", "time", "calls")
_PREFIXES = ("process_", "host_", *(f"{word}_" for word in DEVICE_WORDS.split("|")))


def to_json(report: BehaviourReport, top: int = _TOP) -> str:  # noqa: ARG001 - programs get all
    return json.dumps(report.to_dict(), indent=2)


def to_csv(report: BehaviourReport, top: int = _TOP) -> str:  # noqa: ARG001 - programs get all
    return behaviour_csv(report.table).rstrip("\n")


def to_text(report: BehaviourReport, top: int = _TOP) -> str:
    return to_plain(_content(report, top, FILE_WIDTH), FILE_WIDTH)


def print_text(report: BehaviourReport, top: int = _TOP) -> None:
    width = min(terminal_width(), WIDEST)
    show(_content(report, top, width), width)


RENDERERS: dict[str, Callable[[BehaviourReport, int], str]] = {
    "text": to_text,
    "csv": to_csv,
    "json": to_json,
}


def _content(report: BehaviourReport, top: int, width: int) -> RenderableType:
    told = report.to_dict()
    blocks: list[RenderableType] = [text(headline(told), "bold")]
    if told["cycles"]["reason"]:
        blocks.append(text(told["cycles"]["reason"], "dim"))
    blocks += ["", *_functions(told, top, width), *_counters(told["counters"], width)]
    return Group(*blocks, *note_lines(report.notes))


def headline(told: dict[str, Any]) -> str:
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


def _functions(told: dict[str, Any], top: int, width: int) -> Iterable[RenderableType]:
    shown = told["functions"][:top]
    yield text("Functions by share of the cycle, mean over cycles with the function", "bold")
    columns = dict(_function_columns(shown, several=len(told["cycles"]["processes"]) > 1))
    used = sum(natural_width(title, cells) + GAP for title, cells in columns.items())
    room = width - used - _NAME - GAP
    if room >= _NARROWEST:
        columns["counters meanwhile"] = [_metrics(row["metrics"], room) for row in shown]
        used += natural_width("counters meanwhile", columns["counters meanwhile"]) + GAP
    labels = _labels(told["functions"])
    cut = cut_apart([labels[row["function"]] for row in shown], max(width - used, _SHORTEST_NAME))
    names = [cut[labels[row["function"]]] for row in shown]
    numeric = [False, *(title in _NUMBERS for title in columns)]
    rows = [list(cells) for cells in zip(names, *columns.values(), strict=True)]
    yield text_table(["function", *columns], rows, numeric, width)
    rest = len(told["functions"]) - len(shown)
    if rest:
        yield text(f"and {units.count(rest)} more: --top N, or --format csv", "dim")


def _function_columns(
    shown: Sequence[dict[str, Any]], *, several: bool
) -> Iterable[tuple[str, list[str]]]:
    """Columns of every width; the process where there are several."""
    if several:
        yield "process", [row["pid"] or "" for row in shown]
    yield "on", [row["device"] for row in shown]
    yield "share", [f"{row['beta_pct']:.2f} %" for row in shown]
    yield "time", [units.brief_ns(row["time_ns"]) for row in shown]
    yield "calls", ["-" if row["calls"] is None else per_cycle(row["calls"]) for row in shown]


def _metrics(metrics: Sequence[dict[str, Any]], room: int) -> str:
    """As many whole counters as there is room for."""
    shown = ""
    for each in metrics:
        level = f"{_without_prefix(each['metric'])} {amount(each['mu'], each['unit'])}"
        if shown and len(shown) + len(level) + len(", , …") > room:
            return f"{shown}, …"
        shown = f"{shown}, {level}" if shown else level
    return shown


def _without_prefix(metric: str) -> str:
    """What a counter counts; the device beside it says of what."""
    prefix = next((each for each in _PREFIXES if metric.startswith(each)), "")
    return metric if prefix == "process_" else metric.removeprefix(prefix)


def _counters(counters: Sequence[dict[str, Any]], width: int) -> Iterable[RenderableType]:
    if not counters:
        return
    yield ""
    yield text("Counters while functions ran, cycle by cycle", "bold")
    titles = ["counter", "of", "mean", "lowest", "highest", "cycles"]
    rows = [
        [
            row["metric"],
            row["device"],
            *(amount(row[name], row["unit"]) for name in ("mu", "lowest", "highest")),
            units.count(row["cycles"]),
        ]
        for row in counters
    ]
    yield text_table(titles, rows, [False, False, True, True, True, True], width)

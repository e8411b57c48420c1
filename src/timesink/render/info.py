"""The answer of `timesink info` for the terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from timesink.model.health import HealthEntry
from timesink.output.terminal import show, terminal_width, text, to_plain
from timesink.render.facts import facts, folder_table, headline, health_title
from timesink.render.recording_facts import shared_facts
from timesink.reports.info import Info, TraceInfo

_FILE_WIDTH = 100
_WIDEST = 120
"""Sentences longer than this are hard to read."""
_COLOURS = {"error": "red", "warning": "yellow", "info": "dim"}


def to_json(info: Info) -> str:
    return json.dumps(info.to_dict(), indent=2)


def to_text(info: Info) -> str:
    return to_plain(_content(info, _FILE_WIDTH), _FILE_WIDTH)


def print_text(info: Info) -> None:
    width = min(terminal_width(), _WIDEST)
    show(_content(info, width), width)


def _content(info: Info, width: int) -> RenderableType:
    body: list[RenderableType]
    if len(info.traces) == 1:
        body = [_facts_table(facts(info.traces[0]))]
    else:
        body = [_folder_table(info.traces)]
        shared = shared_facts(info.traces)
        body += ["", _facts_table(shared)] if shared else []
    answer = [text(line, "bold") for line in _headline_lines(info, width)]
    return Group(*answer, "", *body, "", *_health_lines(info.all_health))


def _headline_lines(info: Info, width: int) -> list[str]:
    sentence = headline(info)
    what, semicolon, busy = sentence.rpartition("; ")
    return [sentence] if cell_len(sentence) <= width or not semicolon else [f"{what};", busy]


def _facts_table(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in rows:
        table.add_row(label, text(value))
    return table


def _folder_table(traces: Sequence[TraceInfo]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    columns, rows = folder_table(traces)
    for place, name in enumerate(columns):
        justify: Literal["left", "right"] = "left" if place == 0 else "right"
        table.add_column(name, justify=justify, no_wrap=place > 0, overflow="fold")
    for row in rows:
        table.add_row(*map(text, row))
    return table


def _health_lines(entries: Sequence[HealthEntry]) -> Iterable[RenderableType]:
    if not entries:
        yield text("trace health: nothing odd found", "green")
        return
    yield text("trace health", "bold")
    for entry in entries:
        rule = entry.rule
        severity = Text(f"{rule.severity.value:<9}", _COLOURS[rule.severity.value])
        yield severity.append(health_title(entry), "default")
        for line in _health_details(entry):
            yield Padding(text(line, "dim"), (0, 0, 0, 9))


def _health_details(entry: HealthEntry) -> Iterable[str]:
    if entry.is_told:
        yield from entry.example.splitlines()
    yield entry.rule.consequence
    yield f"advice: {entry.rule.advice}"
    if entry.example and not entry.is_told:
        yield f"example: {entry.example}"


def to_html(info: Info) -> str:
    """One self-contained page."""
    from timesink.output.html import report_html  # noqa: PLC0415
    from timesink.render.document.info import info_document  # noqa: PLC0415 - pages alone need it

    return report_html(info_document(info))


RENDERERS: dict[str, Callable[[Info], str]] = {"text": to_text, "json": to_json, "html": to_html}

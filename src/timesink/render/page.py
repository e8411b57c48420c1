"""Pages that need no network, and the answer of `timesink info` as one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template

import polars as pl

from timesink.model.health import HealthEntry
from timesink.render.facts import (
    facts,
    folder_table,
    headline,
    health_title,
    title,
)
from timesink.render.recording_facts import shared_facts
from timesink.render.table import NO_NAME, cell
from timesink.render.terminal import printable
from timesink.reports.info import Info

_DIGIT_GAP = re.compile(r"(?<=\d) (?=\d{3}\b)")
_TEMPLATES = Path(__file__).parent / "templates"


def to_html(info: Info, tables: Mapping[str, pl.DataFrame] | None = None) -> str:
    """One self-contained page; `tables` follow the facts, each under its title."""
    if len(info.traces) == 1:
        body = _table(("", ""), facts(info.traces[0]), css="facts")
    else:
        shared = shared_facts(info.traces)
        body = _table(*folder_table(info.traces))
        body += _table(("", ""), shared, css="facts") if shared else ""
    sections = (
        f"<h2>{html_text(heading)}</h2>{_frame(frame)}" for heading, frame in (tables or {}).items()
    )
    return fill_page(
        title=title(info),
        headline=headline(info),
        body=body + "".join(sections),
        health=info.all_health,
    )


def fill_page(*, title: str, headline: str, body: str, health: Iterable[HealthEntry]) -> str:
    """The page around a body that is HTML already; `title` says what was read."""
    page = Template((_TEMPLATES / "page.html").read_text(encoding="utf-8"))
    named = headline.startswith(title)
    return page.substitute(
        title=html_text(title),
        subject="" if named else f'<p class="subject">{html_text(title)}</p>\n',
        headline=html_text(headline),
        body=body,
        health=_health(health),
    )


def html_text(value: object) -> str:
    r"""A value as text of a page: nothing in it is markup, and every character is visible.

    >>> html_text("a<b\x1b\u202e")
    'a&lt;b\\x1b\\u202e'
    """
    # Groups of three digits must not be torn apart at the end of a line.
    return _DIGIT_GAP.sub("\u00a0", escape(printable(cell(value))))


def cells_table(
    columns: Iterable[str], rows: Iterable[Iterable[str]], numeric: Sequence[bool]
) -> str:
    """Cells that are text already, as a table; `numeric` columns to the right.

    >>> "(no name)" in cells_table(["operator", "calls"], [["", "2"]], [False, True])
    True
    """
    css = ["number" if right else "text" for right in numeric]
    return _rows(
        columns, ([value if value.strip() else NO_NAME for value in row] for row in rows), css
    )


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]], css: str = "") -> str:
    head = "".join(f"<th>{html_text(name)}</th>" for name in columns)
    lines = "".join(
        "<tr>" + "".join(f"<td>{html_text(value)}</td>" for value in row) + "</tr>" for row in rows
    )
    return _boxed(head, lines, css)


def _frame(frame: pl.DataFrame) -> str:
    css = ["number" if dtype.is_numeric() else "text" for dtype in frame.dtypes]
    return _rows(frame.columns, frame.iter_rows(), css)


def _rows(columns: Iterable[str], rows: Iterable[Iterable[object]], css: Sequence[str]) -> str:
    head = "".join(
        f'<th class="{kind}">{html_text(name)}</th>'
        for name, kind in zip(columns, css, strict=True)
    )
    lines = "".join(
        "<tr>"
        + "".join(
            f'<td class="{kind}"><span title="{html_text(value)}">{html_text(value)}</span></td>'
            for value, kind in zip(row, css, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return _boxed(head, lines)


def _boxed(head: str, lines: str, css: str = "") -> str:
    """A table that scrolls by itself where it is wider than the page."""
    return (
        f'<div class="wide"><table class="{css}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _health(entries: Iterable[HealthEntry]) -> str:
    items = "".join(map(_health_item, entries))
    return f"<ul>{items}</ul>" if items else "<p>Nothing odd found.</p>"


def _health_item(entry: HealthEntry) -> str:
    rule, told = entry.rule, ""
    if entry.example:
        shown = html_text("; ".join(entry.example.splitlines()))
        told = f": {shown}." if entry.is_told else f" <code>{shown}</code>"
    consequence = f" {html_text(rule.consequence)}. Advice: {html_text(rule.advice)}."
    return (
        f'<li class="{rule.severity.value}"><strong>{html_text(health_title(entry))}</strong>'
        + (told + consequence if entry.is_told else consequence + told)
        + "</li>"
    )

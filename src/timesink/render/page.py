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
    FOLDER_COLUMNS,
    facts,
    folder_rows,
    headline,
    health_title,
    title,
)
from timesink.render.table import cell
from timesink.reports.info import Info

_DIGIT_GAP = re.compile(r"(?<=\d) (?=\d{3}\b)")
_TEMPLATES = Path(__file__).parent / "templates"


def to_html(info: Info, tables: Mapping[str, pl.DataFrame] | None = None) -> str:
    """One self-contained page; `tables` follow the facts, each under its title."""
    if len(info.traces) == 1:
        body = _table(("", ""), facts(info.traces[0]), css="facts")
    else:
        body = _table(FOLDER_COLUMNS, folder_rows(info.traces))
    sections = (
        f"<h2>{escape(heading)}</h2>{_frame(frame)}" for heading, frame in (tables or {}).items()
    )
    return fill_page(
        title=title(info),
        headline=headline(info),
        body=body + "".join(sections),
        health=info.all_health,
    )


def fill_page(*, title: str, headline: str, body: str, health: Iterable[HealthEntry]) -> str:
    """The page around a body that is HTML already."""
    page = Template((_TEMPLATES / "page.html").read_text(encoding="utf-8"))
    return page.substitute(
        title=escape(title), headline=_text(headline), body=body, health=_health(health)
    )


def cells_table(
    columns: Iterable[str], rows: Iterable[Iterable[str]], numeric: Sequence[bool]
) -> str:
    """Cells that are text already, as a table; `numeric` columns to the right."""
    css = ["number" if right else "text" for right in numeric]
    return _rows(columns, rows, css)


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]], css: str = "") -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    lines = "".join(
        "<tr>" + "".join(f"<td>{_text(value)}</td>" for value in row) + "</tr>" for row in rows
    )
    return f'<table class="{css}"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>'


def _frame(frame: pl.DataFrame) -> str:
    css = ["number" if dtype.is_numeric() else "text" for dtype in frame.dtypes]
    return _rows(frame.columns, frame.iter_rows(), css)


def _rows(columns: Iterable[str], rows: Iterable[Iterable[object]], css: Sequence[str]) -> str:
    head = "".join(
        f'<th class="{kind}">{escape(name)}</th>' for name, kind in zip(columns, css, strict=True)
    )
    lines = "".join(
        "<tr>"
        + "".join(
            f'<td class="{kind}"><span title="{_text(value)}">{_text(value)}</span></td>'
            for value, kind in zip(row, css, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _text(value: object) -> str:
    # Groups of three digits must not be torn apart at the end of a line.
    return escape(_DIGIT_GAP.sub("\u00a0", cell(value)))


def _health(entries: Iterable[HealthEntry]) -> str:
    items = "".join(
        f'<li class="{entry.rule.severity.value}"><strong>{escape(health_title(entry))}</strong> '
        f"{escape(entry.rule.consequence)}. Advice: {escape(entry.rule.advice)}."
        + (f" <code>{escape(entry.example)}</code>" if entry.example else "")
        + "</li>"
        for entry in entries
    )
    return f"<ul>{items}</ul>" if items else "<p>Nothing odd found.</p>"

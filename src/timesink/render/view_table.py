"""One table of an analysis for people: its main columns, with units; CSV and JSON have them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from rich.console import Group, RenderableType

from timesink.analyses.kernel_names.display import short_kernel_name
from timesink.analyses.ranks.numbers import ranges_of
from timesink.answers.tables import tells_something
from timesink.model import units
from timesink.output.names import NO_NAME
from timesink.output.numbers import is_length, is_moment, is_ratio
from timesink.output.tables import GAP, markdown_table, natural_width, text_table
from timesink.output.terminal import show, terminal_width, text, to_plain
from timesink.render.table import cell
from timesink.reports.tables import View

_FILE_WIDTH = 160
_READABLE = 24
"""Columns on the right are left out rather than cutting names shorter than this."""

_KERNELS = ("kernel_name", "before", "after")


@dataclass(frozen=True, eq=False)
class Excerpt:
    """What is to be shown of a table."""

    frame: pl.DataFrame
    view: View
    start_ns: int = 0
    """What points in time are counted from."""
    top: int | None = None
    """Rows to show; shares are of all."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One column as people see it."""

    title: str
    cells: Sequence[str]
    numeric: bool

    @property
    def readable_width(self) -> int:
        """Numbers are shown whole; names may be cut, but not too short."""
        width = natural_width(self.title, self.cells)
        return width if self.numeric else min(width, _READABLE)


def seen_columns(excerpt: Excerpt) -> list[Seen]:
    """The columns of a table that people see.

    Columns in which nothing happens are left out: all zero, or not known in any row.

    >>> import timesink
    >>> from timesink.reports.tables import VIEWS, table_of
    >>> steps = table_of(timesink.open(timesink.sample()), "steps")
    >>> seen = seen_columns(Excerpt(steps, VIEWS["steps"]))
    >>> [(column.title, column.cells[0]) for column in seen[:3]]
    [('step', '3'), ('total', '27.37 ms'), ('kernels', '20.90 ms')]
    """
    frame, view = excerpt.frame, excerpt.view
    by_title: dict[str, list[pl.Series]] = {}
    for name, column in view.columns.items():
        if column.title and name in frame.columns and tells_something(frame[name]):
            by_title.setdefault(column.title, []).append(frame[name])
    measures = (name for name in view.share_of if name in frame.columns)
    measure = next((name for name in measures if (frame[name].sum() or 0) > 0), None)
    seen: list[Seen] = []
    for title, columns in by_title.items():
        if columns[0].name == measure:
            seen.append(Seen("share", _shares(columns[0], excerpt.top), numeric=True))
        seen.append(Seen(title, _cells(columns, excerpt), columns[0].dtype.is_numeric()))
    return seen


def _shares(column: pl.Series, top: int | None) -> list[str]:
    whole = float(column.sum())
    return [units.share(value or 0, whole) for value in column.head(top or len(column))]


def _cells(columns: Sequence[pl.Series], excerpt: Excerpt) -> list[str]:
    rows = excerpt.frame.height if excerpt.top is None else excerpt.top
    parts = [
        [_shown(column.name, value, excerpt.start_ns) for value in column.head(rows)]
        for column in columns
    ]
    return [" x ".join(row) for row in zip(*parts, strict=True)]


def _shown(name: str, value: Any, start_ns: int) -> str:
    """One value with its unit, which its column names."""
    if value is None:
        return "-"
    if isinstance(value, str):
        named = short_kernel_name(value) if name in _KERNELS else value
        return named if named.strip() else NO_NAME
    if isinstance(value, pl.Series):
        return ranges_of(value) if value.dtype.is_integer() else ", ".join(map(str, value))
    if name == "device" and value < 0:
        return "unknown"
    if is_moment(name):
        return units.moment_ns(value - start_ns)
    form = next((form for fits, form in _FORMS if fits(name)), cell)
    return form(value)


def _ends(*endings: str) -> Callable[[str], bool]:
    return lambda name: name.endswith(endings)


_FORMS: tuple[tuple[Callable[[str], bool], Callable[[Any], str]], ...] = (
    (is_length, units.duration_ns),
    (_ends("bytes"), units.size_bytes),
    (_ends("bytes_per_s"), lambda value: f"{units.size_bytes(value)}/s"),
    (_ends("_pct"), lambda value: units.share(value, 100)),
    (is_ratio, lambda value: units.share(value, 1)),
    (_ends("_x", "_y", "_z"), str),
    (_ends("mean_depth"), lambda value: f"{value:.1f}"),
    (lambda name: name == "calls", lambda value: units.count(round(value))),
)


# -- on the screen, in a file, in a document -------------------------------------------------------


def print_text(excerpt: Excerpt) -> None:
    """Show the table on the terminal."""
    width = terminal_width()
    show(_text(excerpt, width), width)


def to_text(excerpt: Excerpt) -> str:
    """The table as plain text, or why it is empty.

    >>> from timesink.reports.tables import VIEWS
    >>> table = pl.DataFrame({"site": ["step"], "device_ns": [1500]})
    >>> print(to_text(Excerpt(table, VIEWS["launch-sites"])))
    launched from    share  device time
    step           100.0 %      1.50 us
    """
    return to_plain(_text(excerpt, _FILE_WIDTH), _FILE_WIDTH)


def to_markdown(excerpt: Excerpt) -> str:
    """The same columns for a comment or a document.

    >>> from timesink.reports.tables import VIEWS
    >>> print(to_markdown(Excerpt(pl.DataFrame({"name": []}), VIEWS["modules"])))
    no modules were recorded
    hint: profile with with_stack=True
    """
    if excerpt.frame.is_empty():
        return "\n".join(absent_lines(excerpt.view))
    return markdown_table(*_pieces(seen_columns(excerpt)))


def absent_lines(view: View) -> list[str]:
    """Why a table is empty, and what to try.

    >>> from timesink.reports.tables import VIEWS
    >>> absent_lines(VIEWS["modules"])
    ['no modules were recorded', 'hint: profile with with_stack=True']
    """
    said = view.absent
    return [said.reason, f"hint: {said.hint}"] if said.hint else [said.reason]


def _text(excerpt: Excerpt, width: int) -> RenderableType:
    if excerpt.frame.is_empty():
        return Group(*map(text, absent_lines(excerpt.view)))
    seen = seen_columns(excerpt)
    while len(seen) > 2 and _width(seen) > width:
        seen.pop()
    return text_table(*_pieces(seen), width)


def _width(seen: Sequence[Seen]) -> int:
    return sum(column.readable_width for column in seen) + GAP * (len(seen) - 1)


def _pieces(seen: Sequence[Seen]) -> tuple[list[str], list[tuple[str, ...]], list[bool]]:
    rows = list(zip(*(column.cells for column in seen), strict=True))
    return [column.title for column in seen], rows, [column.numeric for column in seen]

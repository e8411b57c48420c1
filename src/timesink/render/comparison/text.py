"""The answer of `timesink compare` for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.console import Group, RenderableType

from timesink.model import units
from timesink.render.comparison import words
from timesink.render.comparison.blocks import answer_lines, finding_lines, wrapped
from timesink.render.comparison.exploring import exploration_lines
from timesink.render.comparison.tables import (
    counters_table,
    families_table,
    pairs_table,
    rows_table,
    times_table,
)
from timesink.render.comparison.words import Told
from timesink.render.kernels.groups import Shown
from timesink.render.kernels.text import FILE_WIDTH, note_lines, shown_lines
from timesink.render.terminal import show, terminal_width, text, to_plain
from timesink.reports.comparison.report import Compared, Comparison

TOP = 10
"""Rows of a table that are shown unless more are asked for."""
_WIDEST = 140
_FEW = 5
_IN_FULL = 3
"""Pairs that are told in full."""
TABLES: dict[str, Callable[[Told, int | None], Shown]] = {
    "rows": rows_table,
    "times": times_table,
    "families": families_table,
}
"""Tables that can be asked for alone."""


def print_text(comparison: Comparison, top: int | None = TOP, table: str | None = None) -> None:
    """Show the answer on the terminal, or one table of it."""
    width = min(terminal_width(), _WIDEST)
    show(_content(comparison, top, table, width), width)


def to_text(comparison: Comparison, top: int | None = TOP, table: str | None = None) -> str:
    """The answer, or one table of it, as plain text."""
    return to_plain(_content(comparison, top, table, FILE_WIDTH), FILE_WIDTH)


def _content(
    comparison: Comparison, top: int | None, table: str | None, width: int
) -> RenderableType:
    if comparison.exploration is not None:
        return Group(*exploration_lines(comparison, comparison.exploration, top, width))
    pairs = [(one, Told(one.pair)) for one in comparison.pairs]
    blocks: list[RenderableType] = []
    if len(pairs) == 1:
        blocks += answer_lines(pairs[0][1], width)
    else:
        blocks += wrapped(comparison.headline, width, "bold")
        blocks += _table_lines([pairs_table(pairs)], width)
    shown = _most_changed(pairs)
    for one, told in shown:
        blocks += _pair_lines(one, told, top, table, width, alone=len(pairs) == 1)
    blocks += note_lines([*_not_shown(len(pairs) - len(shown)), *comparison.notes])
    return Group(*blocks)


def _most_changed(pairs: Sequence[tuple[Compared, Told]]) -> list[tuple[Compared, Told]]:
    """The pairs that are told in full, in their order."""
    changes = [abs(told.pair.cycle_times.change_pct or 0.0) for _, told in pairs]
    largest = sorted(range(len(pairs)), key=lambda place: (-changes[place], place))[:_IN_FULL]
    return [pairs[place] for place in sorted(largest)]


def _not_shown(count: int) -> list[str]:
    if not count:
        return []
    return [f"{units.counted(count, 'more pairs')} in full: --pid chooses one, -o DIR writes all"]


def _pair_lines(
    one: Compared, told: Told, top: int | None, table: str | None, width: int, *, alone: bool
) -> Iterable[RenderableType]:
    """Everything about one pair but the answer, which has been told; that as well among others."""
    subject = words.subject(told, one.identifier + one.suffix)
    if alone:
        yield from wrapped(subject, width, "dim")
    else:
        yield ""
        yield from wrapped(subject, width, "bold")
        yield from answer_lines(told, width)
    if table is not None:
        yield from _table_lines([TABLES[table](told, top)], width)
        return
    yield from finding_lines(told, width)
    yield from _table_lines(_tables(told, top), width)
    yield from note_lines([*words.notes(told), *words.equal_work_note(told)])


def _table_lines(tables: Iterable[Shown], width: int) -> Iterable[RenderableType]:
    for table in tables:
        yield ""
        yield text(table.title, "bold")
        yield from shown_lines(table, width)


def _tables(told: Told, top: int | None) -> Iterable[Shown]:
    pair = told.pair
    if told.counters:
        yield counters_table(told, top)
    if not pair.rows.is_empty():
        yield rows_table(told, top)
    yield times_table(told, top)
    if not pair.rows.is_empty() and not pair.times["measured"].all():
        yield times_table(told, None if top is None else min(top, _FEW), measured=False)
    if not pair.families.is_empty():
        yield families_table(told, top)

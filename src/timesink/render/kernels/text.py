"""The answer of `timesink kernels` for the terminal and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from timesink.answers.findings import health_sentences
from timesink.output.markdown import bullets
from timesink.output.tables import GAP, markdown_table
from timesink.output.terminal import FILE_WIDTH, WIDEST, show, terminal_width, text, to_plain
from timesink.render.kernels import words
from timesink.render.kernels.groups import Choice
from timesink.render.kernels.sections import Section, one_table, sections
from timesink.render.shown import note_blocks, note_lines, shown_lines, table_blocks
from timesink.reports.kernels import KernelReport

_BAR, _SHORTEST_BAR = 24, 8
_COLOURS = {
    "both_low": "red",
    "low_sm": "cyan",
    "low_dram": "blue",
    "neither_low": "green",
    "unknown": "dim",
}


# -- on the screen and in a file -------------------------------------------------------------------


def print_text(report: KernelReport, by: str | None, choice: Choice) -> None:
    """Show the summary on the terminal, or the answer and one table."""
    width = min(terminal_width(), WIDEST)
    show(_content(report, by, choice, width), width)


def to_text(report: KernelReport, by: str | None, choice: Choice) -> str:
    """The summary, or the answer and one table, as plain text."""
    return to_plain(_content(report, by, choice, FILE_WIDTH), FILE_WIDTH)


def _content(report: KernelReport, by: str | None, choice: Choice, width: int) -> RenderableType:
    if by is None:
        return _summary(report, choice, width)
    table = one_table(report, by, choice)
    return Group(*_answer(report), "", text(table.title, "bold"), *shown_lines(table, width))


def _summary(report: KernelReport, choice: Choice, width: int) -> RenderableType:
    blocks: list[RenderableType] = [*_answer(report)]
    for section in sections(report, choice):
        blocks += ["", *_section(section, width)]
    blocks += [*note_lines(report.notes), "", *_health(report)]
    return Group(*blocks)


def _answer(report: KernelReport) -> Iterable[RenderableType]:
    yield text(words.subject(report), "dim")
    yield text(report.headline, "bold")


def _section(section: Section, width: int) -> Iterable[RenderableType]:
    yield text(section.title, "bold")
    for line in section.lines:
        yield Padding(text(line), (0, 0, 0, 2))
    yield from _bars(section.classes, width)
    if section.table is not None:
        yield from shown_lines(section.table, width)
    for line in section.after:
        yield text(line, "dim")


def _bars(classes: Sequence[words.ClassShare], width: int) -> Iterable[RenderableType]:
    label, share, meaning = (
        max((cell_len(getattr(one, part)) for one in classes), default=0)
        for part in ("name", "share", "meaning")
    )
    room = width - label - share - meaning - 4 * GAP
    longest = min(_BAR, room) if room >= _SHORTEST_BAR else 0
    for one in classes:
        line = text(f"  {one.name:<{label}}  {one.share:>{share}}  ")
        if longest:
            sliver = "▏" if one.fraction >= words.VISIBLE else ""
            bar = "█" * round(longest * one.fraction) or sliver
            line.append_text(Text(f"{bar:<{longest}}  ", _COLOURS[one.key]))
        yield from _hanging(line, one.meaning, width)


def _hanging(line: Text, rest: str, width: int) -> Iterable[RenderableType]:
    """A line that goes on under where its last part began."""
    indent = cell_len(line.plain)
    parts = textwrap.wrap(rest, max(width - indent, _SHORTEST_BAR)) or [""]
    yield line.append(parts[0], "dim")
    yield from (text(f"{' ' * indent}{part}", "dim") for part in parts[1:])


def _health(report: KernelReport) -> Iterable[RenderableType]:
    lines = health_sentences(report.trace.health)
    if not lines:
        yield text("Trace health: nothing odd found", "green")
        return
    yield text("Trace health", "bold")
    for line in lines:
        yield Padding(text(line, "dim"), (0, 0, 0, 2))


# -- Markdown --------------------------------------------------------------------------------------


def to_markdown(report: KernelReport, by: str | None, choice: Choice) -> str:
    """The same for a comment or a document."""
    blocks = [f"# {words.subject(report)}", f"**{report.headline}**"]
    if by is None:
        blocks += _summary_blocks(report, choice)
    else:
        table = one_table(report, by, choice)
        blocks += [f"## {table.title}", *table_blocks(table)]
    return "\n\n".join(block for block in blocks if block)


def _summary_blocks(report: KernelReport, choice: Choice) -> Iterable[str]:
    for section in sections(report, choice):
        yield f"## {section.title}"
        yield bullets(section.lines)
        yield _class_table(section.classes)
        yield from table_blocks(section.table)
        yield bullets(section.after)
    yield from note_blocks(report.notes)
    yield "## Trace health"
    yield bullets(health_sentences(report.trace.health)) or "Nothing odd found."


def _class_table(classes: Sequence[words.ClassShare]) -> str:
    if not classes:
        return ""
    rows = [(one.name, one.share, one.meaning) for one in classes]
    return markdown_table(("class", "share of time", "meaning"), rows, (False, True, False))

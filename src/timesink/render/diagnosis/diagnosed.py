"""The answer of `timesink diagnose` as text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from rich.console import Group, RenderableType

from timesink.analyses.comparison.role import Role
from timesink.answers.diagnosis_report import (
    Diagnosed,
    Within,
    change,
    excess_ns,
    of_single_cycles,
    spans,
    things,
)
from timesink.model import units
from timesink.model.amounts import times
from timesink.render.comparison.blocks import wrapped
from timesink.render.comparison.words import short_names
from timesink.render.diagnosis.blocks import colour, why_lines
from timesink.render.diagnosis.sections import why_blocks
from timesink.render.escaping import in_line
from timesink.render.shown import (
    FILE_WIDTH,
    WIDEST,
    Shown,
    bullets,
    note_blocks,
    note_lines,
    table_blocks,
    titled_lines,
)
from timesink.render.terminal import show, terminal_width, text, to_plain
from timesink.reports.comparison.answer import brief
from timesink.reports.function_names import short_labels

SINGLE = "Single cycles that one function explains"
"""A heading."""
_MOST_SINGLE = 5
_IN_FULL = 3
"""Processes that are told in full."""


def to_json(report: Diagnosed) -> str:
    """The whole answer as JSON for a person to look at."""
    return msgspec.json.format(report.to_json(), indent=2).decode()


def to_text(report: Diagnosed) -> str:
    """The answer as plain text.

    >>> import timesink
    >>> to_text(timesink.diagnose(timesink.sample_runs()[0])).partition(":")[0]
    '1 of 12 cycles takes longer than the typical 55.1 ms'
    """
    return to_plain(Group(*_lines(report, FILE_WIDTH)), FILE_WIDTH)


def print_text(report: Diagnosed) -> None:
    """Show the answer on the terminal."""
    width = min(terminal_width(), WIDEST)
    show(Group(*_lines(report, width)), width)


def to_md(report: Diagnosed) -> str:
    """The answer as Markdown."""
    blocks = [f"# Slow cycles of {in_line(report.source)}", f"**{in_line(report.headline)}**"]
    if len(report.processes) == 1:
        blocks += _single_blocks(report.processes[0])
        blocks += why_blocks(report.diagnosis)
    else:
        blocks += table_blocks(_table(report))
        for one in first_processes(report):
            blocks += [f"## {in_line(one.name)}", in_line(one.diagnosis.reason)]
            blocks += [*_single_blocks(one), *why_blocks(one.diagnosis)]
    blocks += note_blocks([in_line(note) for note in report_notes(report)])
    return "\n\n".join(filter(None, blocks))


RENDERERS: dict[str, Callable[[Diagnosed], str]] = {
    "text": to_text,
    "md": to_md,
    "json": to_json,
}


def _lines(report: Diagnosed, width: int) -> Iterable[RenderableType]:
    found = report.diagnosis
    yield from wrapped(report.headline, width, f"bold {colour(found)}")
    yield from wrapped(report_subject(report), width, "dim")
    if len(report.processes) == 1:
        yield from _single_lines(report.processes[0], width)
        yield from why_lines(found, width)
    else:
        yield from titled_lines(_table(report), width)
        for one in first_processes(report):
            yield ""
            yield from wrapped(f"{one.name}: {one.diagnosis.reason}", width, "bold")
            yield from _single_lines(one, width)
            yield from why_lines(one.diagnosis, width)
    yield from note_lines([short_names(note) for note in report_notes(report)])


def _single_lines(one: Within, width: int) -> Iterable[RenderableType]:
    """Single cycles that one function explains, under a heading."""
    said = of_single_cycles(one)
    if said:
        yield ""
        yield text(SINGLE, "bold")
    for line in said[:_MOST_SINGLE]:
        yield from wrapped(line, width, indent=2)


def _single_blocks(one: Within) -> list[str]:
    said = of_single_cycles(one)[:_MOST_SINGLE]
    return [f"**{SINGLE}**", bullets(map(in_line, said))] if said else []


def report_subject(report: Diagnosed) -> str:
    """What was looked at."""
    names = units.listed([one.name for one in report.processes], 3, "; ")
    anchors = {_anchor(one.role) for one in report.processes}
    anchor = anchors.pop() if len(anchors) == 1 else ""
    cycles = units.counted(sum(one.role.cycles for one in report.processes), "cycles")
    return f"{report.source}, {names}: {cycles}{f' of {anchor}' if anchor else ''}"


def _anchor(role: Role) -> str:
    """What marks the cycles, as people say it; empty where nothing says so."""
    name = role.anchor or ""
    return brief(short_labels([name], () if role.method == "kernels" else [name])[name])


def first_processes(report: Diagnosed) -> list[Within]:
    """The processes whose slow cycles take the most time more."""
    slow = [one for one in report.processes if one.pair is not None]
    return sorted(slow, key=excess_ns, reverse=True)[:_IN_FULL]


def _table(report: Diagnosed) -> Shown:
    """One row per process: which of its cycles are slow."""
    rows = tuple(_row(one) for one in report.processes)
    title = f"Slow cycles ({things(report.processes)})"
    columns = ("role", "cycles", "cycle time", "change", "slow", "cause")
    return Shown(
        title, columns, rows, (False, True, True, True, False, False), spare=(0, 3, 0, 0, 1, 2)
    )


def _row(one: Within) -> tuple[str, ...]:
    found = one.diagnosis
    cycles = found.cycle_time
    slow = one.pair is not None
    return (
        one.name,
        units.count(one.role.cycles),
        times(cycles.base_ns, cycles.new_ns) if slow else units.brief_ns(cycles.base_ns),
        change(one) or "-",
        spans(one.split.slow) if slow else "none",
        found.causes[0].cause if found.causes else "-",
    )


def report_notes(report: Diagnosed) -> list[str]:
    """What to know of the run, and of its processes."""
    several = len(report.processes) > 1
    own = [
        f"{one.name}: {note}" if several else note
        for one in report.processes
        for note in one.diagnosis.notes
    ]
    return [*dict.fromkeys([*own, *report.notes])]

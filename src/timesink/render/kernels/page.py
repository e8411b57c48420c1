"""The answer of `timesink kernels` as one page that needs no network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from timesink.model import units
from timesink.model.health import merge_entries
from timesink.render.drawing.shapes import Drawing
from timesink.render.drawing.svg import to_svg
from timesink.render.kernels import runs, words
from timesink.render.kernels.classes import CLASS_FILL
from timesink.render.kernels.groups import Choice
from timesink.render.kernels.pictures import class_bars, density, roofline, strip
from timesink.render.kernels.pictures.subject import Subject, subjects
from timesink.render.kernels.sections import Section, sections
from timesink.render.page import cells_table, fill_page, html_text
from timesink.render.shown import Shown
from timesink.reports.kernels import KernelReport

_TOP = 20
_BESIDE = 590
"""Width of a picture beside the density, so that both fill a line of the page."""
_WHOLE = 1108
_ROWS = 340
"""Height of all rows of a strip beside the density."""


def to_html(reports: Sequence[KernelReport], choice: Choice | None = None) -> str:
    """One self-contained page: pictures, tables, notes, health; runs one after the other."""
    choice = choice or Choice()
    if choice.top is None:
        choice = replace(choice, top=_TOP)
    one = len(reports) == 1
    return fill_page(
        title=words.subject(reports[0]) if one else units.counted(len(reports), "runs"),
        headline=reports[0].headline if one else runs.headline(reports),
        body="".join(_run(reports[0], choice, "h2") if one else _runs(reports, choice)),
        health=merge_entries([entry for report in reports for entry in report.trace.health]),
    )


def _runs(reports: Sequence[KernelReport], choice: Choice) -> Iterator[str]:
    """What holds for all runs and what sets them apart, then each by itself."""
    common = [note for note in reports[0].notes if all(note in one.notes for one in reports)]
    yield from _quiet(common)
    if any(words.has_utilisation(use) for report in reports for use in report.devices):
        yield _figures([class_bars.picture(reports, _WHOLE)])
    for table in (runs.use_table(reports), runs.class_table(reports)):
        if table.rows:
            yield from _heading("h2", table.title)
            yield from _shown(table)
    for name, report in zip(words.run_names(reports), reports, strict=True):
        yield from _heading("h2", name)
        yield f"<p>{html_text(report.headline)}</p>"
        yield from _run(report, choice, "h3", told=common)


def _run(
    report: KernelReport, choice: Choice, level: str, told: Sequence[str] = ()
) -> Iterator[str]:
    """One run; notes that are `told` already are left out."""
    yield from _quiet(note for note in report.notes if note not in told)
    yield from (_figures(pictures) for pictures in map(_pictures, subjects(report)) if pictures)
    for section in sections(report, choice):
        yield from _section(section, level)


def _pictures(subject: Subject) -> list[Drawing]:
    """What can be drawn of a device, so that the lines of the page are filled."""
    if not words.has_utilisation(subject.use):
        return [strip.picture(subject, _WHOLE)] if strip.has_occupancy(subject) else []
    left = density.picture(subject)
    if subject.report.roofline is None:
        high = round(_ROWS / len(strip.metrics_of(subject)))
        return [left, strip.picture(subject, _BESIDE, high)]
    return [left, roofline.picture(subject, _BESIDE), strip.picture(subject, _WHOLE)]


def _figures(drawings: Iterable[Drawing]) -> str:
    figures = (
        f'<figure style="--least: {0.6 * drawing.width:.0f}px">{to_svg(drawing)}</figure>'
        for drawing in drawings
    )
    return f'<div class="pictures">{"".join(figures)}</div>'


def _section(section: Section, level: str) -> Iterator[str]:
    yield from _heading(level, section.title)
    yield from _paragraphs(section.lines)
    if section.classes:
        yield _classes(section.classes)
    if section.table is not None:
        yield from _shown(section.table)
    yield from _paragraphs(section.after)


def _heading(level: str, title: str) -> Iterator[str]:
    yield f"<{level}>{html_text(title)}</{level}>"


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    return (f"<p>{html_text(line)}</p>" for line in lines)


def _quiet(lines: Iterable[str]) -> Iterator[str]:
    return (f'<p class="subject">{html_text(line)}</p>' for line in lines)


def _classes(classes: Iterable[words.ClassShare]) -> str:
    lines = "".join(
        f"<span>{html_text(one.name)}</span>"
        f'<span class="number">{html_text(one.share)}</span>'
        f"<span>{html_text(one.meaning)}</span>"
        f"{_class_bar(one)}"
        for one in classes
    )
    return f'<div class="parts">{lines}</div>'


def _class_bar(one: words.ClassShare) -> str:
    """A bar in the colour of the pictures; none for what reads as nothing."""
    if one.fraction < words.VISIBLE:
        return "<span></span>"
    style = f"width: {100 * one.fraction:.2f}%; background: {CLASS_FILL[one.key].light}"
    return f'<span class="bar" style="{style}"></span>'


def _shown(table: Shown) -> Iterator[str]:
    if not table.rows and table.nothing:
        yield from _paragraphs([table.nothing])
        return
    yield cells_table(table.columns, table.rows, table.numeric)
    if table.rest:
        yield from _paragraphs([table.rest])

"""An analysis as a document: what the report shows as a whole, and the app page by page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from timesink import __version__
from timesink.analyses.breakdown import average_step
from timesink.answers.tables import sentence
from timesink.errors import UsageError
from timesink.output.blocks import Document, Facts, Section, Tone
from timesink.render import analysis_words
from timesink.render.document.analysed import Analysed, Empty, Made, tables_section
from timesink.render.document.analysis_devices import devices_section
from timesink.render.document.analysis_distributed import overlap_section, workers_section
from timesink.render.document.analysis_figures import figures_section
from timesink.render.document.analysis_findings import findings_section
from timesink.render.document.analysis_memory import memory_curve_section
from timesink.render.document.analysis_modules import modules_section
from timesink.render.document.analysis_operators import operators_section
from timesink.render.document.analysis_ranks import (
    clocks_section,
    collectives_matched_section,
    damaged_section,
    mismatches_section,
    process_groups_section,
    rank_groups_section,
    ranks_section,
    who_holds_up_section,
)
from timesink.render.document.analysis_steps import breakdown_section, steps_section
from timesink.render.document.health import grave_entries, health_section
from timesink.render.document.info import recording_section
from timesink.render.facts import facts
from timesink.reports.analysis import Analysis
from timesink.reports.info import describe_trace

_TONES: Mapping[str, Tone] = {"high": "warning", "medium": "notice", "low": "plain"}

SECTIONS: Mapping[str, Callable[[Analysed], Made]] = {
    "findings": findings_section,
    "stragglers": who_holds_up_section,
    "ranks": ranks_section,
    "collectives-matched": collectives_matched_section,
    "rank-groups": rank_groups_section,
    "figures": figures_section,
    "breakdown": breakdown_section,
    "steps": steps_section,
    "devices": devices_section,
    "operators": operators_section,
    "kernels": tables_section("kernels", "Kernels", "kernels"),
    "kernel-launches": tables_section(
        "kernel-launches", "Kernels by operator and launch", "kernel-launches"
    ),
    "launches": tables_section("launches", "Launches and their delays", "launches", "queue"),
    "memory-curve": memory_curve_section,
    "memory": tables_section("memory", "Memory by operator", "memory"),
    "memory-live": tables_section("memory-live", "What is live at the memory peak", "memory-live"),
    "modules": modules_section,
    "process-groups": process_groups_section,
    "clocks": clocks_section,
    "workers": workers_section,
    "overlap": overlap_section,
    "collectives": tables_section("collectives", "Collective calls", "collectives"),
    "mismatches": mismatches_section,
    "damaged": damaged_section,
    "gaps": tables_section("gaps", "The largest gaps in device work", "gaps"),
    "recording": lambda run: recording_section(facts(describe_trace(run.trace))),
    "health": lambda run: health_section(run.analysis.health),
}
"""What makes each section, in the order of the report."""

PAGES: Mapping[str, tuple[str, ...]] = {
    "overview": (
        "findings",
        "figures",
        "breakdown",
        "steps",
        "devices",
        "gaps",
        "recording",
        "health",
    ),
    "operators": ("operators",),
    "kernels": ("kernels", "kernel-launches", "launches"),
    "memory": ("memory-curve", "memory", "memory-live"),
    "modules": ("modules",),
    "distributed": (
        "stragglers",
        "ranks",
        "collectives-matched",
        "rank-groups",
        "process-groups",
        "clocks",
        "workers",
        "overlap",
        "collectives",
        "mismatches",
        "damaged",
    ),
}
"""Sections of each page of the app."""


def analysis_document(
    analysis: Analysis,
    *,
    page: str | None = None,
    rows: int | None = None,
    start_ns: int | None = None,
) -> Document:
    """The document of one page, or of all of them; of long tables the first `rows`.

    Points in time are counted from `start_ns`, by default from the start of the trace.  What was
    not recorded has a sentence in place of its section; in the whole document, a line.

    >>> import timesink
    >>> document = analysis_document(timesink.analyze(timesink.sample()), page="operators", rows=5)
    >>> [section.id for section in document.sections]
    ['operators']
    """
    if page is not None and page not in PAGES:
        raise UsageError(f"there is no page {page!r}", f"choose one of {', '.join(PAGES)}")
    run = Analysed(analysis, rows, start_ns)
    wanted = PAGES[page] if page else SECTIONS
    made = [one for one in (SECTIONS[name](run) for name in wanted) if one is not None]
    shown = [one if isinstance(one, Section) else one.section for one in made]
    if page is None:
        shown = [one for one in made if isinstance(one, Section)]
        shown += _not_recorded([one for one in made if isinstance(one, Empty)])
    name = Path(analysis.path or analysis.trace.metadata.source).resolve().name
    return Document(
        kind="analysis",
        title=name,
        subject=analysis_words.subject(analysis),
        headline=analysis_words.answer(analysis),
        version=__version__,
        sections=tuple(shown),
        tone=_tone(analysis),
    )


def _tone(analysis: Analysis) -> Tone:
    """As grave as the gravest finding; that a trace without steps has none is not good news."""
    if not average_step(analysis.trace).get("total_ns"):
        return "notice"
    without: Tone = "warning" if grave_entries(analysis.health) else "good"
    return next((_TONES[finding.severity] for finding in analysis.findings), without)


def _not_recorded(empty: list[Empty]) -> list[Section]:
    """One section with a line per reason; that nothing is amiss needs no line."""
    by_reason: dict[str, list[str]] = {}
    for one in empty:
        if one.absent.hint:
            by_reason.setdefault(sentence(one.absent), []).append(one.title)
    rows = tuple((", ".join(titles), reason) for reason, titles in by_reason.items())
    return [Section("not-recorded", "Not in this recording", (Facts(rows),))] if rows else []

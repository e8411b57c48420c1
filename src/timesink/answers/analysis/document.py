"""An analysis as a document: the short answer, the report as a whole, and the app page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import structs

from timesink.analyses.device.activities import has_device_work
from timesink.analyses.steps import average_step
from timesink.answers.analysis import ranks, roofs, tables, time
from timesink.answers.analysis.findings import findings_section
from timesink.answers.analysis.report import RECORDED, Analysis
from timesink.answers.analysis.sections import chosen_rows, start_side_by_side
from timesink.answers.info import facts, grave_entries, health_section, recording_section
from timesink.answers.info_report import describe_trace
from timesink.answers.tables import sentence, table_block, table_document
from timesink.errors import UsageError
from timesink.model import units
from timesink.output.blocks import Document, Facts, Section, Tone
from timesink.output.html import report_html

_MOST_ROWS = 1000
_TONES: Mapping[str, Tone] = {"high": "warning", "medium": "notice", "low": "plain"}

_MATCHED = tables.tables_section(
    "Collectives of all ranks",
    "collectives-matched",
    lead="Calls that belong together, by what they do, among whom and how much: what ranks wait "
    "until the last has come, and what the data takes to move from then on.",
    of_set=True,
)
_CLOCKS = tables.tables_section(
    "Clocks",
    "clocks",
    lead="How far clocks are apart, as ends of collectives tell; times of different ranks are "
    "compared after that was taken off.",
    of_set=True,
)
_GROUPS = tables.tables_section(
    "Process groups", "process-groups", lead="Who communicates with whom.", of_set=True
)
SECTIONS: Mapping[str, Callable[[tables.Analysed], tables.Made]] = {
    "findings": findings_section,
    "stragglers": ranks.who_holds_up_section,
    "ranks": ranks.ranks_section,
    "collectives-matched": _MATCHED,
    "rank-groups": ranks.rank_groups_section,
    "figures": time.figures_section,
    "breakdown": time.breakdown_section,
    "steps": time.steps_section,
    "critical-path": time.critical_path_section,
    "devices": time.devices_section,
    "efficiency": roofs.efficiency_section,
    "operators": tables.operators_section,
    "kernels": tables.kernels_section,
    "kernel-launches": tables.tables_section("Kernels by operator and launch", "kernel-launches"),
    "launches": tables.tables_section("Launches and their delays", "launches", "queue"),
    "memory-curve": tables.memory_curve_section,
    "memory": tables.tables_section("Memory by operator", "memory"),
    "memory-live": tables.tables_section("What is live at the memory peak", "memory-live"),
    "modules": tables.modules_section,
    "python": tables.python_section,
    "process-groups": _GROUPS,
    "clocks": _CLOCKS,
    "workers": time.workers_section,
    "overlap": time.overlap_section,
    "collectives": tables.tables_section("Collective calls", "collectives"),
    "mismatches": tables.tables_section("Calls without a partner", "mismatches"),
    "damaged": ranks.damaged_section,
    "gaps": tables.tables_section("The largest gaps in device work", "gaps"),
    "recording": lambda run: recording_section(facts(describe_trace(run.analysis.trace))),
    "health": lambda run: health_section(run.analysis.health, brief=run.brief),
}
"""What makes each section, in the order of the report."""

_BRIEF: tuple[Callable[[tables.Analysed], tables.Made], ...] = (
    ranks.who_holds_up_section,
    ranks.ranks_section,
    _MATCHED,
    ranks.rank_groups_section,
    ranks.detail_section,
    time.breakdown_section,
    time.critical_path_section,
    time.devices_section,
    roofs.efficiency_section,
    tables.operators_section,
    tables.kernels_section,
    tables.modules_section,
    tables.tables_section("Memory", "memory-peaks"),
    findings_section,
    SECTIONS["health"],
)
"""The same of the short answer, which is read as text."""

_OF_EACH_CLOCK = ("figures", "breakdown", "steps", "devices", "launches", "gaps")
"""Sections that a page has on both clocks, where both are known."""

PAGES: Mapping[str, tuple[str, ...]] = {
    "overview": (
        *("findings", "figures", "breakdown", "steps", "critical-path"),
        *("devices", "gaps", "recording", "health"),
    ),
    "operators": ("operators",),
    "efficiency": ("efficiency",),
    "kernels": ("kernels", "kernel-launches", "launches"),
    "memory": ("memory-curve", "memory", "memory-live"),
    "modules": ("modules", "python"),
    "distributed": (
        *("stragglers", "ranks", "collectives-matched", "rank-groups", "process-groups"),
        *("clocks", "workers", "overlap", "collectives", "mismatches", "damaged"),
    ),
}
"""Sections of each page of the app."""


def analysis_document(
    analysis: Analysis,
    *,
    page: str | None = None,
    rows: int | None = None,
    start_ns: int | None = None,
    brief: bool = False,
) -> Document:
    """The document of one page, of all of them, or of the short answer; of tables the first `rows`.

    Points in time are counted from `start_ns`, by default from the start of the trace.  What was
    not recorded has a sentence in place of its section; in the whole document, a line.
    """
    if page is not None and page not in PAGES:
        raise UsageError(f"there is no page {page!r}", f"choose one of {', '.join(PAGES)}")
    run = tables.Analysed(analysis, rows, start_ns, brief)
    wanted = PAGES[page] if page else SECTIONS
    if brief:
        found = (make(run) for make in _BRIEF)
    else:
        found = (one for name in wanted for one in _on_clocks(run, name))
    made = [one for one in found if one is not None]
    shown = [one if isinstance(one, Section) else one.section for one in made]
    if page is None:
        shown = [one for one in made if isinstance(one, Section)]
    if page is None and not brief:
        # A line per reason; that nothing is amiss needs no line.
        by_reason: dict[str, list[str]] = {}
        for one in made:
            if isinstance(one, tables.Empty) and one.absent.hint:
                by_reason.setdefault(sentence(one.absent), []).append(one.title)
        lines = tuple((", ".join(titles), reason) for reason, titles in by_reason.items())
        if lines:
            shown.append(Section("not-recorded", "Not in this recording", (Facts(lines),)))
    told = "" if analysis.ranks is None else ranks.straggler_headline(analysis.ranks)
    name = Path(analysis.path or analysis.trace.metadata.source).resolve().name
    return Document(
        kind="analysis",
        title=name,
        subject=_subject(analysis),
        # Of a set of ranks, who holds the others up comes before all.
        headline=told or analysis.headline,
        sections=tuple(shown),
        tone=_tone(analysis),
        notes=analysis.told_notes if brief else (),
        clock=run.clock if analysis.own is not None else "",
    )


def _on_clocks(run: tables.Analysed, name: str) -> Iterator[tables.Made]:
    """A section; on both clocks, that of the answer first, where there are two."""
    make = SECTIONS[name]
    if run.analysis.own is None or name not in _OF_EACH_CLOCK:
        yield make(run)
        return
    for one in (run, run.on_other_clock()):
        made = make(one)
        if not isinstance(made, Section):
            yield made if one is run else None
            return
        yield structs.replace(made, clock=one.clock)


def view_document(
    analysis: Analysis,
    view: str,
    *,
    start_ns: int = 0,
    rows: int | None = None,
    sort: str | None = None,
    fits: str | None = None,
    clock: str = RECORDED,
) -> Document:
    """One table alone, in the order in which programs get it, or as a column says."""
    every = analysis.table(view, clock=clock)
    frame = tables.in_words(chosen_rows(every, sort, fits), view)
    # Shares of some rows are still of all, and of the same.
    whole, of = tables.whole_of(analysis, view, every), every if fits else None
    return table_document(
        table_block(frame, view, start_ns=start_ns, rows=rows, whole=whole, of=of, ordered=False)
    )


def analysis_report(analysis: Analysis, *, rows: int | None = None) -> str:
    """The report as a page, of every table the first `rows`; by default as many as there is room.

    A report about a trace in the cache is kept beside it.
    """
    most = rows or _MOST_ROWS
    kept = None if analysis.kept is None else analysis.kept.as_form(f"report-{most}")
    known = None if kept is None else kept.load()
    if known is not None:
        return known.decode()
    start_side_by_side(analysis.trace, analysis.timeline)
    report = report_html(analysis_document(analysis, rows=most))
    if kept is not None:
        kept.save(report.encode())
    return report


def _subject(analysis: Analysis) -> str:
    """What was analysed: file or folder, worker, span, device."""
    metadata = analysis.trace.metadata
    name = Path(analysis.path or metadata.source).resolve().name
    pieces = [name]
    if analysis.ranks is not None and analysis.is_set:
        pieces.append(units.counted(len(analysis.ranks.ranks), "ranks"))
        pieces.append(f"{metadata.worker} in detail" if metadata.worker else "one in detail")
    elif metadata.worker and metadata.worker not in name:
        pieces.append(metadata.worker)
    if metadata.span is not None:
        pieces.append(f"span {metadata.span}")
    pieces += sorted({device.name for device in metadata.devices if device.name})[:2]
    return ", ".join(pieces)


def _tone(analysis: Analysis) -> Tone:
    """As grave as the gravest finding; that a trace without steps has none is not good news."""
    if not average_step(analysis.trace).get("total_ns"):
        return "notice"
    without: Tone = "good" if has_device_work(analysis.trace) else "notice"
    if grave_entries(analysis.health):
        without = "warning"
    return next((_TONES[finding.severity] for finding in analysis.findings), without)

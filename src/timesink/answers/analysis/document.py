"""An analysis as a document: the short answer, the report as a whole, and the app page by page."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from timesink.analyses.columns import host_columns
from timesink.analyses.communication_calls import communication_records
from timesink.analyses.damage import refusing_damage
from timesink.analyses.device_activities import has_device_work
from timesink.analyses.device_utilisation import timeline
from timesink.analyses.names import short_kernel_name
from timesink.analyses.steps import average_step, find_steps
from timesink.answers.analysis import collective_log, compiled, memory, ranks, roofs, tables, time
from timesink.answers.analysis.report import RECORDED, Analysis, ListedRun, RunList, view_table
from timesink.answers.analysis.side_by_side import start_side_by_side
from timesink.answers.analysis.tables import Analysed
from timesink.answers.fitness import fitness_sections
from timesink.answers.info import facts, grave_entries, health_section, recording_section
from timesink.answers.info_report import describe_trace
from timesink.answers.tables import sentence, table_document
from timesink.answers.views import NO_DEVICE_WORK, NO_STEPS
from timesink.errors import UsageError
from timesink.model import units
from timesink.model.findings import Evidence, RunFinding
from timesink.model.fitness import IDLE
from timesink.output.blocks import (
    Block,
    Document,
    Facts,
    FindingCard,
    Findings,
    Link,
    Section,
    Text,
    Tone,
)
from timesink.output.names import LONGEST_NAME, cut_middle, told_apart
from timesink.runtime.memory import return_free_memory

# -- what costs time and what to try, as cards that lead to where it shows -------------------------

_EMPTY = "No findings."
_DAMAGED = "No findings: the file is damaged, so its times are not those of the program."
_MAX_LINKS, _MAX_EVIDENCE = 4, 3
_MORE = 1.01
"""By how much more findings save together than one alone, to be told."""
_SAME = ("rule", "severity", "title", "sentence", "advice")
"""What a card says of a finding as it is."""


def findings_section(run: Analysed) -> Section:
    """Every finding, the most severe first; none in a trace without steps is no good news."""
    cards = tuple(_card(finding, run) for finding in run.analysis.findings)
    block: Block = Findings(cards, _EMPTY)
    if refusing_damage(run.analysis.fitness) is not None:
        return Section("findings", "Findings", (Text(_DAMAGED, "warning"),))
    damage = grave_entries(run.analysis.health)
    if run.trace.has_only_memory or run.trace.has_only_collectives:
        pass  # no calls are no lack of a snapshot, or of a log
    elif not cards and not average_step(run.trace).get("total_ns"):
        block = Text(sentence(NO_STEPS), "notice")
    elif not cards and not damage and not has_device_work(run.trace):
        # What was not recorded cannot stand still.
        block = Text(f"{_EMPTY} {sentence(NO_DEVICE_WORK)}", "notice")
    if not damage:
        return Section("findings", "Findings", (block,))
    warning = Text(f"The recording is incomplete: {'; '.join(damage)}.", "warning")
    # That nothing was found in what is left is no good news.
    says = bool(cards) or isinstance(block, Text)
    return Section("findings", "Findings", (warning, block) if says else (warning,))


def _card(finding: RunFinding, run: Analysed) -> FindingCard:
    links = dict.fromkeys(link for item in finding.evidence for link in _places(item, run))
    gain = _saving_words(finding)
    return FindingCard(
        **{name: getattr(finding, name) for name in _SAME},
        gain=gain,
        evidence=tuple(_evidence_lines(finding)),
        links=tuple(links)[:_MAX_LINKS],
    )


def _saving_words(finding: RunFinding) -> str:
    """What mending it saves, as a replay says; nothing where that cannot be said."""
    step, gains = " a step" if finding.marked else "", []
    if finding.cost_ns:
        gains.append(units.brief_ns(finding.cost_ns) + step)
    if finding.between_ns:
        gains.append(f"{units.brief_ns(finding.between_ns)} between two steps")
    if not gains:
        if finding.no_saving:
            return f"saves nothing alone: {finding.no_saving}"
        most = ""
        if finding.most_ns:
            most = f" (at most {units.brief_ns(finding.most_ns)}{step} if {finding.gain_basis})"
        return f"saving unknown{most}: {finding.unknown_saving}" if finding.unknown_saving else ""
    both = ""
    if finding.together_ns > _MORE * finding.cost_ns:
        both = f"; {units.brief_ns(finding.together_ns)}{step} with all findings above"
    return f"may save {' and '.join(gains)} if {finding.gain_basis}{both}"


# -- where evidence shows --------------------------------------------------------------------------


def _places(item: Evidence, run: Analysed) -> Iterator[Link]:
    """Where a piece of evidence can be looked at, if anywhere."""
    name, kind, numbers = item.name, item.kind, item.numbers
    if kind == "operator" and "roof_reached_pct" in numbers:
        operator = name.partition(" ")[0]
        yield Link(operator, "efficiency", operator)
    elif kind == "operator":
        yield Link(name, "operators", name)
    elif kind == "kernel":
        yield Link(short_kernel_name(name), "kernels", short_kernel_name(name))
    elif kind == "call" and name in communication_records(run.trace)["name"]:
        # Of all calls, those that communicate have a table.
        yield Link(name, "collectives", name)
    elif kind == "worker":
        is_one = "rank" in numbers and run.analysis.is_set
        rank = ("ranks", f"rank={numbers['rank']:.0f}") if is_one else ("workers", name)
        yield Link(name, *rank)
    elif kind == "device":
        of_memory = any(key.endswith("_bytes") for key in numbers)
        yield Link("memory over time", "memory-curve") if of_memory else Link("devices", "devices")
    elif kind == "gap" and "start_ns" in numbers:
        from_ns = int(numbers["start_ns"]) - run.start_ns
        to_ns = from_ns + round(1000 * numbers.get("gap_us", 0))
        yield Link("this gap", "gaps", from_ns=from_ns, to_ns=to_ns)
    elif kind == "step":
        # A recording without marks is one step, which no table has.
        steps = find_steps(run.trace).filter("marked")
        spans = steps.filter(steps["name"] == name).select("start_ns", "end_ns") - run.start_ns
        for start, end in spans.rows()[:1]:
            yield Link(f"step {name}", "steps", from_ns=start, to_ns=end)


# -- in words --------------------------------------------------------------------------------------


def _evidence_name(item: Evidence) -> str:
    """Its name as tables have it; chains and gaps name several, each short."""
    name = short_kernel_name(item.name) if item.kind == "kernel" else item.name
    return name if item.kind in ("chain", "gap") else cut_middle(name, LONGEST_NAME)


def _evidence_lines(finding: RunFinding) -> list[str]:
    """The first pieces of evidence, a line each."""
    evidence = finding.evidence[:_MAX_EVIDENCE]
    names = told_apart([f"{item.kind} {_evidence_name(item)}" for item in evidence])
    lines = []
    for name, item in zip(names, evidence, strict=True):
        numbers = ", ".join(
            _number_phrase(key, value, marked=finding.marked)
            for key, value in item.numbers.items()
            if key != "start_ns"
        )
        lines.append(f"{name}: {numbers}" if numbers else name)
    return lines


_UNITS: Mapping[str, Callable[[float], str]] = {
    "_us": lambda value: units.brief_ns(1000 * value),
    "_ns": units.brief_ns,
    "_bytes": units.brief_bytes,
    "_pct": units.percent,
    "_tflops": lambda value: f"{units.three_digits(value)} TFLOP/s",
    "_tb_per_s": lambda value: f"{units.three_digits(value)} TB/s",
}


def _number_phrase(key: str, value: float, *, marked: bool) -> str:
    """A number with its unit in words; those of a step are all there is where none is marked."""
    name = key.removesuffix("_per_step")
    per_step = " per step" if marked and name != key else ""
    unit = next((ending for ending in _UNITS if f"_{name}".endswith(ending)), "")
    number_text = _UNITS[unit](value) if unit else units.count(round(value))
    spoken = name.removesuffix(unit).replace("_", " ")
    return f"{spoken} {number_text}{per_step}"


# -- sections, pages and documents -----------------------------------------------------------------

_MAX_ROWS = 1000
_TONES: Mapping[str, Tone] = {"high": "warning", "medium": "notice", "low": "plain"}

_MATCHED = tables.tables_section(
    "Collectives of all ranks",
    "collectives-matched",
    lead="Matching calls by collective, process group and size: how long ranks wait for the last "
    "one, and how long the transfer takes after that.",
    of_set=True,
)
_CLOCKS = tables.tables_section(
    "Clocks",
    "clocks",
    lead="Clock offsets, measured at the ends of collectives. Times of different ranks are "
    "compared without them.",
    of_set=True,
)
_GROUPS = tables.tables_section(
    "Process groups", "process-groups", lead="Ranks that communicate with each other.", of_set=True
)
SECTIONS: Mapping[str, Callable[[tables.Analysed], tables.SectionResult]] = {
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
    "kernel-launches": tables.tables_section(
        "Kernels by operator and launch configuration", "kernel-launches"
    ),
    "compiled": compiled.compiled_section,
    "launches": tables.tables_section("Launches and their delays", "launches", "queue"),
    "memory-curve": tables.memory_curve_section,
    "memory": tables.tables_section("Memory by operator", "memory"),
    "memory-live": tables.tables_section("Live memory at the peak", "memory-live"),
    **memory.SECTIONS,
    **collective_log.SECTIONS,
    "modules": tables.modules_section,
    "python": tables.python_section,
    "process-groups": _GROUPS,
    "clocks": _CLOCKS,
    "workers": time.workers_section,
    "overlap": time.overlap_section,
    "collectives": tables.tables_section("Collective calls", "collectives"),
    "mismatches": tables.tables_section("Collective calls with ranks missing", "mismatches"),
    "damaged": ranks.damaged_section,
    "gaps": tables.tables_section("Longest idle gaps", "gaps"),
    "recording": lambda run: recording_section(facts(describe_trace(run.analysis.trace))),
    "health": lambda run: health_section(run.analysis.health, brief=run.brief),
}
"""What makes each section, in the order of the report."""

_BRIEF: tuple[Callable[[tables.Analysed], tables.SectionResult], ...] = (
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
    tables.memory_section,
    findings_section,
    SECTIONS["health"],
)
"""The same of the short answer, which is read as text."""

_BRIEF_OF_SNAPSHOT: tuple[Callable[[tables.Analysed], tables.SectionResult], ...] = (
    tables.memory_section,
    *(memory.SECTIONS[name] for name in memory.BRIEF),
    findings_section,
    SECTIONS["health"],
)
"""The same of a memory snapshot without a recording."""

_BRIEF_OF_LOG: tuple[Callable[[tables.Analysed], tables.SectionResult], ...] = (
    findings_section,
    *collective_log.SECTIONS.values(),
    SECTIONS["health"],
)
"""The same of logs of collectives."""


def _brief_sections(
    analysis: Analysis,
) -> tuple[Callable[[tables.Analysed], tables.SectionResult], ...]:
    if analysis.trace.has_only_collectives:
        return _BRIEF_OF_LOG
    return _BRIEF_OF_SNAPSHOT if analysis.trace.has_only_memory else _BRIEF


_OF_EACH_CLOCK = ("figures", "breakdown", "steps", "devices", "launches", "gaps")
"""Sections that a page has on both clocks, where both are known."""

PAGES: Mapping[str, tuple[str, ...]] = {
    "overview": (
        *("findings", "figures", "breakdown", "steps", "critical-path"),
        *("devices", "gaps", "recording", "health"),
    ),
    "operators": ("operators",),
    "efficiency": ("efficiency",),
    "kernels": ("kernels", "kernel-launches", "compiled", "launches"),
    "memory": ("memory-curve", "memory", "memory-live", *memory.SECTIONS),
    "modules": ("modules", "python"),
    "distributed": (
        *("stragglers", "ranks", "collectives-matched", "rank-groups", "process-groups"),
        *("clocks", "workers", "overlap", "collectives", "mismatches", "damaged"),
        *collective_log.SECTIONS,
    ),
}
"""Sections of each page of the app."""


_LONG_ROWS = 200_000
"""Host events from which on sections need memory for a while that is worth returning."""


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
        start_side_by_side(analysis, brief=True)
        results = (make(run) for make in _brief_sections(analysis))
    else:
        results = (result for name in wanted for result in _on_clocks(run, name))
    parts = [result for result in _with_memory_returned(results, analysis) if result is not None]
    sections = [part if isinstance(part, Section) else part.section for part in parts]
    present = [part for part in parts if isinstance(part, Section)]
    if page is None or (present and time.is_untimed(analysis.trace)):
        # A snapshot lacks what it cannot have: only a page with nothing else says so.
        sections = present
    if page is None and not brief and not time.is_untimed(analysis.trace):
        # A line per reason; that nothing is amiss needs no line.
        by_reason: dict[str, list[str]] = {}
        for part in parts:
            if isinstance(part, tables.Empty) and part.absent.hint:
                by_reason.setdefault(sentence(part.absent), []).append(part.title)
        lines = tuple((", ".join(titles), reason) for reason, titles in by_reason.items())
        if lines:
            sections.append(Section("not-recorded", "Not in this recording", (Facts(lines),)))
    name = Path(analysis.path or analysis.trace.metadata.source).resolve().name
    return Document(
        kind="analysis",
        title=name,
        subject=", ".join([_subject(analysis), *([] if brief else [_clock_words(analysis)])]),
        headline=analysis.headline,
        sections=(*fitness_sections(analysis.fitness), *sections),
        tone=_tone(analysis),
        notes=analysis.told_notes if brief else (),
        clock=run.clock if analysis.corrected_trace is not None else "",
    )


def _with_memory_returned(
    results: Iterable[tables.SectionResult], analysis: Analysis
) -> Iterator[tables.SectionResult]:
    """The same, and what a section of a long recording needed for a while is free for the next."""
    is_long = host_columns(analysis.trace).height > _LONG_ROWS
    for result in results:
        if is_long:
            return_free_memory()
        yield result


def _on_clocks(run: tables.Analysed, name: str) -> Iterator[tables.SectionResult]:
    """A section; on both clocks, that of the answer first, where there are two."""
    make = SECTIONS[name]
    if run.analysis.corrected_trace is None or name not in _OF_EACH_CLOCK:
        yield make(run)
        return
    for clock_run in (run, run.on_other_clock()):
        result = make(clock_run)
        if not isinstance(result, Section):
            yield result if clock_run is run else None
            return
        yield replace(result, clock=clock_run.clock)


def view_document(
    analysis: Analysis,
    view: str,
    *,
    start_ns: int | None = None,
    rows: int | None = None,
    sort: str | None = None,
    fits: str | None = None,
    clock: str = RECORDED,
) -> Document:
    """One table alone, in the order in which programs get it, or as a column says."""
    table = view_table(analysis, view, clock=clock).pick(sort, fits)
    if start_ns is None:
        start_ns, _ = timeline(analysis.origin_trace(clock))
    block = table.block(start_ns=start_ns, rows=rows, ordered=False)
    return table_document(block, analysis.clock_caption(view, clock) if block.rows else "")


def analysis_report(analysis: Analysis, *, rows: int | None = None) -> str:
    """The report as a page, of every table the first `rows`; by default as many as there is room.

    A report about a trace in the cache is kept beside it.
    """
    most = rows or _MAX_ROWS
    cache = (
        None if analysis.answer_cache is None else analysis.answer_cache.as_form(f"report-{most}")
    )
    content = None if cache is None else cache.load()
    if content is not None:
        return content.decode()
    start_side_by_side(analysis)
    from timesink.output.html import report_html  # noqa: PLC0415 - start-up time

    report = report_html(analysis_document(analysis, rows=most))
    if cache is not None:
        cache.save(report.encode())
    return report


def _subject(analysis: Analysis) -> str:
    """What was analysed: file or folder, worker, span, device."""
    metadata = analysis.trace.metadata
    name = Path(analysis.path or metadata.source).resolve().name
    pieces = [name]
    if analysis.ranks is not None and analysis.is_set:
        pieces.append(units.count_noun(len(analysis.ranks.ranks), "ranks"))
        pieces.append(f"{metadata.worker} in detail" if metadata.worker else "one in detail")
    elif metadata.worker and metadata.worker not in name:
        pieces.append(metadata.worker)
    if metadata.span is not None:
        pieces.append(f"span {metadata.span}")
    pieces += sorted({device.name for device in metadata.devices if device.name})[:2]
    return ", ".join(pieces)


def _clock_words(analysis: Analysis) -> str:
    """On which clock a page is; a short answer has a note on that."""
    return "as recorded" if analysis.timeline is analysis.trace else "without profiler overhead"


def _tone(analysis: Analysis) -> Tone:
    """The severity of the first finding; none in a trace without steps is no good news."""
    if not average_step(analysis.trace).get("total_ns"):
        return "notice"
    without: Tone = "good" if has_device_work(analysis.trace) else "notice"
    if grave_entries(analysis.health) or not analysis.fitness.answers(IDLE):
        without = "warning"
    return next((_TONES[finding.severity] for finding in analysis.findings), without)


# -- several runs --------------------------------------------------------------------------------


def run_list_document(answers: RunList) -> Document:
    """A headline for each run, and the command that shows it alone."""
    return Document(
        kind="analysis",
        title=Path(answers.path).name or answers.path,
        subject=answers.path,
        headline=answers.headline,
        sections=tuple(_run_section(place, run) for place, run in enumerate(answers.runs, start=1)),
    )


def _run_section(place: int, run: ListedRun) -> Section:
    command = f"timesink analyze {shlex.quote(run.path)}"
    texts: tuple[Text, ...]
    if run.analysis is None:
        texts = (Text(f"Cannot be analysed: {run.reason}", "warning"),)
    else:
        texts = (Text(run.analysis.headline), Text(command))
    return Section(f"run-{place}", run.name, texts)

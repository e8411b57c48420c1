"""The answer of `timesink analyze` for the terminal, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from timesink.output.markdown import bullets
from timesink.output.tables import markdown_table, text_table
from timesink.output.terminal import FILE_WIDTH, WIDEST, show, terminal_width, text, to_plain
from timesink.render import analysis_words as words
from timesink.render.analysis_cells import cells_of
from timesink.render.finding_words import evidence_lines, gain_text
from timesink.render.ranks.screen import answer_lines, markdown_blocks, set_blocks
from timesink.reports.analysis import Analysis

_BAR = 40
_LABEL = 15
_BARS = {"kernels": "green", "communication": "magenta", "data loading": "red", "other": "dim"}
_COLOURS = {"high": "bold red", "medium": "yellow", "low": "dim"}


def to_text(analysis: Analysis, top: int) -> str:
    return to_plain(_content(analysis, top, FILE_WIDTH), FILE_WIDTH)


def print_text(analysis: Analysis, top: int) -> None:
    width = min(terminal_width(), WIDEST)
    show(_content(analysis, top, width), width)


def _content(analysis: Analysis, top: int, width: int) -> RenderableType:
    trace = analysis.trace
    notes = [text(f"note: {note}", "dim") for note in analysis.notes]
    blocks: list[RenderableType] = [text(words.subject(analysis), "dim")]
    if analysis.ranks is not None and analysis.is_set:
        blocks += [*answer_lines(analysis.ranks), *notes]
        blocks += [*set_blocks(analysis.ranks, top, width), "", text(words.detail_title(analysis))]
        notes = []
    blocks += [
        text(analysis.headline, "bold"),
        *notes,
        "",
        *_breakdown(analysis),
        "",
        *(text(line) for line in words.device_lines(trace)),
    ]
    for cells in cells_of(analysis, top):
        blocks += ["", text(cells.title, "bold")]
        blocks.append(text_table(cells.columns, cells.rows, cells.numeric, width))
    blocks += ["", *_findings(analysis), "", *_health(analysis)]
    return Group(*blocks)


def _breakdown(analysis: Analysis) -> Iterable[RenderableType]:
    title = words.breakdown_title(analysis.trace)
    yield text(f"{title} ({words.steps_sentence(analysis.trace)})", "bold")
    for part in words.parts(analysis.trace):
        bar = Text("█" * round(_BAR * part.fraction) or "▏", _BARS.get(part.name, "yellow"))
        yield text(f"  {part.name:<{_LABEL}}{part.length:>10}{part.share:>9}  ").append_text(bar)


def _findings(analysis: Analysis) -> Iterable[RenderableType]:
    if not analysis.findings:
        yield text("Findings: none; no rule found anything to gain", "green")
        return
    yield text("Findings", "bold")
    for finding in analysis.findings:
        line = Text(f"{finding.severity:<7}", _COLOURS[finding.severity])
        yield line.append(f"{finding.title} [{finding.rule}]", "default")
        details = [finding.sentence, f"try: {finding.advice}", gain_text(finding)]
        for detail in filter(None, details):
            yield Padding(text(detail), (0, 0, 0, 7))
        for line_of_evidence in evidence_lines(finding):
            yield Padding(text(f"seen: {line_of_evidence}", "dim"), (0, 0, 0, 7))


def _health(analysis: Analysis) -> Iterable[RenderableType]:
    lines = words.health_sentences(analysis.health)
    if not lines:
        yield text("Trace health: nothing odd found", "green")
        return
    yield text("Trace health", "bold")
    for line in lines:
        yield Padding(text(line, "dim"), (0, 0, 0, 2))


# -- Markdown --------------------------------------------------------------------------------------


def to_markdown(analysis: Analysis, top: int) -> str:
    trace = analysis.trace
    blocks = [f"# {words.subject(analysis)}", *(f"> {note}" for note in analysis.notes)]
    if analysis.ranks is not None and analysis.is_set:
        blocks += [*markdown_blocks(analysis.ranks, top), f"## {words.detail_title(analysis)}"]
    blocks += [
        f"**{analysis.headline}**",
        f"## {words.breakdown_title(trace)}\n\n{words.steps_sentence(trace)}",
        _parts_table(analysis),
        "\n".join(f"- {line}" for line in words.device_lines(trace)),
    ]
    for cells in cells_of(analysis, top):
        blocks.append(f"## {cells.title}")
        blocks.append(markdown_table(cells.columns, cells.rows, cells.numeric))
    blocks += ["## Findings", _findings_list(analysis), "## Trace health"]
    blocks.append(bullets(words.health_sentences(analysis.health)) or "Nothing odd found.")
    return "\n\n".join(block for block in blocks if block)


def _parts_table(analysis: Analysis) -> str:
    rows = [(part.name, part.length, part.share) for part in words.parts(analysis.trace)]
    return markdown_table(("part", "mean", "share"), rows, (False, True, True))


def _findings_list(analysis: Analysis) -> str:
    items = [
        f"{finding.title} (`{finding.rule}`, {finding.severity}): {finding.sentence} "
        f"{finding.advice} {gain_text(finding)}".rstrip()
        for finding in analysis.findings
    ]
    return bullets(items) or "No rule found anything to gain."

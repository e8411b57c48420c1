"""The answer of `timesink analyze` as one page that needs no network."""

from __future__ import annotations

from timesink.analyses.findings import Finding
from timesink.render import analysis_words as words
from timesink.render.analysis_cells import cells_of
from timesink.render.finding_words import evidence_lines, gain_text
from timesink.render.page import cells_table, fill_page, html_text
from timesink.reports.analysis import Analysis


def to_html(analysis: Analysis, top: int = 20) -> str:
    """One self-contained page: breakdown, findings, tables, health."""
    trace = analysis.trace
    blocks = [
        *(f"<p>{html_text(note)}</p>" for note in analysis.notes),
        f"<h2>Where a step goes ({html_text(words.steps_sentence(trace))})</h2>",
        _breakdown(analysis),
        *(f"<p>{html_text(line)}</p>" for line in words.device_lines(trace)),
        "<h2>Findings</h2>",
        _findings(analysis),
    ]
    for cells in cells_of(analysis, top):
        blocks.append(f"<h2>{html_text(cells.title)}</h2>")
        blocks.append(cells_table(cells.columns, cells.rows, cells.numeric))
    return fill_page(
        title=words.subject(analysis),
        headline=analysis.headline,
        body="".join(blocks),
        health=trace.health,
    )


def _breakdown(analysis: Analysis) -> str:
    lines = "".join(
        f'<span>{html_text(part.name)}</span><span class="number">{html_text(part.length)}</span>'
        f'<span class="number">{part.share}</span>'
        f'<span class="bar" style="width: {100 * part.fraction:.2f}%"></span>'
        for part in words.parts(analysis.trace)
    )
    return f'<div class="parts">{lines}</div>'


def _findings(analysis: Analysis) -> str:
    items = "".join(map(_finding, analysis.findings))
    return f'<ul class="findings">{items}</ul>' if items else "<p>No rule found anything.</p>"


def _finding(finding: Finding) -> str:
    seen = "".join(
        f'<p class="seen">seen: {html_text(line)}</p>' for line in evidence_lines(finding)
    )
    gain = gain_text(finding)
    return (
        f'<li><span class="severity {finding.severity}">{finding.severity}</span>'
        f"<strong>{html_text(finding.title)}</strong> <code>{finding.rule}</code>"
        f"<p>{html_text(finding.sentence)}</p><p>Try: {html_text(finding.advice)}</p>"
        + (f"<p>It {html_text(gain)}.</p>" if gain else "")
        + f"{seen}</li>"
    )

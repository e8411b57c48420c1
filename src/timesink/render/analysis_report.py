"""The answer of `timesink analyze` as a report: one HTML file."""

from __future__ import annotations

from timesink.output.html import report_html
from timesink.render.document.analysis import analysis_document
from timesink.reports.analysis import Analysis
from timesink.reports.side_by_side import start_side_by_side

_MOST_ROWS = 1000


def analysis_report(analysis: Analysis, *, rows: int | None = None) -> str:
    """The report, of every table the first `rows`; by default as many as a file has room for.

    A report about a trace in the cache is kept beside it.
    """
    most = rows or _MOST_ROWS
    kept = None if analysis.kept is None else analysis.kept.as_form(f"report-{most}")
    known = None if kept is None else kept.load()
    if known is not None:
        return known.decode()
    start_side_by_side(analysis.trace)
    report = report_html(analysis_document(analysis, rows=most))
    if kept is not None:
        kept.save(report.encode())
    return report

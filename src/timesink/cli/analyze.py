"""Say where the time goes: steps, operators, kernels, memory, modules, ranks, and what to try.

The answer comes first, in a sentence; then the parts of an average step, the operators and
kernels that take most, findings with their numbers, and trace health.  `--view` prints one table
instead, whole: its main columns as text and Markdown, all of them as CSV and JSON.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from timesink.answers.views import GROUPS, VIEWS, check_group
from timesink.cli.options import (
    add_engine_options,
    add_input,
    add_output,
    engine_from,
    progress_bar,
    reading_of,
    row_count,
)
from timesink.cli.outputs import check_output, check_page, format_of, give, give_document
from timesink.errors import UsageError

if TYPE_CHECKING:
    from timesink.answers.analysis.report import Analysis

_FORMATS = ("text", "json", "md", "csv", "html")
_WIDEST = 160
"""Characters of a line of a single table."""
_TOP = 10
"""Rows of a table of the whole answer, unless asked for; a page has as many as it has room for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink analyze`."""
    add_input(parser)
    parser.add_argument("--steps", metavar="RANGE", help="only these steps, e.g. 5-8 or 5,7,9")
    parser.add_argument("--top", metavar="N", type=row_count, help="rows to show of a table")
    parser.add_argument("--group-by", choices=GROUPS, default="", help="what operator rows are")
    parser.add_argument("--view", metavar="NAME", choices=tuple(VIEWS), help=_views_help())
    parser.add_argument("--format", choices=_FORMATS, help="how to say it")
    add_engine_options(parser)
    add_output(parser, "write to a file; .json, .md, .csv, .html and .txt choose the format")


def _views_help() -> str:
    return f"print one table: {', '.join(VIEWS)}"


def run(options: argparse.Namespace) -> int:
    """Analyse what the options name and say it as they ask."""
    form = format_of(options, _FORMATS)
    if form == "html" and options.view is not None:
        raise UsageError("a single table has no page", "leave out --view, or try --format md")
    if form == "csv" and options.view is None:
        raise UsageError("csv holds one table", "choose it with --view, e.g. --view operators")
    check_group(options.group_by, options.view)
    check_page(form)
    if options.output is not None:
        check_output(options.output, options.path, force=options.force)
    analysis = _analyze(options)
    if options.view is None:
        _give_whole(analysis, options, form)
    elif form in {"csv", "json"}:
        _give_data(analysis, options, form)
    else:
        _give_table(analysis, options, form)
    return 0


def _analyze(options: argparse.Namespace) -> Analysis:
    from timesink.answers.analysis.report import analyze  # noqa: PLC0415 - --help should not wait for it

    with progress_bar() as progress:
        return analyze(
            options.path,
            steps=options.steps,
            group_by=options.group_by,
            **reading_of(options),
            engine=engine_from(options),
            progress=progress,
        )


def _give_whole(analysis: Analysis, options: argparse.Namespace, form: str) -> None:
    if form == "json":
        from timesink.output.json import indented  # noqa: PLC0415 - text needs far more loaded

        give(indented(analysis.to_json()), options.output)
        return
    from timesink.answers.analysis.document import analysis_document, analysis_report  # noqa: PLC0415

    if form == "html":
        give(analysis_report(analysis, rows=options.top), options.output)
        return
    document = analysis_document(analysis, rows=options.top or _TOP, brief=True)
    give_document(document, form, options)


def _give_table(analysis: Analysis, options: argparse.Namespace, form: str) -> None:
    """One table for people."""
    from timesink.analyses.device.utilisation import timeline  # noqa: PLC0415
    from timesink.answers.analysis.document import view_document  # noqa: PLC0415

    start, _ = timeline(analysis.trace)
    document = view_document(analysis, options.view, start_ns=start, rows=options.top)
    give_document(document, form, options, _WIDEST)


def _give_data(analysis: Analysis, options: argparse.Namespace, form: str) -> None:
    """One table for programs: every column; why it is empty is said beside it."""
    from timesink.answers.analysis.sections import in_microseconds, lists_as_text  # noqa: PLC0415
    from timesink.output.json import frame_csv, frame_json  # noqa: PLC0415

    table = in_microseconds(analysis.table(options.view))
    if table.is_empty():
        said = VIEWS[options.view].absent
        print("; ".join(filter(None, (said.reason, said.hint))), file=sys.stderr)
    shown = table if options.top is None else table.head(options.top)
    give(frame_json(shown) if form == "json" else frame_csv(lists_as_text(shown)), options.output)

"""Say where the time goes: steps, operators, kernels, memory, modules, ranks, and what to try.

The answer comes first, in a sentence; then the parts of an average step, the operators and
kernels that take most, findings with their numbers, and trace health.  `--view` prints one table
instead, whole.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from timesink.cli.common import (
    add_input,
    add_output,
    check_output,
    format_of,
    progress_bar,
    write_text,
)
from timesink.errors import UsageError
from timesink.reports.tables import GROUPS, VIEWS

if TYPE_CHECKING:
    import polars as pl

    from timesink.reports.analysis import Analysis

_FORMATS = ("text", "json", "md", "csv", "html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input(parser)
    parser.add_argument("--steps", metavar="RANGE", help="only these steps, e.g. 5-8 or 5,7,9")
    parser.add_argument("--top", metavar="N", type=_rows, help="rows to show of a table")
    parser.add_argument("--group-by", choices=GROUPS, default="", help="what operator rows are")
    parser.add_argument("--view", metavar="NAME", choices=tuple(VIEWS), help=_views_help())
    parser.add_argument("--format", choices=_FORMATS, help="how to say it")
    add_output(parser, "write to a file; .json, .md, .csv, .html and .txt choose the format")


def _views_help() -> str:
    return f"print one table: {', '.join(VIEWS)}"


def _rows(given: str) -> int:
    if not (given.isascii() and given.isdigit() and int(given)):
        msg = f"{given!r} is not a number of rows, 1 or more"
        raise argparse.ArgumentTypeError(msg)
    return int(given)


def run(options: argparse.Namespace) -> int:
    form = format_of(options, _FORMATS)
    if form == "html" and options.view is not None:
        raise UsageError("a single table has no page", "leave out --view, or try --format md")
    if form == "csv" and options.view is None:
        raise UsageError("csv holds one table", "choose it with --view, e.g. --view operators")
    if options.output is not None:
        check_output(options.output, force=options.force)
    analysis = _analyze(options)
    if options.view is not None:
        _give_table(analysis, options, form)
    else:
        _give_whole(analysis, options, form)
    return 0


def _analyze(options: argparse.Namespace) -> Analysis:
    from timesink.reports.analyzing import analyze  # noqa: PLC0415 - --help should not wait for it

    with progress_bar() as progress:
        return analyze(
            options.path,
            worker=options.worker,
            span=options.span,
            rank=options.rank,
            steps=options.steps,
            group_by=options.group_by,
            cache=not options.no_cache,
            jobs=options.jobs,
            progress=progress,
        )


def _give_whole(analysis: Analysis, options: argparse.Namespace, form: str) -> None:
    if form == "json":
        from timesink.render.analysis_json import to_json  # noqa: PLC0415

        _give(to_json(analysis), options)
        return
    if form == "html":
        from timesink.render.analysis_page import to_html  # noqa: PLC0415

        _give(to_html(analysis, options.top or 20), options)
        return
    from timesink.render import analysis as render  # noqa: PLC0415

    top = options.top or 10
    if form == "text" and options.output is None:
        render.print_text(analysis, top)
        return
    _give((render.to_markdown if form == "md" else render.to_text)(analysis, top), options)


def _give_table(analysis: Analysis, options: argparse.Namespace, form: str) -> None:
    from timesink.render import table as render  # noqa: PLC0415
    from timesink.reports.rows import in_microseconds  # noqa: PLC0415

    shown: pl.DataFrame = in_microseconds(analysis.table(options.view))
    if options.top is not None:
        shown = shown.head(options.top)
    if form == "text" and options.output is None:
        render.print_text(shown)
    else:
        _give(render.RENDERERS[form](shown), options)


def _give(made: str, options: argparse.Namespace) -> None:
    if options.output is None:
        print(made)
    else:
        write_text(made, options.output)

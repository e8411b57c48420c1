"""Show where time goes and what to try.

  timesink analyze trace.json.gz
  timesink analyze trace.json.gz -o report.html
  timesink analyze trace.json.gz --view operators --group-by stack --sort calls
  timesink analyze run/ --rank 3

The report begins with the bottleneck and the biggest saving.  The parts of an average step, the
largest operators and kernels, findings and trace health follow.  A folder of several runs gives one
headline per run.  `--view` prints one complete table; CSV and JSON have all its columns.
"""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

from timesink.answers.views import GROUPS, VIEWS, check_group
from timesink.cli.command_line import print_stderr
from timesink.cli.options import (
    add_engine_options,
    add_format,
    add_input,
    add_option,
    add_output,
    add_top,
    engine_from,
    input_from,
    not_empty,
    read_options,
)
from timesink.cli.outputs import check_answer, format_of, give, give_document, give_json
from timesink.errors import UsageError
from timesink.sources.opening import open_ahead

if TYPE_CHECKING:
    from timesink.answers.analysis.report import RunList
    from timesink.sources.discovery import Input

_FORMATS = ("text", "json", "md", "csv", "html")
_WIDEST = 160
"""Characters of a line of a single table."""
_QUESTION = ("steps", "group_by", "device", "peaks", "formulas")
"""Options that are arguments of `timesink.analyze`."""
_READING = ("cache", "jobs", "progress")
_TOP = 10
"""Rows of a table of the whole answer, unless asked for; a page has as many as it has room for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink analyze`."""
    add_input(parser)
    add_option(parser, "--steps RANGE", "only these steps, e.g. 5-8 or 5,7,9 (default: all)")
    add_top(parser)
    add_option(parser, "--sort COLUMN", "sort a table by this column, largest first")
    add_option(parser, "--filter TEXT", "only rows of a table that contain this text, in any case")
    add_option(parser, "--group-by", "what a row of operators is", choices=GROUPS, default="")
    clocks = (
        "corrected: times without profiler overhead (the default); recorded: times as recorded "
        "(the default with --view)"
    )
    names = ("corrected", "recorded", "own")
    add_option(parser, "--clock {corrected,recorded}", clocks, choices=names)
    views = f"print one table: {', '.join(VIEWS)}"
    device = "device whose peaks count, e.g. H200 (default: the device of the recording)"
    add_option(parser, "--device NAME", device, type=not_empty)
    peaks = "peaks of the device: a CSV file, or dram=4.0TB/s,bf16_tensor=790TFLOP/s"
    add_option(parser, "--peaks SPEC", peaks, type=not_empty)
    formulas = "TOML file with the operations and bytes of custom operators"
    add_option(parser, "--formulas FILE", formulas, completed="file")
    add_option(parser, "--view NAME", views, choices=tuple(VIEWS))
    add_format(parser, _FORMATS)
    add_engine_options(parser)
    what = "write to a file; .json, .md, .csv, .html and .txt choose the format"
    add_output(parser, what)


def run(options: argparse.Namespace) -> int:
    """Analyse what the options name and say it as they ask."""
    form = format_of(options, _FORMATS)
    # Where a table is to be ordered and none is named, it is that of operators.
    view = options.view or ("operators" if options.sort or options.filter else None)
    if form == "html" and view is not None:
        raise UsageError("a single table has no page", "leave out --view, or try --format md")
    if form == "csv" and view is None:
        raise UsageError("csv holds one table", "choose it with --view, e.g. --view operators")
    check_group(options.group_by, view)
    source = input_from(options)
    check_answer(options, form, source)
    if view is not None and form in {"csv", "json"}:
        _give_table(source, view, form, options)
        return 0
    with read_options(options, *_QUESTION) as reading:
        # What finds and says the answer is loaded while compiled code reads.
        open_ahead(source, **{name: reading[name] for name in _READING})
        from timesink.answers.analysis.report import RunList, analyze_place  # noqa: PLC0415 - --help should not wait for it

        if form != "json":
            import timesink.answers.analysis.document  # noqa: PLC0415 - while a thread reads
        if form == "text":
            import timesink.output.terminal  # noqa: F401, PLC0415 - as above
        analysis = analyze_place(
            source, **reading, clock=options.clock or "corrected", engine=engine_from(options)
        )
    if isinstance(analysis, RunList):
        _give_list(analysis, form, options)
        return 0
    if form == "json":
        give_json(analysis.to_json(), options.output)
        return 0
    from timesink.answers.analysis.document import analysis_document, analysis_report, view_document  # noqa: PLC0415 - start-up time

    if form == "html":
        give(analysis_report(analysis, rows=options.top), options.output)
    elif view is None:
        document = analysis_document(analysis, rows=options.top or _TOP, brief=True)
        give_document(document, form, options.output)
    else:
        clock = options.clock or "recorded"
        document = view_document(
            analysis, view, rows=options.top, sort=options.sort, fits=options.filter, clock=clock
        )
        give_document(document, form, options.output, _WIDEST)
    return 0


def _give_table(source: Input, view: str, form: str, options: argparse.Namespace) -> None:
    """Hand over a table for programs: every column, and on stderr why it is empty."""
    with read_options(options, *_QUESTION) as reading:
        open_ahead(source, **{name: reading[name] for name in _READING})
        from timesink.answers.analysis.report import RunList, table_text  # noqa: PLC0415 - as above

        answer = table_text(
            *(source, view, form),
            table_clock=options.clock or "recorded",
            sort=options.sort,
            fits=options.filter,
            top=options.top,
            clock=options.clock or "corrected",
            **reading,
            engine=engine_from(options),
        )
    if isinstance(answer, RunList):
        raise _no_single_table(answer, options)
    text, why_empty = answer
    if why_empty:
        print_stderr(why_empty)
    give(text, options.output)


def _give_list(answers: RunList, form: str, options: argparse.Namespace) -> None:
    """Hand over one answer for each of several runs."""
    from timesink.answers.analysis.document import run_list_document  # noqa: PLC0415 - start-up time

    if options.view is not None or any((options.sort, options.filter)):
        raise _no_single_table(answers, options)
    if form == "json":
        give_json(answers.to_json(), options.output)
    else:
        give_document(run_list_document(answers), form, options.output)


def _no_single_table(answers: RunList, options: argparse.Namespace) -> UsageError:
    """Why there is no table of several runs."""
    first = shlex.quote(answers.runs[0].path)
    return UsageError(
        f"a single table is of one run: {options.path} holds {len(answers.runs)}",
        f"name one of them: timesink analyze {first} --view {options.view or 'operators'}",
    )

r"""Ask the tables of a trace in SQL.

Tables: host, device, collectives, memory, counters, flows, event_args, tracks, steps; their columns
are in docs/tables.md.  Example:

  timesink query trace.json.gz \
    "select name, sum(dur_ns) ns from device where kind = 'kernel' group by name order by ns desc"
"""

from __future__ import annotations

import argparse

from timesink.cli import say
from timesink.cli.options import add_input, add_option, add_output, open_chosen
from timesink.cli.outputs import check_answer, format_of, give_document, give_frame

_FORMATS = ("text", "json", "csv", "md")
_TEXT_ROWS, _WIDEST = 60, 160


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input(parser)
    add_option(parser, "sql SQL", 'a query, e.g. "select * from steps"')
    what = "write the whole result to a file; .json and .csv choose the format"
    add_output(parser, what, ("text", "json", "csv"))


def run(options: argparse.Namespace) -> int:
    form = format_of(options, _FORMATS)
    check_answer(options, form, options.path)
    from timesink.answers.info_report import run_query  # noqa: PLC0415 - --help should not wait for it

    result = run_query(open_chosen(options), options.sql)
    if form in {"json", "csv"}:
        give_frame(result, form, options.output)
        return 0
    from timesink.answers.tables import frame_document  # noqa: PLC0415

    on_screen = options.output is None and form == "text"
    give_document(
        frame_document(result.head(_TEXT_ROWS) if on_screen else result), form, options, _WIDEST
    )
    if on_screen and result.height > _TEXT_ROWS:
        left = result.height - _TEXT_ROWS
        say(f"... {left} more rows; add a limit, --format csv or -o FILE")
    return 0

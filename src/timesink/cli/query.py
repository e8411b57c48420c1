r"""Ask the tables of a trace in SQL.

Tables: host, device, collectives, memory, counters, flows, event_args, tracks, steps; their columns
are in docs/tables.md.  Example:

  timesink query trace.json.gz \
    "select name, sum(dur_ns) ns from device where kind = 'kernel' group by name order by ns desc"
"""

from __future__ import annotations

import argparse
import sys

from timesink.cli.options import add_input, add_output, open_chosen
from timesink.cli.outputs import check_output, format_of, give, give_document

_FORMATS = ("text", "json", "csv", "md")
_TEXT_ROWS, _WIDEST = 60, 160


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input(parser)
    parser.add_argument("sql", metavar="SQL", help='a query, e.g. "select * from steps"')
    parser.add_argument("--format", choices=("text", "json", "csv"), help="how to say it")
    add_output(parser, "write the whole result to a file; .json and .csv choose the format")


def run(options: argparse.Namespace) -> int:
    form = format_of(options, _FORMATS)
    if options.output is not None:
        check_output(options.output, options.path, force=options.force)
    from timesink.answers.info_report import run_query  # noqa: PLC0415 - --help should not wait for it

    result = run_query(open_chosen(options), options.sql)
    if form in {"json", "csv"}:
        from timesink.output.json import frame_csv, frame_json  # noqa: PLC0415

        give(frame_json(result) if form == "json" else frame_csv(result), options.output)
        return 0
    from timesink.answers.tables import frame_document  # noqa: PLC0415

    on_screen = options.output is None and form == "text"
    give_document(
        frame_document(result.head(_TEXT_ROWS) if on_screen else result), form, options, 160
    )
    if on_screen and result.height > _TEXT_ROWS:
        left = result.height - _TEXT_ROWS
        print(f"... {left} more rows; add a limit, --format csv or -o FILE", file=sys.stderr)
    return 0

r"""Ask the tables of a trace in SQL.

Tables: host, device, collectives, memory, counters, flows, event_args, tracks, steps; their columns
are in docs/tables.md.  Example:

  timesink query trace.json.gz \
    "select name, sum(dur_ns) ns from device where kind = 'kernel' group by name order by ns desc"
"""

from __future__ import annotations

import argparse
import sys

from timesink.cli.common import add_input, add_output, open_chosen
from timesink.cli.outputs import check_output, format_of, write_text

_TEXT_ROWS = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input(parser)
    parser.add_argument("sql", metavar="SQL", help='a query, e.g. "select * from steps"')
    parser.add_argument("--format", choices=("text", "json", "csv"), help="how to say it")
    add_output(parser, "write the whole result to a file; .json and .csv choose the format")


def run(options: argparse.Namespace) -> int:
    from timesink.render import table  # noqa: PLC0415 - --help should not wait for it
    from timesink.reports.query import run_query  # noqa: PLC0415

    form = format_of(options, tuple(table.RENDERERS))
    if options.output is not None:
        check_output(options.output, options.path, force=options.force)
    result = run_query(open_chosen(options), options.sql)
    if options.output is not None:
        write_text(table.RENDERERS[form](result), options.output)
    elif form == "text":
        table.print_text(result.head(_TEXT_ROWS))
        if result.height > _TEXT_ROWS:
            left = result.height - _TEXT_ROWS
            print(f"... {left} more rows; add a limit, --format csv or -o FILE", file=sys.stderr)
    else:
        print(table.RENDERERS[form](result))
    return 0

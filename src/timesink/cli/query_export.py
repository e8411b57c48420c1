"""The tables of a trace, asked in SQL or written as files: `query` and `export`."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.cli import say
from timesink.cli.options import (
    add_force,
    add_input,
    add_option,
    add_output,
    add_place,
    open_chosen,
)
from timesink.cli.outputs import (
    answer_form,
    check_output,
    check_output_folder,
    give_document,
    give_frame,
    remember,
)
from timesink.errors import UsageError

if TYPE_CHECKING:
    from timesink.model.trace import Trace

# -- timesink query --------------------------------------------------------------------------------

QUERY = r"""Ask the tables of a trace in SQL.

Tables: host, device, collectives, memory, counters, flows, event_args, tracks, steps; their columns
are in docs/tables.md.  Example:

  timesink query trace.json.gz \
    "select name, sum(dur_ns) ns from device where kind = 'kernel' group by name order by ns desc"
"""

_QUERY_FORMATS = ("text", "json", "csv", "md")
_TEXT_ROWS, _QUERY_WIDEST = 60, 160


def add_query_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink query`."""
    add_input(parser)
    add_option(parser, "sql SQL", 'a query, e.g. "select * from steps"')
    what = "write the whole result to a file; .json and .csv choose the format"
    add_output(parser, what, ("text", "json", "csv"))


def run_query(options: argparse.Namespace) -> int:
    """Ask, and say the answer as the options ask."""
    form = answer_form(options, _QUERY_FORMATS, options.path)
    from timesink.answers.info_report import run_query  # noqa: PLC0415 - --help should not wait for it

    result = run_query(open_chosen(options), options.sql)
    if form in {"json", "csv"}:
        give_frame(result, form, options.output)
        return 0
    from timesink.answers.tables import frame_document  # noqa: PLC0415

    on_screen = options.output is None and form == "text"
    give_document(
        frame_document(result.head(_TEXT_ROWS) if on_screen else result),
        form,
        options.output,
        _QUERY_WIDEST,
    )
    if on_screen and result.height > _TEXT_ROWS:
        left = result.height - _TEXT_ROWS
        say(f"... {left} more rows; add a limit, --format csv or -o FILE")
    return 0


# -- timesink export -------------------------------------------------------------------------------

EXPORT = """Write a trace as a folder of Parquet files, or as clean Chrome JSON.

  timesink export trace.json.gz -o tables/          Parquet, one file per table
  timesink export damaged.json.gz -o mended.json.gz JSON that Perfetto opens
  timesink export x_perf_data.csv.gz -o x.parquet   a behaviour table in another format
  timesink export RUN -o own.json.gz --own-clock --critical-path
                                                    as the program runs by itself, with its path

A Parquet folder can be opened by timesink again like the trace it came from.
"""


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink export`."""
    add_input(parser)
    what = (
        "a folder for Parquet, or a name ending in .json or .json.gz; "
        "of a behaviour table also .parquet, .csv or .csv.gz"
    )
    add_place(parser, "DIR|FILE", what, required=True)
    own = "write the program as it runs without the profiler, where that is known"
    add_option(parser, "--own-clock", own)
    path = "mark what decides how long it takes: arrows along it, and an argument on its events"
    add_option(parser, "--critical-path", path)
    add_force(parser)


def run_export(options: argparse.Namespace) -> int:
    """Write the trace the options name, in the format the output's name tells."""
    from timesink.formats.chrome.writer import write_chrome_json  # noqa: PLC0415
    from timesink.formats.parquet_folder import export_folder  # noqa: PLC0415

    output: Path = options.output
    as_json = output.name.lower().endswith((".json", ".json.gz"))
    as_table = output.name.lower().endswith((".parquet", ".csv", ".csv.gz"))
    if output.suffix and not (as_json or as_table or output.is_dir()):
        raise UsageError(
            f"{output}: neither .json, .json.gz nor the name of a folder",
            "give a folder without an ending for Parquet, or a name ending in .json or .json.gz",
        )
    check = check_output if as_json or as_table else check_output_folder
    check(output, options.path, force=options.force)
    trace = _asked(open_chosen(options), options)
    if as_table:
        from timesink.formats.behaviour import write_behaviour  # noqa: PLC0415

        if not trace.has_behaviour:
            raise UsageError(
                f"{output}: only a behaviour table is written as one file",
                "give -o a folder, or make the table first:  timesink behaviour TRACE -o FILE",
            )
        write_behaviour(trace.behaviour, output)
        remember(output)
        print(f"Wrote {output} ({trace.behaviour.height} rows)")
        print(f"Next: timesink compare {shlex.quote(str(output))} OTHER")
        return 0
    quoted = shlex.quote(str(output))
    if as_json:
        written = write_chrome_json(trace, output)
        remember(output)
        print(f"Wrote {output} ({written} events)")
        print(f"Next: open it at https://ui.perfetto.dev, or run  timesink info {quoted}")
    else:
        from timesink.analyses.operators import with_call_stacks  # noqa: PLC0415

        export_folder(with_call_stacks(trace), output, force=True)
        print(f"Wrote {output} (one Parquet file per table)")
        sorts = ("steps", trace.has_timeline), ("behaviour", trace.has_behaviour)
        table = next((name for name, has in sorts if has), "kernel_calls")
        print(f"Next: timesink query {quoted} 'select * from {table}'")  # noqa: S608 - a hint
    return 0


def _asked(trace: Trace, options: argparse.Namespace) -> Trace:
    """The trace on the clock that is asked for, with its path where that is wanted."""
    if not (options.own_clock or options.critical_path):
        return trace
    from timesink.analyses.replay.own_clock import own_clock, own_timeline  # noqa: PLC0415
    from timesink.analyses.timeline.overlays import path_pieces, with_path  # noqa: PLC0415

    if not trace.has_timeline:
        raise UsageError(f"{options.path}: has no timeline", "give the trace it was made from")
    if options.own_clock and not (clock := own_clock(trace)).is_known:
        raise UsageError(
            f"{options.path}: the program's own clock is not known: {clock.why}",
            "export without --own-clock, or record with  timesink record,  which measures it",
        )
    drawn = own_timeline(trace) if options.own_clock else trace
    if options.critical_path:
        return with_path(drawn, path_pieces(trace, own=options.own_clock))
    return drawn


PARTS = {
    "query": (QUERY, add_query_arguments, run_query),
    "export": (EXPORT, add_export_arguments, run_export),
}

r"""Find the repeating unit of a run: steps, passes, layers.

Profiler steps come first, then an annotation that repeats, then the Python call on top of the
program's loop, then the period of the kernel sequence.  Where nothing is seen to repeat, that is
said instead of a guess.

  timesink cycles trace.json.gz
  timesink cycles trace.json.gz --marker decode_step
  timesink cycles trace.json.gz --by layer --format csv
"""

from __future__ import annotations

import argparse
import sys

from timesink.cli.options import (
    add_cycle_options,
    add_input,
    add_output,
    progress_bar,
    reading_of,
)
from timesink.cli.outputs import check_output, format_of, give, give_document

_FORMATS = ("text", "csv", "md", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink cycles`."""
    add_input(parser)
    add_cycle_options(parser, counters=False)
    parser.add_argument("--pid", metavar="P", help="only this process")
    parser.add_argument("--format", choices=_FORMATS, help="how to say it")
    add_output(parser, "write to a file; .txt, .csv, .md, .json choose the format")


def run(options: argparse.Namespace) -> int:
    """Find cycles and say which, as the options ask."""
    form = format_of(options, _FORMATS)
    if options.output is not None:
        check_output(options.output, options.path, force=options.force)
    from timesink.answers.cycles import cycles  # noqa: PLC0415 - --help should not wait for it

    with progress_bar() as progress:
        report = cycles(
            options.path,
            marker=options.marker,
            by=options.by,
            pid=options.pid,
            **reading_of(options),
            progress=progress,
        )
    if form == "json":
        from timesink.output.json import indented  # noqa: PLC0415

        give(indented(report.to_json()), options.output)
    elif form == "csv":
        from timesink.output.json import frame_csv  # noqa: PLC0415

        for why in report.refused:
            print(why.message, file=sys.stderr)
        give(frame_csv(report.table), options.output)
    else:
        from timesink.answers.cycles import cycles_document  # noqa: PLC0415

        give_document(cycles_document(report, detail=form == "md"), form, options)
    return 0

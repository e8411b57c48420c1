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

from timesink.cli import say
from timesink.cli.options import (
    CHOICE,
    add_cycle_options,
    add_input,
    add_option,
    add_output,
    progress_bar,
    reading_of,
)
from timesink.cli.outputs import check_answer, format_of, give_document, give_frame, give_json

_FORMATS = ("text", "csv", "md", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink cycles`."""
    add_input(parser)
    add_cycle_options(parser, counters=False)
    add_option(parser, "--pid P", "only this process")
    add_output(parser, "write to a file; .txt, .csv, .md, .json choose the format", _FORMATS)


def run(options: argparse.Namespace) -> int:
    """Find cycles and say which, as the options ask."""
    form = format_of(options, _FORMATS)
    check_answer(options, form, options.path)
    from timesink.answers.cycles import cycles, cycles_document  # noqa: PLC0415 - --help should not wait for it

    with progress_bar() as progress:
        asked = reading_of(options, "marker", "by", "pid", *CHOICE)
        report = cycles(options.path, **asked, progress=progress)
    if form == "json":
        give_json(report.to_json(), options.output)
    elif form == "csv":
        for why in report.refused:
            say(why.message)
        give_frame(report.table, form, options.output)
    else:
        give_document(cycles_document(report, detail=form == "md"), form, options)
    return 0

"""Show what a recording holds.

  timesink info trace.json.gz
  timesink info runs/ -o info.html

Lists device, ranks, steps, counts and trace health; of a folder trace by trace, with totals.
"""

from __future__ import annotations

import argparse
import json

from timesink.cli.options import add_input, add_output, input_from, read_options
from timesink.cli.outputs import answer_form, give, give_document
from timesink.recorder.processes import sayable_values

_FORMATS = ("text", "json", "html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink info`."""
    add_input(parser)
    add_output(parser, "write to a file; .json and .html choose the format", _FORMATS)


def run(options: argparse.Namespace) -> int:
    """Say what is in what the options name."""
    source = input_from(options)
    form = answer_form(options, _FORMATS, source)
    # --help should not wait for these.
    from timesink.answers.info import info_document  # noqa: PLC0415
    from timesink.answers.info_report import describe_input  # noqa: PLC0415

    with read_options(options) as reading:
        described = describe_input(source, **reading)
    if form == "json":
        give(json.dumps(sayable_values(described.to_dict()), indent=2), options.output)
    else:
        give_document(info_document(described), form, options.output)
    return 0

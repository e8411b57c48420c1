"""Show what a recording holds.

  timesink info trace.json.gz
  timesink info runs/ -o info.html

Lists device, ranks, steps, counts and trace health; of a folder trace by trace, with totals.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from timesink.cli.options import add_input, add_output, read_options
from timesink.cli.outputs import answer_form, give, give_document
from timesink.recorder.processes import sayable_values

_FORMATS = ("text", "json", "html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink info`."""
    add_input(parser)
    add_output(parser, "write to a file; .json and .html choose the format", _FORMATS)


def run(options: argparse.Namespace) -> int:
    """Say what is in what the options name."""
    form = answer_form(options, _FORMATS, options.path)
    # --help should not wait for these.
    from timesink.answers.info import info_document  # noqa: PLC0415
    from timesink.answers.info_report import Info, describe_folder, describe_trace  # noqa: PLC0415
    from timesink.formats.stored_names import is_folder  # noqa: PLC0415
    from timesink.sources.ab_folder import refuse_ab  # noqa: PLC0415
    from timesink.sources.opening import find_chosen, open_each, open_trace  # noqa: PLC0415
    from timesink.sources.places import display_place, place_of  # noqa: PLC0415
    from timesink.sources.run_facts import plain_recording  # noqa: PLC0415

    place = place_of(options.path)
    refuse_ab(Path(options.path))
    plain = plain_recording(place) if isinstance(place, Path) else None
    if plain is not None:
        described = Info(options.path, (describe_trace(plain),))
    elif isinstance(place, Path) and is_folder(place):
        described = Info(options.path, (describe_trace(open_trace(place)),))
    else:
        chosen = find_chosen(place, worker=options.worker, span=options.span, rank=options.rank)
        with read_options(options) as reading:
            described = describe_folder(display_place(place), open_each(chosen, **reading))
    if form == "json":
        give(json.dumps(sayable_values(described.to_dict()), indent=2), options.output)
    else:
        give_document(info_document(described), form, options.output)
    return 0

"""Say what is in a trace: device, ranks, steps, counts, spans, health.

A folder is described trace by trace, with totals.  With `-o FILE.html` the answer is written as
one page that needs no network.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from timesink.cli.options import (
    add_input,
    add_output,
    progress_bar,
    reading_of,
)
from timesink.cli.outputs import (
    check_answer,
    format_of,
    give,
    give_document,
)

_FORMATS = ("text", "json", "html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input(parser)
    add_output(parser, "write to a file; .json and .html choose the format", _FORMATS)


def run(options: argparse.Namespace) -> int:
    form = format_of(options, _FORMATS)
    check_answer(options, form, options.path)
    # --help should not wait for these.
    from timesink.answers.info import info_document  # noqa: PLC0415
    from timesink.answers.info_report import Info, describe_folder, describe_trace  # noqa: PLC0415
    from timesink.formats.written_files import is_folder  # noqa: PLC0415
    from timesink.sources.ab_folder import refuse_ab  # noqa: PLC0415
    from timesink.sources.opening import find_chosen, open_each, open_trace  # noqa: PLC0415
    from timesink.sources.places import place_of, shown  # noqa: PLC0415
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
        with progress_bar() as progress:
            opened = open_each(chosen, **reading_of(options), progress=progress)
            described = describe_folder(shown(place), opened)
    if form == "json":
        give(json.dumps(described.to_dict(), indent=2), options.output)
    else:
        give_document(info_document(described), form, options)
    return 0

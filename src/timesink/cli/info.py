"""Say what is in a trace: device, ranks, steps, counts, spans, health.

A folder is described trace by trace, with totals.  With `-o FILE.html` the answer is written as
one page that needs no network.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.cli.options import add_input, add_output, progress_bar
from timesink.cli.outputs import check_output, check_page, format_of, give, give_document

if TYPE_CHECKING:
    from timesink.answers.info_report import Info


_FORMATS = ("text", "json", "html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input(parser)
    parser.add_argument("--format", choices=_FORMATS, help="how to say it")
    add_output(parser, "write to a file; .json and .html choose the format")


def run(options: argparse.Namespace) -> int:
    form = format_of(options, _FORMATS)
    check_page(form)
    if options.output is not None:
        check_output(options.output, options.path, force=options.force)
    described = _describe(options)
    if form == "json":
        give(json.dumps(described.to_dict(), indent=2), options.output)
        return 0
    from timesink.answers.info import info_document  # noqa: PLC0415 - --help should not wait for it

    give_document(info_document(described), form, options)
    return 0


def _describe(options: argparse.Namespace) -> Info:
    from timesink.answers.info_report import Info, describe_folder, describe_trace  # noqa: PLC0415
    from timesink.formats.written_files import is_folder  # noqa: PLC0415
    from timesink.sources.opening import (  # noqa: PLC0415
        find_chosen,
        open_each,
        open_trace,
    )
    from timesink.sources.places import place_of, shown  # noqa: PLC0415

    place = place_of(options.path)
    if isinstance(place, Path) and is_folder(place):
        return Info(options.path, (describe_trace(open_trace(place)),))
    chosen = find_chosen(place, worker=options.worker, span=options.span, rank=options.rank)
    with progress_bar() as progress:
        opened = open_each(chosen, cache=not options.no_cache, jobs=options.jobs, progress=progress)
        return describe_folder(shown(place), opened)

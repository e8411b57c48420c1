"""Say which cycles of a run take longer than its others, and why.

PATH is a recording, a folder of them (one per rank), or a behaviour table.  Every process is looked
at for itself: its slow cycles are set against the typical ones.

  timesink slow-steps trace.json.gz
  timesink slow-steps run/ --rank 3 --marker decode_step
  timesink slow-steps run.behaviour.parquet --cycles decode -o why.md
  timesink slow-steps trace.json.gz -o report.html
"""

from __future__ import annotations

import argparse
from pathlib import Path

from timesink.cli import outputs
from timesink.cli.options import (
    CYCLE_TYPES,
    add_cycle_options,
    add_option,
    add_output,
    add_rank,
    add_reading,
    read_options,
)
from timesink.errors import UsageError

_FORMATS = ("text", "md", "json", "html")
_IN_FOLDER = ("md", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink slow-steps`."""
    what = "a recording, a folder of them, or a table"
    add_option(parser, "path PATH", what, completed="file")
    which = parser.add_argument_group("what to look at")
    add_option(which, "--pid P", "one process")
    add_rank(which)
    add_option(which, "--cycles", "one sort of cycle", choices=CYCLE_TYPES)
    add_cycle_options(parser)
    add_reading(parser)
    add_output(parser, "write to a file (.txt, .md, .json, .html), or to a folder", _FORMATS)


def run(options: argparse.Namespace) -> int:
    """Diagnose what the options name, and say it as they ask."""
    files = _diagnosis_files(options)
    for form in files.values():
        outputs.check_page(form)
    for path in filter(None, files):
        for source in filter(None, (options.path, options.map)):
            outputs.check_output(path, source, force=options.force)
    from timesink.answers.diagnosis import diagnose, diagnosis_document  # noqa: PLC0415 - --help is quick

    with read_options(options, "pid", "rank", "cycles", "marker", "by", "map") as asked:
        report = diagnose(options.path, **asked)
    for place, form in files.items():
        if form == "json":
            outputs.give_json(report.to_json(), place)
        else:
            document = diagnosis_document(report, brief=form != "html")
            outputs.give_document(document, form, place)
    return 0


def _diagnosis_files(options: argparse.Namespace) -> dict[Path | None, str]:
    """Where the answer goes, and as what; to a folder as Markdown and as JSON."""
    folder = outputs.output_folder(options.output)
    if folder is None:
        return {options.output: outputs.format_of(options, _FORMATS)}
    if options.format == "text":
        raise UsageError("a folder holds md and json", "name a file with -o FILE.txt")
    outputs.check_folder(folder)
    forms = (options.format,) if options.format else _IN_FOLDER
    return {folder / f"diagnosis.{form}": form for form in forms}

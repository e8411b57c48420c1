"""Explain the slow steps of one run.

  timesink slow-steps trace.json.gz
  timesink slow-steps run/ --rank 3 --marker decode_step
  timesink slow-steps run.behaviour.parquet --steps decode -o why.md
  timesink slow-steps trace.json.gz -o report.html

Compares the slow steps of each process with its typical ones and names causes.  Use it when some
steps take longer than others.  `timesink steps` shows how long each step takes; `timesink
functions` shows how time is spent in a typical step.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from timesink.cli import outputs
from timesink.cli.options import (
    add_cycle_options,
    add_cycle_type,
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
    what = "recording, folder of one per rank, or behaviour table"
    add_option(parser, "path PATH", what, completed="file")
    which = parser.add_argument_group("what to explain")
    add_option(which, "--pid P", "only this process (default: all)")
    add_rank(which)
    add_cycle_type(which)
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
    from timesink.answers.comparison.slow_steps import diagnose, diagnosis_document  # noqa: PLC0415 - --help is quick

    with read_options(options, "pid", "rank", "cycles", "marker", "by", "map") as arguments:
        report = diagnose(options.path, **arguments)
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
        raise UsageError("a folder gets md and json", "name a file with -o FILE.txt")
    outputs.check_folder(folder)
    forms = (options.format,) if options.format else _IN_FOLDER
    return {folder / f"diagnosis.{form}": form for form in forms}

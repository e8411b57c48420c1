"""Say which cycles of a run take longer than its others, and why.

PATH is a recording, a folder of them (one per rank), or a behaviour table.  Every process is looked
at for itself: its slow cycles are set against the typical ones.

  timesink diagnose trace.json.gz
  timesink diagnose run/ --rank 3 --marker decode_step
  timesink diagnose run.behaviour.parquet --cycles decode -o why.md
  timesink diagnose trace.json.gz -o report.html
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.cli.compare import CYCLE_TYPES, output_folder
from timesink.cli.options import add_cycle_options, add_output, add_reading, not_empty, progress_bar
from timesink.cli.outputs import check_output, check_page, format_of, give, give_document
from timesink.errors import OutputError, UsageError

if TYPE_CHECKING:
    from timesink.answers.diagnosis_report import Diagnosed

_FORMATS = ("text", "md", "json", "html")
_IN_FOLDER = ("md", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink diagnose`."""
    path = parser.add_argument(
        "path", metavar="PATH", type=not_empty, help="a recording, a folder of them, or a table"
    )
    path.complete = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # type: ignore[attr-defined]
    which = parser.add_argument_group("what to look at")
    which.add_argument("--pid", metavar="P", help="one process")
    which.add_argument("--rank", metavar="N", type=int, help="one rank")
    which.add_argument("--cycles", choices=CYCLE_TYPES, help="one sort of cycle")
    add_cycle_options(parser)
    add_reading(parser)
    parser.add_argument("--format", choices=_FORMATS, help="how to say it")
    add_output(parser, "write to a file (.txt, .md, .json, .html), or to a folder")


def run(options: argparse.Namespace) -> int:
    """Diagnose what the options name, and say it as they ask."""
    files = _files(options)
    for form in files.values():
        check_page(form)
    for path in filter(None, files):
        # In a folder that is yet to be made there is nothing to overwrite.
        if path == options.output or path.parent.is_dir():
            for source in filter(None, (options.path, options.map)):
                check_output(path, source, force=options.force)
    from timesink.answers.diagnosis_report import diagnose  # noqa: PLC0415 - --help is quick

    with progress_bar() as progress:
        report = diagnose(
            options.path,
            pid=options.pid,
            rank=options.rank,
            cycle_type=options.cycles,
            marker=options.marker,
            by=options.by,
            metric_map=options.map,
            cache=not options.no_cache,
            jobs=options.jobs,
            progress=progress,
        )
    for place, form in files.items():
        _give(report, form, place)
    return 0


def _give(report: Diagnosed, form: str, path: Path | None) -> None:
    if path is not None:
        path.parent.mkdir(exist_ok=True)
    if form == "json":
        from timesink.output.json import indented  # noqa: PLC0415

        give(indented(report.to_json()), path)
        return
    from timesink.answers.diagnosis import diagnosis_document  # noqa: PLC0415

    give_document(
        diagnosis_document(report, brief=form != "html"), form, argparse.Namespace(output=path)
    )


def _files(options: argparse.Namespace) -> dict[Path | None, str]:
    """Where the answer goes, and as what; to a folder as Markdown and as JSON."""
    folder = output_folder(options.output)
    if folder is None:
        return {options.output: format_of(options, _FORMATS)}
    if options.format == "text":
        raise UsageError("a folder holds md and json", "name a file with -o FILE.txt")
    if folder.is_file():
        raise OutputError.unwritable(folder, "it is a file")
    if not folder.parent.is_dir():
        raise OutputError.no_folder(folder)
    forms = (options.format,) if options.format else _IN_FOLDER
    return {folder / f"diagnosis.{form}": form for form in forms}

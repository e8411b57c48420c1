"""Say what functions cost cycle by cycle, and how loaded the hardware was meanwhile.

Counters are those in the trace, or in a `counters.csv` beside it.  The table has a row per cycle,
function, device and counter; `-o` keeps it for a comparison.

  timesink behaviour trace.json.gz
  timesink behaviour trace.json.gz --marker decode_step -o run.behaviour.parquet
  timesink compare base.behaviour.parquet new.behaviour.parquet
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.cli.options import (
    add_cycle_options,
    add_input,
    add_output,
    progress_bar,
    reading_of,
    row_count,
)
from timesink.cli.outputs import check_output, format_of, give, give_document
from timesink.errors import UsageError

if TYPE_CHECKING:
    from timesink.answers.behaviour import BehaviourReport

_FORMATS = ("text", "csv", "json")
_TABLES = (".parquet", ".csv", ".csv.gz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink behaviour`."""
    add_input(parser)
    add_cycle_options(parser)
    parser.add_argument("--top", metavar="N", type=row_count, default=15, help="functions to show")
    parser.add_argument("--format", choices=_FORMATS, help="how to say it")
    add_output(
        parser,
        "write to a file; .parquet, .csv and .csv.gz keep the table, .json and .txt the rest",
    )


def run(options: argparse.Namespace) -> int:
    """Report on what the options name, as they ask."""
    output: Path | None = options.output
    is_table = output is not None and output.name.lower().endswith(_TABLES)
    form = "table" if is_table and options.format in {None, "csv"} else _format(options)
    if is_table and form != "table":
        raise UsageError(f"{output}: holds a table, not {form}", "leave out --format")
    if output is not None:
        for source in (options.path, options.map):
            if source is not None:
                check_output(output, source, force=options.force)
    report = _report(options)
    if output is not None and is_table:
        _write_table(report, output)
        return 0
    _say_notes(report.notes if form == "csv" else ())
    if form == "json":
        give(json.dumps(report.to_dict(), indent=2), options.output)
    elif form == "csv":
        from timesink.formats.behaviour import behaviour_csv  # noqa: PLC0415

        give(behaviour_csv(report.table).rstrip("\n"), options.output)
    else:
        from timesink.answers.behaviour import behaviour_document  # noqa: PLC0415

        give_document(behaviour_document(report, options.top), form, options)
    return 0


def _format(options: argparse.Namespace) -> str:
    """The format of what is no table; a hint names the endings of tables as well."""
    try:
        return format_of(options, _FORMATS)
    except UsageError as error:
        endings = ", ".join((*_TABLES, ".json", ".txt"))
        raise UsageError(error.message, f"end the name in {endings}, or add --format") from None


def _report(options: argparse.Namespace) -> BehaviourReport:
    from timesink.answers.behaviour import behaviour  # noqa: PLC0415 - --help should not wait

    with progress_bar() as progress:
        return behaviour(
            options.path,
            marker=options.marker,
            by=options.by,
            metric_map=options.map,
            **reading_of(options),
            progress=progress,
        )


def _write_table(report: BehaviourReport, output: Path) -> None:
    from timesink.formats.behaviour import write_behaviour  # noqa: PLC0415
    from timesink.model.units import counted  # noqa: PLC0415

    write_behaviour(report.table, output)
    _say_notes(report.notes)
    print(f"Wrote {output} ({counted(report.table.height, 'rows')})")


def _say_notes(notes: Sequence[str]) -> None:
    for note in notes:
        print(note, file=sys.stderr)

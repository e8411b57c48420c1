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
from pathlib import Path

from timesink.cli import say
from timesink.cli.options import (
    CHOICE,
    add_cycle_options,
    add_input,
    add_option,
    add_output,
    progress_bar,
    reading_of,
    row_count,
)
from timesink.cli.outputs import check_answer, format_of, give, give_document, remember
from timesink.errors import UsageError

_FORMATS = ("text", "csv", "json")
_TABLES = (".parquet", ".csv", ".csv.gz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink behaviour`."""
    add_input(parser)
    add_cycle_options(parser)
    add_option(parser, "--top N", "functions to show", type=row_count, default=15)
    what = "write to a file; .parquet, .csv and .csv.gz keep the table, .json and .txt the rest"
    add_output(parser, what, _FORMATS)


def run(options: argparse.Namespace) -> int:
    """Report on what the options name, as they ask."""
    output: Path | None = options.output
    is_table = output is not None and output.name.lower().endswith(_TABLES)
    form = "table"
    if not (is_table and options.format in {None, "csv"}):
        try:
            form = format_of(options, _FORMATS)
        except UsageError as error:
            # Tables have endings of their own.
            endings = ", ".join((*_TABLES, ".json", ".txt"))
            raise UsageError(error.message, f"end the name in {endings}, or add --format") from None
    if is_table and form != "table":
        raise UsageError(f"{output}: holds a table, not {form}", "leave out --format")
    check_answer(options, form, options.path, options.map)
    from timesink.answers.behaviour import behaviour, behaviour_document  # noqa: PLC0415 - --help should not wait
    from timesink.formats.behaviour import behaviour_csv, write_behaviour  # noqa: PLC0415
    from timesink.model.units import counted  # noqa: PLC0415

    with progress_bar() as progress:
        asked = reading_of(options, "marker", "by", "map", *CHOICE)
        report = behaviour(options.path, **asked, progress=progress)
    if output is not None and is_table:
        write_behaviour(report.table, output)
        remember(output)
    if form in {"csv", "table"}:
        for note in report.notes:
            say(note)
    if form == "table":
        print(f"Wrote {output} ({counted(report.table.height, 'rows')})")
    elif form == "json":
        give(json.dumps(report.to_dict(), indent=2), output)
    elif form == "csv":
        give(behaviour_csv(report.table).rstrip("\n"), output)
    else:
        give_document(behaviour_document(report, options.top), form, options)
    return 0

"""The cycles of a run, and what functions cost in each: `cycles` and `behaviour`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from timesink.cli.command_line import print_stderr
from timesink.cli.options import (
    CHOICE,
    add_cycle_options,
    add_input,
    add_option,
    add_output,
    input_from,
    read_options,
    row_count,
)
from timesink.cli.outputs import (
    answer_form,
    check_answer,
    format_of,
    give,
    give_document,
    give_frame,
    give_json,
    remember_folder,
)
from timesink.errors import UsageError
from timesink.recorder.processes import sayable_values

# -- timesink steps -------------------------------------------------------------------------------

STEPS = r"""Find the steps, and how long each takes.

  timesink steps trace.json.gz
  timesink steps trace.json.gz --marker decode_step
  timesink steps trace.json.gz --by layer --format csv

Use it first, to check that steps are found as you mean them: by profiler steps, a repeated
annotation, the Python call of the loop, or the period of kernels.  `timesink functions` shows what
functions take in each step; `timesink slow-steps` explains the slow ones.
"""

_CYCLES_FORMATS = ("text", "csv", "md", "json")


def add_steps_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink steps`."""
    add_input(parser)
    add_cycle_options(parser, counters=False)
    add_option(parser, "--pid P", "only this process (default: all)")
    add_output(parser, "write to a file; .txt, .csv, .md, .json choose the format", _CYCLES_FORMATS)


def run_steps(options: argparse.Namespace) -> int:
    """Find cycles and say which, as the options ask."""
    source = input_from(options)
    form = answer_form(options, _CYCLES_FORMATS, source)
    from timesink.answers.cycles import cycles, cycles_document  # noqa: PLC0415 - --help should not wait for it

    with read_options(options, "marker", "by", "pid") as arguments:
        report = cycles(source, **arguments)
    if form == "json":
        give_json(report.to_json(), options.output)
    elif form == "csv":
        for why in report.refused:
            print_stderr(why.message)
        give_frame(report.table, form, options.output)
    else:
        give_document(cycles_document(report, detail=form == "md"), form, options.output)
    return 0


# -- timesink functions ----------------------------------------------------------------------------

FUNCTIONS = """List functions and hardware load per step.

  timesink functions trace.json.gz
  timesink functions trace.json.gz --marker decode_step -o run.behaviour.parquet
  timesink compare base.behaviour.parquet new.behaviour.parquet

Use it for a table by step, function, device and counter; -o stores it for a comparison.  Counters
come from the trace, or from `counters.csv` beside it.  `timesink steps` shows the steps themselves;
`timesink slow-steps` explains the slow ones.
"""

_BEHAVIOUR_FORMATS = ("text", "csv", "json")
_TABLES = (".parquet", ".csv", ".csv.gz")


def add_functions_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink functions`."""
    add_input(parser)
    add_cycle_options(parser)
    add_option(
        parser, "--top N", "functions to show (default: %(default)s)", type=row_count, default=15
    )
    what = "write to a file; .parquet, .csv and .csv.gz keep the table, .json and .txt the rest"
    add_output(parser, what, _BEHAVIOUR_FORMATS)


def run_functions(options: argparse.Namespace) -> int:
    """Report on what the options name, as they ask."""
    output: Path | None = options.output
    is_table = output is not None and output.name.lower().endswith(_TABLES)
    form = "table"
    if not (is_table and options.format in {None, "csv"}):
        try:
            form = format_of(options, _BEHAVIOUR_FORMATS)
        except UsageError as error:
            # Tables have endings of their own.
            endings = ", ".join((*_TABLES, ".json", ".txt"))
            raise UsageError(error.message, f"end the name in {endings}, or add --format") from None
    if is_table and form != "table":
        raise UsageError(
            f"{output}: this ending is for a table, not for {form}", "leave out --format"
        )
    check_answer(options, form, options.path, options.map)
    from timesink.answers.behaviour import behaviour, behaviour_document  # noqa: PLC0415 - --help should not wait
    from timesink.formats.behaviour import behaviour_csv, write_behaviour  # noqa: PLC0415
    from timesink.model.units import count_noun  # noqa: PLC0415

    with read_options(options, "marker", "by", "map", *CHOICE) as arguments:
        report = behaviour(options.path, **arguments)
    if output is not None and is_table:
        write_behaviour(report.table, output)
        remember_folder(output)
    if form in {"csv", "table"}:
        for note in report.notes:
            print_stderr(note)
    if form == "table":
        print(f"Wrote {output} ({count_noun(report.table.height, 'rows')})")
    elif form == "json":
        give(json.dumps(sayable_values(report.to_dict()), indent=2), output)
    elif form == "csv":
        give(behaviour_csv(report.table).rstrip("\n"), output)
    else:
        give_document(behaviour_document(report, options.top), form, options.output)
    return 0


PARTS = {
    "steps": (STEPS, add_steps_arguments, run_steps),
    "functions": (FUNCTIONS, add_functions_arguments, run_functions),
}

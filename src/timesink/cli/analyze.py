"""Say where the time goes: steps, operators, kernels, memory, modules, ranks, and what to try.

The answer comes first, in a sentence; then the parts of an average step, the operators and
kernels that take most, findings with their numbers, and trace health.  `--view` prints one table
instead, whole: its main columns as text and Markdown, all of them as CSV and JSON.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from timesink.answers.views import GROUPS, VIEWS, check_group
from timesink.cli import outputs, say
from timesink.cli.options import (
    CHOICE,
    CYCLE_TYPES,
    add_cycle_options,
    add_engine_options,
    add_input,
    add_option,
    add_output,
    add_reading,
    engine_from,
    not_empty,
    progress_bar,
    reading_of,
    row_count,
)
from timesink.cli.outputs import (
    check_answer,
    format_of,
    give,
    give_document,
    give_frame,
    give_json,
    remember,
)
from timesink.errors import UsageError

_FORMATS = ("text", "json", "md", "csv", "html")
_WIDEST = 160
"""Characters of a line of a single table."""
_TOP = 10
"""Rows of a table of the whole answer, unless asked for; a page has as many as it has room for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink analyze`."""
    add_input(parser)
    add_option(parser, "--steps RANGE", "only these steps, e.g. 5-8 or 5,7,9")
    add_option(parser, "--top N", "rows to show of a table", type=row_count)
    add_option(parser, "--sort COLUMN", "order a table by this column, the largest first")
    add_option(parser, "--filter TEXT", "only rows of a table that hold this text, in any case")
    add_option(parser, "--group-by", "what operator rows are", choices=GROUPS, default="")
    clocks = "times of the program by itself, or as recorded; a single table is as recorded"
    add_option(parser, "--clock", clocks, choices=("own", "recorded"))
    views = f"print one table: {', '.join(VIEWS)}"
    device = "device to hold efficiency against, e.g. H200; its name in the recording"
    add_option(parser, "--device NAME", device, type=not_empty)
    peaks = "its peaks: a CSV, or dram=4.0TB/s,bf16_tensor=790TFLOP/s"
    add_option(parser, "--peaks SPEC", peaks, type=not_empty)
    formulas = "what operators of your own compute and move: a TOML file"
    add_option(parser, "--formulas FILE", formulas, completed="file")
    add_option(parser, "--view NAME", views, choices=tuple(VIEWS))
    add_option(parser, "--format", "how to say it", choices=_FORMATS)
    add_engine_options(parser)
    what = "write to a file; .json, .md, .csv, .html and .txt choose the format"
    add_output(parser, what)


def run(options: argparse.Namespace) -> int:
    """Analyse what the options name and say it as they ask."""
    form, chosen = format_of(options, _FORMATS), (options.sort, options.filter)
    # Where a table is to be ordered and none is named, it is that of operators.
    view = options.view or ("operators" if any(chosen) else None)
    if form == "html" and view is not None:
        raise UsageError("a single table has no page", "leave out --view, or try --format md")
    if form == "csv" and view is None:
        raise UsageError("csv holds one table", "choose it with --view, e.g. --view operators")
    check_group(options.group_by, view)
    check_answer(options, form, options.path)
    from timesink.answers.analysis.report import analyze  # noqa: PLC0415 - --help should not wait for it

    with progress_bar() as progress:
        analysis = analyze(
            options.path,
            **reading_of(options, "steps", "group_by", "device", "peaks", "formulas", *CHOICE),
            clock=options.clock or "own",
            engine=engine_from(options),
            progress=progress,
        )
    clock = options.clock or "recorded"
    if form == "json" and view is None:
        give_json(analysis.to_json(), options.output)
        return 0
    if view is not None and form in {"csv", "json"}:
        # A table for programs has every column; why it is empty is said beside it.
        from timesink.answers.analysis.sections import (  # noqa: PLC0415
            chosen_rows,
            in_microseconds,
            lists_as_text,
        )

        table = in_microseconds(chosen_rows(analysis.table(view, clock=clock), *chosen))
        if table.is_empty():
            said = VIEWS[view].absent
            say("; ".join(filter(None, (said.reason, said.hint))))
        shown = table if options.top is None else table.head(options.top)
        give_frame(shown if form == "json" else lists_as_text(shown), form, options.output)
        return 0
    from timesink.answers.analysis.document import analysis_document, analysis_report, view_document  # noqa: PLC0415

    if form == "html":
        give(analysis_report(analysis, rows=options.top), options.output)
    elif view is None:
        document = analysis_document(analysis, rows=options.top or _TOP, brief=True)
        give_document(document, form, options)
    else:
        from timesink.analyses.device_utilisation import timeline  # noqa: PLC0415

        start, _ = timeline(analysis.begun(clock))
        document = view_document(
            analysis,
            view,
            start_ns=start,
            rows=options.top,
            sort=options.sort,
            fits=options.filter,
            clock=clock,
        )
        give_document(document, form, options, _WIDEST)
    return 0


# -- timesink whatif -------------------------------------------------------------------------------

WHATIF = r"""Say what a cycle would take if parts of the program took another time, or none.

The recording is played again with each change, in the order given: the new cycle and between
which bounds, what decides it then, and what each change names.  Without a change, or with `--best`,
single changes are tried and ranked.

  timesink whatif trace.json.gz
  timesink whatif trace.json.gz --scale 'kernel:flash*=0.5' --remove sync:aten::item
  timesink whatif trace.json.gz --fuse Optimizer.step --graph cycle --best
  timesink whatif trace.json.gz --device H100:B200 --loader-workers inf -o whatif.html
"""

_WHATIF_FORMATS = ("text", "md", "html", "json", "csv")
_CHANGES = (
    ("--scale WHAT=FACTOR", "what is chosen takes FACTOR times as long"),
    ("--remove WHAT", "what is chosen takes no time, and nobody waits for it"),
    ("--fuse CALL", "what a call launches is launched at once"),
    ("--graph WHAT", "what is chosen (the cycle by default) is launched as one graph"),
    ("--overlap WHAT", "device work beside all other, on a stream of its own"),
    ("--device OLD:NEW", "another device, by its peaks"),
    ("--loader-workers N", "batches are made beside the program by N workers; inf is no end"),
    ("--batch FACTOR", "FACTOR times as many samples per cycle"),
)


class _Asked(argparse.Action):
    """Changes in the order given, whatever their options."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - as argparse calls it
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        asked = (self.option_strings[0].removeprefix("--"), values)
        namespace.changes = (*namespace.changes, asked)


def add_whatif_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink whatif`."""
    add_input(parser)
    group = parser.add_argument_group(
        "changes, one after the other",
        "WHAT is kernel:PATTERN, copy:PATTERN, op:PATTERN, host:PATTERN, self:PATTERN, "
        "call:PATTERN, sync:PATTERN, communication, loading or cycle (docs/what_if.md)",
    )
    for spelled, what in _CHANGES:
        more = {"nargs": "?", "const": "cycle"} if spelled.startswith("--graph") else {}
        add_option(group, spelled, what, action=_Asked, dest="changes", default=(), **more)
    add_option(parser, "--best", "try single changes as well, and rank them")
    files = "write to a file; .txt, .md, .html, .json, .csv choose the format"
    add_output(parser, files, _WHATIF_FORMATS)


def run_whatif(options: argparse.Namespace) -> int:
    """Say what the changes save, as the options ask."""
    form = format_of(options, _WHATIF_FORMATS)
    check_answer(options, form, options.path)
    from timesink.analyses.replay.changes import parse_change  # noqa: PLC0415 - --help should not wait
    from timesink.answers.what_if import what_if_document, whatif  # noqa: PLC0415

    changes = [parse_change(action, value) for action, value in options.changes]
    with progress_bar() as progress:
        best = True if options.best else None
        found = whatif(
            options.path, changes, best=best, **reading_of(options, *CHOICE), progress=progress
        )
    if form == "json":
        give_json(found.to_json(), options.output)
    elif form == "csv":
        give_frame(found.best if found.ranks_single else found.critical_path, form, options.output)
    else:
        give_document(what_if_document(found), form, options)
    return 0


# -- timesink cycles -------------------------------------------------------------------------------

CYCLES = r"""Find the repeating unit of a run: steps, passes, layers.

Profiler steps come first, then an annotation that repeats, then the Python call on top of the
program's loop, then the period of the kernel sequence.  Where nothing is seen to repeat, that is
said instead of a guess.

  timesink cycles trace.json.gz
  timesink cycles trace.json.gz --marker decode_step
  timesink cycles trace.json.gz --by layer --format csv
"""

_CYCLES_FORMATS = ("text", "csv", "md", "json")


def add_cycles_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink cycles`."""
    add_input(parser)
    add_cycle_options(parser, counters=False)
    add_option(parser, "--pid P", "only this process")
    add_output(parser, "write to a file; .txt, .csv, .md, .json choose the format", _CYCLES_FORMATS)


def run_cycles(options: argparse.Namespace) -> int:
    """Find cycles and say which, as the options ask."""
    form = format_of(options, _CYCLES_FORMATS)
    check_answer(options, form, options.path)
    from timesink.answers.cycles import cycles, cycles_document  # noqa: PLC0415 - --help should not wait for it

    with progress_bar() as progress:
        asked = reading_of(options, "marker", "by", "pid", *CHOICE)
        report = cycles(options.path, **asked, progress=progress)
    if form == "json":
        give_json(report.to_json(), options.output)
    elif form == "csv":
        for why in report.refused:
            say(why.message)
        give_frame(report.table, form, options.output)
    else:
        give_document(cycles_document(report, detail=form == "md"), form, options)
    return 0


# -- timesink behaviour ----------------------------------------------------------------------------

BEHAVIOUR = """Say what functions cost cycle by cycle, and how loaded the hardware was meanwhile.

Counters are those in the trace, or in a `counters.csv` beside it.  The table has a row per cycle,
function, device and counter; `-o` keeps it for a comparison.

  timesink behaviour trace.json.gz
  timesink behaviour trace.json.gz --marker decode_step -o run.behaviour.parquet
  timesink compare base.behaviour.parquet new.behaviour.parquet
"""

_BEHAVIOUR_FORMATS = ("text", "csv", "json")
_TABLES = (".parquet", ".csv", ".csv.gz")


def add_behaviour_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink behaviour`."""
    add_input(parser)
    add_cycle_options(parser)
    add_option(parser, "--top N", "functions to show", type=row_count, default=15)
    what = "write to a file; .parquet, .csv and .csv.gz keep the table, .json and .txt the rest"
    add_output(parser, what, _BEHAVIOUR_FORMATS)


def run_behaviour(options: argparse.Namespace) -> int:
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


# -- timesink diagnose -----------------------------------------------------------------------------

DIAGNOSE = """Say which cycles of a run take longer than its others, and why.

PATH is a recording, a folder of them (one per rank), or a behaviour table.  Every process is looked
at for itself: its slow cycles are set against the typical ones.

  timesink diagnose trace.json.gz
  timesink diagnose run/ --rank 3 --marker decode_step
  timesink diagnose run.behaviour.parquet --cycles decode -o why.md
  timesink diagnose trace.json.gz -o report.html
"""

_DIAGNOSE_FORMATS = ("text", "md", "json", "html")
_IN_FOLDER = ("md", "json")


def add_diagnose_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink diagnose`."""
    what = "a recording, a folder of them, or a table"
    add_option(parser, "path PATH", what, completed="file")
    which = parser.add_argument_group("what to look at")
    add_option(which, "--pid P", "one process")
    add_option(which, "--rank N", "one rank", type=int)
    add_option(which, "--cycles", "one sort of cycle", choices=CYCLE_TYPES)
    add_cycle_options(parser)
    add_reading(parser)
    add_output(
        parser, "write to a file (.txt, .md, .json, .html), or to a folder", _DIAGNOSE_FORMATS
    )


def run_diagnose(options: argparse.Namespace) -> int:
    """Diagnose what the options name, and say it as they ask."""
    files = _diagnosis_files(options)
    for form in files.values():
        outputs.check_page(form)
    for path in filter(None, files):
        for source in filter(None, (options.path, options.map)):
            outputs.check_output(path, source, force=options.force)
    from timesink.answers.diagnosis import diagnose, diagnosis_document  # noqa: PLC0415 - --help is quick

    with progress_bar() as progress:
        asked = reading_of(options, "pid", "rank", "cycles", "marker", "by", "map")
        report = diagnose(options.path, **asked, progress=progress)
    for place, form in files.items():
        if form == "json":
            outputs.give_json(report.to_json(), place)
        else:
            document = diagnosis_document(report, brief=form != "html")
            outputs.give_document(document, form, argparse.Namespace(output=place))
    return 0


def _diagnosis_files(options: argparse.Namespace) -> dict[Path | None, str]:
    """Where the answer goes, and as what; to a folder as Markdown and as JSON."""
    folder = outputs.output_folder(options.output)
    if folder is None:
        return {options.output: outputs.format_of(options, _DIAGNOSE_FORMATS)}
    if options.format == "text":
        raise UsageError("a folder holds md and json", "name a file with -o FILE.txt")
    outputs.check_folder(folder)
    forms = (options.format,) if options.format else _IN_FOLDER
    return {folder / f"diagnosis.{form}": form for form in forms}

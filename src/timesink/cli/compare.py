"""Say what changed between two runs, cycle by cycle, and why.

BASE and NEW are recordings, folders of them (one per rank), behaviour tables, or baselines kept
by `timesink baseline` (@NAME).  Runs of many ranks are compared as a whole, too: steps, stragglers
that came or went, collectives.  One path is a folder that holds both sides, normal and abnormal,
or several such cases.  More paths, or `--explore`, are roles to be told apart: which behave alike,
and how the groups differ.  With `--fail-on` or `--budget` the exit code is 3 where NEW does not
pass, and 1 where that cannot be judged.

  timesink compare before.json.gz after.json.gz
  timesink compare before.json.gz after.json.gz -o report.html
  timesink compare base/ new/ --marker decode_step --format report -o report.md
  timesink compare case/ --pid 944615 --cycles decode --format csv
  timesink compare runs/*.parquet --explore -o results
  timesink compare @main new/ --fail-on 5% -o comment.md
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.cli.common import add_cycle_options, add_output, add_reading, progress_bar
from timesink.cli.compare_folder import check_folder, output_folder, write_error, write_folder
from timesink.cli.compare_outputs import JudgedComparison, give_answer, give_error
from timesink.cli.engine_options import add_engine_options, engine_from
from timesink.cli.gated import (
    add_gate,
    budgets_of,
    check_gate,
    concluded,
    gate_for,
    gate_for_error,
    is_asked,
    needs_gate,
)
from timesink.cli.outputs import check_output, check_page, format_of
from timesink.cli.values import not_empty, row_count
from timesink.errors import TimesinkError, UsageError

if TYPE_CHECKING:
    from timesink.reports.comparison import Comparison

TABLES = ("rows", "times", "families")
CYCLE_TYPES = ("prefill", "decode", "layer", "generic")
"""Sorts of cycles; `timesink.reports.comparison.choosing` has them too, and is slow to load."""
_FORMATS = ("text", "csv", "md", "report", "json", "junit", "html")
_ENDINGS = ("text", "csv", "md", "json", "xml", "html")
_WITHOUT_CHOICE = ("md", "report", "json", "junit", "html")
"""Formats that hold what they hold, whatever rows or tables are asked for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink compare`."""
    paths = parser.add_argument(
        "paths", metavar="PATH", nargs="+", type=not_empty, help="BASE and NEW, a case, or roles"
    )
    paths.complete = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # type: ignore[attr-defined]
    which = parser.add_argument_group("what to compare")
    which.add_argument("--pid", metavar="P", help="one process, or BASE,NEW")
    which.add_argument("--rank", metavar="N", type=int, help="one rank")
    which.add_argument("--device", metavar="D", type=not_empty, help="one device: Host, 7, 'GPU 7'")
    which.add_argument("--cycles", choices=CYCLE_TYPES, help="one sort of cycle")
    which.add_argument("--explore", action="store_true", help="tell roles apart, pair none")
    which.add_argument("--ignore-hosts", action="store_true", help="processes by number alone")
    add_cycle_options(parser)
    add_gate(parser)
    parser.add_argument("--table", choices=TABLES, help="one table: text or csv")
    parser.add_argument("--top", metavar="N", type=row_count, help="rows to show of a table")
    add_reading(parser)
    add_engine_options(parser)
    parser.add_argument("--format", choices=_FORMATS, help="how to say it")
    add_output(parser, "write to a file (.txt, .csv, .md, .json, .xml, .html), or to a folder")


def run(options: argparse.Namespace) -> int:
    """Compare what the options name, and say it as they ask."""
    folder = output_folder(options.output)
    form = (options.format or "") if folder else _format(options)
    _check(options, form, folder)
    try:
        budgets = budgets_of(options)
        comparison = _compare(options)
        gate = gate_for(comparison, options, budgets) if needs_gate(options, form) else None
    except TimesinkError as error:
        _give_error(error, options, form, folder)
        raise
    _give(JudgedComparison(comparison, gate), options, form, folder)
    return concluded(gate) if gate is not None and is_asked(options) else 0


def _give(
    said: JudgedComparison, options: argparse.Namespace, form: str, folder: Path | None
) -> None:
    if folder is None:
        give_answer(said, options, form)
    else:
        write_folder(said, options, form, folder)


def _give_error(
    error: TimesinkError, options: argparse.Namespace, form: str, folder: Path | None
) -> None:
    """What a gate says of runs that cannot be compared, or of budgets that cannot be read."""
    if not needs_gate(options, form):
        return
    gate = gate_for_error(error, options)
    if folder is None:
        give_error(gate, error, options, form)
    else:
        write_error(gate, error, form, folder)


def _format(options: argparse.Namespace) -> str:
    """The format asked for, or that of the ending."""
    found = format_of(options, _ENDINGS)
    return "junit" if found == "xml" else found


def _check(options: argparse.Namespace, form: str, folder: Path | None) -> None:
    """Refuse what cannot work before the long work starts."""
    if form in _WITHOUT_CHOICE and (options.table or options.top):
        left_out = "--table" if options.table else "--top"
        raise UsageError(f"{form} has no choice of tables", f"leave out {left_out}, or try csv")
    check_gate(options, form)
    check_page(form)
    if folder is not None:
        check_folder(folder, options, form)
    elif options.output is not None:
        for path in options.paths:
            check_output(options.output, path, force=options.force)


def _compare(options: argparse.Namespace) -> Comparison:
    from timesink.reports.ahead import Question, started_early  # noqa: PLC0415 - as below

    is_plain = not (options.explore or options.no_cache or options.map or options.rank)
    paths = [Path(path) for path in options.paths] if is_plain else []
    question = Question(options.marker, options.by)
    with started_early(paths, question, jobs=options.jobs), progress_bar() as progress:
        # --help does not wait for this.
        from timesink.reports.comparison import compare  # noqa: PLC0415

        return compare(
            *options.paths,
            pid=options.pid,
            rank=options.rank,
            device=options.device,
            cycle_type=options.cycles,
            marker=options.marker,
            by=options.by,
            metric_map=options.map,
            explore=options.explore,
            ignore_hosts=options.ignore_hosts,
            store=options.store,
            cache=not options.no_cache,
            jobs=options.jobs,
            progress=progress,
            engine=engine_from(options),
        )

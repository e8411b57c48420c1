"""Say what changed between two runs, cycle by cycle, and why.

BASE and NEW are recordings, folders of them (one per rank), or behaviour tables.  One path is a
folder that holds both sides, normal and abnormal, or several such cases.  More paths, or
`--explore`, are roles to be told apart: which behave alike, and how the groups differ.

  timesink compare before.json.gz after.json.gz
  timesink compare base/ new/ --marker decode_step -o report.md
  timesink compare case/ --pid 944615 --cycles decode --format csv
  timesink compare runs/*.parquet --explore -o results
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.cli.common import (
    add_cycle_options,
    add_output,
    add_reading,
    as_bytes,
    check_output,
    format_of,
    give,
    not_empty,
    progress_bar,
    row_count,
    save,
)
from timesink.errors import AmbiguousError, NotFoundError, OutputError, UsageError
from timesink.model import units

if TYPE_CHECKING:
    from timesink.reports.comparison import Compared, Comparison

TABLES = ("rows", "times", "families")
CYCLE_TYPES = ("prefill", "decode", "layer", "generic")
"""Sorts of cycles; `timesink.reports.comparison.choosing` has them too, and is slow to load."""
_FORMATS = ("text", "csv", "md", "json")
_WHOLE = ("md", "json")
_TOP = 10
_SHOWN = 4


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
    parser.add_argument("--table", choices=TABLES, help="one table: text or csv")
    parser.add_argument("--top", metavar="N", type=row_count, help="rows to show of a table")
    add_reading(parser)
    parser.add_argument("--format", choices=_FORMATS, help="how to say it")
    add_output(parser, "write to a file (.txt, .csv, .md, .json), or every table to a folder")


def run(options: argparse.Namespace) -> int:
    """Compare what the options name, and say it as they ask."""
    folder = output_folder(options.output)
    form = (options.format or "") if folder else format_of(options, _FORMATS)
    _check(options, form, folder)
    comparison = _compare(options)
    if folder is not None:
        _write_folder(comparison, options, form, folder)
        return 0
    _keep_sources(comparison, options.output)
    _GIVERS[form](comparison, options)
    return 0


def output_folder(output: Path | None) -> Path | None:
    """The folder results go to: one that is there, or a name without an ending."""
    if output is None:
        return None
    return output if output.is_dir() or not output.suffix else None


def _check(options: argparse.Namespace, form: str, folder: Path | None) -> None:
    """Refuse what cannot work before the long work starts."""
    if form in _WHOLE and (options.table or options.top):
        left_out = "--table" if options.table else "--top"
        raise UsageError(f"{form} holds every table whole", f"leave out {left_out}, or try csv")
    if folder is not None:
        if form == "text":
            raise UsageError("a folder holds csv, md and json", "name a file with -o FILE.txt")
        if folder.is_file():
            raise OutputError.unwritable(folder, "it is a file")
        if not folder.parent.is_dir():
            raise OutputError.no_folder(folder)
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
            cache=not options.no_cache,
            jobs=options.jobs,
            progress=progress,
        )


def _keep_sources(comparison: Comparison, output: Path | None) -> None:
    """Never overwrite what was read, whatever --force says."""
    if output is not None and _was_read(comparison, output):
        raise OutputError(f"{output}: is what is read, and is not overwritten", "choose another -o")


def _was_read(comparison: Comparison, output: Path) -> bool:
    return output.resolve() in {Path(role.source).resolve() for role in comparison.roles}


# -- one output ------------------------------------------------------------------------------------


def _give_text(comparison: Comparison, options: argparse.Namespace) -> None:
    from timesink.render.comparison import text  # noqa: PLC0415

    top = options.top or _TOP
    if options.output is None:
        text.print_text(comparison, top, options.table)
    else:
        give(text.to_text(comparison, top, options.table), options.output)


def _give_csv(comparison: Comparison, options: argparse.Namespace) -> None:
    from timesink.render.comparison.csv import table_csv  # noqa: PLC0415

    one = _only_pair(comparison)
    _warn(comparison)
    _say_table(one, options.table)
    give(table_csv(one.pair, options.table, options.top), options.output)


def _give_md(comparison: Comparison, options: argparse.Namespace) -> None:
    from timesink.render.comparison.markdown import comparison_md  # noqa: PLC0415

    _warn_of_unequal_work(comparison)
    give(comparison_md(comparison).removesuffix("\n"), options.output)


def _give_json(comparison: Comparison, options: argparse.Namespace) -> None:
    from timesink.render.comparison.files import indented_json  # noqa: PLC0415

    _warn(comparison)
    give(indented_json(comparison), options.output)


_GIVERS: dict[str, Callable[[Comparison, argparse.Namespace], None]] = {
    "text": _give_text,
    "csv": _give_csv,
    "md": _give_md,
    "json": _give_json,
}


def _only_pair(comparison: Comparison) -> Compared:
    """The pair of a table; of several, none is meant more than another."""
    pairs = comparison.all_pairs
    if len(pairs) == 1:
        return pairs[0]
    if not pairs:
        raise _nothing_to_compare()
    raise AmbiguousError(
        f"csv holds one pair, and there are {len(pairs)} ({_which(comparison)})",
        f"{_how_to_choose(comparison)}write all of them with -o DIR",
    )


def _which(comparison: Comparison) -> str:
    """Which pairs there are."""
    if comparison.exploration is not None:
        return f"of {len(comparison.exploration.clusters)} groups of roles"
    return units.listed(comparison.pair_names, _SHOWN, "; ")


def _how_to_choose(comparison: Comparison) -> str:
    """Groups of roles are what they are; of other pairs one can be named."""
    if comparison.exploration is not None:
        return ""
    from timesink.reports.comparison.choosing import as_options  # noqa: PLC0415

    options = as_options(comparison.choices)
    return f"choose one, as with {options}, or " if options else "give the files of one pair, or "


def _nothing_to_compare() -> NotFoundError:
    return NotFoundError(
        "all roles behave alike: there are no two groups to compare",
        "the roles and their distances are in --format json",
    )


def _say_table(one: Compared, table: str | None) -> None:
    """Say that a CSV holds times where nobody asked for them, or why it holds no rows."""
    from timesink.render.comparison.csv import table_of  # noqa: PLC0415

    if table is None and table_of(one.pair, None) == "times":
        print(
            f"{one.title}: no counter was recorded on either side; this is the time of each "
            "function (--table times)",
            file=sys.stderr,
        )
    if table == "families" and one.pair.families.is_empty():
        from timesink.render.comparison.tables import NO_FAMILIES  # noqa: PLC0415

        print(f"{one.title}: {NO_FAMILIES}", file=sys.stderr)


def _warn(comparison: Comparison) -> None:
    """Say what tables cannot: unlike work first, then what was left out."""
    _warn_of_unequal_work(comparison)
    for note in comparison.notes:
        print(note, file=sys.stderr)


def _warn_of_unequal_work(comparison: Comparison) -> None:
    for one in comparison.all_pairs:
        workload = one.pair.workload
        if not workload.comparable:
            why = " ".join(workload.reasons)
            print(
                f"{one.title}: cycles do not hold the same work. {why}",
                file=sys.stderr,
            )


# -- a folder --------------------------------------------------------------------------------------


def _write_folder(
    comparison: Comparison, options: argparse.Namespace, form: str, folder: Path
) -> None:
    """Every file of the comparison, or those of one format."""
    from timesink.render.comparison.files import FORMATS, files_of  # noqa: PLC0415

    formats = (form,) if form else FORMATS
    files = list(files_of(comparison, formats, options.table, options.top))
    if not files:
        raise _nothing_to_compare()
    for name, _ in files:
        _check_file(folder / name, comparison, force=options.force)
    _warn(comparison)
    for one in comparison.all_pairs if "csv" in formats else ():
        _say_table(one, options.table)
    folder.mkdir(exist_ok=True)
    for name, make in files:
        save(as_bytes(make().removesuffix("\n")), folder / name)
    print(f"Wrote {units.counted(len(files), 'files')} to {folder}", file=sys.stderr)


def _check_file(path: Path, comparison: Comparison, *, force: bool) -> None:
    _keep_sources(comparison, path)
    if path.is_dir():
        raise OutputError.unwritable(path, "it is a folder")
    if path.exists() and not force:
        raise OutputError.exists(path)

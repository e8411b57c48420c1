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
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.cli.gate import (
    add_gate,
    budgets_of,
    check_gate,
    command_of,
    concluded,
    gate_for,
    gate_for_error,
    handed_over,
    is_asked,
    junit,
    needs_gate,
)
from timesink.cli.options import (
    add_cycle_options,
    add_engine_options,
    add_output,
    add_reading,
    engine_from,
    not_empty,
    progress_bar,
    row_count,
)
from timesink.cli.outputs import as_bytes, check_output, check_page, format_of, save
from timesink.errors import AmbiguousError, NotFoundError, OutputError, TimesinkError, UsageError
from timesink.model import units

if TYPE_CHECKING:
    from timesink.answers.comparison import Compared, Comparison
    from timesink.answers.comparison.gate_result import Gate


# What `timesink compare` says on the screen or in one file.

_SHOWN = 4


@dataclass(frozen=True, slots=True, eq=False)
class JudgedComparison:
    """What there is to say."""

    comparison: Comparison
    gate: Gate | None = None


def give_answer(said: JudgedComparison, options: argparse.Namespace, form: str) -> None:
    """Say it on the screen or in a file."""
    keep_sources(said.comparison, options.output)
    _GIVERS[form](said, options)


def give_error(gate: Gate, error: TimesinkError, options: argparse.Namespace, form: str) -> None:
    """What test results, comments, pages and JSON show of runs that cannot be compared.

    Tables and reports show nothing: a file that an earlier run left goes.
    """
    if form == "md":
        _give_text(comment_of_error(gate), options.output)
    elif form == "junit":
        _give_text(junit(gate), options.output)
    elif form == "json":
        _give_text(json_of_error(gate, error), options.output)
    elif form == "html":
        _give_text(page_of_error(gate, error), options.output)
    elif options.output is not None:
        options.output.unlink(missing_ok=True)


def _give_text(text: str, path: Path | None, notices: Iterable[str] = ()) -> None:
    """Hand over a result, files first: whoever reads the screen may have left."""
    if path is None:
        say(notices)
        handed_over(lambda: print(text), sys.stdout)
    else:
        save(as_bytes(text), path)
        say([*notices, f"Wrote {path}"])


def say(notices: Iterable[str]) -> None:
    """Lines on standard error."""
    lines = list(notices)
    if lines:
        handed_over(lambda: print("\n".join(lines), file=sys.stderr), sys.stderr)


def keep_sources(comparison: Comparison, output: Path | None) -> None:
    """Never overwrite what was read, whatever --force says."""
    if output is not None and _was_read(comparison, output):
        raise OutputError(f"{output}: is what is read, and is not overwritten", "choose another -o")


def _was_read(comparison: Comparison, output: Path) -> bool:
    return output.resolve() in {Path(role.source).resolve() for role in comparison.roles}


def _give_terminal(said: JudgedComparison, options: argparse.Namespace) -> None:
    from timesink.answers.comparison.document import TOP, comparison_document, one_table_document  # noqa: PLC0415
    from timesink.output import terminal  # noqa: PLC0415

    top = options.top or TOP
    if options.table is None:
        # The gate says its part on standard error.
        document = comparison_document(said.comparison, top=top)
    else:
        document = one_table_document(said.comparison, options.table, top)
    if options.output is None:
        handed_over(lambda: terminal.print_text(document), sys.stdout)
    else:
        _give_text(terminal.to_text(document), options.output)


def _give_csv(said: JudgedComparison, options: argparse.Namespace) -> None:
    from timesink.answers.comparison.published_tables import table_csv  # noqa: PLC0415

    one = _only_pair(said.comparison)
    notices = [*warnings(said.comparison), *said_of_table(one, options.table)]
    _give_text(table_csv(one.pair, options.table, options.top), options.output, notices)


def _give_md(said: JudgedComparison, options: argparse.Namespace) -> None:
    notices = _unequal_work(said.comparison) if said.gate is None else ()
    _give_text(comment(said, options), options.output, notices)


def comment(said: JudgedComparison, options: argparse.Namespace) -> str:
    """The comment on a pull request, with the command that says all of it."""
    from timesink.answers.comparison.gate import comment_md  # noqa: PLC0415

    everything = command_of(options, "--format", "report")
    return comment_md(said.comparison, said.gate, everything)


def comment_of_error(gate: Gate) -> str:
    """The comment of runs that cannot be compared."""
    from timesink.answers.comparison.gate import gate_md  # noqa: PLC0415

    return gate_md(gate)


def json_of_error(gate: Gate, error: TimesinkError) -> str:
    """The JSON of runs that cannot be compared."""
    from timesink.answers.comparison.document import error_json  # noqa: PLC0415

    return error_json(gate, error)


def page_of_error(gate: Gate, error: TimesinkError) -> str:
    """The page of runs that cannot be compared."""
    from timesink.answers.comparison.gate import error_document  # noqa: PLC0415
    from timesink.output.html import report_html  # noqa: PLC0415

    return report_html(error_document(gate, error))


def page(said: JudgedComparison) -> str:
    """Everything as one page that needs nothing else."""
    from timesink.answers.comparison.document import comparison_document  # noqa: PLC0415
    from timesink.output.html import report_html  # noqa: PLC0415

    return report_html(comparison_document(said.comparison, said.gate))


def _give_html(said: JudgedComparison, options: argparse.Namespace) -> None:
    notices = _unequal_work(said.comparison) if said.gate is None else ()
    _give_text(page(said), options.output, notices)


def _give_report(said: JudgedComparison, options: argparse.Namespace) -> None:
    from timesink.answers.comparison.published_report import comparison_md  # noqa: PLC0415

    text = comparison_md(said.comparison).removesuffix("\n")
    _give_text(text, options.output, _unequal_work(said.comparison))


def _give_json(said: JudgedComparison, options: argparse.Namespace) -> None:
    from timesink.answers.comparison.document import indented_json  # noqa: PLC0415

    text = indented_json(said.comparison, said.gate)
    _give_text(text, options.output, warnings(said.comparison))


def _give_junit(said: JudgedComparison, options: argparse.Namespace) -> None:
    if said.gate is not None:  # this format has one
        _give_text(junit(said.gate), options.output)


_GIVERS: dict[str, Callable[[JudgedComparison, argparse.Namespace], None]] = {
    "text": _give_terminal,
    "csv": _give_csv,
    "md": _give_md,
    "report": _give_report,
    "json": _give_json,
    "junit": _give_junit,
    "html": _give_html,
}


def _only_pair(comparison: Comparison) -> Compared:
    """The pair of a table; of several, none is meant more than another."""
    pairs = comparison.all_pairs
    if len(pairs) == 1:
        return pairs[0]
    if not pairs:
        raise nothing_to_compare()
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
    from timesink.answers.comparison.pairing import as_options  # noqa: PLC0415

    options = as_options(comparison.choices)
    return f"choose one, as with {options}, or " if options else "give the files of one pair, or "


def nothing_to_compare() -> NotFoundError:
    """Roles that are all alike make no pair."""
    return NotFoundError(
        "all roles behave alike: there are no two groups to compare",
        "the roles and their distances are in --format json",
    )


def said_of_table(one: Compared, table: str | None) -> Iterator[str]:
    """That a CSV holds times where nobody asked for them, or why it holds no rows."""
    from timesink.answers.comparison.published_tables import table_of  # noqa: PLC0415

    if table is None and table_of(one.pair, None) == "times":
        yield (
            f"{one.title}: no counter was recorded on either side; this is the time of each "
            "function (--table times)"
        )
    if table == "families" and one.pair.families.is_empty():
        from timesink.answers.comparison.pair_tables import NO_FAMILIES  # noqa: PLC0415

        yield f"{one.title}: {NO_FAMILIES}"


def warnings(comparison: Comparison) -> Iterator[str]:
    """What tables cannot say: unlike work first, then what was left out."""
    yield from _unequal_work(comparison)
    yield from comparison.notes


def _unequal_work(comparison: Comparison) -> Iterator[str]:
    for one in comparison.all_pairs:
        workload = one.pair.workload
        if not workload.comparable:
            why = " ".join(workload.reasons)
            yield f"{one.title}: cycles do not hold the same work. {why}"


# What `timesink compare -o DIR` writes: tables, reports and JSON, and what a gate says of them.

_COMMENT, _RESULTS = "comment.md", "junit.xml"
"""What a pipeline publishes."""
_WHOLE = "comparison.json"
"""What programs read."""
_PAGE = "comparison.html"
"""What people look at."""


def output_folder(output: Path | None) -> Path | None:
    """The folder results go to: one that is there, or a name without an ending."""
    if output is None:
        return None
    return output if output.is_dir() or not output.suffix else None


def check_folder(folder: Path, options: argparse.Namespace, form: str) -> None:
    """Refuse a folder that cannot work before the long work starts.

    What says "passed" of an earlier run must not be taken for that of this one, however this one
    ends.
    """
    if form == "text":
        raise UsageError("a folder holds no text", "name a file with -o FILE.txt")
    if folder.is_file():
        raise OutputError.unwritable(folder, "it is a file")
    if not folder.parent.is_dir():
        raise OutputError.no_folder(folder)
    for name in _with_outcome(form, gated=needs_gate(options, form)):
        _check_file(folder / name, force=options.force)


def write_folder(
    said: JudgedComparison, options: argparse.Namespace, form: str, folder: Path
) -> None:
    """Every file of the comparison, or those of one format."""
    files = list(_files(said, options, form))
    if not files:
        raise nothing_to_compare()
    for name, _ in files:
        keep_sources(said.comparison, folder / name)
        _check_file(folder / name, force=options.force)
    # Files first: whoever reads the screen may have left.
    folder.mkdir(exist_ok=True)
    for name, make in files:
        save(as_bytes(make().removesuffix("\n")), folder / name)
    tables = said.comparison.all_pairs if form in {"", "csv"} else ()
    notices = [line for one in tables for line in said_of_table(one, options.table)]
    wrote = f"Wrote {units.counted(len(files), 'files')} to {folder}"
    # Of many ranks the same is to say, under one title.
    say([*dict.fromkeys([*warnings(said.comparison), *notices]), wrote])


def write_error(gate: Gate, error: TimesinkError, form: str, folder: Path) -> None:
    """What a pipeline publishes of runs that cannot be compared."""
    makers = {
        _COMMENT: partial(comment_of_error, gate),
        _RESULTS: partial(junit, gate),
        _WHOLE: partial(json_of_error, gate, error),
        _PAGE: partial(page_of_error, gate, error),
    }
    for name in _with_outcome(form, gated=True):
        folder.mkdir(exist_ok=True)
        save(as_bytes(makers[name]()), folder / name)


def _with_outcome(form: str, *, gated: bool) -> Iterator[str]:
    """Files that say how it ended, whatever was compared."""
    yield from _published(form, gated=gated)
    if form in {"", "json"}:
        yield _WHOLE
    if form == "html":
        yield _PAGE


def _published(form: str, *, gated: bool) -> Iterator[str]:
    if form == "md" or (gated and not form):
        yield _COMMENT
    if gated and form in {"", "junit"}:
        yield _RESULTS


def _files(
    said: JudgedComparison, options: argparse.Namespace, form: str
) -> Iterator[tuple[str, Callable[[], str]]]:
    """Tables, reports and JSON; of a gate, a comment and test results as well."""
    from timesink.answers.comparison.document import FORMATS, files_of  # noqa: PLC0415

    formats = (form,) if form else FORMATS
    gate = said.gate
    yield from files_of(said.comparison, formats, options.table, options.top, gate)
    for name in _published(form, gated=gate is not None):
        if name == _COMMENT:
            yield name, partial(comment, said, options)
        elif gate is not None:
            yield name, partial(junit, gate)
    if form == "html":
        yield _PAGE, partial(page, said)


def _check_file(path: Path, *, force: bool) -> None:
    if path.is_dir():
        raise OutputError.unwritable(path, "it is a folder")
    if path.exists() and not force:
        raise OutputError.exists(path)


TABLES = ("rows", "times", "families")
CYCLE_TYPES = ("prefill", "decode", "layer", "generic")
"""Sorts of cycles; `timesink.answers.comparison.pairing` has them too, and is slow to load."""
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
    from timesink.answers.ahead import Question, started_early  # noqa: PLC0415 - as below

    is_plain = not (options.explore or options.no_cache or options.map or options.rank)
    paths = [Path(path) for path in options.paths] if is_plain else []
    question = Question(options.marker, options.by)
    with started_early(paths, question, jobs=options.jobs), progress_bar() as progress:
        # --help does not wait for this.
        from timesink.answers.comparison import compare  # noqa: PLC0415

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

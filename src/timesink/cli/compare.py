"""Compare two runs and name what changed.

  timesink compare before.json.gz after.json.gz
  timesink compare before.json.gz after.json.gz -o report.html
  timesink compare base/ new/ --marker decode_step --format report -o report.md
  timesink compare case/ --pid 944615 --step-type decode --format csv
  timesink compare runs/*.parquet --explore -o results
  timesink compare @main new/ --fail-on 5% -o comment.md

BASE and NEW are recordings, folders of one per rank, behaviour tables, memory snapshots, folders
of logs of collectives, or baselines (@NAME).  One path is a folder with a normal and an abnormal
run, or with several such cases.  With more paths, or --explore, processes are grouped by how they
behave.  With --fail-on or --budget the exit code is 3 when NEW fails, and 1 when that is not
decided.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from timesink.answers.comparison.naming import pair_title
from timesink.cli import outputs
from timesink.cli.command_line import print_stderr
from timesink.cli.compare_untimed import UntimedPaths, run_untimed, untimed_paths
from timesink.cli.options import (
    add_cycle_options,
    add_cycle_type,
    add_engine_options,
    add_limit,
    add_option,
    add_output,
    add_rank,
    add_reading,
    add_top,
    engine_from,
    not_empty,
    read_options,
)
from timesink.comparison.gate.verdict import Limit
from timesink.errors import (
    AmbiguousError,
    MissingPathError,
    NotFoundError,
    OutputError,
    TimesinkError,
    UsageError,
)
from timesink.model import units
from timesink.model.findings import GateCheck
from timesink.sources.ab_folder import is_ab
from timesink.sources.places import without_password

if TYPE_CHECKING:
    from timesink.answers.comparison.gate_result import GateAnswer
    from timesink.comparison.gate.budget_file import Budget
    from timesink.comparison.results import Comparison, Pair


# Whether NEW passes: `--fail-on` and `--budget`.

_CHOICES = ("pid", "rank", "device", "cycles", "marker", "by", "map", "peaks")
"""Options that choose what is compared, and how cycles are found."""
_TOLD_APART = "these processes are grouped, not compared as two runs"


def _is_asked(options: argparse.Namespace) -> bool:
    """Whether the exit code says if the run passes."""
    return options.fail_on is not None or options.budget is not None


def _needs_gate(options: argparse.Namespace, form: str) -> bool:
    """Whether there is something to judge: test results are a judgement."""
    return _is_asked(options) or form == "junit"


def _check_gate(options: argparse.Namespace) -> None:
    """Refuse what has no verdict, before anything is read."""
    if options.explore:
        raise _nothing_to_judge("--explore groups processes and gives no verdict")
    if len(options.paths) == 2 or options.against or is_ab(Path(options.paths[0])):
        return
    from timesink.comparison.inputs import find_cases  # noqa: PLC0415 - most have two
    from timesink.sources.discovery import find_recordings  # noqa: PLC0415

    # Each path has to hold both sides; one that is not there is another error.
    paths = [Path(path) for path in options.paths]
    if not all(not path.exists() or find_cases(path) for path in paths):
        for path in filter(Path.is_dir, paths):
            find_recordings(path)  # a folder without any is refused as such
        problem = f"{options.paths[0]}: this is one run, whose processes are grouped"
        raise _nothing_to_judge(_TOLD_APART if len(options.paths) > 1 else problem)


def _gate_for(
    comparison: Comparison, options: argparse.Namespace, budgets: Sequence[Budget] | None
) -> GateAnswer:
    """The gate of a comparison; where none is asked for, that of any regression."""
    from timesink.answers.comparison.gate_result import gate_of  # noqa: PLC0415 - --help is quick

    if comparison.exploration is not None:
        raise _nothing_to_judge(_TOLD_APART)
    results: tuple[GateCheck, ...] = ()
    if budgets is not None:
        from timesink.answers.comparison.budgets import evaluate  # noqa: PLC0415 - start-up time

        results = evaluate(budgets, comparison)
    limit = options.fail_on if _is_asked(options) else Limit()
    gate_options = " ".join(_gate_options(options))
    return gate_of(comparison, limit, results, options=gate_options, command=_command_of(options))


def _nothing_to_judge(why: str) -> UsageError:
    return UsageError(f"{why}: nothing can pass or fail", "give BASE and NEW, two runs")


def _handed_over(give: Callable[[], None], stream: TextIO) -> None:
    """Say something; a reader who leaves early, as `head` does, does not make a gate pass."""
    try:
        give()
        stream.flush()
    except BrokenPipeError:
        with open(os.devnull, "w") as nowhere:  # noqa: PTH123 - it is no file
            os.dup2(nowhere.fileno(), stream.fileno())


def _junit(gate: GateAnswer) -> str:
    """The gate as JUnit XML, of now and here."""
    from timesink.answers.comparison.gate import gate_xml  # noqa: PLC0415 - start-up time

    return gate_xml(gate, datetime.now(), socket.gethostname())  # noqa: DTZ005 - it has no zone


def _command_of(options: argparse.Namespace, *more: str) -> tuple[str, ...]:
    """A command line that compares the same, and judges it the same unless `more` is asked."""
    chosen: list[str] = []
    for name in _CHOICES:
        value = getattr(options, name)
        if value is not None:
            chosen += _option(name, str(value))
    if options.store is not None:
        # Others read the comment and the log.
        chosen += _option("store", without_password(options.store))
    if options.ignore_hosts:
        chosen.append("--ignore-hosts")
    if options.ignore is not None:
        chosen += _option("ignore", options.ignore)
    judged = () if more else _gate_options(options)
    against = ("--against", *options.against) if options.against else ()
    return ("timesink", "compare", *options.paths, *chosen, *judged, *more, *against)


def _gate_options(options: argparse.Namespace) -> Iterator[str]:
    if options.fail_on is not None:
        yield from _option("fail-on", options.fail_on.text)
    if options.budget is not None:
        yield from _option("budget", options.budget)


def _option(name: str, value: str) -> tuple[str, ...]:
    return (f"--{name}={value}",) if value.startswith("-") else (f"--{name}", value)


# What `timesink compare` says on the screen or in one file.


def _answer(
    form: str, comparison: Comparison, gate: GateAnswer | None, options: argparse.Namespace
) -> str:
    """Everything there is to say, in a format that has no choice of tables."""
    if form == "md":
        # The comment on a pull request, with the command that says all of it.
        from timesink.answers.comparison.gate import comment_md  # noqa: PLC0415

        return comment_md(comparison, gate, _command_of(options, "--format", "report"))
    if form == "report":
        from timesink.answers.comparison.published_report import comparison_md  # noqa: PLC0415 - start-up time

        return comparison_md(comparison).removesuffix("\n")
    if form == "junit" and gate is not None:  # this format has one
        return _junit(gate)
    from timesink.answers.comparison.document import comparison_document, indented_json  # noqa: PLC0415 - start-up time

    if form == "json":
        return indented_json(comparison, gate)
    from timesink.output.html import report_html  # noqa: PLC0415 - start-up time

    return report_html(comparison_document(comparison, gate))


def _error_answer(form: str, gate: GateAnswer, error: TimesinkError) -> str | None:
    """What test results, comments, pages and JSON show of runs that cannot be compared."""
    if form == "md":
        from timesink.answers.comparison.gate import gate_md  # noqa: PLC0415 - start-up time

        return gate_md(gate)
    if form == "json":
        from timesink.answers.comparison.document import error_json  # noqa: PLC0415 - start-up time

        return error_json(gate, error)
    if form == "html":
        from timesink.answers.comparison.gate import error_document  # noqa: PLC0415 - start-up time
        from timesink.output.html import report_html  # noqa: PLC0415

        return report_html(error_document(gate, error))
    return _junit(gate) if form == "junit" else None


def _give(text: str, path: Path | None, notices: Iterable[str] = ()) -> None:
    """Hand over a result, files first: whoever reads the screen may have left."""
    if path is None:
        _say(notices)
        _handed_over(lambda: print(text), sys.stdout)
    else:
        outputs.save(outputs.as_bytes(text), path)
        _say([*notices, f"Wrote {path}"])


def _say(notices: Iterable[str]) -> None:
    lines = list(notices)
    if lines:
        _handed_over(lambda: print_stderr("\n".join(lines)), sys.stderr)


def _keep_sources(comparison: Comparison, output: Path | None) -> None:
    """Never overwrite what was read, whatever --force says."""
    sources = {Path(role.source).resolve() for role in comparison.roles}
    if output is not None and output.resolve() in sources:
        raise OutputError.overwrites(output)


def _give_answer(
    form: str, comparison: Comparison, gate: GateAnswer | None, options: argparse.Namespace
) -> None:
    """Say it on the screen or in one file."""
    _keep_sources(comparison, options.output)
    if form == "text":
        from timesink.answers.comparison import document as documents  # noqa: PLC0415 - start-up time
        from timesink.output import terminal  # noqa: PLC0415

        top = options.top or documents.TOP
        if options.view in _PROGRAM_VIEWS:
            document = documents.program_document(comparison, options.view, options.top)
        elif (table := options.view or options.table) is None:
            # The gate says its part on standard error.
            document = documents.comparison_document(comparison, top=top)
        else:
            document = documents.one_table_document(comparison, table, top)
        if options.output is None:
            _handed_over(lambda: terminal.print_text(document), sys.stdout)
        else:
            _give(terminal.to_text(document), options.output)
    elif form == "csv":
        from timesink.answers.comparison.pair_tables import table_csv  # noqa: PLC0415 - start-up time

        compared_pair = _only_pair(comparison)
        table = options.view or options.table
        if table in _PROGRAM_VIEWS:
            from timesink.answers.comparison.document import program_csv  # noqa: PLC0415 - start-up time

            _give(program_csv(compared_pair, table, options.top), options.output)
            return
        notices = [*_warnings(comparison), *_said_of_table(compared_pair, table)]
        _give(table_csv(compared_pair, table, options.top), options.output, notices)
    else:
        notices = list(_warnings(comparison) if form == "json" else _unequal_work(comparison))
        # A gate says itself that work is unlike.
        is_said = gate is not None and form not in {"json", "report"}
        text = _answer(form, comparison, gate, options)
        _give(text, options.output, () if is_said else notices)


def _only_pair(comparison: Comparison) -> Pair:
    """The pair of a table; of several, none is meant more than another."""
    pairs = comparison.all_pairs
    if len(pairs) == 1:
        return pairs[0]
    if not pairs:
        raise _nothing_to_compare()
    if comparison.exploration is not None:
        # Groups of roles are what they are; of other pairs one can be named.
        which, choose = f"of {len(comparison.exploration.clusters)} groups of processes", ""
    else:
        from timesink.answers.comparison.naming import as_options, choices_of, pair_names  # noqa: PLC0415 - start-up time

        which = units.join_names(pair_names(comparison.all_pairs), 4, "; ")
        options = as_options(choices_of(comparison))
        named = f"choose one, as with {options}" if options else "give the files of one pair"
        choose = f"{named}, or "
    raise AmbiguousError(
        f"csv holds one pair, and there are {len(pairs)} ({which})",
        f"{choose}write all of them with -o DIR",
    )


def _nothing_to_compare() -> NotFoundError:
    """Roles that are all alike make no pair."""
    return NotFoundError(
        "all processes behave alike: there are no two groups to compare",
        "--format json has the processes and their distances",
    )


def _said_of_table(compared_pair: Pair, table: str | None) -> Iterator[str]:
    """That a CSV holds times where nobody asked for them, or why it holds no rows."""
    from timesink.answers.comparison.pair_tables import table_of  # noqa: PLC0415 - start-up time

    if table is None and table_of(compared_pair, None) == "times":
        yield (
            f"{pair_title(compared_pair)}: no counter was recorded in base or new; this is the "
            "time of each function (--table times)"
        )
    if table == "families" and compared_pair.families.is_empty():
        from timesink.answers.comparison.changes import NO_FAMILIES  # noqa: PLC0415 - start-up time

        yield f"{pair_title(compared_pair)}: {NO_FAMILIES}"


def _warnings(comparison: Comparison) -> Iterator[str]:
    """What tables cannot say: unlike work first, then what was left out."""
    yield from _unequal_work(comparison)
    yield from comparison.notes


def _unequal_work(comparison: Comparison) -> Iterator[str]:
    for compared_pair in comparison.all_pairs:
        workload = compared_pair.workload
        if not workload.comparable:
            why = " ".join(workload.reasons)
            name = pair_title(compared_pair)
            yield f"{name}: base and new do not do the same work per step. {why}"


# What `timesink compare -o DIR` writes: tables, reports and JSON, and what a gate says of them.


_FILES = {
    "md": "comment.md",
    "junit": "junit.xml",
    "json": "comparison.json",
    "html": "comparison.html",
}
"""What a pipeline publishes, programs read and people look at, by format."""


def _write_folder(
    comparison: Comparison,
    gate: GateAnswer | None,
    options: argparse.Namespace,
    form: str,
    folder: Path,
) -> None:
    """Every file of the comparison, or those of one format; of a gate, what it says as well."""
    from timesink.answers.comparison.document import FORMATS, files_of  # noqa: PLC0415 - start-up time

    formats = (form,) if form else FORMATS
    files = list(files_of(comparison, formats, options.table, options.top, gate))
    files += (
        (_FILES[file_format], partial(_answer, file_format, comparison, gate, options))
        for file_format in _with_outcome(form, gated=gate is not None)
        if file_format != "json"  # which is among them
    )
    if not files:
        raise _nothing_to_compare()
    for name, _ in files:
        _keep_sources(comparison, folder / name)
        _check_file(folder / name, force=options.force)
    # Files first: whoever reads the screen may have left.
    for name, make in files:
        outputs.save(outputs.as_bytes(make().removesuffix("\n")), folder / name)
    tables = comparison.all_pairs if form in {"", "csv"} else ()
    notices = [
        line for compared_pair in tables for line in _said_of_table(compared_pair, options.table)
    ]
    wrote = f"Wrote {units.count_noun(len(files), 'files')} to {folder}"
    # Of many ranks the same is to say, under one title.
    _say([*dict.fromkeys([*_warnings(comparison), *notices]), wrote])


def _with_outcome(form: str, *, gated: bool) -> Iterator[str]:
    """Formats of the files that say how it ended, whatever was compared."""
    if form == "md" or (gated and not form):
        yield "md"
    if gated and form in {"", "junit"}:
        yield "junit"
    if form in {"", "json"}:
        yield "json"
    if form == "html":
        yield "html"


def _check_file(path: Path, *, force: bool) -> None:
    if path.is_dir():
        raise OutputError.unwritable(path, "it is a folder")
    if path.exists():
        outputs.check_own(path, force=force)


TABLES = ("rows", "times", "families")
_PROGRAM_VIEWS = ("program", "edits", "kinds")
VIEWS = (*_PROGRAM_VIEWS, *TABLES, "counters", "operators")
_FORMATS = ("text", "csv", "md", "report", "json", "junit", "html")
_ENDINGS = ("text", "csv", "md", "json", "xml", "html")
_WITHOUT_CHOICE = ("md", "report", "json", "junit", "html")
"""Formats that hold what they hold, whatever rows or tables are asked for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink compare`."""
    what = "BASE and NEW, a folder with both, or processes to group"
    add_option(parser, "paths PATH", what, completed="file", nargs="+")
    which = add_choices(parser)
    parser.set_defaults(screen_only=False)
    add_option(which, "--explore", "group processes by behaviour instead of comparing two runs")
    add_option(parser, "--table", "one table, as text or csv", choices=TABLES)
    what = (
        "one view: both programs as a tree, program changes (edits), step types (kinds), functions "
        "with counters (rows), times of functions, families of names, counters, or operators"
    )
    add_option(parser, "--view", what, choices=VIEWS)
    add_top(parser)
    add_reading(parser)
    add_engine_options(parser)
    place = "write to a file (.txt, .csv, .md, .json, .xml, .html), or to a folder"
    add_output(parser, place, _FORMATS)


def add_choices(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Options that say what is compared and whether it passes; the group of the former."""
    which = parser.add_argument_group("what to compare")
    several = "runs of NEW; all other paths are runs of BASE"
    add_option(which, "--against PATH", several, completed="file", nargs="+", default=[])
    add_option(which, "--pid P", "only this process; BASE,NEW where the ids differ")
    add_rank(which)
    add_option(which, "--device D", "only this device: Host, 7, 'GPU 7'", type=not_empty)
    add_cycle_type(which)
    add_option(which, "--ignore-hosts", "pair processes by rank or number, not by host")
    add_option(which, "--ignore PATTERN", "leave these calls out of the program", type=not_empty)
    peaks = "peaks of the devices: a CSV file, or dram=4.0TB/s,bf16_tensor=790TFLOP/s"
    add_option(which, "--peaks SPEC", peaks, type=not_empty)
    add_cycle_options(parser)
    passes = add_limit(parser)
    what = "TOML file with limits for program, counts, device time, operators, ..."
    add_option(passes, "--budget FILE", what, completed="file")
    store = "folder or URL of baselines (default: TIMESINK_BASELINES, else .timesink/baselines)"
    add_option(passes, "--store DIR", store, type=not_empty)
    return which


def run(options: argparse.Namespace) -> int:
    """Compare what the options name, and say it as they ask."""
    folder = outputs.output_folder(options.output)
    form = options.format or ""
    if folder is None:
        format_name = outputs.format_of(options, _ENDINGS)
        form = "junit" if format_name == "xml" else format_name
    untimed = untimed_paths(options)
    if untimed is not None:
        return _run_untimed(options, untimed, form)
    _check(options, form, folder)
    try:
        budgets = None
        if options.budget is not None:
            # Before the long work starts.
            from timesink.comparison.gate.budget_file import load_budgets  # noqa: PLC0415

            budgets = load_budgets(options.budget)
        comparison = _compare(options)
        gate = _gate_for(comparison, options, budgets) if _needs_gate(options, form) else None
    except TimesinkError as error:
        _give_error(error, options, form, folder)
        is_missing = isinstance(error, MissingPathError)
        if _is_asked(options) and error.exit_code == TimesinkError.exit_code and not is_missing:
            # What cannot be read or compared is not decided either; what is not there is a mistake.
            error.exit_code = code_of_undecided(options)
        raise
    if folder is not None:
        _write_folder(comparison, gate, options, form, folder)
    elif not options.screen_only:
        _give_answer(form, comparison, gate, options)
    return 0 if gate is None or not _is_asked(options) else say_gate(gate, options)


def _run_untimed(options: argparse.Namespace, untimed: UntimedPaths, form: str) -> int:
    """Compare what has no timeline, and say whether the new one passes where that is asked."""
    outputs.check_answer(options, form, *untimed.paths)
    gate = run_untimed(
        options,
        untimed,
        form,
        is_gate=_needs_gate(options, form),
        command=lambda: _command_of(options),
    )
    return 0 if gate is None or not _is_asked(options) else say_gate(gate, options)


def say_gate(gate: GateAnswer, options: argparse.Namespace) -> int:
    """Say whether it passes, on standard error; the exit code that says it as well."""
    from timesink.answers.comparison.gate import screen  # noqa: PLC0415 - start-up time

    _say([screen(gate)])
    is_open = gate.exit_code == TimesinkError.exit_code
    return code_of_undecided(options) if is_open else gate.exit_code


def code_of_undecided(options: argparse.Namespace) -> int:
    """The exit code where it is not decided."""
    return TimesinkError.exit_code if options.undecided is None else int(options.undecided)


def _give_error(
    error: TimesinkError, options: argparse.Namespace, form: str, folder: Path | None
) -> None:
    """What a gate says of runs that cannot be compared, or of budgets that cannot be read."""
    if not _needs_gate(options, form):
        return
    from timesink.answers.comparison.gate_result import gate_of_error  # noqa: PLC0415 - start-up time

    subject, gate_options = " vs ".join(options.paths), " ".join(_gate_options(options))
    gate = gate_of_error(error, subject, options=gate_options, command=_command_of(options))
    # Tables and reports show nothing: a file that an earlier run left goes.
    if folder is None:
        text = _error_answer(form, gate, error)
        if text is not None:
            _give(text, options.output)
        elif options.output is not None and not outputs.is_stream(options.output):
            options.output.unlink(missing_ok=True)
        return
    for file_format in _with_outcome(form, gated=True):
        outputs.save(
            outputs.as_bytes(_error_answer(file_format, gate, error) or ""),
            folder / _FILES[file_format],
        )


def _check(options: argparse.Namespace, form: str, folder: Path | None) -> None:
    """Refuse what cannot work before the long work starts."""
    if options.view and (form not in {"", "text", "csv"} or options.table):
        raise UsageError("a view is one table, as text or csv", "leave out --format or --table")
    if form in _WITHOUT_CHOICE and (options.table or options.top):
        left_out = "--table" if options.table else "--top"
        raise UsageError(f"{form} always has all tables", f"leave out {left_out}, or try csv")
    if _needs_gate(options, form):
        _check_gate(options)
    outputs.check_answer(options, form, *(options.paths if folder is None else ()))
    if folder is not None:
        # Refuse a folder that cannot work before the long work starts. What says "passed" of an
        # earlier run must not be taken for that of this one, however this one ends.
        if form == "text":
            raise UsageError("a folder holds no text", "name a file with -o FILE.txt")
        outputs.check_folder(folder)
        for file_format in _with_outcome(form, gated=_needs_gate(options, form)):
            _check_file(folder / _FILES[file_format], force=options.force)


def _compare(options: argparse.Namespace) -> Comparison:
    from timesink.comparison.prefetch import CycleSearch, started_early  # noqa: PLC0415 - as below

    several = bool(options.against)
    is_plain = not (options.explore or options.no_cache or options.map or options.rank or several)
    paths = [Path(path) for path in options.paths] if is_plain else []
    question = CycleSearch(options.marker, options.by)
    names = (*_CHOICES, "explore", "ignore_hosts", "ignore", "store")
    with (
        started_early(paths, question, jobs=options.jobs),
        read_options(options, *names) as reading,
    ):
        # --help does not wait for this.
        from timesink.comparison.compare_runs import ComparisonOptions, compare_runs  # noqa: PLC0415
        from timesink.comparison.inputs import SideReadOptions  # noqa: PLC0415

        search = CycleSearch(*(reading.pop(name) for name in ("marker", "by", "metric_map")))
        cache, jobs, progress = (reading.pop(name) for name in ("cache", "jobs", "progress"))
        how = SideReadOptions(cache, jobs, progress, search)
        choices = ComparisonOptions(how, **reading, engine=engine_from(options))
        return compare_runs(options.paths, options.against, choices)

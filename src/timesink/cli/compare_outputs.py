"""What `timesink compare` says on the screen or in one file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.cli.gated import command_of, handed_over, junit
from timesink.cli.outputs import as_bytes, save
from timesink.errors import AmbiguousError, NotFoundError, OutputError, TimesinkError
from timesink.model import units

if TYPE_CHECKING:
    from timesink.reports.comparison import Compared, Comparison
    from timesink.reports.gate.gate import Gate

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
        _give(comment_of_error(gate), options.output)
    elif form == "junit":
        _give(junit(gate), options.output)
    elif form == "json":
        _give(json_of_error(gate, error), options.output)
    elif form == "html":
        _give(page_of_error(gate, error), options.output)
    elif options.output is not None:
        options.output.unlink(missing_ok=True)


def _give(text: str, path: Path | None, notices: Iterable[str] = ()) -> None:
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


def _give_text(said: JudgedComparison, options: argparse.Namespace) -> None:
    from timesink.answers.comparison import (  # noqa: PLC0415
        TOP,
        comparison_document,
        one_table_document,
    )
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
        _give(terminal.to_text(document), options.output)


def _give_csv(said: JudgedComparison, options: argparse.Namespace) -> None:
    from timesink.answers.published_tables import table_csv  # noqa: PLC0415

    one = _only_pair(said.comparison)
    notices = [*warnings(said.comparison), *said_of_table(one, options.table)]
    _give(table_csv(one.pair, options.table, options.top), options.output, notices)


def _give_md(said: JudgedComparison, options: argparse.Namespace) -> None:
    notices = _unequal_work(said.comparison) if said.gate is None else ()
    _give(comment(said, options), options.output, notices)


def comment(said: JudgedComparison, options: argparse.Namespace) -> str:
    """The comment on a pull request, with the command that says all of it."""
    from timesink.answers.comment import comment_md  # noqa: PLC0415

    everything = command_of(options, "--format", "report")
    return comment_md(said.comparison, said.gate, everything)


def comment_of_error(gate: Gate) -> str:
    """The comment of runs that cannot be compared."""
    from timesink.answers.comment import gate_md  # noqa: PLC0415

    return gate_md(gate)


def json_of_error(gate: Gate, error: TimesinkError) -> str:
    """The JSON of runs that cannot be compared."""
    from timesink.answers.comparison_files import error_json  # noqa: PLC0415

    return error_json(gate, error)


def page_of_error(gate: Gate, error: TimesinkError) -> str:
    """The page of runs that cannot be compared."""
    from timesink.answers.gate import error_document  # noqa: PLC0415
    from timesink.output.html import report_html  # noqa: PLC0415

    return report_html(error_document(gate, error))


def page(said: JudgedComparison) -> str:
    """Everything as one page that needs nothing else."""
    from timesink.answers.comparison import comparison_document  # noqa: PLC0415
    from timesink.output.html import report_html  # noqa: PLC0415

    return report_html(comparison_document(said.comparison, said.gate))


def _give_html(said: JudgedComparison, options: argparse.Namespace) -> None:
    notices = _unequal_work(said.comparison) if said.gate is None else ()
    _give(page(said), options.output, notices)


def _give_report(said: JudgedComparison, options: argparse.Namespace) -> None:
    from timesink.answers.published_report import comparison_md  # noqa: PLC0415

    text = comparison_md(said.comparison).removesuffix("\n")
    _give(text, options.output, _unequal_work(said.comparison))


def _give_json(said: JudgedComparison, options: argparse.Namespace) -> None:
    from timesink.answers.comparison_files import indented_json  # noqa: PLC0415

    text = indented_json(said.comparison, said.gate)
    _give(text, options.output, warnings(said.comparison))


def _give_junit(said: JudgedComparison, options: argparse.Namespace) -> None:
    if said.gate is not None:  # this format has one
        _give(junit(said.gate), options.output)


_GIVERS: dict[str, Callable[[JudgedComparison, argparse.Namespace], None]] = {
    "text": _give_text,
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
    from timesink.reports.comparison.choosing import as_options  # noqa: PLC0415

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
    from timesink.answers.published_tables import table_of  # noqa: PLC0415

    if table is None and table_of(one.pair, None) == "times":
        yield (
            f"{one.title}: no counter was recorded on either side; this is the time of each "
            "function (--table times)"
        )
    if table == "families" and one.pair.families.is_empty():
        from timesink.answers.pair_tables import NO_FAMILIES  # noqa: PLC0415

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

"""What `timesink compare` writes, and where: one output, a folder, or that it cannot be done."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.cli.common import as_bytes, give, save
from timesink.cli.gated import command_of, gate_for_error, junit, needs_gate
from timesink.errors import AmbiguousError, NotFoundError, OutputError, TimesinkError
from timesink.model import units

if TYPE_CHECKING:
    from timesink.reports.comparison import Compared, Comparison
    from timesink.reports.gate import Gate

_COMMENT, _RESULTS = "comment.md", "junit.xml"
"""What a folder holds of a gate."""
_TOP = 10
_SHOWN = 4


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """What there is to say."""

    comparison: Comparison
    gate: Gate | None = None


def give_answer(said: Said, options: argparse.Namespace, form: str, folder: Path | None) -> None:
    """Say it on the screen, in a file or in a folder of them."""
    if folder is not None:
        _write_folder(said, options, form, folder)
        return
    _keep_sources(said.comparison, options.output)
    _GIVERS[form](said, options)


def say_error(
    error: TimesinkError, options: argparse.Namespace, form: str, folder: Path | None
) -> None:
    """What CI systems and comments show of runs that cannot be compared; usage is no result."""
    if error.exit_code != 1 or not needs_gate(options, form):
        return
    from timesink.render.gate.comment import gate_md  # noqa: PLC0415

    gate = gate_for_error(error, options)
    said = {_COMMENT: ("md", partial(gate_md, gate)), _RESULTS: ("junit", partial(junit, gate))}
    for name, (own_form, make) in said.items():
        if folder is None and form == own_form:
            give(make(), options.output)
        elif folder is not None and form in {"", own_form}:
            _save_over(make(), folder / name, force=options.force)


def _save_over(text: str, path: Path, *, force: bool) -> None:
    """Write a file of a folder, unless it is there and must stay."""
    if force or not path.exists():
        path.parent.mkdir(exist_ok=True)
        save(as_bytes(text), path)


def _keep_sources(comparison: Comparison, output: Path | None) -> None:
    """Never overwrite what was read, whatever --force says."""
    if output is not None and _was_read(comparison, output):
        raise OutputError(f"{output}: is what is read, and is not overwritten", "choose another -o")


def _was_read(comparison: Comparison, output: Path) -> bool:
    return output.resolve() in {Path(role.source).resolve() for role in comparison.roles}


# -- one output ------------------------------------------------------------------------------------


def _give_text(said: Said, options: argparse.Namespace) -> None:
    from timesink.render.comparison import text  # noqa: PLC0415

    top = options.top or _TOP
    if options.output is None:
        text.print_text(said.comparison, top, options.table)
    else:
        give(text.to_text(said.comparison, top, options.table), options.output)


def _give_csv(said: Said, options: argparse.Namespace) -> None:
    from timesink.render.comparison.csv import table_csv  # noqa: PLC0415

    one = _only_pair(said.comparison)
    _warn(said.comparison)
    _say_table(one, options.table)
    give(table_csv(one.pair, options.table, options.top), options.output)


def _give_md(said: Said, options: argparse.Namespace) -> None:
    if said.gate is None:
        _warn_of_unequal_work(said.comparison)
    give(_comment(said, options), options.output)


def _comment(said: Said, options: argparse.Namespace) -> str:
    from timesink.render.gate.comment import comment_md  # noqa: PLC0415

    everything = command_of(options, "--format", "report")
    return comment_md(said.comparison, said.gate, everything)


def _give_report(said: Said, options: argparse.Namespace) -> None:
    from timesink.render.comparison.markdown import comparison_md  # noqa: PLC0415

    _warn_of_unequal_work(said.comparison)
    give(comparison_md(said.comparison).removesuffix("\n"), options.output)


def _give_json(said: Said, options: argparse.Namespace) -> None:
    from timesink.render.comparison.files import indented_json  # noqa: PLC0415

    _warn(said.comparison)
    give(indented_json(said.comparison, said.gate), options.output)


def _give_junit(said: Said, options: argparse.Namespace) -> None:
    if said.gate is not None:  # this format has one
        give(junit(said.gate), options.output)


_GIVERS: dict[str, Callable[[Said, argparse.Namespace], None]] = {
    "text": _give_text,
    "csv": _give_csv,
    "md": _give_md,
    "report": _give_report,
    "json": _give_json,
    "junit": _give_junit,
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


def _write_folder(said: Said, options: argparse.Namespace, form: str, folder: Path) -> None:
    """Every file of the comparison, or those of one format."""
    comparison = said.comparison
    files = list(_files(said, options, form))
    if not files:
        raise _nothing_to_compare()
    for name, _ in files:
        _check_file(folder / name, comparison, force=options.force)
    _warn(comparison)
    for one in comparison.all_pairs if form in {"", "csv"} else ():
        _say_table(one, options.table)
    folder.mkdir(exist_ok=True)
    for name, make in files:
        save(as_bytes(make().removesuffix("\n")), folder / name)
    print(f"Wrote {units.counted(len(files), 'files')} to {folder}", file=sys.stderr)


def _files(
    said: Said, options: argparse.Namespace, form: str
) -> Iterator[tuple[str, Callable[[], str]]]:
    """Tables, reports and JSON; of a gate, a comment and test results as well."""
    from timesink.render.comparison.files import FORMATS, files_of  # noqa: PLC0415

    formats = (form,) if form else FORMATS
    yield from files_of(said.comparison, formats, options.table, options.top, said.gate)
    gate = said.gate
    if form == "md" or (gate is not None and not form):
        yield _COMMENT, lambda: _comment(said, options)
    if gate is not None and form in {"", "junit"}:
        yield _RESULTS, partial(junit, gate)


def _check_file(path: Path, comparison: Comparison, *, force: bool) -> None:
    _keep_sources(comparison, path)
    if path.is_dir():
        raise OutputError.unwritable(path, "it is a folder")
    if path.exists() and not force:
        raise OutputError.exists(path)

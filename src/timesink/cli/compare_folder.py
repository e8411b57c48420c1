"""What `timesink compare -o DIR` writes: tables, reports and JSON, and what a gate says of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.cli.compare_outputs import (
    JudgedComparison,
    comment,
    comment_of_error,
    json_of_error,
    keep_sources,
    nothing_to_compare,
    page,
    page_of_error,
    said_of_table,
    say,
    warnings,
)
from timesink.cli.gated import junit, needs_gate
from timesink.cli.outputs import as_bytes, save
from timesink.errors import OutputError, TimesinkError, UsageError
from timesink.model import units

if TYPE_CHECKING:
    from timesink.reports.gate.gate import Gate

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
    from timesink.answers.comparison_files import FORMATS, files_of  # noqa: PLC0415

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
